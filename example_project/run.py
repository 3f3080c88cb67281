"""Serves the bundled news sites and crawls them as a newcomer would: tag, look, then drop.

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
INDEXES = HERE / ".scrapy" / "simdedup"

sys.path.insert(0, str(HERE))

from newsdemo.site.server import serve  # noqa: E402


def scrapy(*arguments: str, port: int | None = None) -> None:
    """Run a scrapy command in this project, and show it."""
    print(f"\n$ scrapy {' '.join(arguments)}", flush=True)
    # The sites' names exist in this process only; a proxy's client does not look them up.
    proxy = {"http_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""} if port else {}
    command = [sys.executable, "-m", "scrapy", *arguments]
    subprocess.run(command, cwd=HERE, env={**os.environ, **proxy}, check=True)


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tag(port: int) -> None:
    """Crawl with the default settings: copies are tagged, and everything is kept."""
    scrapy("crawl", "news", "-O", "tagged.jsonl", port=port)
    items = lines(HERE / "tagged.jsonl")
    copies = [item for item in items if (item["dedup"] or {}).get("status") == "duplicate"]
    print(
        f"\nTAGGED: {len(copies)} of the {len(items)} items in tagged.jsonl are of copies",
        flush=True,
    )


def look() -> None:
    """Have the report made of the first crawl."""
    scrapy("simdedup", "report", "--index", ".scrapy/simdedup/news.db", "--output", "report.html")
    print(f"\nREPORT: open {HERE / 'report.html'} in a browser", flush=True)


def drop(port: int) -> None:
    """Crawl with the tuned spider, and tell what was kept, dropped and why."""
    before = set(HERE.glob("dedup-tuned-*.jsonl"))
    scrapy("crawl", "tuned", "-O", "items.jsonl", port=port)
    (log,) = set(HERE.glob("dedup-tuned-*.jsonl")) - before
    tell(lines(HERE / "items.jsonl"), lines(log), log)


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
    print("Unchanged pages that were seen again are counted in the index (tuned.db), not logged.")
    print(f"The log of this run: {path.name}")


def main() -> None:
    """Tag, look, drop; from the second time on the sites serve their corrected edition."""
    edition = 2 if (INDEXES / "tuned.db").exists() else 1
    with serve(edition) as port:
        tag(port)
        look()
        drop(port)


if __name__ == "__main__":
    main()
