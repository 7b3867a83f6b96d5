# SPDX-License-Identifier: Apache-2.0
"""Writes the wrappers of point-to-point calls, for generate.py.

Each wrapper calls the library at once unless something watches; otherwise it describes the call (P2pCall) and shows it
to what watches.
"""

from __future__ import annotations

import generate_entries
import pympistandard
from generate_entries import RECENT, c_name
from pympistandard import Procedure

# These are the fields of P2pCall in their order, each with the parameters that go there.
FIELDS = {
    "comm": ["comm"],
    "peer": ["dest", "source"],
    "tag": ["sendtag", "tag"],
    "buffer": ["sendbuf", "buf"],
    "count": ["sendcount", "count"],
    "type": ["sendtype", "datatype"],
    "source": ["source"],
    "recv_tag": ["recvtag"],
    "recv_buffer": ["recvbuf", "buf"],
    "recv_count": ["recvcount", "count"],
    "recv_type": ["recvtype", "datatype"],
    "message": ["message"],
    "flag": ["flag"],
    "index": ["index"],
    "done": ["outcount"],
    "indices": ["array_of_indices"],
}
RECEIVING = {"source", "recv_tag", "recv_buffer", "recv_count", "recv_type"}
#: After these, the library may still have work for messages for which the caller does not wait.
LEAVING = {
    *("send", "bsend", "rsend", "isend", "ibsend", "issend", "irsend", "irecv", "imrecv"),
    *("sendrecv", "sendrecv_replace", "isendrecv", "isendrecv_replace", "start", "startall"),
}
#: With these, groups of messages begin (entry/messages_in_turn.hpp).
NOTES = {
    "isend": "  watch_long_send(count, datatype);",
    "irecv": "  note_source(source);",
}


def short_name(procedure: Procedure) -> str:
    return procedure.name.removeprefix("mpi_")


def status_of(express: pympistandard.ISOCSymbol) -> tuple[str, str] | None:
    """Returns the status parameter and how many statuses it has."""
    for p in express.parameters:
        if p.kind.name == "STATUS":
            return p.name, array_length(express) if p.array else "1"
    return None


def array_length(express: pympistandard.ISOCSymbol) -> str:
    """Returns the parameter that says how many requests there are."""
    names = [p.name for p in express.parameters]
    return "incount" if "incount" in names else "count"


def fields(procedure: Procedure, express: pympistandard.ISOCSymbol) -> list[str]:
    """Returns the designated initialisers of P2pCall."""
    names = [p.name for p in express.parameters]
    has_type = "datatype" in names or "sendtype" in names
    both = "recvtag" in names
    found = [f".call = P2p::{short_name(procedure)}"]
    for field, candidates in FIELDS.items():
        if field in RECEIVING and not both or field in ("count", "type", "buffer") and not has_type:
            continue
        found += [f".{field} = {c}" for c in candidates if c in names][:1]
    for p in express.parameters:
        if p.kind.name == "REQUEST":
            by_value = not p.array and p.direction is pympistandard.Direction.IN and short_name(procedure) != "cancel"
            found += [f".requests = {'&' if by_value else ''}{p.name}"]
            found += [f".request_count = {array_length(express) if p.array else 1}"]
    return found


def c_wrapper(procedure: Procedure, large: bool) -> str:
    express = procedure.express.embiggen.iso_c if large else procedure.express.iso_c
    names = [p.name for p in express.parameters]
    initialisers = fields(procedure, express)
    lines = ["  note_messages();"] if short_name(procedure) in LEAVING else []
    lines += [NOTES[short_name(procedure)]] if short_name(procedure) in NOTES else []
    lines += [f"  if (!p2p_watched()) return next({', '.join(names)});"]
    if status := status_of(express):
        lines += [f"  StatusRoom room({status[0]}, {status[1]});"]
        initialisers += [".statuses = room.get()"]
        names = ["room.get()" if n == status[0] else n for n in names]
    arguments = ", ".join(names)
    separator = ",\n                "
    lines += [f"  return watch({{{separator.join(initialisers)}}},"]
    framed = f"framed::{short_name(procedure)}({arguments})"
    if "comm" in names:
        framed = f"framed::guarded(comm, [&] {{ return {framed}; }})"
    lines += [
        f"               [&] {{ return framing() ? {framed}",
        f"                                       : next({arguments}); }});",
    ]
    return generate_entries.entries(express, lines)


def enumeration(procedures: list[Procedure], header: str) -> str:
    names = [short_name(p) for p in procedures]
    listed = ",\n  ".join(names)
    texts = ",\n    ".join(f'"{c_name(p.express.iso_c)}"' for p in procedures)
    listing = f"enum class P2p {{\n  {listed},\n}};\n\ninline constexpr std::array p2p_names{{\n    {texts},\n}};\n"
    return (
        f"{header}#pragma once\n\n#include <array>\n\nnamespace antiphon::mpi {{\n\n"
        f"/// The point-to-point calls that are wrapped.\n{listing}\n}}  // namespace antiphon::mpi\n"
    )


def c_file(procedures: list[Procedure], header: str) -> str:
    always = [p for p in procedures if p.name not in RECENT]
    recent = [p for p in procedures if p.name in RECENT]
    small = "\n\n".join(c_wrapper(p, large=False) for p in always)
    large = "\n\n".join(
        [c_wrapper(p, large=False) for p in recent] + [c_wrapper(p, large=True) for p in always if p.has_embiggenment()]
    )
    headers = ("compress/framed.hpp", "job/entry_points.hpp", "job/progress.hpp", "observe/watch.hpp")
    included = "".join(f'#include "{name}"\n' for name in headers)
    body = f"{small}\n\n#if ANTIPHON_HAS_LARGE_COUNT\n\n{large}\n\n#endif"
    return f"{header}{included}\nusing namespace antiphon::mpi;\n\n{body}\n"
