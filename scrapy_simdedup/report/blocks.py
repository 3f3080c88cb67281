"""What the page's script draws tables from: plain data, and squeezed blocks that it opens late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrapy_simdedup.report.browse import short
from scrapy_simdedup.report.close import Call
from scrapy_simdedup.report.clusters import Cluster
from scrapy_simdedup.report.counts import Run, Tally
from scrapy_simdedup.report.data import Report
from scrapy_simdedup.report.diff import Difference
from scrapy_simdedup.report.pack import squeezed
from scrapy_simdedup.report.words import HIDDEN, duration, read_time

_MEASURES = ("resemblance", "containment", "distance", "max_distance", "method")


def data_of(report: Report) -> dict[str, Any]:
    """Return what the script needs at once."""
    return {
        "hidden": HIDDEN,
        "runs": [_run(run) for run in report.runs],
        "spiders": [{"name": name, **_tally(tally)} for name, tally in report.spiders.items()],
        "hosts": [
            {"name": host.name, **_tally(host.tally), "foreign": host.foreign}
            for host in report.hosts.rows
        ],
        "calls": [
            _call(call, text, f"call{at}")
            for at, (call, text) in enumerate(
                zip(report.calls.calls, report.call_texts, strict=True)
            )
        ],
        "clusters": [
            _cluster(cluster, f"cluster{at}") for at, cluster in enumerate(report.clusters.rows)
        ],
        "orphans": [
            {"url": short(each["url"]), "original": _short(each["original"]), "time": each["time"]}
            for each in report.orphans.rows
        ],
        "examples": [[short(url) for url in each.examples] for each in report.reasons],
        "several_runs": len(report.runs) > 1,
        "several_kinds": len(report.kinds) > 1,
    }


def blocks(report: Report) -> Iterator[tuple[str, str]]:
    """Return the squeezed blocks with their names."""
    for at, text in enumerate(report.call_texts):
        if text is not None:
            yield f"call{at}", squeezed(_text(text))
    for at, (cluster, texts) in enumerate(
        zip(report.clusters.rows, report.cluster_texts, strict=True)
    ):
        compared = [text and _text(text) for text in texts]
        compared += [None] * (len(cluster.copies) - len(compared))
        copies = [
            {**_row(copy), "reason": copy["reason"], "text": text}
            for copy, text in zip(cluster.copies, compared, strict=True)
        ]
        yield f"cluster{at}", squeezed(copies)
    if report.listing.count:
        yield "listing", squeezed({**report.listing.columns, "count": report.listing.count})


def _tally(tally: Tally) -> dict[str, Any]:
    counts = tally.counts
    return {
        "judged": tally.judged,
        "copies": tally.copies,
        "kept": counts["unique"] + counts["revisit"],
        "orphaned": counts["orphaned"],
        "skipped": counts["skipped"],
        "error": counts["error"],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "spider": run.spider,
        "started": run.started and run.started.timestamp(),
        "took": None if run.took is None else run.took.total_seconds(),
        "took_shown": "" if run.took is None else duration(run.took),
        "status": run.status,
        **_tally(run.tally),
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"url": short(row["url"]), **{name: row[name] for name in _MEASURES}}


def _call(call: Call, text: Difference | None, block: str) -> dict[str, Any]:
    return {
        **_row(call.row),
        "near": _short(call.row["nearest"]),
        "item": call.row["kind"] == "item",
        "copy": call.copy,
        "why": call.why,
        "text": None if text is None else block,
    }


def _cluster(cluster: Cluster, block: str) -> dict[str, Any]:
    last = read_time(cluster.last)
    return {
        "url": short(cluster.original),
        "item": cluster.kind == "item",
        "size": cluster.size,
        "hosts": cluster.hosts,
        "least": cluster.least,
        "same_page": cluster.same_page,
        "removed": bool(cluster.removed),
        "last": last and last.timestamp(),
        "shown": len(cluster.copies),
        "block": block,
    }


def _text(text: Difference) -> dict[str, Any]:
    return {"rows": text.rows, "cut": text.cut}


def _short(url: str | None) -> str | None:
    return None if url is None else short(url)
