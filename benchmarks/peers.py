"""Other libraries as contestants: their documented use, and the limits to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import peer_indexes as own
from peer_indexes import PeerIndex

# What a peer makes of a text: of the text itself, or of words where they are given.
Sign = Callable[[str, list[str] | None], Any]


@dataclass(frozen=True)
class Peer:
    """A way to find near-duplicates: features, an index for a limit, limits to try."""

    name: str
    needs: str
    features: str
    sign: Sign
    open: Callable[[Any], PeerIndex]
    defaults: tuple[tuple[str, Any], ...]
    grid: tuple[Any, ...]


_JACCARD = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

PEERS = (
    Peer(
        "1e0ng Simhash + SimhashIndex",
        "simhash",
        "its own: character 4-grams",
        own.sign_1e0ng,
        own.Hamming,
        (("k=2, its default", 2), ("k=3", 3)),
        (1, 2, 3, 4, 6, 8, 10, 12, 14),
    ),
    Peer(
        "datasketch MinHash + MinHashLSH",
        "datasketch",
        "word 3-shingles",
        own.sign_datasketch,
        own.Datasketch,
        (("threshold 0.9, its default", 0.9), ("threshold 0.5, as in its examples", 0.5)),
        _JACCARD,
    ),
    Peer(
        "datasketch, hits filtered by jaccard()",
        "datasketch",
        "word 3-shingles",
        own.sign_datasketch,
        own.DatasketchFiltered,
        (("threshold 0.5", 0.5),),
        _JACCARD,
    ),
    Peer(
        "rensa RMinHashDeduplicator",
        "rensa",
        "words, as in its README",
        own.sign_rensa,
        own.Rensa,
        (("threshold 0.8, as in its README", 0.8),),
        _JACCARD,
    ),
    Peer(
        "gaoya MinHashStringIndex",
        "gaoya",
        "words, its default",
        own.sign_gaoya,
        own.Gaoya,
        (("threshold 0.75, its default", own.GAOYA),),
        _JACCARD,
    ),
    Peer(
        "trafilatura Simhash",
        "trafilatura",
        "its own: longer words",
        own.sign_trafilatura,
        own.Trafilatura,
        (("similarity 0.95 (3 of 64 bits; it names no limit)", 0.95),),
        (0.75, 0.8, 0.84, 0.87, 0.9, 0.92, 0.95, 0.98, 1.0),
    ),
    Peer(
        "term profile (as Nutch)",
        "hashlib",
        "quantised term frequencies",
        own.sign_profile,
        own.TermProfile,
        (("rate 0.01, its default", 0.01),),
        (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5),
    ),
)
