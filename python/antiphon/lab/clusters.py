# SPDX-License-Identifier: Apache-2.0
"""Finds and reads cluster files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.lab.spec import ClusterSpec, Loss, Switch, Traffic, Uplink, link_defaults
from antiphon.units import parse_rate, parse_size, parse_time_ns

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_CLUSTER = "ethernet-16"

_FIELDS = {
    "name": str, "description": str, "nodes": int, "rate": str, "port_buffer": str, "node_buffer": str, "burst": str,
    "offloads": bool, "ranks_per_node": int, "switch": list, "uplink": list, "loss": dict,
    "hide_rate": bool, "connection_rate": str, "traffic": list, "latency": str, "shared_buffer": str, "ecn": str,
}  # fmt: skip
_SWITCH_FIELDS = {"name": str, "nodes": int}
_UPLINK_FIELDS = {"between": list, "rate": str, "buffer": str, "latency": str}
_TRAFFIC_FIELDS = {"from": int, "to": int, "rate": str}
_LOSS_FIELDS = {"percent": (int, float), "protocol": str, "nodes": list}


def cluster_dirs() -> list[Path]:
    """Returns where named clusters are: beside this module when installed, lab/clusters in a source tree."""
    here = Path(__file__).resolve().parent
    candidates = [here / "clusters", here.parents[2] / "lab" / "clusters"]
    return [path for path in candidates if path.is_dir()]


def cluster_names() -> list[str]:
    return sorted({path.stem for folder in cluster_dirs() for path in folder.glob("*.toml")})


def load_cluster(name_or_file: str | os.PathLike[str] = DEFAULT_CLUSTER) -> ClusterSpec:
    """Read a cluster by the name of a shipped one, or from a TOML file."""
    text = os.fspath(name_or_file)
    if text.endswith(".toml") or os.sep in text:
        return _read(Path(text))
    for folder in cluster_dirs():
        path = folder / f"{text}.toml"
        if path.is_file():
            return _read(path)
    raise AntiphonError(
        f"there is no cluster named {text!r}",
        hint=f"one of {', '.join(cluster_names()) or '(none found)'}, or the path of a .toml file",
    )


def _read(path: Path) -> ClusterSpec:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AntiphonError(
            f"cluster file {path} does not exist", hint=f"shipped clusters: {', '.join(cluster_names())}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AntiphonError(f"cluster file {path} cannot be read: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise AntiphonError(f"cluster file {path} is not valid TOML: {error}") from None
    return spec_from_dict(document, str(path), path.stem)


def spec_from_dict(document: dict[str, Any], where: str, default_name: str = "cluster") -> ClusterSpec:
    """Build a spec from a parsed cluster file; `where` names it in errors."""
    _check_fields(document, _FIELDS, where, "")
    rate = _value(parse_rate, document.get("rate", "100mbit"), where, "rate")
    defaults = link_defaults(rate)
    buffer = _value(parse_size, document.get("port_buffer", defaults.port_buffer_bytes), where, "port_buffer")
    try:
        return ClusterSpec(
            name=document.get("name", default_name),
            description=document.get("description", ""),
            switches=_switches(document, where),
            uplinks=_uplinks(document, where, rate, buffer),
            rate_bits_per_s=rate,
            port_buffer_bytes=buffer,
            node_buffer_bytes=_value(
                parse_size, document.get("node_buffer", defaults.node_buffer_bytes), where, "node_buffer"
            ),
            burst_bytes=_value(parse_size, document.get("burst", defaults.burst_bytes), where, "burst"),
            offloads=document.get("offloads", defaults.offloads),
            ranks_per_node=document.get("ranks_per_node", 1),
            loss=_loss(document, where),
            traffic=_traffic(document, where),
            hide_rate=document.get("hide_rate", False),
            connection_bits_per_s=_optional(parse_rate, document, where, "connection_rate"),
            latency_ns=_optional(parse_time_ns, document, where, "latency"),
            shared_buffer_bytes=_optional(parse_size, document, where, "shared_buffer"),
            ecn_bytes=_optional(parse_size, document, where, "ecn"),
        )
    except AntiphonError as error:
        raise AntiphonError(f"{where}: {error}", hint=getattr(error, "hint", None)) from None


def _switches(document: dict[str, Any], where: str) -> tuple[Switch, ...]:
    if "switch" not in document:
        if "nodes" not in document:
            raise AntiphonError(f"{where}: field 'nodes' is missing", hint="give nodes = 16, or [[switch]] tables")
        return (Switch("a", document["nodes"]),)
    if "nodes" in document:
        raise AntiphonError(
            f"{where}: both 'nodes' and 'switch' are given", hint="with [[switch]] tables, each has its own nodes"
        )
    switches = []
    for index, table in enumerate(document["switch"]):
        prefix = f"switch[{index}]."
        _check_fields(table, _SWITCH_FIELDS, where, prefix)
        if "nodes" not in table:
            raise AntiphonError(f"{where}: field '{prefix}nodes' is missing")
        switches.append(Switch(table.get("name", chr(ord("a") + index)), table["nodes"]))
    return tuple(switches)


def _uplinks(document: dict[str, Any], where: str, rate: int, buffer: int) -> tuple[Uplink, ...]:
    uplinks = []
    for index, table in enumerate(document.get("uplink", [])):
        prefix = f"uplink[{index}]."
        _check_fields(table, _UPLINK_FIELDS, where, prefix)
        between = table.get("between", [])
        if len(between) != 2 or not all(isinstance(name, str) for name in between):
            raise AntiphonError(f"{where}: field '{prefix}between' must name two switches", hint='between = ["a", "b"]')
        uplink_rate = _value(parse_rate, table["rate"], where, f"{prefix}rate") if "rate" in table else rate
        size = _value(parse_size, table["buffer"], where, f"{prefix}buffer") if "buffer" in table else buffer
        latency_ns = _optional(parse_time_ns, table, where, "latency", prefix)
        uplinks.append(Uplink((between[0], between[1]), uplink_rate, size, latency_ns))
    return tuple(uplinks)


def _loss(document: dict[str, Any], where: str) -> Loss | None:
    table = document.get("loss")
    if table is None:
        return None
    _check_fields(table, _LOSS_FIELDS, where, "loss.")
    if "percent" not in table:
        raise AntiphonError(f"{where}: field 'loss.percent' is missing")
    nodes = table.get("nodes", [])
    if not all(isinstance(number, int) for number in nodes):
        raise AntiphonError(f"{where}: field 'loss.nodes' must be a list of node numbers, from 1")
    return Loss(float(table["percent"]), table.get("protocol", "both"), tuple(nodes))


def _traffic(document: dict[str, Any], where: str) -> tuple[Traffic, ...]:
    streams = []
    for index, table in enumerate(document.get("traffic", [])):
        prefix = f"traffic[{index}]."
        _check_fields(table, _TRAFFIC_FIELDS, where, prefix)
        if not {"from", "to"} <= set(table):
            raise AntiphonError(f"{where}: field '{prefix}from' or '{prefix}to' is missing", hint="from = 1, to = 2")
        rate = _value(parse_rate, table["rate"], where, f"{prefix}rate") if "rate" in table else 0
        streams.append(Traffic(table["from"], table["to"], rate))
    return tuple(streams)


def _check_fields(table: Any, fields: dict[str, Any], where: str, prefix: str) -> None:
    if not isinstance(table, dict):
        raise AntiphonError(f"{where}: '{prefix.rstrip('.')}' must be a table")
    for key, value in table.items():
        if key not in fields:
            raise AntiphonError(f"{where}: unknown field '{prefix}{key}'", hint=f"known fields: {', '.join(fields)}")
        kind = fields[key]
        # bool is an int in Python, but a cluster file must not use it as one.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            names = {str: "a string", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
            raise AntiphonError(f"{where}: field '{prefix}{key}' must be {names.get(kind, 'a number')}, not {value!r}")


def _optional(parse: Callable[[Any], int], table: dict[str, Any], where: str, field: str, prefix: str = "") -> int:
    """Returns the value of a field that may be missing; 0 then."""
    return _value(parse, table[field], where, prefix + field) if field in table else 0


def _value(parse: Callable[[Any], int], value: Any, where: str, field: str) -> int:
    try:
        return parse(value)
    except ValueError as error:
        raise AntiphonError(f"{where}: field '{field}': {error}") from None
