# SPDX-License-Identifier: Apache-2.0
"""Checks the lines of `antiphon doctor` about what LD_PRELOAD brings along."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.checks import tools
from antiphon.mpi import discover, launch

TOOL = "int PMPI_Send(void); int MPI_Send(void) { return PMPI_Send(); } int MPI_Init(void) { return 0; }"
BY_NAME = "int MPI_Send(void) { return 0; } int MPI_Init(void) { return 0; }"


@pytest.fixture(scope="session")
def objects(made_once: Callable[..., Path]) -> Path:
    """Returns a folder with two tools, and objects that are named as Antiphon and an MPI library."""
    sources = {"libtool.so": TOOL, "libbyname.so": BY_NAME, "libantiphon-mpich.so": TOOL, "libmpi.so.12": BY_NAME}

    def fill(folder: Path) -> None:
        for name, source in {**sources, "libother.so": "int other;"}.items():
            (folder / "source.c").write_text(source)
            command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", folder / "source.c", "-o", folder / name]
            subprocess.run(command, check=True, timeout=60)

    return made_once("doctor-tools", fill)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (["libother.so"], []),
        (["libtool.so"], [("ok", "wraps 2 MPI functions; it sees every call")]),
        (["libbyname.so", "libantiphon-mpich.so"], [("ok", "it sees every call")]),
        (["libantiphon-mpich.so", "libtool.so"], [("ok", "it sees every call")]),
        (["libantiphon-mpich.so", "libbyname.so"], [("warn", "sees only calls that Antiphon leaves")]),
        (["libmpi.so.12", "libantiphon-mpich.so"], [("warn", "an MPI library before Antiphon")]),
        (["libantiphon-mpich.so", "libantiphon-mpich.so"], [("warn", "twice")]),
        (["missing.so"], [("warn", "which does not exist")]),
    ],
)
def test_tools_and_orders(objects: Path, order: list[str], said: list[tuple[str, str]]) -> None:
    """GIVEN objects in LD_PRELOAD THEN tools are named, and orders that hide calls are warned of, with a hint."""
    lines = list(tools.checks({"LD_PRELOAD": ":".join(str(objects / name) for name in order)}))
    assert [line.status for line in lines] == [status for status, _ in said]
    assert all(text in line.detail for line, (_, text) in zip(lines, said, strict=True))
    assert all((line.hint is None) == (line.status == "ok") for line in lines)


@pytest.mark.parametrize(("words", "said"), [
    (["/nowhere/solver"], "no such file"),
    (["-n", "4"], "for checks of nodes"),
    (["--hostfile", "/nowhere"], "/nowhere"),
    (["--hostfile", "/nowhere", "--lab"], "not for a lab"),
])  # fmt: skip
def test_mistakes_with_nodes(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", *words]) == 2
    out, err = capsys.readouterr()
    assert said in err and "hint: " in err and not out


def test_a_program_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a program and no nodes THEN this machine is looked at for it: what shares memory here, and what is left."""
    mpi = next(found for found in discover() if found.launcher is not None)
    program = launch.lib_dir() / f"antiphon-demo-fft3d-{mpi.abi}"
    assert cli.main(["doctor", "-n", "2", "--mpi", str(mpi.libmpi), "--json", str(program)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] and document["accelerated"]
    assert document["answer"][0].endswith("would be accelerated, on one node with 2 ranks")
    assert any(line.startswith("left to the library: ") for line in document["answer"])
    (node,) = document["nodes"].values()
    assert node["program"]["abi"] == mpi.abi and node["program"]["digest"]
