# SPDX-License-Identifier: Apache-2.0
"""Says where the parts of this installation are."""

from __future__ import annotations

from pathlib import Path

import antiphon


def packages() -> list[Path]:
    """Returns the folders of this package. `pip install -e .` makes two: the sources, and what it builds."""
    return [Path(folder).resolve() for folder in antiphon.__path__]


def compiled() -> Path:
    """Returns the folder of the compiled parts: the core, preload objects and programs."""
    found = [package / "lib" for package in packages()]
    return next((folder for folder in found if folder.is_dir()), Path(__file__).resolve().parent / "lib")
