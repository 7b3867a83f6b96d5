# SPDX-License-Identifier: Apache-2.0
"""Says where conformance tests are built and kept, and runs their processes so that they always end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import EXIT_FAILURE, AntiphonError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "conformance"
DOWNLOADS = BUILD / "downloads"
RESULTS = BUILD / "results"
#: The name belongs to this process alone, because several may run at once.
RUNS = BUILD / "runs" / str(os.getpid())
LOGS = BUILD / "logs"

#: This marks all processes of one run in their environment, so that leftovers of a killed launcher are found.
MARK = "ANTIPHON_CONFORMANCE_RUN"
#: At most this much of a program's output is kept.
MOST_OUTPUT_BYTES = 1 << 20
#: A running process is looked at this often.
LOOK_S = 5.0


@dataclass(frozen=True)
class Finished:
    """Says how a process ended."""

    returncode: int
    output: str
    seconds: float
    #: True if it was ended because it took too long, or nothing moved any more.
    hung: bool


def run(
    command: Sequence[str],
    *,
    log: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stalled: Callable[[], bool] | None = None,
) -> Finished:
    """Runs `command` with its output in `log`; ends it, and all that it started, after `timeout_s` or once
    `stalled()`."""
    mark = uuid.uuid4().hex
    full_env = {**os.environ, **(env or {}), MARK: mark}
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=full_env,
            cwd=cwd,
            start_new_session=True,
        )
        try:
            hung = _wait(process, timeout_s, stalled)
        finally:
            _end(process, mark)
    with log.open("rb") as written:
        text = written.read(MOST_OUTPUT_BYTES).decode("utf-8", "replace")
    return Finished(process.returncode, text, time.monotonic() - began, hung)


def _wait(process: subprocess.Popen[bytes], limit_s: float, stalled: Callable[[], bool] | None) -> bool:
    left = limit_s
    while left > 0:
        began = time.monotonic()
        try:
            process.wait(min(left, LOOK_S))
            return False
        except subprocess.TimeoutExpired:
            # A much longer time means that this whole machine was stopped meanwhile, so that others could measure.
            left -= min(time.monotonic() - began, 2 * LOOK_S)
            if stalled is not None and stalled():
                return True
    return True


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    if process.poll() is None:
        # A launcher that is asked to end also ends its ranks, and removes its files under /tmp.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    if process.poll() is None:
        process.kill()
        process.wait()
    for pid in _marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def step(command: Sequence[str], *, log: Path, what: str, timeout_s: float = 1800, **options: object) -> None:
    """Runs a step of the preparations; a failure is an error with the end of its output."""
    say(f"{what} (log: {log.relative_to(ROOT)})")
    done = run(command, log=log, timeout_s=timeout_s, **options)  # type: ignore[arg-type]
    if done.returncode != 0:
        last = "\n".join(done.output.splitlines()[-12:])
        raise AntiphonError(f"{what} failed:\n{last}", hint=f"all of its output is in {log}", exit_code=EXIT_FAILURE)


def say(message: str) -> None:
    """Prints progress for people; the data goes to stdout."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')}  {message}\n")
    sys.stderr.flush()


def file_name(text: str) -> str:
    """Returns `text` as a file name."""
    return re.sub(r"[^\w.+=-]+", "_", text)[:150]
