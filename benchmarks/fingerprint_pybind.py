"""simhash-pybind's side of fingerprint.py, run by an interpreter that has it and xxhash.

Its package is called ``simhash`` like that of 1e0ng, so the two cannot share an environment.
It gets a JSON file of token lists by name, prints its version and the fingerprints as a JSON
line, then, for each name that comes in, the seconds that signing that list took.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import simhash
import xxhash


def sign(tokens: list[str]) -> int:
    """Hash the tokens and return their simhash; a token weighs as often as it is repeated."""
    hashed = xxhash.xxh3_64_intdigest
    value: int = simhash.compute([hashed(token.encode()) for token in tokens])
    return value


def main() -> None:
    """Sign everything once, then on demand."""
    given: dict[str, list[list[str]]] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    fingerprints = {name: [sign(tokens) for tokens in texts] for name, texts in given.items()}
    told = {"version": version("simhash-pybind"), "fingerprints": fingerprints}
    print(json.dumps(told), flush=True)
    for line in sys.stdin:
        texts = given[line.strip()]
        start = time.perf_counter()
        for tokens in texts:
            sign(tokens)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
