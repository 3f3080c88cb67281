"""What an extraction left out: a guard, like the one on numbers and names.

Two reports under one standing introduction look equal where only the introduction is
extracted. They are told by the rest of the page: the frame of one template, and other prose.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.text.document import sample_terms
from scrapy_simdedup.text.doubt import Doubt
from scrapy_simdedup.text.normalise import normalise

_SAMPLE = 16
_BETWEEN = "\ue000"
_TAG = np.dtype("<u4")
_SAME_FRAME = 0.5
_SAME_PROSE = 0.5


def sign(found: Doubt) -> bytes:
    """Return samples of the prose left out and of the frame, ``b""`` where little was."""
    if not found.prose:
        return b""
    samples = [_sample(pieces) for pieces in (found.prose, found.frame)]
    return bytes([len(samples[0])]) + b"".join(sample.tobytes() for sample in samples)


def differs(new: bytes, old: bytes) -> bool:
    """Tell whether two pages have one frame, and most of the prose left out is not the same."""
    if not new or not old:
        return False
    (prose, frame), (old_prose, old_frame) = _unpack(new), _unpack(old)
    return _shared(frame, old_frame) >= _SAME_FRAME and _shared(prose, old_prose) < _SAME_PROSE


def _sample(pieces: frozenset[str]) -> npt.NDArray[np.uint32]:
    # All at once, with a character between them that normalising leaves alone.
    texts = {text.strip() for text in normalise(_BETWEEN.join(pieces)).split(_BETWEEN)}
    return sample_terms(texts, _SAMPLE)


def _unpack(part: bytes) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    tags = np.frombuffer(part, dtype=_TAG, offset=1)
    return tags[: part[0]], tags[part[0] :]


def _shared(one: npt.NDArray[np.uint32], other: npt.NDArray[np.uint32]) -> float:
    """Estimate the resemblance of two sets by their smallest members (Broder 1997)."""
    union = np.union1d(one, other)[:_SAMPLE]
    both = np.isin(union, one) & np.isin(union, other)
    return float(both.mean()) if len(union) else 1.0
