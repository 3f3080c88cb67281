"""Web archives: which pages are read from them, how they are decoded, and what damage costs."""

from __future__ import annotations

import gzip
import re
import sqlite3
import sys
import tracemalloc
import zlib
from collections import Counter
from pathlib import Path

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives import INFO, chunked, compressed, http, record, request, response
from crawling import Answer, linked
from scrapy_simdedup.batch import response as decoding
from scrapy_simdedup.batch import warc
from scrapy_simdedup.batch.read import read
from scrapy_simdedup.batch.record import Unreadable
from scrapy_simdedup.batch.response import html_of
from test_command import lines, simdedup
from texts import chinese, page, story

HTML = page(story(1)).encode()


def read_all(data: bytes, folder: Path, name: str = "crawl.warc.gz"):
    """Return (url, reason) of each page of an archive, and what was left out."""
    path = folder / name
    path.write_bytes(data)
    left_out: Counter[str] = Counter()
    records = list(read(path, left_out))
    return [(each.url, each.reason) for each in records], left_out


def deflated(body: bytes) -> bytes:
    """Return a body as servers send it that take deflate for raw deflate."""
    made = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return made.compress(body) + made.flush()


GBK = page(chinese(1)).replace("utf-8", "gbk").encode("gbk")
DECODED = {
    "plain": http(HTML),
    "no type": http(HTML, content_type=""),
    "xhtml": http(HTML, content_type="application/xhtml+xml"),
    "gzip": http(gzip.compress(HTML), "Content-Encoding: gzip"),
    "x-gzip": http(gzip.compress(HTML), "content-encoding: X-GZIP"),
    "deflate": http(zlib.compress(HTML), "Content-Encoding: deflate"),
    "raw deflate": http(deflated(HTML), "Content-Encoding: deflate"),
    "br": http(brotli.compress(HTML), "Content-Encoding: br"),
    "two": http(brotli.compress(gzip.compress(HTML)), "Content-Encoding: gzip, br"),
    "identity": http(HTML, "Content-Encoding: identity"),
    "chunked": http(chunked(HTML), "Transfer-Encoding: chunked"),
    "chunked gzip": http(
        chunked(gzip.compress(HTML), 100), "Transfer-Encoding: Chunked", "Content-Encoding: gzip"
    ),
    "decoded already": http(
        HTML, "Content-Encoding: br", "Transfer-Encoding: chunked", "Content-Length: 7"
    ),
    "cut gzip": http(gzip.compress(HTML)[:-6], "Content-Encoding: gzip"),
    "HTTP/2": http(HTML, status="HTTP/2 200"),
    "no phrase": http(HTML, status="HTTP/1.0 200"),
    "bare line feeds": http(b"").replace(b"\r\n", b"\n") + HTML,
    "folded and odd headers": http(HTML, "X: 1", " folded", "no colon", "X: \xe9", "x: 2"),
}


@pytest.mark.parametrize("name", DECODED)
def test_bodies_are_decoded_by_their_headers(name):
    assert html_of("https://a.example/", DECODED[name]) == (HTML.decode(), None)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (http(HTML, status="HTTP/1.1 404 Not Found"), "status"),
        (http(HTML, status="HTTP/1.1 301 Moved", content_type=""), "status"),
        (http(b"\x89PNG\r\n\x1a\n" + bytes(9), content_type="image/png"), "not-html"),
        (http(b"{}", content_type="application/json"), "not-html"),
        (http(b"%PDF-1.7" + bytes(99), content_type=""), "not-html"),
        (http(b"<?xml version='1.0'?><rss/>", content_type="application/rss+xml"), "not-html"),
        (http(brotli.compress(HTML), "Content-Encoding: gzip"), "not-text"),
        (http(gzip.compress(HTML), "Content-Encoding: aes128gcm"), "not-text"),
        (http(chunked(HTML)[:-20], "Transfer-Encoding: chunked"), "truncated"),
        (b"", "not-http"),
        (HTML, "not-http"),
        (b"HTTP/1.1 OK\r\n\r\n", "not-http"),
    ],
)
def test_what_is_no_page_has_a_reason(block, reason):
    assert html_of("https://a.example/", block) == (None, reason)


def test_a_response_without_an_end_of_headers_is_empty():
    assert html_of("https://a.example/", b"HTTP/1.1 200 OK\r\nContent-Type: text/html") == (
        "",
        None,
    )


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_a_bomb_is_not_blown_up(encoding, monkeypatch):
    monkeypatch.setattr(decoding, "MOST_BYTES", 1 << 20)
    bomb = b"<" + bytes(64 << 20)
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[encoding](
        bomb
    )
    del bomb
    tracemalloc.start()
    try:
        found = html_of("https://a.example/", http(packed, f"Content-Encoding: {encoding}"))
        assert found == (None, "too-large")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


RECORDS = [
    INFO,
    request("https://a.example/1"),
    response("https://a.example/1", HTML),
    record("metadata", "https://a.example/1", b"fetchTimeMs: 5\r\n", content_type="text/plain"),
    response("https://a.example/logo.png", b"\x89PNG", content_type="image/png"),
    response("https://a.example/gone", b"gone", status="HTTP/1.1 410 Gone"),
    record("revisit", "https://a.example/1", http(b"")),
    record("response", "dns:a.example", b"a.example. 60 IN A 10.0.0.1", content_type="text/dns"),
    record("response", "https://a.example/cut", http(HTML), headers=["WARC-Truncated: length"]),
    record("resource", "ftp://a.example/a.html", HTML, content_type="text/html"),
    # As wget 1.14 wrote it.
    response("<https://a.example/2>", page(story(2)).encode()),
    record("response", "", http(HTML)),
]
FOUND = [
    ("https://a.example/1", None),
    ("https://a.example/logo.png", "not-html"),
    ("https://a.example/gone", "status"),
    ("https://a.example/1", "revisit-record"),
    ("dns:a.example", "not-http"),
    ("https://a.example/cut", "truncated"),
    ("https://a.example/2", None),
]
LEFT_OUT = {"warcinfo": 1, "request": 1, "metadata": 1, "resource": 1}
FORMS = {
    "crawl.warc": b"".join(RECORDS),
    "crawl.warc.gz": compressed(RECORDS),
    "one-member.warc.gz": gzip.compress(b"".join(RECORDS)),
    "misnamed.warc": compressed(RECORDS),
    "misnamed.warc.gz": b"".join(RECORDS),
    "padded.warc.gz": compressed(RECORDS) + bytes(100),
}


@pytest.mark.parametrize("name", FORMS)
def test_pages_of_an_archive_in_order(name, tmp_path):
    found, left_out = read_all(FORMS[name], tmp_path, name)
    assert found[:-1] == FOUND
    assert left_out == LEFT_OUT
    # A response without an address goes by its place.
    assert re.fullmatch(rf"{re.escape(name)}:\d+", found[-1][0])
    assert found[-1][1] is None


def test_how_far_an_archive_is_read_is_told(tmp_path):
    path = tmp_path / "crawl.warc"
    path.write_bytes(b"".join(response(f"https://a.example/{at}", HTML) for at in range(90)))
    sizes = [each.size for each in read(path)]
    assert sum(sizes) == path.stat().st_size
    assert sum(size > 0 for size in sizes) > 2


def test_a_record_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(warc, "MOST_BYTES", 1 << 20)
    large = compressed([response("https://a.example/large", bytes(200 << 20))])
    data = large + compressed([response("https://a.example/1", HTML)])
    tracemalloc.start()
    try:
        found, _ = read_all(data, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert found == [("https://a.example/large", "too-large"), ("https://a.example/1", None)]


SOUND = [
    INFO,
    *(
        each
        for at in range(5)
        for each in (
            request(f"https://a.example/{at}"),
            response(f"https://a.example/{at}", page(story(at)).encode()),
        )
    ),
]
PLAIN, MEMBERS = b"".join(SOUND), [gzip.compress(each, mtime=0) for each in SOUND]


def ends(parts):
    """Return where each part of an archive ends."""
    return [sum(map(len, parts[: at + 1])) for at in range(len(parts))]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, sum(map(len, MEMBERS)) - 1))
def test_a_cut_archive_gives_what_it_holds(tmp_path_factory, cut):
    """Whatever is whole is read, and a member that is not is told, once."""
    folder = tmp_path_factory.getbasetemp()
    found, left_out = read_all(b"".join(MEMBERS)[:cut], folder)
    whole = sum(end <= cut for end in ends(MEMBERS))
    urls = [f"https://a.example/{at}" for at in range((whole - 1) // 2)]
    assert [url for url, reason in found if reason is None][: len(urls)] == urls
    torn = [url for url, reason in found if reason == "torn"]
    assert len(torn) == (cut not in {0, *ends(MEMBERS)})
    assert len(found) + left_out.total() - len(torn) in (whole, whole + 1)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(PLAIN) - 1))
def test_a_cut_plain_archive_gives_what_it_holds(tmp_path_factory, cut):
    found, _ = read_all(PLAIN[:cut], tmp_path_factory.getbasetemp(), "crawl.warc")
    whole = sum(end <= cut for end in ends(SOUND))
    urls = [f"https://a.example/{at}" for at in range((whole - 1) // 2)]
    assert [url for url, reason in found if reason is None][: len(urls)] == urls
    # Of its own line ends, or of the first letters of the next one, nothing is lost.
    inside = all(not -4 <= cut - end <= 8 for end in (0, *ends(SOUND)))
    assert len([url for url, reason in found if reason == "torn"]) == 1 or not inside


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(range(len(MEMBERS))), st.floats(0, 0.999), st.binary(min_size=1, max_size=40)
)
def test_damage_costs_one_record(tmp_path_factory, which, share, noise):
    """What stands before a damaged member is read, and what stands behind it."""
    start = sum(map(len, MEMBERS[:which]))
    at = start + int(share * len(MEMBERS[which]))
    noise = noise[: start + len(MEMBERS[which]) - at]
    data = b"".join(MEMBERS)
    found, _ = read_all(data[:at] + noise + data[at + len(noise) :], tmp_path_factory.getbasetemp())
    pages = [url for url, reason in found if reason is None]
    expected = [f"https://a.example/{at}" for at in range(5)]
    hit = which // 2 - 1 if which and which % 2 == 0 else None
    assert [url for url in expected if url in pages or expected.index(url) == hit] == expected
    assert len([url for url, reason in found if reason == "torn"]) <= 1
    if hit is not None and expected[hit] not in pages:
        assert [reason for _, reason in found if reason] == ["torn"] or noise


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["a.warc", "a.warc.gz"]), st.booleans())
def test_any_bytes_are_read(tmp_path_factory, data, name, begun):
    data = (b"WARC/1.0\r\n" if name == "a.warc" else b"\x1f\x8b\x08") * begun + data
    found, _ = read_all(data, tmp_path_factory.getbasetemp(), name)
    assert {reason for _, reason in found} <= {"torn", "not-http"}


@pytest.mark.parametrize("length", ["99999999999999999999", "-5", "many", "5000000"])
def test_a_wrong_length_is_torn(length, tmp_path):
    wrong = record("response", "https://a.example/1", http(HTML), length=length)
    after = response("https://a.example/2", HTML)
    found, _ = read_all(compressed([wrong, after]), tmp_path)
    assert found[-1] == ("https://a.example/2", None)
    assert [reason for _, reason in found[:-1]] == ["torn"]
    found, _ = read_all(INFO + wrong + after, tmp_path, "crawl.warc")
    assert "torn" in [reason for _, reason in found]


def test_without_the_extra_it_says_so(tmp_path, monkeypatch):
    path = tmp_path / "crawl.warc"
    path.write_bytes(PLAIN)
    monkeypatch.setitem(sys.modules, "fastwarc", None)
    with pytest.raises(Unreadable, match=r"pip install 'scrapy-simdedup\[warc\]'"):
        list(read(path))


def test_a_scan_of_archives(tmp_path):
    (tmp_path / "one.warc.gz").write_bytes(compressed(RECORDS)[:-9])
    (tmp_path / "two.warc").write_bytes(
        INFO + response("https://b.example/1", page(story(1), template="wire").encode())
    )
    ran = simdedup(tmp_path, "scan", "one.warc.gz", "two.warc", "--index", "i.db")
    assert ran.returncode == 0
    found = [(each["url"], each["status"], each["original"]) for each in lines(ran.stdout)]
    assert found[0] == ("https://a.example/1", "unique", None)
    assert found[-1] == ("https://b.example/1", "duplicate", "https://a.example/1")
    assert ran.stderr == (
        "10 pages: 6 skipped, 2 unique, 2 duplicate; not judged: 1 not-html, 1 status,"
        " 1 revisit-record, 1 not-http, 1 truncated, 1 torn;"
        " left out: 2 warcinfo, 1 request, 1 metadata, 1 resource\n"
    )
    ran = simdedup(tmp_path, "idf", "build", "one.warc.gz", "two.warc", "--output", "t.idf.gz")
    assert ran.returncode == 0
    assert re.match(r"4 texts, \d+ terms; left out: 2 warcinfo, ", ran.stderr)


def test_an_archive_is_judged_as_a_crawl_judges(crawl, site, tmp_path):
    """The same texts come out of the responses, whatever their encoding and charset."""
    shown = linked(f"/{at}" for at in range(1, 9))
    bodies = [
        (page(story(1), extra=shown).encode(), {}, "text/html; charset=utf-8"),
        (gzip.compress(page(story(2)).encode()), {"Content-Encoding": "gzip"}, "text/html"),
        (deflated(page(story(3)).encode()), {"Content-Encoding": "deflate"}, "text/html"),
        (brotli.compress(page(story(4)).encode()), {"Content-Encoding": "br"}, "text/html"),
        (GBK, {}, "text/html"),
        (
            page(chinese(2)).replace("utf-8", "x").encode("big5", "ignore"),
            {},
            "text/html; charset=big5",
        ),
        (page(story(5) + " café").encode("cp1252"), {}, "text/html; charset=iso-8859-1"),
        (b"%PDF-1.7", {}, "application/pdf"),
        (page(story(1), template="wire").encode("utf-16"), {}, "text/html; charset=utf-16"),
    ]
    records = []
    for at, (body, headers, kind) in enumerate(bodies):
        path = f"/{at}" if at else "/"
        site.pages[path] = Answer(body, content_type=kind, headers=headers)
        sent = [f"{name}: {value}" for name, value in headers.items()]
        records.append(response(site.url(path), body, *sent, content_type=kind))
    crawled = crawl("/").decisions()
    (tmp_path / "crawl.warc.gz").write_bytes(compressed(records))
    assert simdedup(tmp_path, "scan", "crawl.warc.gz", "--index", "scan.db").returncode == 0

    def texts(path):
        with sqlite3.connect(path) as connection:
            return dict(connection.execute("SELECT url, digest FROM pages"))

    def statuses(rows):
        return {row["url"]: (row["status"], row["reason"], row["original"]) for row in rows}

    assert texts(tmp_path / "scan.db") == texts(tmp_path / "index.db")
    assert len(texts(tmp_path / "scan.db")) == 7
    with sqlite3.connect(tmp_path / "scan.db") as connection:
        connection.row_factory = sqlite3.Row
        scanned = [dict(row) for row in connection.execute("SELECT * FROM decisions")]
    assert statuses(scanned) == statuses(crawled)
