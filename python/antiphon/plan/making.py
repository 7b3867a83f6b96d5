# SPDX-License-Identifier: Apache-2.0
"""Makes a plan from a recorded run: its trace, the machine, and what compressing its messages did."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from antiphon import core
from antiphon.documents import parse_json
from antiphon.mapping.joint import JointChoice, JointResult, Optimiser
from antiphon.output.tables import time_text
from antiphon.patterns import of_trace as traced_patterns
from antiphon.patterns import repeating
from antiphon.placement import Node, Placement
from antiphon.plan.document import PARTS, Plan
from antiphon.trace import Trace
from antiphon.traffic.call_times import seconds_in_calls
from antiphon.traffic.decompose import rate_of
from antiphon.traffic.libraries import CollectiveCall

#: A placement that gains less is left out, as `antiphon map` has it.
WORTH_PLACING = 1.02
#: An algorithm that is predicted to be faster by less is left to the run, whose own model has the same bound.
CLEARLY_FASTER = 1.2
#: The same where nobody measured the machine: calls are predicted one by one, and in programs they overlap.
CLEARLY_FASTER_GUESSED = 1.5
#: Of shorter blocks a profile that nobody measured knows too little, and of gains of less time (as in a run's model).
LEAST_GUESSED_BYTES = 512
LEAST_GUESSED_GAIN_S = 30e-6
#: Compression that saves a smaller part of the run is left out.
WORTH_ENCODING = 0.01
#: What a run compresses at least, where nothing else is said.
LEAST_ENCODED_BYTES = 1024
#: Messages shorter than this part of the mean of those that it paid to compress are left alone.
LEAST_PART = 2
#: The sizes of their blocks are not known to all ranks, so that no rule can name them.
UNKNOWN_SIZES = ("scatterv", "gatherv", "alltoallv")


@dataclass(frozen=True)
class Recorded:
    """What a plan is made from."""

    trace: Trace
    #: The text of the machine's profile.
    profile: str
    #: The profile was made of a description, not measured.
    guessed: bool = False
    arguments: Sequence[str] | None = None
    #: The summary of a run with compression, as a document.
    summary: Mapping[str, Any] | None = None
    library: str = ""
    min_calls: int = 2


@dataclass
class Made:
    """A plan, and why it lacks what it lacks."""

    plan: Plan
    #: By name of a part that was asked for and is not there.
    left_out: dict[str, str] = field(default_factory=dict)
    #: What is not known of the run.
    notes: Sequence[str] = ()


def make(recorded: Recorded, parts: Collection[str] = PARTS) -> Made:
    """Makes the plan with these parts, as far as they pay."""
    trace, left_out = recorded.trace, {}
    nodes, placement, rules, expected, notes = list(trace.nodes), None, [], [], []
    if {"placement", "algorithms"} & set(parts):
        optimiser = Optimiser(trace, without_bursts(recorded.profile), recorded.library)
        outcome = optimiser.run()
        state = wanted(outcome, parts)
        nodes = state.nodes
        placement, rules = placement_of(trace, outcome, state), rules_of(optimiser, state, parts, recorded.guessed)
        expected, notes = states_of(outcome), outcome.notes
        if "placement" in parts and placement is None:
            left_out["placement"] = "no placement gains 2 % or more by the model"
        if "algorithms" in parts and not rules:
            left_out["algorithms"] = "none is clearly faster by the model than what a run chooses itself"
    patterns = patterns_of(recorded, nodes) if "patterns" in parts else []
    if "patterns" in parts and not patterns:
        left_out["patterns"] = f"no MPI_Alltoallv whose counts are seen {recorded.min_calls} times"
    compression = compression_of(recorded.summary) if "compression" in parts else None
    if "compression" in parts and compression is None:
        left_out["compression"] = why_no_compression(recorded.summary)
    plan = Plan(made_for(recorded, nodes), placement, rules, patterns, compression, expected)
    return Made(plan, left_out, notes)


def of_joint(optimiser: Optimiser, outcome: JointResult, recorded: Recorded) -> Plan:
    """Returns the plan of placement and algorithms alone."""
    state = wanted(outcome, PARTS)
    placement = placement_of(optimiser.trace, outcome, state)
    rules = rules_of(optimiser, state, PARTS, recorded.guessed)
    return Plan(made_for(recorded, state.nodes), placement, rules, expected=states_of(outcome))


def without_bursts(profile: str) -> str:
    """Returns the profile with links that let nothing pass at once: calls that follow each other find no burst left."""
    document = parse_json(profile)
    for node in document["topology"]["nodes"]:
        node.pop("burst_bytes", None)
    return json.dumps(document)


def made_for(recorded: Recorded, nodes: Sequence[int]) -> dict[str, Any]:
    """Returns what run the plan is of."""
    header = recorded.trace.header
    return {
        "program": str(header.get("program", "")),
        "arguments": list(recorded.arguments) if recorded.arguments is not None else None,
        "ranks": recorded.trace.size,
        "nodes": len(set(nodes)),
        "mpi": " ".join(str(header.get("mpi", "")).split()),
    }


def wanted(outcome: JointResult, parts: Collection[str]) -> JointChoice:
    """Returns the state that the plan brings about; ranks stay where they were unless moving them gains enough."""
    moved, kept = (outcome.both, outcome.algorithms) if "algorithms" in parts else (outcome.placement, outcome.start)
    gains = kept.seconds >= WORTH_PLACING * moved.seconds and moved.seconds > 0
    return moved if "placement" in parts and gains else kept


def placement_of(trace: Trace, outcome: JointResult, state: JointChoice) -> Placement | None:
    """Returns the placement of a state, on the nodes that the run had; None where the ranks stay."""
    hosts = [str(host) for host in trace.header.get("hosts") or []]
    if list(state.nodes) == list(trace.nodes) or len(hosts) <= max(trace.nodes):
        return None
    slots = np.bincount(trace.nodes, minlength=len(hosts))
    nodes = [Node(host, int(count)) for host, count in zip(hosts, slots, strict=True)]
    taken: dict[int, int] = defaultdict(int)
    cores = []
    for node in state.nodes:
        cores.append(taken[node])
        taken[node] += 1
    stay = outcome.algorithms if state is outcome.both else outcome.start
    about = {"method": "joint", "saves_s": max(0.0, stay.seconds - state.seconds)}
    return Placement(nodes, [int(node) for node in state.nodes], cores, about)


def rules_of(optimiser: Optimiser, state: JointChoice, parts: Collection[str], guessed: bool) -> list[dict[str, Any]]:
    """Returns a rule for each kind of communicator, collective and class of sizes whose calls become clearly faster:
    than what a run chooses is by the model, and than they were in the recorded run, where they may overlap."""
    if "algorithms" not in parts:
        return []
    usual = optimiser.as_run(state.nodes, measured=not guessed)
    recorded = seconds_in_calls(optimiser.counted)
    #: How long calls took that go on while the program computes is not known.
    unknown = {0: 0.0 if guessed else math.inf}
    #: By what a rule asks for, and by algorithm.
    found: dict[tuple[Any, ...], dict[str, _Gain]] = defaultdict(lambda: defaultdict(_Gain))
    all_calls: Counter[tuple[Any, ...]] = Counter()
    for call, use in state.choices.items():
        key, calls = _key(optimiser, call, state.nodes), optimiser.calls(call)
        all_calls[key] += calls
        if use == usual[call] or (guessed and call.total_bytes() // call.ranks < LEAST_GUESSED_BYTES):
            continue
        planned_s, usual_s = (optimiser.total(call, state.nodes, choice) for choice in (use, usual[call]))
        gain = _Gain(calls, planned_s, usual_s, recorded.get(call, unknown), Counter({use: calls}), usual[call])
        found[key][use.partition(":")[0]].add(gain)
    best = {key: max(gains.values(), key=lambda gain: gain.saved_s) for key, gains in found.items()}
    # A rule changes all calls of its sizes, so it must be meant for most of them.
    rules = [_rule(k, gain) for k, gain in best.items() if gain.is_clear(guessed) and 2 * gain.calls >= all_calls[k]]
    return sorted(rules, key=lambda rule: -rule["saves_s"] * rule["calls"])


@dataclass
class _Gain:
    """Calls of a kind by one algorithm, and what all of them take."""

    calls: int = 0
    planned_s: float = 0.0
    usual_s: float = 0.0
    #: In the recorded run, by rank.
    recorded_s: dict[int, float] = field(default_factory=dict)
    #: How many calls are to use the algorithm with which parameters.
    uses: Counter[str] = field(default_factory=Counter)
    usual: str = ""

    def add(self, other: _Gain) -> None:
        self.calls += other.calls
        self.planned_s += other.planned_s
        self.usual_s += other.usual_s
        for rank, seconds in other.recorded_s.items():
            self.recorded_s[rank] = self.recorded_s.get(rank, 0.0) + seconds
        self.uses += other.uses
        self.usual = self.usual or other.usual

    @property
    def before_s(self) -> float:
        """As the model has it, but no longer than the rank was in them that was there longest."""
        return min(self.usual_s, max(self.recorded_s.values(), default=0.0))

    @property
    def saved_s(self) -> float:
        return self.before_s - self.planned_s

    def is_clear(self, guessed: bool) -> bool:
        """Tells whether the calls are expected to become faster by so much that the model can be believed."""
        least_s = LEAST_GUESSED_GAIN_S * self.calls if guessed else 0.0
        clearly = CLEARLY_FASTER_GUESSED if guessed else CLEARLY_FASTER
        return self.calls > 0 and self.saved_s > least_s and self.before_s >= clearly * self.planned_s > 0


def _key(optimiser: Optimiser, call: CollectiveCall, nodes: Sequence[int]) -> tuple[Any, ...]:
    """Returns what a rule asks for: collective, ranks, their distance, nodes and sizes (None: unknown)."""
    counts = [len({nodes[m] for m in one.members}) for one in optimiser.asked if one.call == call]
    sizes = None
    if call.collective not in (*UNKNOWN_SIZES, "barrier"):
        found = core.query("size_class", bytes=call.total_bytes() // call.ranks)
        sizes = (found["least_bytes"], found["most_bytes"])
    return (call.collective, call.ranks, call.stride, (min(counts), max(counts)), sizes)


def _rule(key: tuple[Any, ...], gain: _Gain) -> dict[str, Any]:
    collective, ranks, stride, nodes, sizes = key
    ((use, _),) = gain.uses.most_common(1)
    one_s, usual_s = gain.planned_s / gain.calls, gain.before_s / gain.calls
    rule = {"collective": collective, "ranks": [ranks, ranks], "nodes": list(nodes), "stride": [stride, stride]}
    if sizes is not None:
        rule["bytes"] = list(sizes)
    why = f"the plan: {time_text(one_s)} instead of {time_text(usual_s)} with {gain.usual}"
    return {**rule, "use": use, "why": why, "calls": gain.calls, "expected_s": one_s, "saves_s": usual_s - one_s}


def states_of(outcome: JointResult) -> list[dict[str, Any]]:
    """Returns the predictions with nothing changed, one of both, and both."""
    names = {"as it ran": "start", "algorithms alone": "algorithms", "placement alone": "placement", "both": "both"}
    states = []
    for name, key in names.items():
        state = getattr(outcome, key)
        gain = outcome.start.seconds / state.seconds if state.seconds > 0 else 1.0
        states.append({
            "name": name, "seconds": state.seconds, "collectives_s": state.collectives_s,
            "point_to_point_s": state.point_to_point_s, "gain": gain,
        })  # fmt: skip
    return states


def patterns_of(recorded: Recorded, nodes: Sequence[int]) -> list[dict[str, Any]]:
    """Returns the patterns that repeat, with schedules for ranks on these nodes."""
    kept = [one for one in repeating.find(recorded.trace) if one.calls >= recorded.min_calls]
    link_bytes_per_s = rate_of(recorded.profile) // 8
    return traced_patterns.compile_patterns(nodes, kept, link_bytes_per_s)[0]


def compression_of(summary: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns the classes of messages that were worth encoding, where all together saved a part of the run."""
    rows = [row for row in (summary or {}).get("compression") or () if row["encoded"]]
    paying = [row for row in rows if row["saved_s"] > 0]
    if summary is None or not paying:
        return None
    saved_s = sum(row["saved_s"] for row in rows) / max(1, summary["ranks"])
    if saved_s < WORTH_ENCODING * summary["run_s"]:
        return None
    keys = ("communicator", "class", "messages", "encoded", "bytes", "wire_bytes", "rate", "saved_s")
    classes = [{key: row[key] for key in keys} for row in paying]
    return {"use": "on", "saves_s": saved_s, "least_bytes": least_bytes(paying), "classes": classes}


def least_bytes(paying: Sequence[Mapping[str, Any]]) -> int:
    """Returns how long messages must be: the recorded run says nothing of much shorter ones, as another input has."""
    return max(LEAST_ENCODED_BYTES, min(least_of(row) for row in paying))


def least_of(row: Mapping[str, Any]) -> int:
    """Returns how long messages of a row must be: half as long as those that it paid to compress, in the mean, and
    longer than all shorter ones for which it did not pay, where the run counted messages by powers of two."""
    mean = int(row["bytes"] // max(1, row["messages"]))
    least = int(1 << max(0, (mean // LEAST_PART).bit_length() - 1))
    sizes = row.get("sizes") or ()
    paying = [int(one["least_bytes"]) for one in sizes if one["saved_s"] > 0]
    if not paying:
        return least
    others = [2 * int(one["least_bytes"]) for one in sizes if int(one["least_bytes"]) < min(paying)]
    # An encoded message is never shorter than the least one, so that this leaves room to become shorter.
    return min(max([least, *others]), max(least, min(paying) // LEAST_PART))


def why_no_compression(summary: Mapping[str, Any] | None) -> str:
    """Says why the plan does not compress."""
    if summary is None:
        return "a trace alone does not tell; --summary takes that of a run with --compress on"
    if not summary.get("compression"):
        return "no message of the run was long enough, or none went between nodes"
    return "it saved less than 1 % of the recorded run"
