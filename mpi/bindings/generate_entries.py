# SPDX-License-Identifier: Apache-2.0
"""Writes the two entry points of each wrapped call, and the table of the library's own functions, for generate.py.

A program calls MPI_X; a tool between the program and the library, and Fortran's bindings, call PMPI_X.
"""

from __future__ import annotations

import pympistandard
from pympistandard import Procedure

#: Some libraries' headers lack these.
RECENT = {"mpi_request_get_status_all", "mpi_request_get_status_any", "mpi_request_get_status_some"}
#: These have a wrapper by hand, for Open MPI alone (compress/message_handles.cpp).
MESSAGE_HANDLES = ["Message_c2f", "Message_f2c"]


def c_name(express: pympistandard.ISOCSymbol) -> str:
    """Returns a call's name in C, as MPI_Send_c."""
    return str(express).split("(")[0].removeprefix("int ")


def entries(express: pympistandard.ISOCSymbol, body: list[str]) -> str:
    """Returns the function that does a call's work, with `next` for the library's function, and its entry points."""
    name = c_name(express).removeprefix("MPI_")
    parameters = [str(p) for p in express.parameters]
    arguments = [p.name for p in express.parameters]
    words = ", ".join(f"Word {argument}" for argument in arguments)
    return "\n".join(
        [
            f"static int do_{name}({', '.join([f'decltype(library.{name}) next', *parameters])}) {{",
            *body,
            "}",
            f"ANTIPHON_ENTRY_POINTS({', '.join([name, f'({words})', *arguments])})",
        ]
    )


def library_calls(collectives: list[Procedure], messages: list[Procedure], header: str) -> str:
    """Returns the table of the library's functions, and macros that give PMPI_X that meaning."""
    every = [*collectives, *messages]
    always = [c_name(p.express.iso_c) for p in every if p.name not in RECENT]
    large = [c_name(p.express.iso_c) for p in every if p.name in RECENT]
    large += [c_name(p.express.embiggen.iso_c) for p in every if p.has_embiggenment()]
    parts = [("", always), ("ANTIPHON_HAS_LARGE_COUNT", large), ("ANTIPHON_ABI_OPENMPI", MESSAGE_HANDLES)]
    listed = [(condition, [name.removeprefix("MPI_") for name in names]) for condition, names in parts]
    fields = _each(listed, "  decltype(&PMPI_{0}) {0} = nullptr;")
    texts = _each(listed, '    "{0}",')
    macros = _each(listed, "#define PMPI_{0} ::antiphon::mpi::library.{0}")
    return (
        f"{header}#pragma once\n\n#include <mpi.h>\n\n#include <array>\n\nnamespace antiphon::mpi {{\n\n"
        f"/// A function for each call that this object defines.\nstruct LibraryCalls {{\n{fields}}};\n\n"
        f"/// Their names, in the same order.\ninline constexpr std::array library_call_names{{\n{texts}}};\n\n"
        "// find_library() sets these.\n"
        "/// The MPI library's own functions.\nextern LibraryCalls library;\n"
        "/// Tools behind this object that come back by PMPI_X; null where there is none.\n"
        "extern LibraryCalls tools_behind;\n"
        "/// What a call of MPI_X goes to if it is not done here: the library, or a tool that would not come back.\n"
        "extern LibraryCalls next_in_line;\n"
        "/// Calls with large counts, done by calls with small ones of the library; null for others.\n"
        "extern const LibraryCalls narrow_calls;\n\n"
        "}  // namespace antiphon::mpi\n\n"
        f"// This object defines PMPI_X, too, but what it calls by these names itself is the library's.\n{macros}"
    )


def _each(listed: list[tuple[str, list[str]]], line: str) -> str:
    """Returns a line for each name, those with a condition between #if and #endif."""
    text = ""
    for condition, names in listed:
        lines = "".join(line.replace("{0}", name) + "\n" for name in names)
        text += f"#if {condition}\n{lines}#endif\n" if condition else lines
    return text
