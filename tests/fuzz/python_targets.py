# SPDX-License-Identifier: Apache-2.0
"""What Python reads from files: whatever is in a file, reading it ends in a value or in an error that says what it is.

`python tests/fuzz/python_targets.py SECONDS NAME…` changes the inputs of the corpora at random for so long.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon import model, patterns, profile, trace
from antiphon.codec import messages
from antiphon.commands import _bench_model
from antiphon.errors import AntiphonError
from antiphon.exporters import _goal_reader, intel, openmpi_json, openmpi_rules, ucc
from antiphon.lab import load_cluster
from antiphon.mapping import sources
from antiphon.mpi import elf, launch
from antiphon.placement import Placement
from antiphon.probe import recording
from antiphon.profile import store
from antiphon.report import html
from antiphon.trace import summary
from antiphon.traffic import Traffic

CORPUS = Path(__file__).resolve().parent / "corpus"
FOUND = Path("build/fuzz")
LIMIT_S, LIMIT_BYTES = 20, 3 << 30


def read_trace(path: Path) -> None:
    """Reads all ranks' calls, and what `antiphon trace --show` makes of them."""
    trace.Trace.load(path)
    summary.summarise(path)


def read_elf(path: Path) -> None:
    """Reads as the dynamic linker would."""
    elf.read.cache_clear()
    elf.find_dependency(path, lambda name: name.startswith("libmpi"), {})
    elf.defines(path, "MPI_Init")


def read_text(parse: Callable[[str], Any]) -> Callable[[Path], None]:
    """Returns a reader of a file of text; where it is no text, that is its caller's error."""
    return lambda path: parse(path.read_text(encoding="utf-8", errors="replace"))


#: What reads a file, and the corpora that it begins with.
TARGETS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "profile": (profile.load, ("profile",)),
    "model": (model.read_profile, ("profile", "rules")),
    "learned": (store.read_learned, ("learned",)),
    "plan": (lambda path: launch.check_settings({"ANTIPHON_PLAN": str(path)}), ("phases", "schedule_json")),
    "decisions": (lambda path: launch.check_settings({"ANTIPHON_PROFILE": str(path)}), ("rules", "profile")),
    "force": (read_text(lambda t: launch.check_settings({"ANTIPHON_FORCE": t})), ("python_force",)),
    "pattern": (patterns.Pattern.load, ("phases",)),
    "trace": (read_trace, ("python_trace",)),
    "traffic": (Traffic.load, ("python_traffic",)),
    "kind": (sources.kind_of, ("python_trace", "python_placement", "python_traffic")),
    "placement": (Placement.load, ("python_placement",)),
    "hostfile": (launch.read_hostfile, ("python_hostfile",)),
    "summary": (html.of_document, ("python_summary", "python_results", "profile")),
    "results": (_bench_model.read_results, ("python_results",)),
    "samples": (recording.document_again, ("python_samples",)),
    "messages": (lambda path: list(messages.read(path)), ("python_messages",)),
    "cluster": (load_cluster, ("python_cluster",)),
    "elf": (read_elf, ("python_elf",)),
    "openmpi_rules": (read_text(openmpi_rules.parse), ("python_openmpi_rules",)),
    "openmpi_json": (read_text(lambda t: openmpi_json.lookup(t, "bcast", 8, 1024)), ("python_openmpi_json",)),
    "goal": (read_text(_goal_reader.run), ("python_goal",)),
    "intel": (read_text(lambda t: intel.lookup(t, "bcast", 8, 1024)), ("python_intel",)),
    "ucc": (read_text(lambda t: ucc.lookup(t, "bcast", 8, 1024)), ("python_ucc",)),
}
#: Readers of single texts, whose callers turn this into the user's error.
RAISE_VALUE_ERROR = {"openmpi_rules", "openmpi_json", "goal", "intel", "ucc"}
ODD_VALUES: list[Any] = [None, True, -1, 0, 2**63, 1e308, "", "x", "\ud800", [], {}, [[]], {"": None}]


def seeds(name: str) -> list[bytes]:
    """Returns a target's inputs, the same at every call."""
    folders = [CORPUS / folder for folder in TARGETS[name][1]]
    return [file.read_bytes() for folder in folders if folder.is_dir() for file in sorted(folder.iterdir())]


def holds(name: str, data: bytes, folder: Path) -> None:
    """Raises what the reader raises besides the errors that users see."""
    reader, _ = TARGETS[name]
    path = folder / ("input.toml" if name == "cluster" else "input")
    path.write_bytes(data)
    expected = (AntiphonError, ValueError) if name in RAISE_VALUE_ERROR else (AntiphonError,)
    signal.alarm(LIMIT_S)
    try:
        reader(path)
    except expected:
        pass
    finally:
        signal.alarm(0)


def changed_value(value: Any, choose: random.Random) -> Any:
    """Returns a JSON value with one of its parts replaced, repeated or left out."""
    if isinstance(value, (dict, list)) and value and choose.random() < 0.9:
        key = choose.choice(list(value)) if isinstance(value, dict) else choose.randrange(len(value))
        copy = value.copy()
        if choose.random() < 0.15:
            del copy[key]
        else:
            copy[key] = changed_value(value[key], choose)  # type: ignore[index]
        return copy
    return choose.choice(ODD_VALUES)


def changed(data: bytes, edits: list[tuple[int, int, bytes]], values: int, choose: random.Random) -> bytes:
    """Returns the input after changes of JSON values, where it is JSON, and then of bytes."""
    if values:
        try:
            document = json.loads(data)
            for _ in range(values):
                document = changed_value(document, choose)
            data = json.dumps(document).encode()
        except (ValueError, RecursionError):
            pass
    for at, removed, inserted in edits:
        begin = at % (len(data) + 1)
        data = data[:begin] + inserted + data[begin + removed :]
    return data


def inputs(name: str) -> st.SearchStrategy[bytes]:
    """Returns a strategy of changed inputs of the corpora."""
    edit = st.tuples(st.integers(0, 1 << 20), st.integers(0, 40), st.binary(max_size=8))
    randoms = st.randoms(use_true_random=False)
    return st.builds(changed, st.sampled_from(seeds(name)), st.lists(edit, max_size=5), st.integers(0, 3), randoms)


def examine(name: str, folder: Path, examples: int, last: list[bytes], **options: Any) -> None:
    """Gives a target so many inputs. `last` holds the last one: if this raises, the shortest that fails."""

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), **options)
    @given(inputs(name))
    def check(data: bytes) -> None:
        last[:] = [data]
        holds(name, data, folder)

    check()


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"a reader needs more than {LIMIT_S} s")


def main() -> int:
    """Runs the targets that are named, or all, by turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TARGETS))
    parser.add_argument("--list", action="store_true", help="print the names")
    args = parser.parse_args()
    if args.list:
        print("\n".join(TARGETS))
        return 0
    signal.signal(signal.SIGALRM, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    FOUND.mkdir(parents=True, exist_ok=True)
    failures = 0
    for name in args.names or TARGETS:
        end, count, last = time.monotonic() + args.seconds, 0, [b""]
        with tempfile.TemporaryDirectory() as folder:
            try:
                while time.monotonic() < end:
                    examine(name, Path(folder), 200, last)
                    count += 200
                print(f"python {name}: {count} inputs", flush=True)
            except Exception:  # noqa: BLE001 (any error is a finding)
                failures += 1
                kept = FOUND / f"python-{name}-{hashlib.sha1(last[0], usedforsecurity=False).hexdigest()[:12]}"
                kept.write_bytes(last[0])
                print(f"python {name}: FAILED after {count} inputs, see {kept}\n{traceback.format_exc()}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
