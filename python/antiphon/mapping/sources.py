# SPDX-License-Identifier: Apache-2.0
"""From the files that a user names to a placement: a trace or its traffic, a machine, the nodes of the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import trace
from antiphon.errors import AntiphonError
from antiphon.mapping import machine
from antiphon.mapping.compute import Result, compute
from antiphon.mapping.scoring import Decompose, Wishes
from antiphon.mpi.hosts import Hosts
from antiphon.profile import is_profile
from antiphon.units import whole_number

if TYPE_CHECKING:
    from antiphon.traffic import Traffic
    from antiphon.traffic.of_trace import Window


@dataclass(frozen=True)
class Sources:
    """What a placement is computed from."""

    traffic: Path
    machine: Path
    #: The nodes that ranks may be on, with their slots; without, all that the machine has.
    hosts: Hosts | None = None
    #: The table of the library whose algorithms are assumed; "": the one that the trace names.
    library: str = ""
    #: All collectives as Antiphon's own, not only those that ran so.
    own: bool = False
    #: Point-to-point messages alone, as MPIPP sees them.
    ignore_collectives: bool = False
    cores_per_node: int = 0
    #: Only what began in these seconds of a recorded run, as A:B.
    between: str = ""
    #: Only that phase: its number from 0, of a trace as K/N: of N equally long ones.
    phase: str = ""
    #: Ranks get a core of their own where the launcher can say so.
    bind: bool = True


def place(sources: Sources, wishes: Wishes) -> Result:
    """The placement, with its reasons."""
    decompose = reader(sources)
    traffic = decompose(None)
    where = machine.load(
        sources.machine,
        message_bytes=traffic.mean_bytes(),
        cores_per_node=sources.cores_per_node,
        hosts=sources.hosts,
    )
    where = where if sources.bind else machine.unbound(where)
    result = compute(decompose, where, wishes)
    result.special = bool(wishes.pins or wishes.max_per_node or sources.cores_per_node or wishes.oversubscribe)
    if traffic.header.get("complete") is False:
        result.notes.insert(0, "the trace is not complete: some ranks' calls are missing")
    result.notes += approximations(traffic)
    return result


def reader(sources: Sources) -> Decompose:
    """Gives the traffic for ranks on any nodes; the traffic of a file does not depend on the nodes."""
    read = _reader_of_traffic(sources) if kind_of(sources.traffic) == "traffic" else _reader_of_trace(sources)
    if not sources.ignore_collectives:
        return read
    return lambda nodes: read(nodes).selected(lambda part: not part.collective)


def _reader_of_traffic(sources: Sources) -> Decompose:
    from antiphon.traffic import Traffic

    if sources.library or sources.own:
        raise AntiphonError("--library and --own say how a trace is read; this is traffic already",
                            hint="`antiphon traffic` has the same options")  # fmt: skip
    if sources.between:
        raise AntiphonError("--between needs a trace; this is traffic already",
                            hint="`antiphon traffic` has the same option")  # fmt: skip
    traffic = Traffic.load(sources.traffic)
    if sources.phase:
        phase, _ = _phase(sources.phase)
        count = 1 + max((part.phase for part in traffic.parts), default=0)
        if phase >= count:
            raise AntiphonError(f"--phase {sources.phase}: {sources.traffic} has phases 0 to {count - 1}",
                                hint="`antiphon traffic TRACE --phases N -o FILE` cuts a run")  # fmt: skip
        traffic = traffic.selected(lambda part: part.phase == phase)
    return lambda nodes: traffic


def _phase(text: str) -> tuple[int, int]:
    """The number of a phase, and of how many."""
    number, _, count = map(whole_number, text.partition("/"))
    if number is None or (count is None and "/" in text):
        raise AntiphonError(f"--phase {text}: expected K, or K/N for a trace", hint="--phase 1/4: the second of four")
    return number, count or 0


def _windows(sources: Sources, recorded: trace.Trace) -> list[Window]:
    """The part of the run that counts; None means all of it."""
    from antiphon.traffic.of_trace import Window, phases_of

    if sources.between and sources.phase:
        raise AntiphonError("--between and --phase both say which part of the run counts", hint="give one of them")
    if sources.between:
        return [Window.parse(sources.between)]
    if not sources.phase:
        return []
    phase, count = _phase(sources.phase)
    if phase >= count:
        raise AntiphonError(f"--phase {sources.phase}: a trace is cut into equally long phases, as K/N",
                            hint="--phase 1/4: the second of four")  # fmt: skip
    return [phases_of(recorded, count)[phase]]


def _reader_of_trace(sources: Sources) -> Decompose:
    from antiphon.traffic.of_trace import of_trace

    recorded = trace.Trace.load(sources.traffic)
    profile = machine.text_of(sources.machine) if sources.own and sources.machine.is_file() else None
    if profile is not None and not is_profile(profile):
        profile = None  # A plain description has no decisions.
    windows = _windows(sources, recorded)
    run_s = max((r.ended_ns or 0 for r in recorded.ranks), default=0) / 1e9
    if windows:
        run_s = min(windows[0].end_ns / 1e9, run_s) - windows[0].begin_ns / 1e9
    known: dict[tuple[int, ...] | None, Traffic] = {}

    def read(nodes: Sequence[int] | None) -> Traffic:
        key = None if nodes is None else _by_first_rank(nodes)
        if key not in known:
            how: dict[str, Any] = {"profile": profile, "own": sources.own, "windows": windows, "nodes": key}
            known[key] = of_trace(recorded, sources.library, **how)
            known[key].header["run_s"] = run_s
        return known[key]

    return read


def _by_first_rank(nodes: Sequence[int]) -> tuple[int, ...]:
    """The nodes numbered as their ranks come: how libraries see them."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(node, len(numbers)) for node in nodes)


def kind_of(path: Path) -> str:
    """ "trace", "traffic" or "placement"."""
    try:
        with path.open("rb") as file:
            begin = file.read(64)
    except OSError as error:
        raise AntiphonError(f"{path}: {error.strerror}", hint="record a run with `antiphon trace`") from None
    if begin.startswith(b"PK"):
        return "traffic"
    if not begin.lstrip().startswith(b"{"):
        return "trace"
    if b'"antiphon-plan"' in begin:
        return "placement"
    if b'"antiphon-placement"' not in path.read_bytes():
        raise AntiphonError(f"{path} is neither a trace nor a placement",
                            hint="the trace comes first: antiphon map TRACE MACHINE.json")  # fmt: skip
    return "placement"


def is_plain_machine(path: Path) -> bool:
    """A description by hand, and no profile."""
    return not is_profile(machine.text_of(path))


def approximations(traffic: Traffic) -> list[str]:
    """The reasons why messages are not known exactly, each once."""
    found: dict[str, list[str]] = {}
    for part in traffic.parts:
        if part.approximation:
            found.setdefault(part.approximation, []).append(part.name)
    return [f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in found.items()]


def pins(texts: Sequence[str]) -> list[tuple[int, str, int]]:
    """RANK:NODE or RANK:NODE:CORE."""
    found = []
    for text in texts:
        rank, _, rest = text.partition(":")
        node, _, core = rest.partition(":")
        which, place = whole_number(rank), whole_number(core) if core else -1
        if which is None or place is None or not node:
            raise AntiphonError(f"--pin {text}: not RANK:NODE or RANK:NODE:CORE", hint="for example --pin 0:node3")
        found.append((which, node, place))
    return found
