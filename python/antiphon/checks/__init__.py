# SPDX-License-Identifier: Apache-2.0
"""The checks of `antiphon doctor`; each one really tries a feature instead of looking for its name."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True)
class Check:
    """One line of the report. `fail` marks what Antiphon cannot do without, `warn` what limits it."""

    group: str
    name: str
    status: str
    detail: str
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the line as it appears in `doctor --json`."""
        return asdict(self)


def check(group: str, name: str, good: bool, detail: str, hint: str | None = None, otherwise: str = WARN) -> Check:
    """Makes a line that is ok if `good`; else it is `otherwise`, and `hint` says what to do."""
    return Check(group, name, OK if good else otherwise, detail, None if good else hint)


def tried(
    command: Sequence[str], limit_s: float, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command; one that cannot be started, or takes longer than the limit, has failed and says why."""
    try:
        return subprocess.run(
            command, capture_output=True, errors="replace", timeout=limit_s, env=env, cwd=cwd, check=False
        )
    except subprocess.TimeoutExpired:
        why = f"takes longer than {limit_s:g} s"
    except OSError as error:
        why = str(error.strerror)
    return subprocess.CompletedProcess(command, 1, "", f"{command[0]}: {why}")
