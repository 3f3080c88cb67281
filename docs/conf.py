"""Sphinx's configuration: Markdown by MyST, the furo theme, and what is made from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import generated  # noqa: E402
from scrapy_simdedup import __version__  # noqa: E402

project = "scrapy-simdedup"
author = "the scrapy-simdedup developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"scrapy-simdedup {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
highlight_language = "none"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
autodoc_preserve_defaults = True
# Names of our own must lead somewhere; those of others' are not looked up, so that the pages can
# be built without a network.
nitpick_ignore_regex = [("py:.*", r"(?!scrapy_simdedup\b).*")]

#: Files beside this folder that pages link to, and the pages that show them.
SHOWN = {"../benchmarks/README.md": "benchmarks", "../CHANGES.md": "changes"}


class LinkedSettings(SphinxTransform):
    """Makes a link of each setting's name that stands in code by itself."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Wrap the names outside of headings and links."""
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext()
            if name in generated.settings() and isinstance(
                literal.parent, (nodes.paragraph, nodes.entry)
            ):
                link = addnodes.pending_xref(
                    refdomain="doc",
                    reftype="myst",
                    reftarget="settings",
                    reftargetid=name.lower(),
                    refexplicit=True,
                    refdoc=self.env.docname,
                )
                literal.replace_self(link)
                link += nodes.inline("", "", literal)


def expand(_: Sphinx, __: str, source: list[str]) -> None:
    """Put what is made from the code in the place of a page's marks."""
    source[0] = generated.expand(source[0])
    for path, page in SHOWN.items():
        source[0] = source[0].replace(f"]({path})", f"]({page}.md)")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both with Sphinx."""
    app.connect("source-read", expand)
    app.add_transform(LinkedSettings)
    return {"parallel_read_safe": True}
