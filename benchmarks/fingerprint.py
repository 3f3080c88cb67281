"""How fast texts are fingerprinted: each stage of scrapy-simdedup, and its peers.

All contestants take turns within each repetition, so that a slow spell of the machine hits all;
README.md beside this file says what each of them is given.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fingerprint_contests import PRODUCT, STAGES, Way, page_contests, weighted
from fingerprint_peers import Worker, installed, worker
from fingerprint_report import Run, figures, report
from fingerprint_texts import RECIPE, SEED, Batch, made_up, read_corpus

from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.methods.simhash import fingerprint

_PACKAGES = ["scrapy-simdedup", "numpy", "xxhash", "jieba", "trafilatura"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Time what the command line asks for, print it, and write it where asked."""
    asked = _parser().parse_args(arguments)
    if asked.corpus:
        wanted = [name for name in asked.sets.split(",") if name]
        batches = read_corpus(asked.corpus, wanted, asked.english, asked.chinese)
    else:
        batches = made_up(asked.english, asked.chinese)
    if not batches:
        raise SystemExit("no text to fingerprint")
    run = Run(batches)
    ways, versions, run.notes = installed()
    contests = [way.contest(batch) for batch in batches for way in STAGES]
    contests += [contest for batch in batches for contest in page_contests(batch)]
    contests += [
        way.contest(batch)
        for batch in batches
        for way in ways
        if way.chinese or batch.language != "zh"
    ]
    with ExitStack() as stack:
        found = _start(stack, run, asked.pybind_python)
        if found:
            contests += found.contests()
            versions[found.who] = found.version
        run.meta = _meta(run, asked, versions)
        run.meta["equal_fingerprints"] = _equal(batches, ways, found)
        run.time(contests, asked.repeat)
    print(report(run))
    if asked.json:
        asked.json.write_text(json.dumps(figures(run), indent=1) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="folder of sets of pages (default: made up)")
    parser.add_argument("--sets", default="", help="names of sets, with commas (default: all)")
    parser.add_argument("--english", type=int, default=1000, help="English documents at most")
    parser.add_argument("--chinese", type=int, default=500, help="Chinese documents at most")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions")
    parser.add_argument("--pybind-python", type=Path, help="interpreter that has simhash-pybind")
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser


def _start(stack: ExitStack, run: Run, python: Path | None) -> Worker | None:
    if python is None:
        run.notes.append(f"{Worker.who}: no --pybind-python, left out")
        return None
    try:
        return stack.enter_context(worker(python, run.batches))
    except OSError as error:
        run.notes.append(f"{Worker.who}: left out, {error}")
        return None


def _equal(
    batches: Sequence[Batch], ways: Sequence[Way], found: Worker | None
) -> dict[str, list[int]]:
    """Return, for all who hash with XXH3, how many fingerprints are the package's, of how many."""
    equal: dict[str, list[int]] = {}

    def compare(who: str, values: Sequence[int], expected: Sequence[int]) -> None:
        same = sum(one == other for one, other in zip(values, expected, strict=True))
        so_far = equal.get(who, [0, 0])
        equal[who] = [so_far[0] + same, so_far[1] + len(expected)]

    for batch in batches:
        signed = [analyse(Source(text=(each.raw,)), RECIPE).signature for each in batch.documents]
        expected = [int.from_bytes(parts["simhash"], "little") for parts in signed]
        compare(PRODUCT, [fingerprint(weighted(each)) for each in batch.documents], expected)
        for way in ways:
            if way.what == "sign_xxh3":
                sign = way.begin()
                values = [sign(way.given(each)).value for each in batch.documents]
                compare(f"{way.who}, XXH3", values, expected)
        if found:
            compare(found.who, found.fingerprints[f"sign {batch.language}"], expected)
    return equal


def _meta(run: Run, asked: argparse.Namespace, peers: dict[str, str]) -> dict[str, Any]:
    def typical(sizes: Sequence[int]) -> float:
        return statistics.median(sizes)

    counted = {
        batch.language: {
            "documents": len(batch.documents),
            "left_out": batch.left_out,
            "characters": typical([len(each.raw) for each in batch.documents]),
            "terms": typical([len(each.terms) for each in batch.documents]),
            "weighted_terms": typical([len(each.weights) for each in batch.documents]),
        }
        for batch in run.batches
    }
    versions = {"python": platform.python_version()}
    versions |= {name: version(name) for name in _PACKAGES} | peers
    source = f"pages of {asked.sets or 'all sets'}" if asked.corpus else "made up"
    told = {"seed": SEED, "repeat": asked.repeat, "source": source, "counts": counted}
    return {**told, "versions": versions, "left_out": run.notes}


if __name__ == "__main__":
    main()
