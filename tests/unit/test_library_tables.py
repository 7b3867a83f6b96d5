# SPDX-License-Identifier: Apache-2.0
"""The core's copy of the tables of the libraries' algorithms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tables_are_up_to_date() -> None:
    """GIVEN the tables in TOML WHEN they are written for the core THEN the file in the tree is the same."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/library_tables.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
