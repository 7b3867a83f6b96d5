# SPDX-License-Identifier: Apache-2.0
"""Testbeds on which measured programs run: this machine, the nodes of a hostfile, or a lab."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from antiphon.bench import running
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.lab import ClusterSpec, Lab, Uplink, recipes
from antiphon.lab.network import uplink_burst
from antiphon.model import limits
from antiphon.mpi import Mpi, launch
from antiphon.placement.starting import Where
from antiphon.profile import store
from antiphon.units import format_rate


@dataclass(frozen=True)
class Exit:
    """Says how a program ended."""

    exit_code: int
    stderr: str
    timed_out: bool = False


class Testbed(Protocol):
    """Machines that MPI programs can run on."""

    def describe(self) -> str:
        """Returns the description for a table's title."""

    def transport(self, mpi: Mpi) -> str:
        """Returns the name of the transport of messages."""

    def network(self, node_of_rank: Sequence[int]) -> limits.Network | None:
        """Returns the testbed's links, or None where their rate is not known."""

    def link_facts(self) -> dict[str, Any]:
        """Returns what is known of the links before anything is measured, as JSON has it: other links, other facts."""

    def ranks(self) -> int:
        """Returns the number of ranks where the user gives none."""

    def nodes_for(self, ranks: int) -> int:
        """Returns how many nodes hold this many ranks."""

    def thinned(self, ranks: int, most: int) -> tuple[Testbed, int]:
        """Returns the same nodes for at most so many of the ranks, as even a share of them on each as can be, and how
        many these are.
        """

    def node_names(self) -> Sequence[str]:
        """Returns the nodes' names, in the order in which ranks are put on them; none where they are not known."""

    def shared_folder(self) -> Path | None:
        """Returns a directory that all nodes are taken to see; None where any of this machine's is one."""

    def stores(self) -> Sequence[Path | None]:
        """Returns the directories where later runs here look for profiles, as the store has them; none where there will
        be none.
        """

    def run(
        self,
        mpi: Mpi,
        n: int | None,
        argv: Sequence[str],
        *,
        preload: bool,
        env: Mapping[str, str],
        on_line: Callable[[str], None],
        timeout_s: float,
    ) -> Exit:
        """Runs a program, with Antiphon's preload object or without it."""


@dataclass(frozen=True)
class HostTestbed:
    """This machine, the nodes of a hostfile, or those of a batch job."""

    link_bits_per_s: float | None = None
    where: Where = field(default_factory=Where)

    def describe(self) -> str:
        return self.where.describe()

    def ranks(self) -> int:
        return self.where.ranks()

    def transport(self, mpi: Mpi) -> str:
        return mpi.transport()

    def network(self, node_of_rank: Sequence[int]) -> limits.Network | None:
        if self.link_bits_per_s is None or len(set(node_of_rank)) < 2:
            return None
        return limits.Network(node_of_rank, self.link_bits_per_s * limits.PAYLOAD_SHARE)

    def link_facts(self) -> dict[str, Any]:
        return {} if self.link_bits_per_s is None else {"link_rate": format_rate(int(self.link_bits_per_s))}

    def nodes_for(self, ranks: int) -> int:
        hosts = self.where.hosts()
        filled = itertools.accumulate(slots for _, slots in hosts)
        return next((number for number, slots in enumerate(filled, 1) if slots >= ranks), len(hosts) or 1)

    def thinned(self, ranks: int, most: int) -> tuple[HostTestbed, int]:
        hosts = self.where.hosts()[:most]
        if len(hosts) < 2 or not self.where.is_told_nodes():
            return self, most
        each = max(1, most // len(hosts))
        # Hosts without a number count as one slot, and get as many ranks as are left.
        enough = sum(slots for _, slots in hosts) >= ranks
        shares = [(host, min(slots, each) if enough else each) for host, slots in hosts]
        return replace(self, where=self.where.on(shares)), sum(slots for _, slots in shares)

    def node_names(self) -> Sequence[str]:
        return [name for name, _ in self.where.hosts()]

    def shared_folder(self) -> Path | None:
        return None if self.where.is_here() else Path.cwd()

    def stores(self) -> Sequence[Path | None]:
        return store.directories()

    def run(
        self,
        mpi: Mpi,
        n: int | None,
        argv: Sequence[str],
        *,
        preload: bool,
        env: Mapping[str, str],
        on_line: Callable[[str], None],
        timeout_s: float,
    ) -> Exit:
        rank_env = {
            "LD_LIBRARY_PATH": ":".join(filter(None, [str(mpi.libmpi.parent), os.environ.get("LD_LIBRARY_PATH")]))
        }
        if preload:
            rank_env = launch.rank_environment(mpi, launch.Settings(), os.environ) | rank_env
        else:
            rank_env |= launch.plain_environment(os.environ)
        if self.link_bits_per_s is not None:
            rank_env["ANTIPHON_LINK_BITS_PER_S"] = str(int(self.link_bits_per_s))
        if self.where.is_crowded(n):  # Waiting ranks must let others run.
            rank_env |= launch.yielding(mpi)
        return Exit(*running.run(self.where.start(mpi, n, argv, rank_env | dict(env)), on_line, timeout_s))


class LabTestbed:
    """The nodes of an emulated cluster."""

    def __init__(self, lab: Lab, map_by: str = "slot", transport: str | None = None) -> None:
        self.lab = lab
        self._map_by = map_by
        self._transport = transport

    def describe(self) -> str:
        return f"lab {self.lab.spec.name}: {self.lab.spec.summary()}"

    def transport(self, mpi: Mpi) -> str:
        return recipes.choose_transport(mpi, self._transport)

    def network(self, node_of_rank: Sequence[int]) -> limits.Network | None:
        return lab_network(self.lab.spec, node_of_rank)

    def ranks(self) -> int:
        return int(self.lab.spec.ranks)

    def link_facts(self) -> dict[str, Any]:
        return {f"lab's {key}": value for key, value in self.lab.spec.to_dict().items() if key != "description"}

    def nodes_for(self, ranks: int) -> int:
        return min(ranks, int(self.lab.spec.nodes))

    def thinned(self, ranks: int, most: int) -> tuple[LabTestbed, int]:
        return LabTestbed(self.lab, "node", self._transport), most

    def node_names(self) -> Sequence[str]:
        return list(self.lab.spec.node_names())

    def shared_folder(self) -> Path | None:
        return None

    def stores(self) -> Sequence[Path | None]:
        return [] if self.lab.is_temporary else [self.lab.store]

    def run(
        self,
        mpi: Mpi,
        n: int | None,
        argv: Sequence[str],
        *,
        preload: bool,
        env: Mapping[str, str],
        on_line: Callable[[str], None],
        timeout_s: float,
    ) -> Exit:
        settings = launch.own_variables(os.environ)
        launch.check_settings(settings)
        settings.pop("ANTIPHON_LINK_BITS_PER_S", None)
        result = self.lab.mpirun(
            mpi,
            n,
            argv,
            env={**settings, **env} if preload else env,
            preload=[launch.preload_object(mpi.abi)] if preload else [],
            timeout_s=timeout_s,
            on_stdout=on_line,
            map_by=self._map_by,
            transport=self._transport,
        )
        return Exit(result.exit_code, result.stderr, result.timed_out)


def lab_network(spec: ClusterSpec, node_of_rank: Sequence[int]) -> limits.Network:
    """Returns the links of an emulated cluster. Nodes are numbered by their first rank, also the lab's order."""
    uplinks = [
        limits.UplinkLimit(
            _nodes_behind(spec, uplink),
            uplink.rate_bits_per_s * limits.PAYLOAD_SHARE,
            uplink_burst(spec, uplink) * limits.PAYLOAD_SHARE,
        )
        for uplink in spec.uplinks
    ]
    share = limits.PAYLOAD_SHARE
    return limits.Network(node_of_rank, spec.rate_bits_per_s * share, uplinks, spec.burst_bytes * share)


def _nodes_behind(spec: ClusterSpec, uplink: Uplink) -> frozenset[int]:
    """Returns the nodes (from 0) on the first switch's side of an uplink; switches form a tree."""
    reached, frontier = {uplink.between[0]}, [uplink.between[0]]
    while frontier:
        here = frontier.pop()
        for other in spec.uplinks:
            if other is not uplink and here in other.between:
                beyond = other.between[1] if other.between[0] == here else other.between[0]
                if beyond not in reached:
                    reached.add(beyond)
                    frontier.append(beyond)
    names = [switch.name for switch in spec.switches]
    return frozenset(n - 1 for n in range(1, spec.nodes + 1) if names[spec.switch_of(n)] in reached)


def program(name: str, abi: str) -> Path:
    """Finds a program of this installation that was built for an ABI: "bench", or "demo-NAME"."""
    path = launch.lib_dir() / f"antiphon-{name}-{abi}"
    if not path.is_file():
        raise AntiphonError(
            f"the program {path} is missing",
            hint="in a source tree `make setup` builds it; else install Antiphon again with pip",
        )
    return path


def failure(what: str, ended: Exit) -> AntiphonError:
    """Returns the error for a program that failed, with the end of its output."""
    how = "took too long" if ended.timed_out else f"failed with exit code {ended.exit_code}"
    tail = "\n  ".join(ended.stderr.strip().splitlines()[-12:])
    return AntiphonError(
        f"{what} {how}" + (f":\n  {tail}" if tail else ""),
        exit_code=EXIT_FAILURE,
        hint="`antiphon doctor` checks MPI and the launcher",
    )


def json_lines(take: Callable[[dict[str, Any]], None]) -> Callable[[str], None]:
    """Returns a function for a program's lines of output: it hands on the lines that are JSON objects and ignores the
    others.
    """

    def take_line(line: str) -> None:
        if line.startswith("{"):
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                return
            take(event)

    return take_line
