"""The soak's two sites, in a thread: pages without end, a third of them copies, some hostile."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections import Counter
from pathlib import Path

from crawl_pages import Writer
from crawl_site import Connection, answer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import hostile

# Each so many pages there is a hostile one; a copy is of one of so many pages before it.
_HOSTILE = 97
_NEAR = 300


class SoakSite:
    """``/a/N`` and ``/b/N`` have the same text in other markup; ``highest`` is what was asked for.

    Every third page of a site reprints an earlier one.
    """

    def __init__(self, seed: int) -> None:
        self.highest: Counter[str] = Counter()
        self.base = ""
        self._seed, self._writer = seed, Writer(seed)
        self._bad: dict[str, bytes] = {}
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    def text_of(self, number: int) -> int:
        """Return the number of the page whose text a page has: its own, or an earlier one's."""
        while number % 3 == 2:
            number -= random.Random(f"{self._seed}/{number}").randrange(1, _NEAR)
            if number < 0:
                return 0
        return number

    def is_hostile(self, number: int) -> bool:
        """Tell whether a page is one of the hostile ones, which have no text of their own."""
        return number % _HOSTILE == _HOSTILE - 1

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self._find), "127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await server.serve_forever()

    def _find(self, path: str) -> bytes:
        _, site, last = path.split("/")
        number = int(last)
        self.highest[site] = max(self.highest[site], number)
        if self.is_hostile(number):
            return answer(self._hostile(number))
        return answer(self._page(site, self.text_of(number)).encode())

    def _page(self, site: str, text: int) -> str:
        pick = random.Random(f"{self._seed}/text/{text}")
        parts = [self._writer.text(pick, 400, chinese=text % 7 == 0) for _ in range(4)]
        body = "".join(f"<p>{part}</p>" for part in parts)
        menu = f'<nav><a href="/">{site} gazette</a></nav>'
        tag = "article" if site == "a" else "main"
        return f"<html><body>{menu}<{tag}><h1>News</h1>{body}</{tag}></body></html>"

    def _hostile(self, number: int) -> bytes:
        names = [*hostile.PAGES, *hostile.SLOW]
        name = names[number // _HOSTILE % len(names)]
        if name not in self._bad:
            page = {**hostile.PAGES, **hostile.SLOW}[name]()
            data = page.encode("utf-8", "surrogatepass") if isinstance(page, str) else page
            self._bad[name] = data
        return self._bad[name]
