# SPDX-License-Identifier: Apache-2.0
"""Random programs that check themselves, with a few fixed seeds; random_programs.py runs any number of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import random_programs

from antiphon.mpi import Mpi


@pytest.mark.parametrize("seed", [1, 2])
def test_random_program(
    native: Mpi, seed: int, compiled: Callable[..., Path], run_ranks: Callable[..., Any], tmp_path: Path
) -> None:
    """GIVEN a random program and random settings THEN all results are right."""
    if native.family == "openmpi":
        pytest.skip("Open MPI's own collectives fail with some of these types")
    case = random_programs.case_of(seed, most_ranks=4, steps=60)
    program = compiled(native, sorted(random_programs.SOURCES.glob("*.cpp")), *random_programs.FLAGS, "-lstdc++")
    variables = random_programs.variables_of(case, tmp_path)
    result = run_ranks(native, case.ranks, [program, *case.arguments(), f"scratch={tmp_path}"], **variables)
    assert result.returncode == 0, result.text
    assert "verified" in result.text.split(), result.text
