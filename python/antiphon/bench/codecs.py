# SPDX-License-Identifier: Apache-2.0
"""Runs the program that measures codecs, and reads its results."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from antiphon.bench import stats
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.mpi import launch

PROGRAM = "antiphon-bench-codecs"
MODES = ("sent", "warm", "cold")
#: A program of the benchmark may take this long for each cell, beyond its budget.
_CELL_LIMIT_S = 60.0


@dataclass(frozen=True)
class CodecBenchmark:
    """What to measure: every codec on every stream of messages, at every size and in every mode."""

    files: Sequence[Path] = ()
    generated: Sequence[str] = ()
    #: Bytes of a message; 0 keeps the sizes of the stream.
    sizes: Sequence[int] = (0,)
    modes: Sequence[str] = ("sent",)
    #: The codecs to measure; an empty list means all.
    contenders: Sequence[str] = ()
    seed: int = 1
    budget_s: float = 0.3
    #: Antiphon chooses a codec for a wire of this rate.
    wire_bytes_per_s: float = 12.5e6

    def arguments(self) -> list[str]:
        """Returns the program's command line."""
        words = [word for file in self.files for word in ("--file", str(file))]
        for option, values in (("generated", self.generated), ("contenders", self.contenders)):
            words += [f"--{option}", ",".join(values)] if values else []
        words += ["--sizes", ",".join(map(str, self.sizes)), "--modes", ",".join(self.modes), "--seed", str(self.seed)]
        return [*words, "--budget", str(self.budget_s), "--wire", str(self.wire_bytes_per_s)]


@dataclass(frozen=True)
class CodecMeasurement:
    """The result of one codec on one stream of messages."""

    source: str
    kind: str
    #: Size of a message; 0 means as they were sent.
    bytes: int
    mode: str
    contender: str
    messages: int
    raw_bytes: int
    #: Counts 8 bytes for each frame's head, for every codec alike.
    frame_bytes: int
    #: The least time of each message, summed ("warm": the least pass).
    encode_least_s: float
    decode_least_s: float
    #: The time of each pass over all messages ("cold": of each message).
    encode_s: Sequence[float]
    decode_s: Sequence[float]

    @property
    def rate(self) -> float:
        """Returns how many times shorter the messages become."""
        return self.raw_bytes / self.frame_bytes

    @property
    def encode_bytes_per_s(self) -> float:
        return self.raw_bytes / self.encode_least_s

    @property
    def decode_bytes_per_s(self) -> float:
        return self.raw_bytes / self.decode_least_s


@dataclass
class CodecResults:
    """Everything that one run of the program reported."""

    instruction_set: str = ""
    cells: list[CodecMeasurement] = field(default_factory=list)
    #: Codecs that are not available here, and why.
    missing: dict[str, str] = field(default_factory=dict)
    wrong: list[CodecMeasurement] = field(default_factory=list)
    #: Sources and sizes with too little data.
    skipped: list[tuple[str, int, str]] = field(default_factory=list)

    def take(self, event: Mapping[str, Any]) -> None:
        """Adds one line of the program's output."""
        kind = event["event"]
        if kind in ("result", "wrong"):
            cell = CodecMeasurement(**{key: value for key, value in event.items() if key != "event"})
            (self.cells if kind == "result" else self.wrong).append(cell)
        elif kind == "contender" and event["missing"]:
            self.missing[event["name"]] = event["missing"]
        elif kind == "start":
            self.instruction_set = event["instruction_set"]
        elif kind == "skipped":
            self.skipped.append((event["source"], event["bytes"], event["why"]))
        elif kind == "error":
            raise AntiphonError(event["message"], exit_code=EXIT_FAILURE)

    def contenders(self) -> list[str]:
        """Returns the results in the order in which they were measured."""
        return list(dict.fromkeys(cell.contender for cell in self.cells))

    def geometric_mean(
        self, contender: str, value: Callable[[CodecMeasurement], float], cells: Sequence[CodecMeasurement]
    ) -> float | None:
        return stats.geometric_mean(value(cell) for cell in cells if cell.contender == contender)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the results as --json prints them."""
        rates = ("rate", "encode_bytes_per_s", "decode_bytes_per_s")
        return [asdict(cell) | {name: getattr(cell, name) for name in rates} for cell in self.cells]


def program() -> Path:
    """Returns the program; raises an error where it is not built."""
    path = launch.lib_dir() / PROGRAM
    if not path.is_file():
        raise AntiphonError(f"{path} is missing", hint="`make setup` builds and installs it")
    return path


def blosc_library() -> Path | None:
    """Returns Blosc2's library, which its Python package contains; the package is not imported."""
    found = importlib.util.find_spec("blosc2")
    folder = Path(found.origin).parent / "lib" if found and found.origin else None
    files = sorted(folder.glob("libblosc2.so*")) if folder else []
    return files[0] if files else None


def listed() -> list[dict[str, Any]]:
    """Returns all codecs that can be measured, and all generated messages."""
    return _run(["--list"], lambda event: None, 60.0)


def run(benchmark: CodecBenchmark, on_event: Callable[[Mapping[str, Any]], None] = lambda event: None) -> CodecResults:
    """Measures; `on_event` gets every line of the program as it comes."""
    results = CodecResults()

    def take(event: Mapping[str, Any]) -> None:
        results.take(event)
        on_event(event)

    cells = (len(benchmark.files) + len(benchmark.generated)) * len(benchmark.sizes) * len(benchmark.modes)
    _run(benchmark.arguments(), take, 60 + cells * (_CELL_LIMIT_S + benchmark.budget_s))
    return results


def _run(arguments: Sequence[str], take: Callable[[Mapping[str, Any]], None], limit_s: float) -> list[dict[str, Any]]:
    command = [str(program()), *arguments]
    if blosc := blosc_library():
        command += ["--blosc", str(blosc)]
    events = []
    with subprocess.Popen(["timeout", f"{limit_s:.0f}", *command], stdout=subprocess.PIPE, errors="replace") as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                events.append(json.loads(line))
                take(events[-1])
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise AntiphonError(f"{PROGRAM} ended with {process.returncode}", exit_code=EXIT_FAILURE)
    return events
