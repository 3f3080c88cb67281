"""Data for a ``<script>`` block: JSON that no text can break out of, or squeezed JSON."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from markupsafe import Markup

# "<" ends a script or begins a comment, "&" is for what reads the file as XML.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def plain(value: Any) -> Markup:
    """Return JSON in ASCII without ``<``, ``>`` and ``&``, whatever the strings hold."""
    return Markup(json.dumps(value, separators=(",", ":")).translate(_ESCAPES))  # noqa: S704


def squeezed(value: Any) -> str:
    """Return JSON in UTF-8, deflated (zlib, RFC 1950), in base64."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Halves of surrogate pairs have no place in UTF-8.
    data = zlib.compress(written.encode("utf-8", "replace"), 9)
    return base64.b64encode(data).decode("ascii")
