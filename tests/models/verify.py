#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model-checks the protocols in this folder with spin (Debian: apt install spin). Exit code 0: all as it must be.

verify.py [--quick]: only the cases that take a second or two.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

#: Lists (model, definitions, whether it must be found right, whether it is quick). Wrong models show that checks can
#: fail.
CASES = (
    ("credits.pml", {"N": 2, "MOST": 2, "WINDOW": 2, "CALLS": 2}, True, True),
    ("credits.pml", {"N": 3, "MOST": 1, "WINDOW": 1, "CALLS": 1, "STUBBORN": 1}, False, True),
    ("credits.pml", {"N": 2, "MOST": 2, "WINDOW": 1, "CALLS": 2, "PATIENCE": 1}, True, True),
    ("credits.pml", {"N": 3, "MOST": 1, "WINDOW": 1, "CALLS": 1, "PATIENCE": 1}, True, False),
    ("credits.pml", {"N": 3, "MOST": 2, "WINDOW": 1, "CALLS": 1, "PATIENCE": 1, "SLICES": 8}, True, False),
    ("credits.pml", {"N": 3, "MOST": 1, "WINDOW": 1, "CALLS": 2, "PATIENCE": 1, "SLICES": 7}, True, False),
    ("credits.pml", {"N": 3, "MOST": 2, "WINDOW": 1, "CALLS": 1}, True, False),
    ("credits.pml", {"N": 3, "MOST": 1, "WINDOW": 1, "CALLS": 2}, True, False),
    ("repair.pml", {"RECEIVERS": 2, "PACKETS": 3, "WINDOW": 2, "LOSSES": 2, "DUPLICATES": 1}, True, False),
    ("repair.pml", {"RECEIVERS": 2, "PACKETS": 2, "WINDOW": 2, "LOSSES": 3, "DUPLICATES": 0}, True, False),
    ("repair.pml", {"RECEIVERS": 3, "PACKETS": 2, "WINDOW": 1, "LOSSES": 1, "DUPLICATES": 0}, True, False),
    ("repair.pml", {"RECEIVERS": 2, "PACKETS": 2, "WINDOW": 2, "LOSSES": 1, "NO_HEARTBEAT": 1}, False, False),
    ("repair.pml", {"RECEIVERS": 2, "PACKETS": 2, "WINDOW": 2, "LOSSES": 1, "HASTY": 1}, False, False),
)


def check_slices(model: str, definitions: dict[str, int], optimise: str) -> tuple[int, int]:
    """Returns errors and states of one model, in as many runs as it names."""
    errors = states = 0
    for part in range(definitions.get("SLICES", 1)):
        with tempfile.TemporaryDirectory() as folder:
            found = check(model, {**definitions, "SLICE": part}, Path(folder), optimise)
        errors, states = errors + found[0], states + found[1]
    return errors, states


def check(model: str, definitions: dict[str, int], folder: Path, optimise: str) -> tuple[int, int]:
    """Returns errors and states of one model."""
    words = [f"-D{name}={value}" for name, value in definitions.items()]
    subprocess.run(["spin", *words, "-a", str(HERE / model)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    compiler = os.environ.get("CC", "cc")
    options = [optimise, "-w", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=4096"]
    subprocess.run([compiler, *options, "-o", "pan", "pan.c"], cwd=folder, check=True)
    said = subprocess.run(["./pan", "-m1000000"], cwd=folder, check=True, capture_output=True, text=True).stdout
    errors, states = re.search(r"errors: (\d+)", said), re.search(r"(\d+) states, stored", said)
    if "max search depth too small" in said or errors is None or states is None:
        raise SystemExit(f"{model}: the search did not end:\n{said}")
    return int(errors[1]), int(states[1])


def main() -> int:
    if shutil.which("spin") is None:
        print("spin is not installed (Debian: apt install spin)", file=sys.stderr)
        return 2
    wrong = 0
    only_quick = "--quick" in sys.argv[1:]
    for model, definitions, right, quick in CASES:
        if only_quick and not quick:
            continue
        errors, states = check_slices(model, definitions, "-O0" if quick else "-O2")
        as_expected = (errors == 0) == right
        wrong += not as_expected
        text = " ".join(f"{name}={value}" for name, value in definitions.items())
        verdict = "no error" if errors == 0 else "error found"
        print(f"{model} {text}: {verdict} in {states} states{'' if as_expected else ': UNEXPECTED'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
