# SPDX-License-Identifier: Apache-2.0
"""Checks calls with buffers in a GPU's memory, which the processor must not touch; a stand-in plays the driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"
RANKS = 3
ALLREDUCES = 9

Compile = Callable[..., Path]
Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("driver", "when"), [("CUDA", "early"), ("CUDA", "late"), ("HIP", "early"), ("LEVEL_ZERO", "late")]
)
def test_buffers_of_a_gpu(driver: str, when: str, native: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN buffers in a GPU's memory, on one rank or all, THEN results are right, and the ranks leave them alike."""
    program = compiled(native, [PROGRAMS / "devices.c"], "-ldl")
    soname = {"CUDA": "libcuda.so.1", "HIP": "libamdhip64.so.6", "LEVEL_ZERO": "libze_loader.so.1"}[driver]
    library = compiled(native, [PROGRAMS / "driver.c"], "-shared", "-fPIC", f"-D{driver}", f"-Wl,-soname,{soname}")
    settings = {
        "ANTIPHON_FORCE": "*:on",
        "ANTIPHON_COMPRESS": "force",
        "ANTIPHON_GPU": "on" if when == "late" else "auto",
    }
    result = run_ranks(native, RANKS, [program, library, when], **settings)
    assert result.returncode == 0 and "all is right" in result.text, result.text
    used = result.used("allreduce")
    assert sum(used.values()) == ALLREDUCES
    # The ranks ask each other at calls 1, 2, 4 and 8; the third call is the first with such a buffer.
    assert used["library"] == ALLREDUCES - 3, used
