# SPDX-License-Identifier: Apache-2.0
"""Which of a machine's nodes a run was on: those with its hosts' names, without domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.mpi.hosts import short


def located(hosts: Sequence[Any], used: int, names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Returns the machine's number of each of the run's nodes, and the hosts that no node of its own is named after;
    where there are such, the numbers are those of the first nodes."""
    run = [short(str(host)) for host in hosts[:used]]
    run += [""] * (used - len(run))
    index = {short(name): number for number, name in enumerate(names)}
    shared = {host for host, count in Counter(run).items() if count > 1}
    unknown = [host for host in dict.fromkeys(run) if host not in index or host in shared]
    return (list(range(used)) if unknown else [index[host] for host in run]), unknown


def in_profile(hosts: Sequence[Any], used: int, topology: Mapping[str, Any]) -> tuple[list[int], str]:
    """Returns the profile's number of each of the run's nodes, and what is not known of them. Where a profile names no
    nodes, as that of a described cluster, the run's are its first ones."""
    names = [node["name"] for node in expanded(topology)["nodes"]]
    if used > len(names):
        raise AntiphonError(f"the profile has {len(names)} nodes, and the run was on {used}",
                            hint="`antiphon probe` measures this machine")  # fmt: skip
    numbers, unknown = located(hosts, used, names)
    if not unknown or not any("name" in node for node in topology["nodes"]):
        return numbers, ""
    which = ", ".join(host for host in unknown[:3] if host) + (" and others" if len(unknown) > 3 else "")
    what = f"the profile has no node of its own for {which}" if any(unknown) else "the trace does not name its nodes"
    return numbers, f"{what}: they are taken for the profile's first ones, in their order"


def expanded(topology: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a profile's topology with each node listed by itself, named as the core names them."""
    nodes: list[dict[str, Any]] = []
    for node in topology["nodes"]:
        count, shared = int(node.get("count", 1)), node.get("name")
        for i in range(count):
            name = f"node{len(nodes)}" if not shared else shared if count == 1 else f"{shared}{i}"
            nodes.append({**node, "count": 1, "name": name})
    return {**topology, "nodes": nodes}
