# SPDX-License-Identifier: Apache-2.0
"""Goes from a recorded run to a run by plan in a shell: `antiphon trace`, `antiphon compile`, `antiphon run --plan`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.mpi import Mpi

HALO = Path(__file__).resolve().parent / "programs" / "halo.c"
RANKS, STEPS = 3, 6
LIMIT_S = 120


def antiphon(
    folder: Path, mpi: Mpi, *words: object, ranks: bool = True, environment: dict[str, str] | None = None
) -> str:
    """Returns the output of an Antiphon command, which must succeed."""
    where = ["--mpi", str(mpi.prefix), "-n", str(RANKS)] if ranks else []
    command = [sys.executable, "-m", "antiphon", str(words[0]), *where, *(str(word) for word in words[1:])]
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")} | (environment or {})
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def checksum(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("checksum"))


def test_trace_compile_run(native: Mpi, compiled: Callable[..., Path], tmp_path: Path) -> None:
    """GIVEN a recorded run THEN its plan fits the next one, and no rank waits where a call differs on some ranks."""
    program = compiled(native, [HALO])
    told = antiphon(tmp_path, native, "trace", "-o", "run.trace", program, STEPS)
    antiphon(tmp_path, native, "compile", "run.trace", "-o", "plan.json", ranks=False)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert [(pattern["size"], pattern["calls"]) for pattern in plan["patterns"]] == [(RANKS, STEPS)]
    summary = tmp_path / "summary.json"

    def planned(*arguments: object, environment: dict[str, str] | None = None) -> tuple[str, int, int]:
        words = ("run", "--plan", "plan.json", f"--summary={summary}", program, *arguments)
        text = antiphon(tmp_path, native, *words, environment=environment)
        row: dict[str, Any] = json.loads(summary.read_text())["plan"]
        return checksum(text), row["matched_calls"], row["other_calls"]

    assert planned(STEPS) == (checksum(told), RANKS * STEPS, 0)
    # So they are where messages are encoded.
    assert planned(STEPS, environment={"ANTIPHON_COMPRESS": "force"}) == (checksum(told), RANKS * STEPS, 0)
    # Ranks 0 and 1 have other counts in step 3; rank 2 cannot know.
    odd = antiphon(tmp_path, native, "run", "--off", program, STEPS, 3)
    assert planned(STEPS, 3) == (checksum(odd), RANKS * STEPS - 2, 2)
    # A plan for other numbers of bytes fits nowhere.
    text = (tmp_path / "plan.json").read_text()
    (tmp_path / "plan.json").write_text(text.replace("10456", "10464"))
    assert planned(STEPS)[0] == checksum(told)
