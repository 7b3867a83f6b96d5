# SPDX-License-Identifier: Apache-2.0
"""The machine that ranks are placed on: a profile or a plain description (docs/reference/mapping-files.md), as far as a
job may use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from antiphon import core, model
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.mpi.hosts import Hosts, merged, short
from antiphon.placement.document import Node
from antiphon.profile import is_profile


@dataclass(frozen=True)
class Machine:
    """Nodes with their places, and what messages between them cost."""

    #: In the plain form, each node by itself.
    document: Mapping[str, Any]
    nodes: Sequence[Node]
    #: The profile's text, and the number of each node in it; "": there is none.
    profile: str = ""
    profile_nodes: Sequence[int] = ()

    @property
    def name(self) -> str:
        """The machine's own name."""
        return str(self.document.get("name") or "the machine")

    @property
    def places(self) -> int:
        """How many ranks fit, with one rank per core."""
        return sum(node.slots for node in self.nodes)

    def index(self) -> dict[str, int]:
        """The number of each node by its name, without domain."""
        return {short(node.name): i for i, node in enumerate(self.nodes)}


def load(path: Path, *, message_bytes: float, cores_per_node: int = 0, hosts: Hosts | None = None) -> Machine:
    """Reads a machine. `message_bytes`: the mean of the traffic's messages, around which costs are linear; `hosts`: the
    job's nodes with their slots."""
    text = text_of(path)
    try:
        found = core.query(
            "describe_machine", machine=text, cores_per_node=cores_per_node, message_bytes=message_bytes
        )["machine"]
    except core.CoreError as error:
        raise AntiphonError(f"{path}: {error.message}", hint="`antiphon probe` writes a profile of a machine") from None
    known = {short(node["name"]): i for i, node in enumerate(found["nodes"])}
    profile = text if is_profile(text) else ""
    processors = _processors(found, profile)
    if cores_per_node and not profile:
        found = _with_cores_per_node(found, cores_per_node, path)
    if hosts is not None:
        found = restricted(found, hosts, path)
    nodes = [Node(n["name"], n["cores"], processors[short(n["name"])]) for n in found["nodes"]]
    return Machine(found, nodes, profile, [known[short(node.name)] for node in nodes])


def text_of(path: Path) -> str:
    """The text of a profile that the core can read, or of a plain description as it is."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AntiphonError(f"{path}: {getattr(error, 'strerror', None) or error}",
                            hint="`antiphon probe` measures a machine") from None  # fmt: skip
    return model.read_profile(path) or "" if is_profile(text) else text


def unbound(machine: Machine) -> Machine:
    """The machine without binding: the system distributes the processors."""
    return replace(machine, nodes=[replace(node, cores=0) for node in machine.nodes])


def _processors(document: Mapping[str, Any], profile: str) -> dict[str, int]:
    """How many processors of each node ranks can be bound to: a plain machine's cores, a profile's processors."""
    if not profile:
        return {short(node["name"]): node["cores"] for node in document["nodes"]}
    processors = parse_json(profile).get("processors", {})
    cores = int(processors.get("physical_cores") or processors.get("cores_per_node", 0))
    # The nodes of an emulated cluster share cores, and only the lab knows which node uses which core.
    apart = int(processors.get("nodes_sharing", 1)) == 1
    return {short(node["name"]): cores if apart else 0 for node in document["nodes"]}


def _with_cores_per_node(document: Mapping[str, Any], cores: int, path: Path) -> dict[str, Any]:
    """The plain machine with so many places on each node."""
    if "between_cores" in document:
        raise AntiphonError(f"{path}: --cores-per-node {cores}: a machine described core by core is taken as it is",
                            hint="--max-per-node leaves cores free")  # fmt: skip
    return {**document, "nodes": [_with_cores(node, cores) for node in document["nodes"]]}


def restricted(document: Mapping[str, Any], hosts: Hosts, path: Path) -> dict[str, Any]:
    """The machine with the job's nodes alone, by the names and with the slots that the launcher knows."""
    if "between_cores" in document or "torus" in document:
        hint = "leave --hostfile away; in a batch job, `antiphon map` makes what --placement takes"
        raise AntiphonError(f"{path}: a machine described core by core, or as a torus, is taken as it is", hint=hint)
    index = {short(node["name"]): i for i, node in enumerate(document["nodes"])}
    hosts = merged(hosts)
    missing = [host for host, _ in hosts if short(host) not in index]
    if missing:
        raise AntiphonError(
            f"{path} does not know {', '.join(missing[:3])}{' and others' if len(missing) > 3 else ''}",
            hint=f"its nodes are {', '.join(list(index)[:4])}, …: measure this machine with `antiphon probe`",
        )
    return with_nodes(document, [index[short(host)] for host, _ in hosts], hosts)


def with_nodes(document: Mapping[str, Any], chosen: Sequence[int], hosts: Hosts) -> dict[str, Any]:
    """The machine with the nodes of these numbers alone, named and with so many cores as these hosts."""
    nodes = [
        _with_cores({**document["nodes"][i], "name": host}, count)
        for i, (host, count) in zip(chosen, hosts, strict=True)
    ]
    result = {**document, "nodes": nodes}
    if "between_nodes" in document:
        result["between_nodes"] = {
            name: [[matrix[i][j] for j in chosen] for i in chosen] for name, matrix in document["between_nodes"].items()
        }
    return result


def _with_cores(node: dict[str, Any], cores: int) -> dict[str, Any]:
    """The node with another number of cores: its levels are cut there, or the last one grows."""
    if "between_cores" in node and cores != node["cores"]:
        raise AntiphonError(f"{node['name']} has {node['cores']} cores, each described: it cannot have {cores}",
                            hint="--max-per-node leaves cores free")  # fmt: skip
    levels = node.get("levels", [])
    inner = [level for level in levels[:-1] if level["width"] < cores]
    outer = next((level for level in levels if level["width"] >= cores), levels[-1] if levels else None)
    cut = [*inner, {**outer, "width": cores}] if outer else []
    return {**node, "cores": cores, **({"levels": cut} if cut else {})}
