"""A report in a real browser: what it says on its console, asks the network for, and runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the system's Chromium; skip where there is none, but not in CI."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        assert os.environ.get("CI") != "true", "CI needs Chromium for the tests of the report"
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page that is open in the browser; ``trouble`` is what no report may do."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1200, "height": 900}, **options}
        )
        self.page = self.context.new_page()
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(f"said {message.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(f"raised {error}"))
        self.page.on("dialog", lambda dialog: (self.trouble.append("a dialog"), dialog.dismiss()))
        self.page.on("popup", lambda popup: self.trouble.append(f"opened {popup.url}"))
        self.page.on("request", self._asked)
        self.url = path.as_uri()
        self.page.goto(self.url)

    def _asked(self, request: Any) -> None:
        if request.url != self.url:
            self.trouble.append(f"asked for {request.url}")

    def rows(self, table: str) -> list[list[str]]:
        """Return the cells of the rows that a table shows."""
        script = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
        return self.page.locator(f"#{table}-table > table > tbody > tr").evaluate_all(script)

    def status(self, table: str) -> str:
        """Return what a table says of its rows."""
        return self.page.locator(f"#{table}-table > .below > .status").inner_text()

    def settle(self, table: str, text: str) -> None:
        """Wait until a table says something of its rows."""
        self.page.locator(f"#{table}-table > .below > .status", has_text=text).wait_for()

    def list_all(self) -> None:
        """Go to the table of all decisions, and wait for it."""
        self.page.locator("nav a[href='#decisions']").click()
        self.page.locator("#listing-table table").wait_for()

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    def color(self, selector: str, name: str = "background-color") -> str:
        """Return a computed colour."""
        return self.page.locator(selector).first.evaluate(
            "(element, name) => getComputedStyle(element).getPropertyValue(name)", name
        )

    def focused(self) -> str:
        """Return the text of what has the focus."""
        return self.page.evaluate("document.activeElement.innerText ?? ''").strip()
