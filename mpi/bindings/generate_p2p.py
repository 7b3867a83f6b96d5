# SPDX-License-Identifier: Apache-2.0
"""Writes the wrappers of point-to-point calls, for generate.py.

Each wrapper calls the library at once unless something watches; otherwise it describes the call (P2pCall) and shows it
to what watches.
"""

from __future__ import annotations

import pympistandard
from pympistandard import Procedure

OUT, INOUT = pympistandard.Direction.OUT, pympistandard.Direction.INOUT

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
#: Some libraries that the objects serve lack these, so they are bound weakly and LD_BIND_NOW does not miss them.
WEAK = {"mpi_isendrecv", "mpi_isendrecv_replace"}
#: Some libraries' headers lack these, too.
RECENT = {"mpi_request_get_status_all", "mpi_request_get_status_any", "mpi_request_get_status_some"}


def short_name(procedure: Procedure) -> str:
    return procedure.name.removeprefix("mpi_")


def c_name(express: pympistandard.ISOCSymbol) -> str:
    return str(express).split("(")[0].removeprefix("int ")


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
    name = c_name(express)
    parameters = ", ".join(str(p) for p in express.parameters)
    names = [p.name for p in express.parameters]
    initialisers = fields(procedure, express)
    lines = [f"ANTIPHON_EXPORT int {name}({parameters}) {{", "  find_library();"]
    if short_name(procedure) in LEAVING:
        lines += ["  note_messages();"]
    lines += [f"  if (!p2p_watched()) return P{name}({', '.join(names)});"]
    if status := status_of(express):
        lines += [f"  StatusRoom room({status[0]}, {status[1]});"]
        initialisers += [".statuses = room.get()"]
        names = ["room.get()" if n == status[0] else n for n in names]
    arguments = ", ".join(names)
    separator = ",\n                "
    lines += [f"  return watch({{{separator.join(initialisers)}}},"]
    framed = f"framed::{short_name(procedure)}({arguments})"
    lines += [
        f"               [&] {{ return framing() ? {framed}",
        f"                                       : P{name}({arguments}); }});",
        "}",
    ]
    return "\n".join(lines)


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
    weak = "\n".join(f"#pragma weak P{c_name(p.express.iso_c)}" for p in procedures if p.name in WEAK)
    newer = "\n".join(
        f"#pragma weak P{c_name(e)}"
        for p in procedures
        for e in ([p.express.iso_c] if p.name in RECENT else [p.express.embiggen.iso_c] if p.name in WEAK else [])
    )
    always = [p for p in procedures if p.name not in RECENT]
    recent = [p for p in procedures if p.name in RECENT]
    small = "\n\n".join(c_wrapper(p, large=False) for p in always)
    large = "\n\n".join(
        [c_wrapper(p, large=False) for p in recent] + [c_wrapper(p, large=True) for p in always if p.has_embiggenment()]
    )
    headers = ("compress/framed.hpp", "job/library.hpp", "job/progress.hpp", "observe/watch.hpp")
    included = "".join(f'#include "{name}"\n' for name in headers)
    body = f"{weak}\n\n{small}\n\n#if ANTIPHON_HAS_LARGE_COUNT\n\n{newer}\n\n{large}\n\n#endif"
    return f'{header}{included}\nusing namespace antiphon::mpi;\n\nextern "C" {{\n\n{body}\n\n}}  // extern "C"\n'


def fortran_argument(p: pympistandard.ISOCParameter, express: pympistandard.ISOCSymbol) -> tuple[str, str, str]:
    """Returns a parameter's declaration, what must be set up for it, and the argument for the C function."""
    kind, name, written = p.kind.name, p.name, p.direction in (OUT, INOUT)
    length = f"*{array_length(express)}"
    declaration = f"MPI_Fint* {name}"
    if kind == "BUFFER":
        return f"void* {name}", "", f"buffer_from_fortran({name})"
    if kind == "COMMUNICATOR":
        return declaration, "", f"comm_from_fortran(*{name})"
    if kind == "DATATYPE":
        return declaration, "", f"datatype_from_fortran(*{name})"
    if kind == "STATUS":
        call = f"statuses_from_fortran({name})" if p.array else f"status_from_fortran({name})"
        return declaration, "", call
    if kind == "REQUEST" and p.array:
        return declaration, f"FortranRequests c_{name}({name}, {length});", f"c_{name}.get()"
    if kind == "REQUEST":
        reads = "false" if p.direction is OUT else "true"
        by_value = p.direction is pympistandard.Direction.IN and "*" not in str(p)
        return declaration, f"FortranRequest c_{name}({name}, {reads});", f"{'*' if by_value else ''}c_{name}.get()"
    if kind == "MESSAGE":
        reads = "false" if p.direction is OUT else "true"
        return declaration, f"FortranMessage c_{name}({name}, {reads});", f"c_{name}.get()"
    if kind == "LOGICAL" and written:
        return declaration, f"FortranLogical c_{name}({name});", f"c_{name}.get()"
    if kind == "INDEX" and p.array:
        return declaration, f"FortranIndices c_{name}({name}, outcount);", f"c_{name}.get()"
    if kind == "INDEX":
        return declaration, f"FortranIndex c_{name}({name});", f"c_{name}.get()"
    return declaration, "", name if written else f"*{name}"


def fortran_wrapper(procedure: Procedure) -> str:
    express = procedure.express.iso_c
    made = [fortran_argument(p, express) for p in express.parameters]
    name = short_name(procedure)
    parameter_list = ", ".join([*(m[0] for m in made), "MPI_Fint* ierror"])
    lines = [f"static void {name}_from_fortran({parameter_list}) {{", "  find_library();"]
    lines += [f"  {m[1]}" for m in made if m[1]]
    lines += [f"  const int result = {c_name(express)}({', '.join(m[2] for m in made)});"]
    lines += ["  if (ierror != nullptr) *ierror = result;", "}"]
    lines += [f"ANTIPHON_FORTRAN_NAMES({name}, {name.upper()}, ({parameter_list}))"]
    return "\n".join(lines)


def has_buffer(procedure: Procedure) -> bool:
    return any(p.kind.name == "BUFFER" for p in procedure.express.iso_c.parameters)


def fortran_file(procedures: list[Procedure], header: str) -> str:
    known = [p for p in procedures if p.name not in RECENT]
    bare = "\n\n".join(fortran_wrapper(p) for p in known if not has_buffer(p))
    buffered = "\n\n".join(fortran_wrapper(p) for p in known if has_buffer(p))
    body = f"{bare}\n\n#if ANTIPHON_ABI_OPENMPI\n\n{buffered}\n\n#endif"
    return (
        f'{header}#include "bindings/fortran_p2p.hpp"\n\n#if ANTIPHON_ABI_OPENMPI || ANTIPHON_ABI_MPICH\n\n'
        f'using namespace antiphon::mpi;\n\nextern "C" {{\n\n{body}\n\n}}  // extern "C"\n\n#endif\n'
    )
