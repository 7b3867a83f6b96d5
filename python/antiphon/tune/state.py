# SPDX-License-Identifier: Apache-2.0
"""The measurements so far, written as they come: an interrupted tuning continues where it stopped."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from antiphon.bench.collectives import CollectiveMeasurement
from antiphon.documents import parse_json
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.output import files

FORMAT = "antiphon-tune-state"
VERSION = 1


class TuningState:
    """Lines of JSON: what is being tuned, then every event of the benchmark. A last line that was cut short is
    ignored.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.measurements: list[CollectiveMeasurement] = []
        #: (collective, bytes, ranks) whose modes are all measured.
        self.finished: set[tuple[str, int, int]] = set()
        #: The same of doubted choices that were measured again.
        self.again: list[CollectiveMeasurement] = []
        self.finished_again: set[tuple[str, int, int]] = set()
        self._header = {"format": FORMAT, "version": VERSION, **header}
        self._file: IO[str] | None = None

    def load(self) -> None:
        """Reads what an earlier run left, if it tuned the same."""
        if not self.path.exists():
            return
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise AntiphonError(f"cannot read {self.path}: {error}", hint="--restart begins anew") from None
        events = list(_events(lines))
        if not events or events[-1].get("event") == "complete":
            return
        if events[0] != self._header:
            was, asked = _difference(events[0], self._header)
            raise AntiphonError(
                f"{self.path} holds an unfinished tuning of something else ({was}; asked for now: {asked})",
                hint="--restart throws it away; another --profile has its own",
            )
        for event in events[1:]:
            self._take(event)

    def open(self, restart: bool) -> None:
        """Opens the file to begin, or to continue an earlier tuning; from now on no other tuning opens it."""
        try:
            with files.locked(self.path), contextlib.ExitStack() as unused:
                earlier = self._earlier()
                if earlier is not None:
                    unused.enter_context(earlier)
                if not restart:
                    self.load()
                begin = restart or earlier is None or not self.finished and not self.measurements
                if begin:  # In a directory that others may write, what is there may be their link.
                    self.path.unlink(missing_ok=True)
                    self._file = self._claimed(self.path.open("x", encoding="utf-8"))
                else:
                    self._file = earlier
                    unused.pop_all()
        except OSError as error:
            raise AntiphonError(f"cannot write {self.path}: {error.strerror}") from None
        if begin:
            self._write(self._header)
        elif self._file is not None:
            self._file.write("\n")  # after a line that was cut short

    def _earlier(self) -> IO[str] | None:
        return self._claimed(self.path.open("a", encoding="utf-8")) if self.path.exists() else None

    def _claimed(self, file: IO[str]) -> IO[str]:
        """Returns the file, which this process has for itself until it closes it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise AntiphonError(f"another tuning is under way, and keeps its measurements in {self.path}",
                                hint="let it end first; another --profile has its own", exit_code=EXIT_FAILURE,
                                ) from None  # fmt: skip
        except OSError:
            pass  # Not every file system has locks.
        return file

    def add(self, event: Mapping[str, Any], again: bool = False) -> None:
        """Keeps an event of the benchmark."""
        if event.get("event") in ("result", "cell_done", "complete"):
            kept = {**event, "again": True} if again else event
            self._write(kept)
            self._take(kept)

    def close(self, complete: bool) -> None:
        """Ends writing. The file of a tuning that came to its end stays, as the raw samples; the next one begins
        anew.
        """
        if complete:
            self.add({"event": "complete"})
        if self._file is not None:
            self._file.close()

    def _take(self, event: Mapping[str, Any]) -> None:
        again = bool(event.get("again"))
        if event["event"] == "result":
            fields = {key: value for key, value in event.items() if key not in ("event", "again")}
            (self.again if again else self.measurements).append(CollectiveMeasurement(**fields))
        elif event["event"] == "cell_done":
            key = (event["collective"], event["bytes"], event["ranks"])
            (self.finished_again if again else self.finished).add(key)

    def _write(self, data: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(data) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _events(lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    for line in lines:
        try:
            event = parse_json(line)
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield event


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str]:
    keys = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    was, asked = (", ".join(f"{key} {where.get(key)}" for key in keys) for where in (old, new))
    return was, asked
