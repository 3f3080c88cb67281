"""The ledger: outcomes in any order, each claim settled once (hypothesis)."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from scrapy_simdedup.crawl.ledger import Ledger, Outputs
from scrapy_simdedup.index.records import Claim

OUTCOMES = ["scraped", "dropped-by-us", "dropped", "error"]


def expected(outcomes: list[str], raised: bool, asked_again: bool) -> bool:
    """The table of what becomes of a page, in so many words."""
    if raised or "error" in outcomes:
        return False
    if "scraped" in outcomes:
        return True
    if "dropped" in outcomes:
        return False
    if outcomes:
        return True
    return not asked_again


@given(
    st.lists(st.sampled_from(OUTCOMES), max_size=6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_pages_settle_once_and_as_the_table_says(outcomes, raised, asked_again, replaced, data):
    settled: list[tuple[int, bool]] = []
    ledger = Ledger(lambda claim, keep: settled.append((claim.page, keep)))
    request = Request("http://a.example")
    response = SimpleNamespace(request=request)
    outputs = Outputs([b"a"], claim=Claim(1, 1, new=True))
    ledger.open(request, outputs)
    outputs.asked_again = asked_again
    items = [{"number": number} for number in range(len(outcomes))]
    for item in items:
        ledger.yielded(item, outputs)
    events: list[tuple[str, int]] = [("end", -1)]
    events += [("outcome", number) for number in range(len(outcomes))]
    for kind, number in data.draw(st.permutations(events)):
        if kind == "end":
            if raised:
                ledger.raised(response)
            else:
                ledger.finished(outputs)
            continue
        outcome = outcomes[number]
        other = replaced and outcome == "scraped"
        item = {"anew": number} if other else items[number]
        ledger.outcome(item, response, outcome)
    assert settled == [(1, expected(outcomes, raised, asked_again))]
    assert not ledger._yielded


@given(st.lists(st.sampled_from(["scraped", "dropped", "error"]), max_size=6), st.data())
def test_items_settle_exactly_even_when_replaced(outcomes, data):
    settled: dict[int, bool] = {}

    def settle(claim: Claim, keep: bool) -> None:
        assert claim.page not in settled
        settled[claim.page] = keep

    ledger = Ledger(settle)
    request = Request("http://a.example")
    response = SimpleNamespace(request=request)
    outputs = Outputs([b"a"])
    ledger.open(request, outputs)
    items = [{"number": number} for number in range(len(outcomes))]
    for number, item in enumerate(items):
        ledger.yielded(item, outputs)
        ledger.passed(item, Claim(number, 1, new=True))
    ledger.finished(outputs)
    for number in data.draw(st.permutations(range(len(outcomes)))):
        outcome = outcomes[number]
        anew = outcome == "scraped" and data.draw(st.booleans())
        ledger.outcome({"anew": 1} if anew else items[number], response, outcome)
    assert settled == {number: outcome == "scraped" for number, outcome in enumerate(outcomes)}


def test_strays_are_bounded():
    settled: list[bool] = []
    ledger = Ledger(lambda claim, keep: settled.append(keep))
    for number in range(1500):
        ledger.passed({"number": number}, Claim(number, 1, new=True))
    assert settled == [False] * 500
    assert len(ledger._passing) == 1000
