"""A body that comes again is judged without an analysis, and as it would be with one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simdedup import Deduplicator, Verdict, deduplicator
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.judge import Judgement
from stores import KINDS, Store, log_of
from texts import page, story

NOTE = "\n\nThis report first appeared in the Harbour Gazette."
SHORT = page("The ferry is late again.")
ORIGINAL, COPY = page(story(1)), page(story(1) + NOTE, "Copy", "wire")


@pytest.fixture(autouse=True)
def analysed(monkeypatch) -> list[str]:
    """The contents that were analysed: each is a miss of the memory."""
    seen: list[str] = []

    def spy(source: Source, recipe: Any) -> Any:
        seen.extend((*source.html, *source.text))
        return analyse(source, recipe)

    monkeypatch.setattr(deduplicator, "analyse", spy)
    return seen


class Runs:
    """Opens the one index, for a run of its own each time; or one of another name."""

    def __init__(self, new: Callable[[], Store]) -> None:
        self.new = new
        self.stores: dict[str, Store] = {}

    def __call__(self, name: str = "index", **settings: Any) -> Deduplicator:
        named = {f"SIMDEDUP_{key.upper()}": value for key, value in settings.items()}
        if name not in self.stores:
            self.stores[name] = self.new()
        return self.stores[name].open(named)

    @property
    def store(self) -> Store:
        return self.stores["index"]


@pytest.fixture(params=KINDS)
def run(request, new_store) -> Runs:
    return Runs(lambda: new_store(request.param))


def decisions(dedup: Deduplicator) -> list[tuple[Any, ...]]:
    """The whole log without numbers and times."""
    return (
        log_of(dedup)
        .connection.execute(
            "SELECT kind, url, status, reason, original, original_page, distance, max_distance,"
            " resemblance, containment, method, nearest, terms FROM decisions ORDER BY id"
        )
        .fetchall()
    )


def judged(dedup: Deduplicator, subject: Any, html: str, config: Any = None, **how: Any) -> Any:
    """Judge as a crawl does; the second value tells whether that took an analysis."""
    known = dedup.recall(subject, config, **how)
    if known is not None:
        return known, False
    analysis = analyse(Source((html,)), dedup.recipe(config))
    return dedup.judge(subject, analysis, config, **how), True


def page_of(dedup: Deduplicator, url: str, html: str, *names: str) -> Any:
    return dedup.page(url, names, Source((html,)).digest)


def test_an_unchanged_page_is_a_revisit_and_is_not_logged(run, analysed):
    with run() as dedup:
        assert dedup.check("a", html=ORIGINAL).status == "unique"
        before = decisions(dedup)
        assert dedup.check("a", html=ORIGINAL) == Verdict("revisit")
    with run() as dedup:
        assert dedup.check("a", html=ORIGINAL) == Verdict("revisit")
        assert decisions(dedup) == before
        (row,) = run.store.held()
        assert (row.visits, row.seen, row.previous) == (3, dedup._index.run, None)
    assert analysed == [ORIGINAL]


def test_a_copy_stays_what_it_was(run, analysed):
    with run() as dedup:
        dedup.check("a", html=ORIGINAL)
        first = dedup.check("b", html=COPY)
        (logged,) = decisions(dedup)[1:]
    assert (first.status, first.original, first.reason) == ("duplicate", "a", None)
    assert 0 < first.resemblance < 1
    for number in range(2):
        with run() as dedup:
            # At another address as well.
            assert dedup.check("b" if number else "c", html=COPY) == first
            again = decisions(dedup)[-1]
            assert again[2:] == logged[2:]
            assert len(decisions(dedup)) == 3 + number
    assert analysed == [ORIGINAL, COPY]


@pytest.mark.parametrize(
    ("html", "reason"),
    [(SHORT, "too-short"), ("<html><body><p></p></body></html>", "no-text")],
)
def test_a_skipped_page_stays_skipped(run, analysed, html, reason):
    for _ in range(3):
        with run() as dedup:
            assert dedup.check("a", html=html) == Verdict("skipped", reason)
    with run() as dedup:
        assert dedup.originals() == 0
        logged = decisions(dedup)
    assert len(logged) == 3
    assert set(logged) == {logged[0]}
    assert logged[0][-1] is not None
    assert analysed == [html]


def test_an_equal_body_elsewhere_is_a_whole_copy(run, analysed):
    with run() as dedup:
        dedup.check("a", html=ORIGINAL)
        found = dedup.check("b", html=ORIGINAL)
    assert found == Verdict("duplicate", None, "a", 0, 1.0, 1.0, found.method, "a", max_distance=3)
    assert found.method in ("simhash", "sketch")
    assert analysed == [ORIGINAL]


OTHER_RULES = {
    "min_resemblance": 0.99,
    "min_terms": 100,
    "max_distance": 4,
    "since": "run",
}


@pytest.mark.parametrize("name", OTHER_RULES)
def test_other_rules_remember_nothing_of_these(run, analysed, name):
    with run() as dedup:
        dedup.check("a", html=ORIGINAL)
        first = dedup.check("b", html=COPY)
        dedup.check("short", html=SHORT)
    fresh = run("fresh", **{name: OTHER_RULES[name]})
    with fresh, run(**{name: OTHER_RULES[name]}) as dedup:
        if name != "since":
            fresh.check("a", html=ORIGINAL)
        del analysed[:]
        assert dedup.check("b", html=COPY) == fresh.check("b", html=COPY)
        assert dedup.check("short", html=SHORT) == fresh.check("short", html=SHORT)
        assert analysed == [COPY, COPY, SHORT, SHORT]
    # The first rules still know what they knew, unless the page was kept in between.
    kept = name in ("min_resemblance", "since")
    with run() as dedup:
        again = dedup.check("c", html=COPY)
    assert again == first if not kept else (again.original, again.distance) == ("b", 0)
    assert analysed == [COPY, COPY, SHORT, SHORT]


def test_thresholds_of_one_request(run):
    with run() as dedup:
        judged(dedup, page_of(dedup, "a", ORIGINAL), ORIGINAL, confirm=True)
        copy, short = page_of(dedup, "b", COPY), page_of(dedup, "short", SHORT)
        assert judged(dedup, copy, COPY)[0].verdict.status == "duplicate"
        assert judged(dedup, short, SHORT)[0].verdict.reason == "too-short"
        strict = dedup.config.override({"min_resemblance": 0.99})
        found, analysed_again = judged(dedup, copy, COPY, strict)
        assert (found.verdict.status, analysed_again) == ("unique", True)
        dedup.release([found.claim])
        lenient = dedup.config.override({"min_terms": 1})
        found, analysed_again = judged(dedup, short, SHORT, lenient)
        assert (found.verdict.status, analysed_again) == ("unique", True)
        # It is kept now, but for these rules its text is too short to be anybody's original.
        found, analysed_again = judged(dedup, short, SHORT)
        assert (found.verdict.reason, analysed_again) == ("too-short", False)
        long = dedup.config.override({"min_terms": 1000})
        again = page_of(dedup, "a", ORIGINAL)
        assert judged(dedup, again, ORIGINAL, long)[0].verdict.reason == "too-short"
        assert judged(dedup, copy, COPY)[1] is False


@pytest.mark.parametrize("how", ["released", "died"])
def test_an_original_that_came_to_nothing_is_not_recalled(run, how):
    other = run()
    claim = judged(other, page_of(other, "a", ORIGINAL), ORIGINAL)[0].claim
    with run() as dedup:
        copy, equal = page_of(dedup, "b", COPY), page_of(dedup, "c", ORIGINAL)
        for _ in range(2):
            assert judged(dedup, copy, COPY)[0].verdict.original == "a"
        found, analysed_again = judged(dedup, equal, ORIGINAL)
        assert (found.verdict.original, found.original_open, analysed_again) == ("a", True, False)
        if how == "released":
            other.release([claim])
        else:
            # What is left of a process that was killed: nobody holds its lock.
            log_of(other)._lock.release()
        found, analysed_again = judged(dedup, copy, COPY)
        assert (found.verdict.status, analysed_again) == ("unique", True)
        found, analysed_again = judged(dedup, equal, ORIGINAL)
        assert (found.verdict.original, analysed_again) == ("b", True)
    other.close()


def test_an_original_with_another_text_now_is_none(run, analysed):
    with run() as dedup:
        dedup.check("a", html=ORIGINAL)
        dedup.check("b", html=COPY)
        assert dedup.check("a", html=page(story(2))).changed
        assert dedup.check("c", html=COPY).status == "unique"
        assert dedup.check("d", html=ORIGINAL).original == "c"
    assert analysed == [ORIGINAL, COPY, page(story(2)), COPY, ORIGINAL]


def test_since_run_recalls_of_this_run_alone(run, analysed):
    with run(since="run") as dedup:
        assert dedup.check("a", html=ORIGINAL).status == "unique"
        assert dedup.check("b", html=COPY).original == "a"
    with run(since="run") as dedup:
        assert dedup.check("b", html=COPY).status == "unique"
        assert dedup.check("a", html=ORIGINAL).original == "b"
        assert analysed == [ORIGINAL, COPY, COPY, ORIGINAL]
        # These have been met in this run.
        assert dedup.check("c", html=COPY).original == "b"
        assert dedup.check("d", html=ORIGINAL).original == "b"
        assert len(analysed) == 4


def little_text() -> str:
    """A page of which the extraction is a small part."""
    rows = "".join(
        f"<li>{word} {at} of a long list</li>" for at, word in enumerate(story(3, 1500).split())
    )
    return ORIGINAL.replace("</main>", f"</main><ul>{rows}</ul>")


def mostly_links() -> str:
    sentences = story(2).replace("\n\n", " ").split(". ")
    links = "".join(f'<p><a href="/{at}">{each}</a></p>' for at, each in enumerate(sentences))
    return page("").replace("</article>", f"{links}</article>")


@pytest.mark.parametrize(
    ("html", "reason"), [(little_text(), "little-text"), (mostly_links(), "links")]
)
def test_a_doubt_is_recalled_with_the_copy(run, analysed, html, reason):
    other = html.replace("<main>", "<main><!-- another -->")
    with run() as dedup:
        assert dedup.check("a", html=html).status == "unique"
        assert dedup.check("b", html=other).reason == reason
        assert analysed == [html, other]
    with run() as dedup:
        for url, body in (("b", other), ("c", html), ("d", html)):
            found = dedup.check(url, html=body)
            assert (found.status, found.original, found.reason) == ("duplicate", "a", reason)
    assert analysed == [html, other]


def test_copies_by_their_address_are_not_remembered(run):
    """Another page with that body is judged by it, not by where it once was found."""
    login, later = page(story(1), "Log in"), page(story(2), "Log in now")
    with run() as dedup:
        first = page_of(dedup, "login", login, "r1", "login")
        assert judged(dedup, first, login, confirm=True)[0].verdict.status == "unique"
        for names, html in (("r2", login), ("r3", later)):
            subject = page_of(dedup, "login", html, names, "login")
            assert judged(dedup, subject, html)[0].verdict.method == "same-page"
        assert run.store.bodies() == 0
        elsewhere = page_of(dedup, "elsewhere", later)
        found, analysed_again = judged(dedup, elsewhere, later)
        assert (found.verdict.status, analysed_again) == ("unique", True)


def test_a_page_is_never_the_copy_of_its_former_self(run):
    """Its new body was a copy elsewhere, and it is asked for by an address that leads to it."""
    with run() as dedup:
        judged(dedup, page_of(dedup, "a", ORIGINAL), ORIGINAL, confirm=True)
        assert judged(dedup, page_of(dedup, "b", COPY), COPY)[0].verdict.original == "a"
    with run() as dedup:
        moved = page_of(dedup, "a", COPY, "old", "a")
        found, _ = judged(dedup, moved, COPY, confirm=True)
        assert (found.verdict.status, found.verdict.changed) == ("revisit", True)


def test_a_known_copy_behind_one_login_is_the_same_page_first(run):
    with run() as dedup:
        judged(dedup, page_of(dedup, "a", ORIGINAL), ORIGINAL, confirm=True)
        assert judged(dedup, page_of(dedup, "b", COPY), COPY)[0].verdict.original == "a"
        other = page(story(2))
        judged(dedup, page_of(dedup, "login", other, "r1", "login"), other, confirm=True)
        found: Judgement = judged(dedup, page_of(dedup, "login", COPY, "r2", "login"), COPY)[0]
        assert (found.verdict.original, found.verdict.method) == ("login", "same-page")
