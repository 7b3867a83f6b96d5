# SPDX-License-Identifier: Apache-2.0
"""Fits the values of a host to measurements of a real cluster, and holds them against those it did not use.

  value                  from
  latency_us             the shortest messages there and back, less the gap
  send_us, receive_us    the time within the calls for short messages
  eager_bytes            where the time within a send jumps
  core_mb_per_s          a ring: each rank sends to one and receives from another
  connection_mb_per_s    pairs: two ranks send each other; a long message one way, if that is slower than the wire

Of each file of long messages every second phase, from the first, is used; the others are predicted.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import core
from antiphon.cluster import hosts, measured, profile
from antiphon.cluster.measured import Phase, Times
from antiphon.cluster.spec import ClusterSpec, Switch
from antiphon.errors import AntiphonError
from antiphon.units import format_rate, format_size

#: Messages up to this size are short.
_SHORT_BYTES = 128
#: A prediction is of so many messages in a row.
_REPEATED = 10
_NAMES = {"one_way": "one way", "pairs": "both ways, pairs", "ring": "both ways, ring"}


@dataclass(frozen=True)
class Measurements:
    """All files of one cluster."""

    calls: Mapping[tuple[str, str], Times]
    one_way: Sequence[Phase]
    pairs: Sequence[Phase]
    ring: Sequence[Phase]

    @classmethod
    def read(cls, calls: Path, one_way: Path, pairs: Path, ring: Path) -> Measurements:
        return cls(
            measured.point_to_point(calls),
            measured.saturation(one_way),
            measured.saturation(pairs),
            measured.saturation(ring),
        )

    def times(self, experiment: str, call: str) -> Times:
        if (experiment, call) not in self.calls:
            raise AntiphonError(f"there are no times of {call} in an experiment {experiment!r}")
        return self.calls[experiment, call]


@dataclass(frozen=True)
class Comparison:
    """A phase, measured and predicted."""

    pattern: str
    ranks: int
    bytes: int
    used: bool
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1

    def to_json(self) -> dict[str, Any]:
        return {
            "pattern": self.pattern,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "used": self.used,
            "measured_s": self.measured_s,
            "predicted_s": self.predicted_s,
            "error": self.error,
        }


def fitted(name: str, rate_bits_per_s: int, found: Measurements, source: str) -> ClusterSpec:
    """Returns a cluster of one switch with the nodes that were measured and hosts with the values that fit."""
    nodes = max(len(phase.ranks) for phase in (*found.one_way, *found.pairs, *found.ring))
    row = hosts.for_rate(rate_bits_per_s)
    spec = ClusterSpec(name, (Switch("a", nodes=nodes),), rate_bits_per_s, 512 * 1024, row)
    values = _host_values(found, spec.port_bytes_per_s)
    eager_bytes = int(values.pop("eager_bytes"))
    return ClusterSpec(
        name,
        spec.switches,
        rate_bits_per_s,
        spec.port_buffer_bytes,
        row.changed({"eager_bytes": eager_bytes, "name": name, "basis": "measured", "source": source, **values}, name),
        description=f"{nodes} nodes on one switch, hosts fitted to measurements",
    )


def _host_values(found: Measurements, port_bytes_per_s: float) -> dict[str, float]:
    send_s = _short(found.times("isend", "MPI_Isend"))
    receive_s = _short(found.times("recv", "MPI_Recv"))
    there_s = _short(found.times("pingpong", "MPI_Recv"), share=0.25)
    latency_s = max(there_s - max(send_s, receive_s), 0)
    # A long message is announced and answered, which takes two latencies; an exchange is two messages.
    rates = [
        messages * size / max(seconds - messages * 2 * latency_s, seconds / 2)
        for messages, (size, seconds) in ((1, _used(found.one_way)), (2, _used(found.pairs)))
    ]
    slower = [rate for rate in rates if rate < port_bytes_per_s]
    ring_bytes, ring_s = _used(found.ring)
    return {
        "eager_bytes": eager_limit(found.times("pingpong", "MPI_Send")),
        "latency_us": _rounded(latency_s * 1e6),
        "send_us": _rounded(send_s * 1e6),
        "receive_us": _rounded(receive_s * 1e6),
        "core_mb_per_s": _rounded(2 * ring_bytes / ring_s * 1e-6),
        "connection_mb_per_s": _rounded(min(slower, default=0) * 1e-6),
    }


def eager_limit(times: Times) -> int:
    """Returns the size after which the time within a send jumps most; the power of two there, if there is one."""
    steps = [
        (after_s / before_s, size, after)
        for (size, before_s), (after, after_s) in zip(times.points, times.points[1:], strict=False)
        if size >= 1024 and before_s > 0
    ]
    if not steps:
        raise AntiphonError("there are too few sizes to find the eager limit")
    _, size, after = max(steps)
    power = 1 << (after - 1).bit_length() - 1
    return power if size <= power < after else size


def compare(spec: ClusterSpec, found: Measurements) -> list[Comparison]:
    """Predicts every phase, those that were used too."""
    rows = []
    for key, phases in (("one_way", found.one_way), ("pairs", found.pairs), ("ring", found.ring)):
        for place, phase in enumerate(phases):
            seconds = predict(spec, key, len(phase.ranks), phase.bytes)
            rows.append(Comparison(_NAMES[key], len(phase.ranks), phase.bytes, place % 2 == 0, phase.seconds, seconds))
    return rows


def predict(spec: ClusterSpec, pattern: str, ranks: int, size: int) -> float:
    """Returns what each of several messages in a row takes by the model."""
    plan = {
        "version": 1, "collective": "alltoallv", "algorithm": pattern, "parameters": [], "size": ranks, "root": 0,
        "bytes": size, "element_bytes": 1, "commutative": True, "in_place": False,
        "schedules": [
            {"scratch_bytes": 0, "ops": list(_operations(pattern, rank, ranks, size))} for rank in range(ranks)
        ],
    }  # fmt: skip
    answer = core.query("evaluate_plan", plan=json.dumps(plan), profile=profile.text_of(spec), ranks=ranks)
    return float(answer["seconds"]) / _REPEATED


def _operations(pattern: str, rank: int, ranks: int, size: int) -> Iterable[dict[str, Any]]:
    half = ranks // 2
    if pattern == "ring":
        to, source = (rank + 1) % ranks, (rank - 1) % ranks
    else:
        to = source = (rank + half) % ranks
    sends = pattern != "one_way" or rank < half
    receives = pattern != "one_way" or rank >= half
    ends: list[int] = []
    count = 0
    for _ in range(_REPEATED):
        before, ends = ends, []
        if receives:
            yield {"op": "recv", "peer": source, "to": ["output", 0, size], "after": before}
            ends.append(count)
            count += 1
        if sends:
            yield {"op": "send", "peer": to, "from": ["input", 0, size], "after": before}
            ends.append(count)
            count += 1


def text_of(spec: ClusterSpec) -> str:
    """Returns the cluster file."""
    lines = [
        f"name = {json.dumps(spec.name)}",
        f"description = {json.dumps(spec.description)}",
        f"nodes = {spec.nodes}",
        f'rate = "{format_rate(spec.rate_bits_per_s)}"',
        f'port_buffer = "{format_size(spec.port_buffer_bytes)}"  # not measured',
        "",
        "[host]",
        f"name = {json.dumps(spec.hosts.name)}",
        f"basis = {json.dumps(spec.hosts.basis)}",
        f"source = {json.dumps(spec.hosts.source)}",
        f"eager_bytes = {spec.hosts.eager_bytes}",
        *(f"{name} = {spec.hosts.values[name][1]:g}" for name in hosts.FIELDS),
    ]
    return "\n".join(lines) + "\n"


def _short(times: Times, share: float = 0.5) -> float:
    values = sorted(seconds for _, seconds in times.up_to(_SHORT_BYTES))
    if not values:
        raise AntiphonError(f"there are no messages of up to {_SHORT_BYTES} bytes")
    return values[int(share * (len(values) - 1))]


def _used(phases: Sequence[Phase]) -> tuple[int, float]:
    """Returns the size and the median time of the phases that the fit may use."""
    return phases[0].bytes, statistics.median(phase.seconds for phase in phases[::2])


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
