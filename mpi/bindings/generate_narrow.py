# SPDX-License-Identifier: Apache-2.0
"""Writes calls with large counts for libraries that have only small ones, for generate.py.

Each makes its counts and places `int`, and calls the library's function of the same name without _c.
"""

from __future__ import annotations

from generate_entries import c_name
from pympistandard import Procedure

#: These fields of Call decide which arguments are significant.
DECIDING = {"collective", "form", "comm", "sendbuf", "recvbuf", "root"}
#: Before MPI 4, errors of calls without a communicator are this one's.
WITHOUT_COMM = "MPI_COMM_WORLD"

INCLUDES = ("call/narrowed.hpp", "call/significant.hpp", "job/library_calls.gen.hpp")


def narrow_call(procedure: Procedure, fields: list[str]) -> str:
    """Returns the function for one call; `fields` are the initialisers of Call if it is a collective."""
    large = procedure.express.embiggen.iso_c
    described = dict(field.removeprefix(".").split(" = ") for field in fields)
    side_of = {value: "send" if name.startswith("send") else "receive" for name, value in described.items()
               if "count" in name or "displs" in name}  # fmt: skip
    arguments = []
    for small, parameter in zip(procedure.express.iso_c.parameters, large.parameters, strict=True):
        name = parameter.name
        if str(small) == str(parameter):
            arguments.append(name)
        else:
            length = f", lengths.{side_of[name]}" if name in side_of else ""
            arguments.append(f"narrowed.{'array' if parameter.array else 'count'}({name}{length})")
    deciding = ", ".join(f".{name} = {value}" for name, value in described.items() if name in DECIDING)
    comm = "comm" if "comm" in arguments else WITHOUT_COMM
    function = f"library.{c_name(procedure.express.iso_c).removeprefix('MPI_')}"
    return "\n".join(
        [
            f"static int {function_name(procedure)}({', '.join(map(str, large.parameters))}) {{",
            *([f"  const Significant lengths = significant({{{deciding}}});"] if fields else []),
            "  Narrowed narrowed;",
            f"  return narrowed.call({', '.join([comm, function, *arguments])});",
            "}",
        ]
    )


def function_name(procedure: Procedure) -> str:
    return f"narrow_{c_name(procedure.express.embiggen.iso_c).removeprefix('MPI_')}"


def c_file(described: list[tuple[Procedure, list[str]]], header: str) -> str:
    """Returns the functions and their table; each call comes with the initialisers of Call."""
    large = [(procedure, fields) for procedure, fields in described if procedure.has_embiggenment()]
    included = "".join(f'#include "{name}"\n' for name in INCLUDES)
    functions = "\n\n".join(narrow_call(procedure, fields) for procedure, fields in large)
    names = [function_name(procedure) for procedure, _ in large]
    table = "".join(f"    .{name.removeprefix('narrow_')} = {name},\n" for name in names)
    return (
        f"{header}{included}\nusing namespace antiphon;\nusing namespace antiphon::mpi;\n\n"
        f"#if ANTIPHON_HAS_LARGE_COUNT\n\n{functions}\n\n"
        f"constinit const LibraryCalls antiphon::mpi::narrow_calls{{\n{table}}};\n\n"
        "#else\n\nconstinit const LibraryCalls antiphon::mpi::narrow_calls{};\n\n#endif\n"
    )
