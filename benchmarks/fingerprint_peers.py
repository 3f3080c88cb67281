"""Other libraries' documented ways to sign, from the same terms."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import xxhash
from fingerprint_contests import Contest, Way, Work, always, distinct, raw, repeated, terms
from fingerprint_texts import Batch

SHINGLE = 3


def shingled(words: Sequence[str]) -> list[str]:
    """Return the windows of three terms, as scrapy-simdedup's sketch has them."""
    return [" ".join(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))]


def sign_1e0ng() -> list[Way]:
    """By a term -> weight dict, with its own MD5 and with XXH3; and by its own 4-grams."""
    from simhash import Simhash

    def sign(features: Any) -> Any:
        try:
            return Simhash(features)
        except OverflowError:
            # A 4-gram that occurs more than 255 times, with NumPy 2.
            return None

    xxh3 = partial(Simhash, hashfunc=xxhash.xxh3_64_digest)
    who = "1e0ng simhash"
    return [
        Way(who, "sign", lambda document: document.weights, always(sign)),
        Way(who, "sign_xxh3", lambda document: document.weights, always(xxh3)),
        Way(who, "text", raw, always(sign)),
    ]


def sign_datasketch() -> list[Way]:
    """MinHash of 128 permutations, the whole text in one batch."""
    from datasketch import MinHash

    def sign(words: Sequence[str]) -> Any:
        made = MinHash(num_perm=128)
        made.update_batch([word.encode() for word in words])
        return made

    return _minhash("datasketch", always(sign))


def sign_rensa() -> list[Way]:
    """RMinHash of 128 permutations, the whole text in one update."""
    from rensa import RMinHash

    def sign(words: list[str]) -> Any:
        made = RMinHash(num_perm=128, seed=42)
        made.update(words)
        return made

    return _minhash("rensa", always(sign))


def sign_gaoya() -> list[Way]:
    """Signing is inserting here: simhash and MinHash of given terms, simhash of a text."""
    from gaoya.minhash import MinHashStringIndex
    from gaoya.simhash import SimHashStringIndex

    def inserting(make: Callable[[], Any]) -> Work:
        index, number = make(), count()
        return lambda document: index.insert_document(next(number), document)

    who = "gaoya"
    simhash = partial(inserting, partial(SimHashStringIndex, analyzer=list))
    # The analyser "list" takes terms as they are. 128 hashes, and as many bands as they make.
    made = partial(
        MinHashStringIndex, num_bands=None, band_size=None, num_hashes=128, analyzer=list
    )
    return [
        Way(who, "sign", distinct, simhash),
        *_minhash(who, partial(inserting, made))[1:],
        Way(who, "text", raw, partial(inserting, SimHashStringIndex), chinese=False),
    ]


def _minhash(who: str, begin: Callable[[], Work]) -> list[Way]:
    def shingles() -> Work:
        sign = begin()
        return lambda words: sign(shingled(words))

    return [Way(who, "sign", distinct, begin), Way(who, "shingles", terms, shingles)]


# Who, and the package that must be installed.
PEERS: dict[str, tuple[str, Callable[[], list[Way]]]] = {
    "1e0ng simhash": ("simhash", sign_1e0ng),
    "datasketch": ("datasketch", sign_datasketch),
    "rensa": ("rensa", sign_rensa),
    "gaoya": ("gaoya", sign_gaoya),
}


def installed() -> tuple[list[Way], dict[str, str], list[str]]:
    """Return the ways of the peers that are installed, their versions, and what is missing."""
    ways: list[Way] = []
    versions: dict[str, str] = {}
    missing = []
    for who, (package, make) in PEERS.items():
        try:
            ways += make()
            versions[who] = version(package)
        except ImportError:
            missing.append(f"{who}: not installed, left out")
    return ways, versions, missing


class Worker:
    """simhash-pybind in a process of its own, with other packages than this one has."""

    who = "simhash-pybind"

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._orders, self._answers = process.stdin, process.stdout
        told = json.loads(self._answers.readline())
        self.version: str = told["version"]
        self.fingerprints: dict[str, list[int]] = told["fingerprints"]

    def contests(self) -> list[Contest]:
        """Return a contest for each list of tokens that it was given."""
        named = [(name, *name.split()) for name in self.fingerprints]
        return [
            Contest(self.who, what, language, partial(self._pass, name))
            for name, what, language in named
        ]

    def _pass(self, name: str) -> float:
        print(name, file=self._orders, flush=True)
        return float(self._answers.readline())


@contextmanager
def worker(python: Path, batches: Sequence[Batch]) -> Iterator[Worker]:
    """Start the worker with that interpreter; raise OSError where it does not get going."""
    given: dict[str, list[list[str]]] = {}
    for batch in batches:
        given[f"sign {batch.language}"] = [repeated(each) for each in batch.documents]
        given[f"distinct {batch.language}"] = [distinct(each) for each in batch.documents]
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens.json"
        tokens.write_text(json.dumps(given), encoding="utf-8")
        script = Path(__file__).with_name("fingerprint_pybind.py")
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [python, script, tokens], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        ) as process:
            try:
                started = Worker(process)
            except ValueError:
                _, said = process.communicate()
                raise OSError((said.splitlines() or ["it said nothing"])[-1]) from None
            yield started
