# SPDX-License-Identifier: Apache-2.0
"""HPC Challenge: 640 equations, the transpose of a matrix, the transform of a vector, a table updated at random."""

from __future__ import annotations

import re
from pathlib import Path

from programs import CONFORMANCE, Application, copied

RATES = {"HPL": "HPL_Tflops", "PTRANS": "PTRANS_GBs", "FFT": "MPIFFT_Gflops", "RandomAccess": "MPIRandomAccess_GUPs"}
EIGHT_RANKS = {"480          Ns": "640          Ns", "2            Qs": "4            Qs"}


def values(folder: Path) -> dict[str, str]:
    text = (folder / "hpccoutf.txt").read_text(encoding="utf-8", errors="replace")
    return dict(line.split("=", 1) for line in text.splitlines() if re.fullmatch(r"\w+=[-\w.+]+", line))


def figures(folder: Path) -> dict[str, float]:
    """Rates, as their inverse: what one unit of work takes."""
    found = values(folder)
    return {name: 1 / float(found[key]) for name, key in RATES.items()}


def result(folder: Path) -> str:
    """Whether all answers were right."""
    return "Success=" + values(folder)["Success"]


APPLICATION = Application(("hpcc",), copied(CONFORMANCE / "hpccinf.txt", EIGHT_RANKS), figures, result)
