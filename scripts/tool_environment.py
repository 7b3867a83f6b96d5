# SPDX-License-Identifier: Apache-2.0
"""Virtual environments with the tools of one purpose, pinned by an extra of pyproject.toml: .venv/lint, .venv/docs."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def requirements(extra: str) -> list[str]:
    """Returns the pinned tools of an extra."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(rf"^{extra} = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"error: pyproject.toml has no `{extra}` extra")
    return re.findall(r'"([^"]+)"', found.group(1))


def install(extra: str) -> Path:
    """Makes .venv/EXTRA, once for each list of requirements and version of Python. Later calls need no network."""
    place = ROOT / ".venv" / extra
    wanted = requirements(extra)
    made_of = "\n".join([f"Python {VERSION}", *wanted])
    stamp = place / "requirements"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_of:
        return place
    print(f"==> {extra} tools from PyPI", file=sys.stderr, flush=True)
    venv.create(place, with_pip=True, clear=True)
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted], check=True)
    stamp.write_text(made_of, encoding="utf-8")
    return place
