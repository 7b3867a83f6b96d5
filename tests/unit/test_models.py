# SPDX-License-Identifier: Apache-2.0
"""Checks the small cases of the model-checked protocols; `make verify-models` has the large ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VERIFY = Path(__file__).resolve().parents[1] / "models" / "verify.py"


@pytest.mark.skipif(shutil.which("spin") is None, reason="needs spin (Debian: apt install spin)")
def test_small_models() -> None:
    """GIVEN the credit protocol, free or in step, THEN it cannot deadlock; the checker finds the mistake that could."""
    done = subprocess.run([sys.executable, VERIFY, "--quick"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("no error in") == 2
    assert done.stdout.count("error found in") == 1
