"""``scrapy simdedup stats``: what is in an index."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.commands.options import add_index, add_set, config_of, index_of
from scrapy_simdedup.commands.progress import progress

if TYPE_CHECKING:
    from scrapy_simdedup.logs.buckets import Bands
    from scrapy_simdedup.logs.stats import Sizes, Stats


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "stats",
        help="show what is in an index, and how large it is",
        description="Show what is in an index: decisions, the newest runs, the rows of each"
        " method, its largest buckets, and sizes. Nothing is changed, and a crawl may go on.",
        epilog="example: scrapy simdedup stats --index .scrapy/simdedup/news.db",
    )
    add_index(parser, required=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--full", action="store_true", help="read a large index as a whole, where a sample would do"
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Print the stats. Raises UsageError, ConfigError and IndexUnusable."""
    import json
    from dataclasses import asdict

    from scrapy_simdedup.logs.export import reading
    from scrapy_simdedup.logs.stats import stats
    from scrapy_simdedup.output import writing

    path = index_of(opts, config_of(settings))
    with reading(path) as connection:
        found = stats(connection, path, progress, whole=opts.full)
    with writing(None) as out:
        if opts.json:
            # ASCII, since escapes of a narrow terminal would be no JSON.
            out.write(json.dumps(asdict(found)) + "\n")
        else:
            out.writelines(f"{line.rstrip()}\n" for line in shown(found))


def shown(found: Stats) -> Iterator[str]:
    """Return the lines that a person reads."""
    yield f"{found.path}: {found.originals:,} originals, {found.run_count:,} runs"
    identity = found.identity
    yield (
        f"methods {'+'.join(found.methods)}, {identity['bits']} bits, extractor"
        f" {identity.get('extractor')}, scope {identity.get('scope')}"
    )
    if found.claims:
        yield f"{found.claims:,} claims are open"
    if found.texts:
        yield f"{found.texts:,} texts are stored"
    yield from _decisions(found)
    yield from _runs(found)
    yield from _bands(found.bands, found.originals)
    yield from _sizes(found.sizes)


def _decisions(found: Stats) -> Iterator[str]:
    kinds = sorted({each.kind for each in found.decisions}, reverse=True)
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for each in found.decisions:
        for reason in {"", each.reason}:
            of = counts.setdefault((each.status, reason), {})
            of[each.kind] = of.get(each.kind, 0) + each.decisions
    rows = [
        [f"{status}: {reason}" if reason else status, *(of.get(kind, 0) for kind in kinds)]
        for (status, reason), of in sorted(counts.items())
    ]
    yield from _table(["decisions", *(f"{kind}s" for kind in kinds)], rows)
    if found.removed:
        yield f"of the duplicates, {found.removed:,} have lost their original: it was removed"


def _runs(found: Stats) -> Iterator[str]:
    statuses = ("unique", "duplicate", "revisit", "skipped", "error", "orphaned")
    told = [name for name in statuses if any(name in each.decisions for each in found.runs)]
    rows = [
        [
            str(each.run),
            each.spider,
            each.started[:19].replace("T", " "),
            each.ended[:19].replace("T", " "),
            each.status,
            *(each.decisions.get(name, 0) for name in told),
        ]
        for each in found.runs
    ]
    yield from _table(["run", "spider", "started (UTC)", "ended", "status", *told], rows)
    if found.run_count > len(found.runs):
        yield f"and {found.run_count - len(found.runs):,} runs before"


def _bands(bands: Bands, originals: int) -> Iterator[str]:
    rows = [[part, rows, f"{rows / max(1, originals):.1f}"] for part, rows in bands.rows.items()]
    yield from _table(["rows", "about" if bands.sampled else "", "an original"], rows)
    buckets = [
        [each.part, each.key, each.pages, "yes" if each.left_out else "", each.example]
        for each in bands.buckets
    ]
    yield from _table(["largest buckets", "key", "pages", "left out", "for example"], buckets)
    if any(each.left_out for each in bands.buckets):
        yield "left out: look-ups skip keys with so many pages; a site's template, say"
    if bands.sampled:
        yield f"found by the rows of {bands.sampled:,} pages; --full reads them all"


def _sizes(sizes: Sizes) -> Iterator[str]:
    from tqdm import tqdm

    total = sum(sizes.tables.values())
    told = {"file": sizes.file, "-wal file": sizes.wal, "an original": sizes.per_original}
    told["free in the file"] = sizes.free
    rows = [[name, tqdm.format_sizeof(size, "B"), ""] for name, size in told.items()]
    if sizes.free:
        rows[-1][-1] = "vacuum gives it back"
    for name, size in sizes.tables.items():
        rows.append([f"table {name}", tqdm.format_sizeof(size, "B"), f"{size / total:.0%}"])
    yield from _table(["sizes", "", ""], rows)


def _table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Return an empty line and a table, if there is anything in it."""
    from tabulate import tabulate

    if not rows:
        return
    cells = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    sides = ["right" if isinstance(cell, int) else "left" for cell in rows[0]]
    yield ""
    # What looks like a number may be the name of a spider.
    table = tabulate(cells, headers, "simple", disable_numparse=True, colalign=sides)
    yield from table.splitlines()
