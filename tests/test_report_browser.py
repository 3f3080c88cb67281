"""The report in a real Chromium: an example crawl, a long log, hostile texts."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from browsing import Opened, chromium
from crawling import Site
from logged import crowd, decision, fill
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.logs.export import reading
from scrapy_simdedup.report.data import MOST_HOSTS, Report, collect
from scrapy_simdedup.report.page import render
from texts import reworded, story

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[1] / "example_project"
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}

Open = Callable[..., Opened]


def written(index: Path, run: int | None = None) -> tuple[Path, Report]:
    with reading(index) as connection:
        report = collect(connection, index.name, run)
    path = index.with_suffix(".html")
    path.write_text(render(report), encoding="utf-8", newline="")
    return path, report


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """A function that opens a report, which must neither complain nor ask for anything."""
    pages: list[Opened] = []

    def call(path: Path, **options: Any) -> Opened:
        pages.append(Opened(browser, path, **options))
        return pages[-1]

    yield call
    for page in pages:
        trouble = page.trouble
        page.context.close()
        assert trouble == []


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a crawl of the bundled news sites, with their texts."""
    folder = tmp_path_factory.mktemp("example") / "project"
    ignored = shutil.ignore_patterns(".scrapy", "*.jsonl", "__pycache__")
    shutil.copytree(EXAMPLE, folder, ignore=ignored)
    sys.path.insert(0, str(folder))
    try:
        from newsdemo.site.server import serve
    finally:
        sys.path.remove(str(folder))
    command = [sys.executable, "-m", "scrapy", "crawl", "news", "-s", "SIMDEDUP_STORE_TEXT=1"]
    with serve() as port:
        proxy = {"http_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""}
        ran = subprocess.run(
            command, cwd=folder, env={**os.environ, **proxy}, capture_output=True, text=True
        )
    assert ran.returncode == 0, ran.stderr
    command[3:] = ["simdedup", "report", "--index", ".scrapy/simdedup/news.db"]
    command += ["--output", "report.html"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder / "report.html"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report, Path]:
    """The report on a hundred thousand decisions in two runs."""
    index = tmp_path_factory.mktemp("large") / "index.db"
    fill(index, crowd(70_000))
    fill(index, crowd(30_000), spider="wire", min_resemblance=0.4)
    return *written(index), index


def count(index: Path, where: str) -> int:
    with closing(sqlite3.connect(index)) as connection:
        return int(
            connection.execute(f"SELECT count(*) FROM decisions WHERE {where}").fetchone()[0]
        )


def test_the_example(example: Path, opened: Open) -> None:
    report = opened(example)
    page = report.page
    assert page.locator("h1").inner_text() == "25 of 52 pages were copies"
    assert "Copies stand apart" not in page.locator(".lead").inner_text()
    assert page.locator(".plot svg[role=img]").count() >= 4
    hosts = {row[0]: row for row in report.rows("hosts")}
    assert len(hosts) == 4
    assert hosts["regional-wire.example"][1:5] == ["8", "7", "88%", "7"]
    # Each cluster's copies, and how the two texts differ.
    row = page.locator("#clusters-table tr", has_text="swing-bridge-reopens")
    opener = row.get_by_role("button", name="Show its copies")
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    copies = page.locator("#clusters-table .detail table")
    copies.wait_for()
    reprint = copies.locator("tr", has_text="mended-bridge-swings")
    reprint.get_by_role("button", name="Compare texts").click()
    compared = page.get_by_role("dialog")
    compared.wait_for()
    assert "regional-wire.example" in compared.inner_text()
    assert compared.locator(".side del").all_inner_texts() == [
        "Swing bridge at Merrow Haven turns again after eleven months"
    ]
    assert compared.locator(".side ins").all_inner_texts() == [
        "This story first appeared in The Harbour Daily."
    ]
    compared.get_by_role("button", name="6 paragraphs are the same: show").click()
    same = compared.locator(".pair.same")
    assert same.count() == 6
    assert same.first.locator(".side").all_inner_texts()[0] == report.focused().split("\n")[0]
    page.keyboard.press("Escape")
    compared.wait_for(state="hidden")
    assert report.focused() == "Compare texts"
    opener.click()
    copies.wait_for(state="hidden")


def test_chinese_texts_are_compared(example: Path, opened: Open) -> None:
    page = opened(example).page
    page.locator("#clusters-table").get_by_label("Search").fill("liuting-jiushu")
    row = page.locator("#clusters-table > table > tbody > tr")
    page.locator("#clusters-table .status", has_text="1 to 1 of 1").wait_for()
    row.first.get_by_role("button", name="Show its copies").click()
    page.get_by_role("button", name="Compare texts").first.click()
    compared = page.get_by_role("dialog")
    assert compared.locator(".side ins").all_inner_texts() == ["本文首发于江湾新闻，经授权转载。"]
    assert compared.locator(".side[lang=zh]", has_text="本文首发").count() == 1


def test_a_long_log_is_small_and_sorted_late(large: Any, opened: Open) -> None:
    path, whole, _ = large
    # The decisions themselves, deflated, and what is counted.
    assert path.stat().st_size < 60 * whole.listing.count
    report = opened(path)
    assert report.page.locator("#listing-table table").count() == 0
    assert report.rows("hosts")[0][0] == whole.hosts.rows[0].name
    assert f"the {MOST_HOSTS} hosts with most copies, of {whole.hosts.total}" in (
        report.page.locator("#hosts").inner_text()
    )


def test_tables_are_sorted(large: Any, opened: Open) -> None:
    path, whole, _ = large
    report = opened(path)
    table = report.page.locator("#hosts-table")
    heads = table.locator("> table > thead th")

    def order() -> list[str | None]:
        return [head.get_attribute("aria-sort") for head in heads.all()]

    assert order()[2] == "descending"
    table.get_by_role("button", name="judged").click()
    assert order()[1:3] == ["descending", "none"]
    most = sorted((host.tally.judged for host in whole.hosts.rows), reverse=True)
    assert [row[1] for row in report.rows("hosts")] == [f"{each:,}" for each in most[:10]]
    table.get_by_role("button", name="judged").click()
    assert order()[1] == "ascending"
    assert [row[1] for row in report.rows("hosts")] == [f"{each:,}" for each in most[:-11:-1]]
    table.get_by_role("button", name="host", exact=True).click()
    assert report.rows("hosts")[0][0] == min(host.name for host in whole.hosts.rows)
    table.get_by_role("button", name="Next").click()
    assert report.status("hosts") == f"11 to 20 of {MOST_HOSTS}"
    for _ in range(2):
        # On the first page it keeps the focus, and does nothing.
        table.get_by_role("button", name="Previous").press("Enter")
        assert report.status("hosts") == f"1 to 10 of {MOST_HOSTS}"
        assert report.focused() == "Previous"


def test_all_decisions_are_found_and_filtered(large: Any, opened: Open) -> None:
    path, _, index = large
    report = opened(path)
    report.list_all()
    assert report.status("listing") == "1 to 25 of 100,000"
    listing = report.page.locator("#listing-table")
    listing.get_by_label("Verdict").select_option("skipped: too-short")
    skipped = count(index, "status = 'skipped' AND reason = 'too-short'")
    assert report.status("listing") == f"1 to 25 of {skipped:,}, out of 100,000"
    assert {row[1] for row in report.rows("listing")} == {"skipped: too-short"}
    listing.get_by_label("Run").select_option("2")
    some = count(index, "status = 'skipped' AND reason = 'too-short' AND run = 2")
    assert report.status("listing") == f"1 to 25 of {some:,}, out of 100,000"
    listing.get_by_label("Search").fill("HOST-7.example/a/")
    less = count(
        index,
        "status = 'skipped' AND reason = 'too-short' AND run = 2"
        " AND url LIKE '%host-7.example/a/%'",
    )
    assert 0 < less < some
    report.settle("listing", f"of {less}, out of")
    listing.get_by_label("Search").fill("nowhere.example")
    listing.get_by_text("Nothing fits the search.").wait_for()
    listing.get_by_label("Search").fill("")
    listing.get_by_label("Run").select_option("all")
    # From the table of verdicts straight to the decisions.
    report.page.locator(".verdicts").get_by_role("link", name="duplicate").click()
    copies = count(index, "status = 'duplicate'")
    report.settle("listing", f"1 to 25 of {copies:,}, out of")
    listing.get_by_role("button", name="resemblance").click()
    listing.get_by_role("button", name="resemblance").click()
    shown = [float(row[2]) for row in report.rows("listing")]
    assert shown == sorted(shown)
    assert shown[0] == 0.3


def test_close_calls_are_filtered(large: Any, opened: Open) -> None:
    path, whole, _ = large
    report = opened(path)
    assert report.rows("calls")[0][1] == "kept"
    report.page.get_by_role("link", name="just inside the limits").click()
    assert {row[1] for row in report.rows("calls")} == {"copy"}
    inside = sum(call.copy for call in whole.calls.calls)
    assert report.status("calls") == f"1 to 10 of {inside}, out of {len(whole.calls.calls)}"


# Hostile texts

SCRIPT = "<script>window.hit = 1</script>"
HANDLER = '<img src=x onerror="window.hit = 1"><svg onload="window.hit = 1">'
BREAKOUT = f"</script><!-- {SCRIPT} --></style></textarea></title>{HANDLER}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on pages whose addresses and texts would like to run."""
    index = tmp_path_factory.mktemp("hostile") / "<b onclick=x>i&lt;.db"
    text = f"{BREAKOUT}\n\n{story(1)}\n\nright \u202e to left \0 and on {HANDLER}"
    addresses = [
        "javascript:window.hit=1",
        "data:text/html,<script>opener.hit=1</script>",
        "JAVASCRIPT://a.example/%0awindow.hit=1",
        f"https://a.example/{BREAKOUT}",
        "https://a.example/\u202egpj.exe?q=\u2066\u200b",
        "https://a.example/" + "long" * 900,
        "https://a.example/" + "a-b/" * 300,
        " http://a.example/ spaces ",
        "//a.example/no-scheme",
        "http://[::1",
        "file:///etc/passwd",
        "<script>alert(1)</script>",
        "",
    ]
    settings = {"SIMDEDUP_STORE_TEXT": True}
    with Deduplicator(index, settings, spider=BREAKOUT) as dedup:
        dedup.check(f"https://a.example/original{BREAKOUT}", text=text)
        for at, url in enumerate(addresses):
            changed = f"{reworded(text, 0.05, at)} {HANDLER} more"
            assert dedup.check(url, text=changed, key=f"key {at}").status == "duplicate"
    rows = [decision(url=url, status="error", reason=BREAKOUT) for url in addresses]
    fill(index, rows, spider="plain")
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute(
            "INSERT INTO decisions (run, time, kind, url, status) VALUES"
            " (2, '', 'page', CAST(x'68747470733a2f2feda08000' AS TEXT), 'unique')"
        )
    return written(index)[0]


def test_nothing_of_a_page_runs(hostile: Path, opened: Open) -> None:
    report = opened(hostile)
    page = report.page
    report.list_all()
    page.locator("#clusters-table .opener").first.click()
    page.locator("#clusters-table .detail table").wait_for()
    page.get_by_role("button", name="Compare texts").first.click()
    compared = page.get_by_role("dialog")
    shown = compared.inner_text()
    # It is there, as text.
    assert SCRIPT in shown
    assert BREAKOUT in page.locator("#spiders-table").inner_text()
    assert 'onerror="window.hit = 1"' in shown
    assert "<U+202E>" in shown
    assert "\u202e" not in shown
    page.keyboard.press("Escape")
    listing = page.locator("#listing-table")
    assert report.overflow() <= 0
    links = page.locator("a[href]").evaluate_all("links => links.map(link => link.href)")
    outside = [link for link in links if not link.startswith(page.url.split("#")[0] + "#")]
    assert any(link.startswith("https://a.example/") for link in outside)
    assert all(link.startswith(("http://a.example", "https://a.example")) for link in outside)
    assert not page.locator("a[target]:not([rel='noreferrer noopener'])").count()
    assert page.locator("script").count() == len(page.locator("head script, body > script").all())
    assert page.evaluate("window.hit") is None
    assert page.locator("img, iframe, [onerror], [onload], [onclick], [style]").count() == 0
    # Whatever hides or turns is to be seen.
    assert "<U+202E>gpj.exe?q=<U+2066><U+200B>" in listing.inner_text()


def test_the_policy_holds(hostile: Path, browser: Any, site: Site) -> None:
    report = Opened(browser, hostile)
    tried = report.page.evaluate(INTRUDE, site.url("/x.png"))
    assert tried == {"markup": "TypeError", "fetch": "TypeError", "hit": None, "styled": ""}
    # Nothing has left the browser.
    assert site.asked == []
    blocked = " ".join(report.trouble)
    for directive in ("script-src", "style-src", "default-src", "require-trusted-types-for"):
        assert directive in blocked or "TrustedHTML" in blocked
    report.context.close()


# What someone would try who could get a foot in: each is refused.
INTRUDE = """async (url) => {
    const tried = {};
    try { document.body.innerHTML = '<b>x</b>'; } catch (error) { tried.markup = error.name; }
    const script = document.createElement('script');
    try { script.textContent = 'window.hit = 1'; document.body.append(script); } catch { }
    const button = document.createElement('button');
    try { button.setAttribute('onclick', 'window.hit = 1'); button.click(); } catch { }
    try { await fetch(url); } catch (error) { tried.fetch = error.name; }
    const image = document.createElement('img');
    await new Promise((done) => { image.onerror = done; image.src = url; });
    const box = document.createElement('div');
    box.setAttribute('style', 'color: red');
    tried.styled = box.style.color;
    tried.hit = window.hit ?? null;
    return tried;
}"""


# Reading it


@pytest.mark.parametrize("which", ["example", "large", "hostile"])
def test_it_fits_a_phone(which: str, opened: Open, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(which)
    report = opened(made[0] if isinstance(made, tuple) else made, **PHONE)
    report.list_all()
    report.page.locator("#clusters-table .opener").first.tap()
    report.page.locator("#clusters-table .detail table").wait_for()
    assert report.overflow() <= 0
    compare = report.page.get_by_role("button", name="Compare texts")
    if compare.count():
        compare.first.tap()
        assert report.overflow() <= 0
        body = report.page.locator("#compare-body")
        assert body.evaluate("body => body.scrollWidth - body.clientWidth") <= 0


def test_light_and_dark(example: Path, opened: Open) -> None:
    light, dark = (opened(example, color_scheme=scheme) for scheme in ("light", "dark"))
    assert light.color("body") == "rgb(252, 252, 250)"
    assert dark.color("body") == "rgb(21, 23, 26)"
    assert light.color("rect.copies", "fill") != dark.color("rect.copies", "fill")
    # The switch overrules the system, and is remembered.
    dark.page.get_by_role("button", name="Light").click()
    assert dark.color("body") == light.color("body")
    dark.page.reload()
    assert dark.color("body") == light.color("body")
    assert dark.page.get_by_role("button", name="Light").get_attribute("aria-pressed") == "true"
    dark.page.get_by_role("button", name="Auto").click()
    assert dark.color("body") != light.color("body")


def test_by_keyboard(example: Path, opened: Open) -> None:
    report = opened(example)
    page = report.page
    page.keyboard.press("Tab")
    assert report.focused() == "Skip to the report"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = "document.activeElement"
        assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
        if page.evaluate(f"{focused}.closest('#clusters-table thead') !== null"):
            break
    assert report.focused() == "original"
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.closest('th').getAttribute('aria-sort')") == "ascending"
    while "opener" not in page.evaluate(f"{focused}.className"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator("#clusters-table .detail table").wait_for()
    while report.focused() != "Compare texts":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    # The focus stays within, and comes back.
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused} === document.body || !!{focused}.closest('dialog')")
    page.keyboard.press("Escape")
    assert report.focused() == "Compare texts"


@pytest.mark.parametrize(
    "options",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"color_scheme": "dark", **PHONE}],
)
def test_accessibility(options: dict[str, Any], example: Path, browser: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    # The policy keeps axe out as well.
    report = Opened(browser, example, bypass_csp=True, **options)
    report.list_all()
    report.page.locator("#clusters-table .opener").first.click()
    report.page.locator("#clusters-table .detail table").wait_for()
    found = Axe().run(report.page)
    assert found.violations_count == 0, found.generate_report()
    report.page.get_by_role("button", name="Compare texts").first.click()
    found = Axe().run(report.page)
    assert found.violations_count == 0, found.generate_report()
    report.context.close()


def nothing(index: Path) -> None:
    Deduplicator(index).close()


def only_unique(index: Path) -> None:
    fill(index, [decision(url=f"https://a.example/{at}") for at in range(30)])


def only_skipped(index: Path) -> None:
    fill(index, [decision(url=f"{at}", status="skipped", reason="status") for at in range(30)])


def only_unchanged(index: Path) -> None:
    for _ in range(2):
        with Deduplicator(index) as dedup:
            dedup.check("https://a.example/", text=story(1))


@pytest.mark.parametrize(
    ("make", "run", "title", "sections"),
    [
        (nothing, None, "Nothing has been judged yet", ["Overview", "Runs"]),
        (only_unique, None, "None of 30 pages was a copy", 8),
        (only_skipped, None, "No page was judged", 9),
        (only_unchanged, 2, "The only page was no copy", ["Overview", "Runs"]),
    ],
)
def test_little_to_tell(
    make: Any, run: int | None, title: str, sections: Any, tmp_path: Path, opened: Open
) -> None:
    index = tmp_path / "i.db"
    make(index)
    report = opened(written(index, run)[0])
    assert report.page.locator("h1").inner_text() == title
    links = report.page.locator("nav a").all_inner_texts()
    assert links == sections or len(links) == sections
    assert report.page.locator("main section").count() == len(links)
    if "All decisions" in links:
        report.list_all()


def test_without_script_the_numbers_are_there(example: Path, opened: Open) -> None:
    report = opened(example, java_script_enabled=False)
    assert report.page.locator("h1").inner_text() == "25 of 52 pages were copies"
    assert report.page.locator(".plot rect").count() > 4
    assert "scrapy simdedup export" in report.page.locator("noscript").inner_text()


def test_a_browser_that_cannot_unpack_says_so(example: Path, browser: Any) -> None:
    report = Opened(browser, example)
    report.page.add_init_script("delete window.DecompressionStream")
    report.page.reload()
    report.page.locator("nav a[href='#decisions']").click()
    report.page.get_by_role("alert").wait_for()
    report.context.close()
