"""Draw the pictures of the documentation anew.

python docs/pictures/make.py
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from flow import path_of_a_page, states_of_a_claim  # noqa: E402
from measured import half_an_article, why_a_limit  # noqa: E402

PICTURES = {
    "path-of-a-page.svg": path_of_a_page,
    "states-of-a-claim.svg": states_of_a_claim,
    "why-a-limit.svg": why_a_limit,
    "half-an-article.svg": half_an_article,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw(), encoding="utf-8")
