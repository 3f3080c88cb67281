"""What verdicts and reasons mean, in a line each."""

from __future__ import annotations

#: By status: the label, and what it means. In the order of the page; ``unchanged`` is not logged.
VERDICTS = {
    "unique": ("unique", "copies of nothing; kept"),
    "revisit": ("revisit, changed", "known pages with a new text that copies nothing; kept"),
    "unchanged": ("revisit, unchanged", "known pages seen again; counted, not logged"),
    "duplicate": ("duplicate", "near-duplicates of kept pages"),
    "orphaned": ("orphaned", "copies whose original was not stored after all"),
    "skipped": ("skipped", "not judged; passed on"),
    "error": ("error", "could not be judged; passed on"),
}

#: Why something that is logged was skipped, in a crawl or in a scan.
SKIPPED = {
    "closed": "the crawl was over already",
    "no-field": "none of the fields to judge holds text",
    "no-text": "the HTML holds no main text",
    "no-url": "a line without a URL",
    "not-html": "of another type",
    "not-http": "a record of something else, such as DNS",
    "not-json": "a line that is no JSON object",
    "not-text": "the content could not be decoded; in a crawl the middleware's order is too high",
    "revisit-record": "a record without a body, which refers to another one",
    "status": "the status was not 200",
    "timeout": "it was worked on for SIMDEDUP_TIMEOUT seconds",
    "too-large": "more than 64 MiB",
    "too-short": "fewer distinct terms than SIMDEDUP_MIN_TERMS",
    "torn": "a line or record that is cut off or damaged",
    "truncated": "a response that the crawler did not store whole",
    "unreadable": "a file that could not be read",
}

#: Why a duplicate is doubtful. It is tagged, and never dropped.
DOUBTFUL = {
    "links": "the text consists of links, as on a front page",
    "little-text": "the text is next to nothing of what can be read on the page",
    "other-text": "one template, and most of the prose is elsewhere and differs",
}


def meaning(status: str, reason: str) -> str:
    """Return what a reason means; empty where it is no reason of ours."""
    if status == "error":
        return "an exception of this class; the first one is in the crawl's log"
    return (SKIPPED if status == "skipped" else DOUBTFUL).get(reason, "")
