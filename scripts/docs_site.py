#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pages of docs/ into a site in build/site that needs no network to read, and checks it.

The tools come from PyPI, pinned by the `docs` extra of pyproject.toml, into .venv/docs. A link that leads nowhere is an
error, and so are a page of more than 1 MB and one that would load something from elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import tool_environment

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv" / "docs"
SITE = ROOT / "build" / "site"
MOST_BYTES = 1_000_000
#: What a browser fetches without being asked.
LOADS = re.compile(
    r"<(?:script|img|iframe)\b[^>]*\bsrc=\"(?:https?:)?//|<link\b[^>]*rel=\"stylesheet\"[^>]*href=\"https?://"
)


def complaints() -> list[str]:
    """Returns what is wrong with the pages that were made."""
    found = []
    for page in sorted(SITE.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        if len(text.encode()) > MOST_BYTES:
            found.append(f"{page.relative_to(ROOT)}: {len(text.encode())} bytes: split the page")
        if LOADS.search(text):
            found.append(f"{page.relative_to(ROOT)}: would load something from elsewhere")
    return found


def main() -> int:
    """Builds and checks."""
    tool_environment.install("docs")
    command = [TOOLS / "bin" / "sphinx-build", "-q", "-W", "--keep-going", "-b", "html", ROOT / "docs", SITE]
    if subprocess.run(command, check=False).returncode != 0:
        print("error: a page has an error, see above\nhint: links are relative to the page", file=sys.stderr)
        return 1
    found = complaints()
    print("\n".join([*(f"error: {text}" for text in found), f"site: {SITE / 'index.html'}"]), file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
