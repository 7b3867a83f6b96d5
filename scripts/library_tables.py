# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of the libraries' own algorithms (python/antiphon/traffic/tables) as the JSON that the core reads.

scripts/library_tables.py          writes src/libraries/tables.json
scripts/library_tables.py --check  fails if that file is not what it would write
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "python/antiphon/traffic/tables"
OUTPUT = ROOT / "src/libraries/tables.json"
#: Libraries that a program of today may run on.
LIBRARIES = ("mpich-4", "mpich-5", "openmpi-4.1", "openmpi-5.0")


def text() -> str:
    """All tables as one JSON document, a collective on each line."""
    lines = []
    for key in LIBRARIES:
        document = tomllib.loads((TABLES / f"{key}.toml").read_text(encoding="utf-8"))
        parts = [f'    "{name}": {json.dumps(table, separators=(",", ":"))}' for name, table in document.items()]
        lines.append(f'  "{key}": {{\n' + ",\n".join(parts) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Writes or checks the file."""
    if "--check" in sys.argv[1:]:
        if OUTPUT.read_text(encoding="utf-8") == text():
            return 0
        print(f"{OUTPUT.relative_to(ROOT)} is out of date: run scripts/library_tables.py", file=sys.stderr)
        return 1
    OUTPUT.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
