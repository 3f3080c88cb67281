"""The path of a page, and the states of a claim."""

from __future__ import annotations

from draw import arrow, box, picture, text


def path_of_a_page() -> str:
    """From the response to a settled claim, in three lanes."""
    parts = [
        text(20, 18, "Scrapy", "small faint", "start"),
        text(634, 190, "in a worker process", "small faint", "start"),
        text(634, 304, "in the index,", "small faint", "start"),
        text(634, 320, "one transaction", "small faint", "start"),
        box(20, 30, 106, 68, "response", "or item"),
        arrow("M126 64H152"),
        box(154, 30, 128, 68, "guard", "status, type,", "callback, meta", colour="blue"),
        arrow("M218 30V8H484", "faint"),
        text(492, 12, "skipped: passed on as it is", "small faint", "start"),
        arrow("M282 64H308"),
        box(310, 30, 138, 68, "known body?", "its digest is in", "the index", colour="blue"),
        text(466, 56, "yes", "small"),
        arrow("M448 64H486"),
        box(488, 30, 112, 68, "act", "keep, tag, drop", "signal, stats", colour="green"),
        arrow("M600 64H626"),
        box(628, 30, 122, 68, "settle", "confirm or", "release the claim", colour="green"),
        arrow("M379 98V124H74V150"),
        text(388, 116, "no", "small", "start"),
    ]
    steps = (
        ("extract", "HTML to", "main text"),
        ("normalise", "case, width,", "white space"),
        ("segment", "text to", "terms"),
        ("weigh", "stop words", "out"),
        ("sign", "simhash,", "sketch"),
    )
    for at, step in enumerate(steps):
        x = 20 + at * 120
        parts.append(box(x, 152, 104, 68, *step, colour="blue"))
        if at:
            parts.append(arrow(f"M{x - 16} 186H{x - 2}"))
    parts.append(arrow("M552 220V246H74V272"))
    steps = (
        ("propose", "rows near this", "page's rows"),
        ("dispose", "resemblance,", "containment"),
        ("claim", "if it copies", "nothing"),
        ("log", "original, nearest,", "measures"),
    )
    for at, step in enumerate(steps):
        x = 20 + at * 136
        parts.append(box(x, 274, 120, 68, *step, colour="orange"))
        if at:
            parts.append(arrow(f"M{x - 16} 308H{x - 2}"))
    parts += [arrow("M548 308H622V124H544V100"), text(616, 140, "verdict", "small", "end")]
    return picture(760, 352, "The path of a page from the response to a settled claim", parts)


def states_of_a_claim() -> str:
    """What becomes of a page that was judged unique, and of its copies."""
    parts = [
        box(10, 120, 120, 60, "judged", "copies nothing"),
        arrow("M130 150H198", "blue"),
        text(163, 142, "claims", "small"),
        box(200, 116, 150, 68, "open claim", "an original for", "live runs only", colour="blue"),
        arrow("M350 136C440 116 470 82 558 78", "green"),
        box(560, 44, 190, 68, "confirmed", "an original", "for good", colour="green"),
        text(424, 76, "its items were stored,", "small green"),
        text(424, 92, "or all went well", "small green"),
        arrow("M350 164C440 184 470 218 558 222", "orange"),
        box(560, 188, 190, 68, "released", "as if it had", "never been there", colour="orange"),
        text(410, 226, "an error, a dropped item,", "small orange"),
        text(410, 242, "a retry, a dead process", "small orange"),
        box(200, 286, 150, 68, "duplicate", "copies that came", "meanwhile"),
        arrow("M275 184V284", "faint", dashed=True),
        text(267, 252, "refused because of it", "small faint", "end"),
        arrow("M350 320H558", "orange"),
        text(454, 312, "if it is released", "small orange"),
        box(
            560,
            286,
            190,
            68,
            "orphaned",
            "one warning; listed to",
            "be crawled again",
            colour="orange",
        ),
        arrow("M655 44V26H275V114", "green", dashed=True),
        text(
            465, 18, "seen again with another text: the old row stays till that is settled", "small"
        ),
    ]
    return picture(760, 366, "The states of a claim: open, confirmed or released", parts)
