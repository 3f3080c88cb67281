"""The report as one HTML file that needs nothing else, and lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timedelta, timezone
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scrapy_simdedup import __version__
from scrapy_simdedup.report import data, stacks, summary, words
from scrapy_simdedup.report.advice import hints, limit_right
from scrapy_simdedup.report.blocks import blocks, data_of
from scrapy_simdedup.report.data import Report
from scrapy_simdedup.report.meanings import meaning
from scrapy_simdedup.report.pack import plain
from scrapy_simdedup.report.plots import histogram_plot

# The first one runs in the head, before anything is drawn.
_HEAD_SCRIPT = "theme.js"
_SCRIPTS = ("dom.js", "table.js", "texts.js", "listing.js", "tables.js", "main.js")
_STYLE = "report.css"


def render(report: Report, made: datetime | None = None) -> str:
    """Return the page."""
    style, head = _static(_STYLE), _static(_HEAD_SCRIPT)
    script = "".join(_static(name) for name in _SCRIPTS)
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": words.visible,
        "number": words.number,
        "plural": words.plural,
        "moment": words.moment,
    }
    return environment.get_template("report.html").render(
        report=report,
        made=made or datetime.now(timezone.utc),
        version=__version__,
        policy=_policy([head, script], style),
        # Ours, and free of what would end their elements.
        style=Markup(style),  # noqa: S704
        head_script=Markup(head),  # noqa: S704
        script=Markup(script),  # noqa: S704
        data=plain(data_of(report)),
        blocks=blocks(report),
        most=data,
        meaning=meaning,
        summary=summary,
        answer=limit_right(report.histograms[0], report.calls, report.in_force),
        hints=list(
            hints(report.tally, report.runs, report.clusters.rows, report.reasons, report.calls)
        ),
        histograms=[(histogram, histogram_plot(histogram)) for histogram in report.histograms],
        **_time_plots(report),
    )


def _time_plots(report: Report) -> dict[str, object]:
    by_run = course = None
    if len(report.by_run) > 1:
        by_run = stacks.stacked_plot(
            "Decisions of each run",
            report.by_run,
            lambda each: f"run {each.start:g}",
            stacks.run_ticks(report.by_run),
            "run",
        )
    if report.course:
        width = report.course.width
        course = stacks.stacked_plot(
            f"Decisions in the course of run {report.course.run}",
            report.course.slices,
            lambda each: f"from {words.duration(timedelta(seconds=each.start))}",
            stacks.time_ticks(report.course.slices, width),
            "time since the beginning",
        )
    wide = report.course and words.duration(timedelta(seconds=report.course.width))
    return {"run_plot": by_run, "course_plot": course, "course_width": wide}


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _policy(scripts: list[str], style: str) -> str:
    """Return a Content Security Policy that lets in just these, by their digests."""
    digests = " ".join(map(_digest, scripts))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {digests}",
            f"style-src {_digest(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            # No string becomes markup, not even one of ours.
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digest(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
