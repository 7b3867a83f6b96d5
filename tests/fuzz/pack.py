# SPDX-License-Identifier: Apache-2.0
"""Packs a fuzzer's corpus of many small inputs into one file (each with its length in 4 bytes), and unpacks it.

python tests/fuzz/pack.py pack DIRECTORY FILE
python tests/fuzz/pack.py unpack FILE DIRECTORY
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path


def pack(source: Path, target: Path) -> None:
    """Pack all files of a directory, the shortest first."""
    inputs = sorted((path.read_bytes() for path in source.iterdir()), key=lambda data: (len(data), data))
    target.write_bytes(b"".join(len(data).to_bytes(4, "little") + data for data in inputs))


def unpack(source: Path, target: Path) -> None:
    """Write a file for each input, named as libFuzzer does."""
    target.mkdir(parents=True, exist_ok=True)
    data, at = source.read_bytes(), 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        found = data[at + 4 : end]
        (target / hashlib.sha1(found, usedforsecurity=False).hexdigest()).write_bytes(found)
        at = end


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pack", "unpack"))
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    args = parser.parse_args()
    (pack if args.what == "pack" else unpack)(args.source, args.target)


if __name__ == "__main__":
    main()
