# SPDX-License-Identifier: Apache-2.0
"""Finds and reads cluster files: those of this package, those of the lab, and a user's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon.cluster import hosts
from antiphon.cluster.spec import ClusterSpec, Level, Switch, joined, regular_tree
from antiphon.errors import AntiphonError
from antiphon.lab.clusters import cluster_dirs
from antiphon.units import parse_rate, parse_size

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN = Path(__file__).with_name("data") / "clusters"
#: Fields of a cluster file, and what they hold. Those of the lab alone are read and passed over.
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "name": str, "description": str, "nodes": int, "ranks_per_node": int, "cores_per_node": int, "rate": str,
    "port_buffer": str, "burst": str, "hosts": str, "host": dict, "level": list, "switch": list, "uplink": list,
    "node_buffer": str, "offloads": bool, "loss": dict, "hide_rate": bool,
    "connection_rate": str, "traffic": list, "latency": str, "shared_buffer": str, "ecn": str,
}  # fmt: skip
_LEVEL_FIELDS = {"nodes": int, "oversubscription": (int, float)}
_SWITCH_FIELDS = {"name": str, "nodes": int}
_UPLINK_FIELDS = {"between": list, "rate": str, "buffer": str, "latency": str}
#: Of a switch's port, where the file does not say.
_USUAL_BUFFER = "512kb"


def names() -> list[str]:
    """Returns the names of all clusters that come with Antiphon."""
    return sorted({path.stem for folder in (OWN, *cluster_dirs()) for path in folder.glob("*.toml")})


def load(name_or_file: str) -> ClusterSpec:
    """Reads a cluster by the name of one that comes with Antiphon, or from a TOML file."""
    if name_or_file.endswith(".toml") or os.sep in name_or_file:
        return _read(Path(name_or_file))
    for folder in (OWN, *cluster_dirs()):
        path = folder / f"{name_or_file}.toml"
        if path.is_file():
            return _read(path)
    raise AntiphonError(
        f"there is no cluster named {name_or_file!r}", hint=f"one of {', '.join(names())}, or the path of a .toml file"
    )


def _read(path: Path) -> ClusterSpec:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AntiphonError(
            f"cluster file {path} does not exist", hint=f"clusters that come with Antiphon: {', '.join(names())}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AntiphonError(f"cluster file {path} cannot be read: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise AntiphonError(f"cluster file {path} is not valid TOML: {error}") from None
    return spec_of(document, str(path), path.stem)


def spec_of(document: Mapping[str, Any], where: str, default_name: str = "cluster") -> ClusterSpec:
    """Reads a parsed cluster file; `where` names it in errors."""
    _check(document, _FIELDS, where, "")
    if "rate" not in document:
        raise AntiphonError(f"{where}: field 'rate' is missing", hint='the rate of a node\'s link, as rate = "25gbit"')
    rate = _number(parse_rate, document["rate"], where, "rate")
    buffer = _number(parse_size, document.get("port_buffer", _USUAL_BUFFER), where, "port_buffer")
    row = hosts.named(document["hosts"], where) if "hosts" in document else hosts.for_rate(rate)
    try:
        return ClusterSpec(
            name=document.get("name", default_name),
            switches=_switches(document, rate, buffer, where),
            rate_bits_per_s=rate,
            port_buffer_bytes=buffer,
            hosts=row.changed(document["host"], where) if "host" in document else row,
            description=document.get("description", ""),
            ranks_per_node=document.get("ranks_per_node", 1),
            cores_per_node=document.get("cores_per_node", 0),
            burst_bytes=_number(parse_size, document["burst"], where, "burst") if "burst" in document else 0,
        )
    except AntiphonError as error:
        message = error.message if error.message.startswith(where) else f"{where}: {error.message}"
        raise AntiphonError(message, hint=error.hint) from None


def _switches(document: Mapping[str, Any], rate: int, buffer: int, where: str) -> tuple[Switch, ...]:
    if "switch" in document:
        if "nodes" in document or "level" in document:
            raise AntiphonError(f"{where}: [[switch]] tables have the nodes", hint="leave 'nodes' and 'level' away")
        return _joined(document, rate, buffer, where)
    if "nodes" not in document:
        raise AntiphonError(f"{where}: field 'nodes' is missing", hint="give nodes = 64, or [[switch]] tables")
    levels = []
    for index, table in enumerate(document.get("level", [])):
        prefix = f"level[{index}]."
        _check(table, _LEVEL_FIELDS, where, prefix)
        if "nodes" not in table:
            raise AntiphonError(f"{where}: field '{prefix}nodes' is missing", hint="the nodes below each such switch")
        oversubscription = float(table.get("oversubscription", 1))
        if not 0.01 <= oversubscription <= 1000:
            raise AntiphonError(f"{where}: field '{prefix}oversubscription' is not within 0.01 … 1000")
        levels.append(Level(table["nodes"], oversubscription))
    return regular_tree(document["nodes"], levels, rate, buffer)


def _joined(document: Mapping[str, Any], rate: int, buffer: int, where: str) -> tuple[Switch, ...]:
    counts: dict[str, int] = {}
    if not document["switch"]:
        raise AntiphonError(f"{where}: field 'switch' holds no switch", hint="give nodes = 64, or [[switch]] tables")
    for index, table in enumerate(document["switch"]):
        _check(table, _SWITCH_FIELDS, where, f"switch[{index}].")
        name = table.get("name", chr(ord("a") + index))
        if name in counts or table.get("nodes", -1) < 0:
            raise AntiphonError(f"{where}: 'switch[{index}]' has no nodes of its own, or another one's name")
        counts[name] = table["nodes"]
    uplinks = []
    for index, table in enumerate(document.get("uplink", [])):
        prefix = f"uplink[{index}]."
        _check(table, _UPLINK_FIELDS, where, prefix)
        between = table.get("between", [])
        if len(between) != 2 or not all(isinstance(name, str) for name in between):
            raise AntiphonError(f"{where}: field '{prefix}between' must name two switches", hint='between = ["a", "b"]')
        link_rate = _number(parse_rate, table["rate"], where, f"{prefix}rate") if "rate" in table else rate
        held = _number(parse_size, table["buffer"], where, f"{prefix}buffer") if "buffer" in table else buffer
        uplinks.append((between[0], between[1], link_rate, held))
    return joined(counts, uplinks, where)


def _check(table: Any, known: Mapping[str, Any], where: str, prefix: str) -> None:
    if not isinstance(table, Mapping):
        raise AntiphonError(f"{where}: '{prefix.rstrip('.')}' must be a table")
    for key, value in table.items():
        if key not in known:
            raise AntiphonError(f"{where}: unknown field '{prefix}{key}'", hint=f"known fields: {', '.join(known)}")
        # bool is an int in Python, but a cluster file must not use it as one.
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] is not bool):
            raise AntiphonError(f"{where}: field '{prefix}{key}' does not hold {value!r}")


def _number(parse: Any, value: Any, where: str, field: str) -> int:
    try:
        return int(parse(value))
    except ValueError as error:
        raise AntiphonError(f"{where}: field '{field}': {error}") from None
