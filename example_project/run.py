"""Serves the bundled news sites, crawls them, and tells what was kept, dropped and why.

Run it twice: the second run meets the same pages again (and one corrected story).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INDEX = HERE / ".scrapy" / "simdedup" / "news.db"

sys.path.insert(0, str(HERE))

from newsdemo.site.server import serve  # noqa: E402


def crawl(edition: int) -> tuple[Path, Path]:
    """Crawl the sites with ``scrapy crawl news`` and return the items and the dedup log."""
    before = set(HERE.glob("dedup-news-*.jsonl"))
    items = HERE / "items.jsonl"
    with serve(edition) as port:
        # The sites' names exist in this process only; a proxy's client does not look them up.
        environment = {**os.environ, "http_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""}
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "-O", str(items)]
        subprocess.run(command, cwd=HERE, env=environment, check=True)
    (log,) = set(HERE.glob("dedup-news-*.jsonl")) - before
    return items, log


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def why(row: dict[str, Any]) -> str:
    """Say in a few words how a decision came about."""
    if row["status"] == "skipped":
        return str(row["reason"])
    if row["status"] == "revisit":
        return "seen before, but its text has changed"
    return f"{row['method']}, {row['distance']} bits, resemblance {row['resemblance']:.2f}"


def tell(items: list[dict[str, Any]], log: list[dict[str, Any]], path: Path) -> None:
    """Print the summary of a run."""
    print("\nKEPT (items in items.jsonl)")
    for item in sorted(items, key=lambda item: str(item["url"])):
        print(f"  {item['url']}")
    print("\nDROPPED, SKIPPED, CHANGED")
    for row in sorted(log, key=lambda row: (row["status"], row["original"] or "", row["url"])):
        if row["status"] == "unique":
            continue
        print(f"  {row['status']:<9} {row['url']}")
        original = f"of {row['original']}: " if row["original"] else ""
        print(f"            {original}{why(row)}")
    counts = Counter(row["status"] for row in log)
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    print(f"\nSUMMARY: {len(items)} items kept; decisions logged: {told}")
    print(
        f"Unchanged pages that were seen again are counted in the index ({INDEX.name}), not logged."
    )
    print(f"The log of this run: {path.name}")


def main() -> None:
    """Crawl; from the second time on the sites serve their corrected edition."""
    edition = 2 if INDEX.exists() else 1
    items, log = crawl(edition)
    tell(lines(items), lines(log), log)


if __name__ == "__main__":
    main()
