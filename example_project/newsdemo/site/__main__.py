"""Serves the bundled news sites until Ctrl-C: ``python -m newsdemo.site``."""

from __future__ import annotations

import argparse
import contextlib
import threading

from .server import serve


def main() -> None:
    """Serve an edition on a port, and say how a crawl gets there."""
    parser = argparse.ArgumentParser(prog="python -m newsdemo.site")
    parser.add_argument("--edition", type=int, choices=(1, 2), default=1, help="2 has a correction")
    parser.add_argument("--port", type=int, default=8900, help="default: 8900; 0: a free one")
    options = parser.parse_args()
    with serve(options.edition, options.port) as port:
        print(
            f"The news sites are served. In another terminal, before you crawl:\n"
            f"    export http_proxy=http://127.0.0.1:{port} no_proxy=\n"
            "Ctrl-C ends it.",
            flush=True,
        )
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
