# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site of these pages (`make docs-site`). The pages read the same in a repository's viewer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent

project = "Antiphon"
project_copyright = "the authors of Antiphon, Apache-2.0"
version = release = re.findall(r'__version__ = "(.*)"', (ROOT / "python/antiphon/__init__.py").read_text())[0]

extensions = ["myst_parser"]
# Links to headings, as repositories' viewers make them.
myst_heading_anchors = 4
exclude_patterns = ["conf.py"]
# Examples leave parts out by "…", which no language has.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Antiphon {version}"
html_copy_source = html_show_sourcelink = False
# Nothing is fetched by a reader: the theme brings its fonts and scripts.
html_theme_options = {"navigation_with_keys": True}


def _offer_files(app: Sphinx, name: str, source: list[str]) -> None:
    """Makes links to files outside docs/ downloads: they are no pages of the site."""
    folder = Path(app.srcdir, name).parent

    def link(found: re.Match[str]) -> str:
        file = (folder / found[2]).resolve()
        outside = file.is_file() and not file.is_relative_to(app.srcdir)
        text = found[1].replace("`", "")
        return f"{{download}}`{text} <{found[2]}>`" if outside else found[0]

    source[0] = re.sub(r"\[([^\]]+)\]\(([^)#:\s]+)(?:#[^)]*)?\)", link, source[0])


def _show_pictures(app: Sphinx, name: str, source: list[str]) -> None:
    """Makes each <picture>, which a repository's viewer shows by the reader's scheme, two images of the theme's."""

    def images(found: re.Match[str]) -> str:
        dark, light = re.search(r'srcset="([^"]+)"', found[0]), re.search(r'src="([^"]+)"', found[0])
        text = re.search(r'alt="([^"]+)"', found[0])
        if dark is None or light is None or text is None:
            raise ValueError(f"{name}: a <picture> needs srcset, src and alt")
        both = {"dark": dark[1], "light": light[1]}
        return "\n".join(f"```{{image}} {both[s]}\n:class: only-{s}\n:alt: {text[1]}\n```" for s in both)

    source[0] = re.sub(r"<picture>.*?</picture>", images, source[0], flags=re.DOTALL)


def setup(app: Sphinx) -> None:
    """Is called by Sphinx."""
    app.connect("source-read", _offer_files)
    app.connect("source-read", _show_pictures)
