#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long does the `antiphon` command need before it does its work?

  python bench/startup/commands.py                  antiphon --help
  python bench/startup/commands.py bench run        the help of these commands, which imports them

CPU time of a new process, user and system, since the machine may be busy with other things.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys


def cpu_s(command: list[str]) -> float:
    """CPU time of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measures and prints a line of JSON for each command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="default: none, which is antiphon --help")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="default: %(default)s")
    args = parser.parse_args()
    for name in args.commands or [""]:
        words = [*([name] if name else []), "--help"]
        samples = [cpu_s([sys.executable, "-m", "antiphon", *words]) for _ in range(args.runs)]
        row = {"command": " ".join(words), "median_s": statistics.median(samples), "samples": samples}
        print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
