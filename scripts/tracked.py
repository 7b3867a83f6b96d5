# SPDX-License-Identifier: Apache-2.0
"""Lists the files of this repository, as git knows them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(*words: str) -> list[str]:
    """Returns what `git ls-files` lists with these options or patterns; ends with git's reason if it refuses."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        sys.exit("error: git is not installed\nhint: install it, as `apt-get install git`")
    if listed.returncode != 0:
        sys.exit(f"error: git does not list the files of {ROOT}: {listed.stderr.strip()}\n"
                 "hint: this needs a clone of the repository that git takes for yours")  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name]
