"""The quality benchmark: scrapy-simdedup and its peers on labelled pages.

Every contestant judges the same pages in sorted order, in this process; README.md beside this
file says by which rules.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import human
import online
import product
import sweeps
import tables
from labelled import JudgedPair, LabelledSet, one_extraction_a_page, read_judged, read_sets
from product import Variant
from scoring import Score

_PACKAGES = [
    "scrapy-simdedup",
    "trafilatura",
    "resiliparse",
    "jieba",
    "rjieba",
    "simhash",
    "datasketch",
    "rensa",
    "gaoya",
    "numpy",
]
_Rows = list[tuple[str, dict[str, Score]]]


@dataclass
class Report:
    """The text of each part (main tables, pairs, sweeps, seeds), and the raw results."""

    parts: dict[str, list[str]] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)

    def say(self, part: str, *blocks: str) -> None:
        """Add blocks of text to a part, which begins with the circumstances of the run."""
        self.parts.setdefault(part, [_circumstances()]).extend(blocks)

    def notes(self, part: str, notes: Sequence[str]) -> None:
        """Add a list of remarks."""
        if notes:
            self.say(part, "\n".join(f"- {note}." for note in notes))

    def table(self, part: str, title: str, rows: _Rows, labelled: dict[str, bool]) -> None:
        """Add a table of scores with its title."""
        self.say(part, f"### {title}", tables.score_table(rows, labelled))
        self.raw[title] = {
            name: {key: _plain(found) for key, found in by_set.items()} for name, by_set in rows
        }

    @property
    def texts(self) -> dict[str, str]:
        """The parts as Markdown."""
        return {part: "\n\n".join(blocks) + "\n" for part, blocks in self.parts.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for, print it, and write it where asked."""
    asked = _parser().parse_args(arguments)
    wanted = [name for name in asked.sets.split(",") if name]
    sets, pairs = read_sets(asked.corpus, wanted), read_judged(asked.corpus, wanted)
    if not sets and not pairs:
        raise SystemExit(f"no labelled set in {asked.corpus}")
    labelled = {each.name: each.pairs.has_duplicates for each in sets}
    report = Report()
    with one_extraction_a_page():
        if sets and asked.tables:
            _tables(report, sets, labelled, asked.peers)
        if pairs and asked.tables:
            _pairs(report, pairs, asked.peers)
        if sets and asked.sweeps:
            _sweeps(report, sets, labelled)
        if sets and asked.seeds:
            _seeds(report, sets, asked.seeds)
    text = "\n".join(report.texts.values())
    print(text, end="")
    if asked.json:
        asked.json.write_text(json.dumps(report.raw, indent=1) + "\n", encoding="utf-8")
    if asked.markdown:
        asked.markdown.write_text(text, encoding="utf-8")
    if asked.update:
        tables.update(asked.update, report.texts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flag = argparse.BooleanOptionalAction
    parser.add_argument("--corpus", type=Path, required=True, help="folder of labelled sets")
    parser.add_argument("--sets", default="", help="names of sets, with commas (default: all)")
    parser.add_argument("--tables", action=flag, default=True, help="the main tables")
    parser.add_argument("--peers", action=flag, default=True, help="peers in the main tables")
    parser.add_argument("--sweeps", action="store_true", help="a table a method, over its settings")
    parser.add_argument("--seeds", type=int, default=0, help="repeat with so many hash seeds")
    parser.add_argument("--json", type=Path, help="file for the raw results")
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    parser.add_argument("--update", type=Path, help="file whose marked parts become the tables")
    return parser


def _tables(
    report: Report, sets: list[LabelledSet], labelled: dict[str, bool], with_peers: bool
) -> None:
    chosen, notes = product.variants()
    rows = [(each.name, _judge(each, sets)) for each in chosen]
    notes.insert(0, tables.skipped_note(*rows[0]))
    peers, missing = online.installed() if with_peers else ([], [])
    for peer in peers:
        started = time.monotonic()
        run = online.run(peer, sets)
        _progress(peer.name, started)
        rows += [(f"{peer.name}, {told}", run.scores[limit]) for told, limit in peer.defaults]
        best = run.best_limit([name for name, has in labelled.items() if has])
        rows.append((f"{peer.name}, best limit in hindsight: {best}", run.scores[best]))
        if run.failed:
            notes.append(f"{peer.name} raised OverflowError on {run.failed} pages")
    report.table("tables", "Labelled pages", rows, labelled)
    report.notes("tables", notes + missing)


def _pairs(report: Report, pairs: list[JudgedPair], with_peers: bool) -> None:
    rows = []
    for variant in product.variants()[0]:
        if "SIMDEDUP_EXTRACTOR" in variant.settings:
            continue  # these are texts
        started = time.monotonic()
        rows.append(human.product_row(variant, pairs))
        _progress(f"{variant.name}, pairs", started)
    for peer in online.installed()[0] if with_peers else []:
        started = time.monotonic()
        rows += human.peer_rows(peer, pairs)
        _progress(f"{peer.name}, pairs", started)
    verdicts = [pair.duplicate for pair in pairs]
    report.say(
        "pairs",
        "### Pairs judged by people",
        f"{verdicts.count(True)} duplicates, {verdicts.count(False)} distinct,"
        f" {verdicts.count(None)} ambiguous (not counted); recall / precision.",
        tables.table(human.HEAD, [row.cells for row in rows]),
    )
    report.raw["pairs"] = {row.name: {"own": vars(row.own), "best": vars(row.best)} for row in rows}


def _sweeps(report: Report, sets: list[LabelledSet], labelled: dict[str, bool]) -> None:
    planned, missing = sweeps.sweeps()
    for title, compared in planned:
        swept = [(each.name, _judge(each, sets)) for each in compared]
        report.table("sweeps", title, swept, labelled)
    report.notes("sweeps", missing)


def _seeds(report: Report, sets: list[LabelledSet], count: int) -> None:
    runs = []
    for seed in range(count + 1):
        with product.hash_seed(seed):
            runs.append(_judge(Variant(f"hash seed {seed}"), sets))
    rows = []
    for each in sets:
        found = [run[each.name] for run in runs]
        least, most = min(one.f1 for one in found), max(one.f1 for one in found)
        cells = [f"{least:.4f}", f"{most:.4f}"] if each.pairs.has_duplicates else ["", ""]
        rows.append([each.name, *cells, str(max(one.false for one in found))])
    head = ["", "lowest F1", "highest F1", "most false"]
    report.say(
        "seeds",
        f"### The default settings with the package's hash seed and {count} others",
        tables.table(head, rows),
    )
    report.raw["seeds"] = [{name: _plain(found) for name, found in run.items()} for run in runs]


def _judge(variant: Variant, sets: list[LabelledSet]) -> dict[str, Score]:
    started = time.monotonic()
    scores = {each.name: product.judge(each, variant) for each in sets}
    _progress(variant.name, started)
    return scores


def _plain(found: Score) -> dict[str, Any]:
    measures = {"recall": found.recall, "precision": found.precision, "f1": found.f1}
    return {**vars(found), **measures}


def _circumstances() -> str:
    told = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            told.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f"Printed by a run with {', '.join(told)}."


def _progress(name: str, started: float) -> None:
    print(f"{name}: {time.monotonic() - started:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
