# SPDX-License-Identifier: Apache-2.0
"""The most likely tree of 24 sequences: some 100,000 broadcasts and sums of 8 or 16 bytes."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

from programs import Application

TAXA = 24
SITES = 6000
CHANGED = 0.08
FOLDER = Path("/usr/lib/examl/bin")


def binary() -> str:
    """The fastest one for this processor."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    kinds = [kind for kind in ("avx2", "avx", "ssse3", "sse2") if kind in flags]
    return str(FOLDER / f"examl-{kinds[0]}" if kinds else FOLDER / "examl")


def tree(names: list[str]) -> str:
    """A tree of these names, with equal halves."""
    half = len(names) // 2
    return names[0] if len(names) == 1 else f"({tree(names[:half])},{tree(names[half:])})"


def write_input(folder: Path) -> None:
    """Writes sequences that came of each other by chance, and a first tree."""
    chance = random.Random(3)
    sequences = [[chance.choice("ACGT") for _ in range(SITES)]]
    while len(sequences) < TAXA:
        parent = chance.choice(sequences)
        sequences.append([chance.choice("ACGT") if chance.random() < CHANGED else base for base in parent])
    rows = [f"t{i} {''.join(sequence)}" for i, sequence in enumerate(sequences)]
    (folder / "taxa.phy").write_text("\n".join([f"{TAXA} {SITES}", *rows, ""]), encoding="utf-8")
    names = [f"t{i}" for i in range(TAXA)]
    (folder / "taxa.nwk").write_text(f"({names[0]},{names[1]},{tree(names[2:])});\n", encoding="utf-8")
    parse = ["parse-examl", "-s", "taxa.phy", "-m", "DNA", "-n", "taxa"]
    subprocess.run(parse, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def figures(folder: Path) -> dict[str, float]:
    """The time of the search."""
    text = (folder / "ExaML_log.out").read_text(encoding="utf-8")
    return {"search": float(text.split()[-2])}


def result(folder: Path) -> str:
    """The tree's likelihood."""
    text = (folder / "ExaML_info.out").read_text(encoding="utf-8")
    return " ".join(re.findall(r"Likelihood +: (-[\d.]+)", text))


ARGUMENTS = ("-s", "taxa.binary", "-t", "taxa.nwk", "-n", "out", "-m", "GAMMA")
APPLICATION = Application((binary(), *ARGUMENTS), write_input, figures, result)
