# SPDX-License-Identifier: Apache-2.0
"""Reads, compiles or runs each block of code of the pages, by its language, and takes the examples of file formats to
what reads such files. The command lines are those of tests/unit/test_readme.py and scripts/run_page_commands.py."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import page_commands
import pytest

from antiphon import cli, core
from antiphon.commands.prefix import prefix
from antiphon.errors import AntiphonError
from antiphon.mpi import discover
from antiphon.mpi.launch import check_settings
from antiphon.placement import Placement
from antiphon.trace import RankTrace, Trace
from antiphon.trace.writer import encode

ROOT = Path(__file__).resolve().parents[2]
TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


#: Text is no code, and the one piece of C++ is a sketch with parts left out.
BLOCKS = [block for block in page_commands.blocks() if block.language not in ("text", "cpp")]
#: A run of one rank that calls nothing.
EMPTY = Trace(1, (), {"ranks": 1, "functions": [], "nodes": [0]}, [RankTrace(0, [], [], [], 0, 0, 0)])
#: What a caller's program has before the lines that a page shows.
CALLER = """
#include <antiphon.h>
void caller(MPI_Comm comm, const int counts[], const int displs[], const double all[], double mine[], int n) {
"""


def check_shell(text: str, _folder: Path) -> None:
    subprocess.run(["bash", "-n"], input=text, text=True, check=True, timeout=10)


def check_python(text: str, folder: Path) -> None:
    """Runs what needs Antiphon alone; of the rest the syntax is read."""
    code = compile(re.sub(r"^%%?\w+.*$", "", text, flags=re.MULTILINE), "page", "exec")
    if "from antiphon" in text:
        (folder / "run.trace").write_bytes(encode(EMPTY))
        subprocess.run([sys.executable, "-c", text], cwd=folder, check=True, timeout=60)
    assert code.co_code


def check_c(text: str, folder: Path) -> None:
    """Compiles the lines as a part of a function."""
    compiler = next((mpi.prefix / "bin/mpicc" for mpi in discover() if (mpi.prefix / "bin/mpicc").is_file()), None)
    if compiler is None:
        pytest.skip("no mpicc")
    (folder / "caller.c").write_text(f"{CALLER}{text}}}\n")
    command = [compiler, "-fsyntax-only", "-Wall", "-Werror", f"-I{prefix() / 'include'}", "caller.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)


def check_cmake(text: str, folder: Path) -> None:
    """Configures a project with the program and the tool that the lines are for."""
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("no CMake")
    made = "".join(f"file(TOUCH ${{CMAKE_SOURCE_DIR}}/{x}.c)\nadd_executable({x} {x}.c)\n" for x in ("solver", "tool"))
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.22)\nproject(page C)\n{made}{text}")
    command = [cmake, "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix()}"]
    subprocess.run(command, cwd=folder, check=True, timeout=100, stdout=subprocess.DEVNULL)


def check_dockerfile(text: str, _folder: Path) -> None:
    """Reads the instructions."""
    known = {"FROM", "COPY", "RUN", "ENV", "ENTRYPOINT", "CMD", "WORKDIR", "USER", "ARG", "LABEL"}
    assert {line.split()[0] for line in text.splitlines() if line.strip()} <= known


READERS: dict[str, Callable[[str, Path], object]] = {
    "bash": check_shell,
    "c": check_c,
    "cmake": check_cmake,
    "dockerfile": check_dockerfile,
    "json": lambda text, _folder: json.loads(text),
    "python": check_python,
    "sh": check_shell,
    "toml": lambda text, _folder: TOML.loads(text),
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page.relative_to(ROOT)}:{block.number}")
def test_a_block_of_code_is_right(block: page_commands.Block, tmp_path: Path) -> None:
    """GIVEN code on a page THEN its language's reader or compiler takes it."""
    assert block.language in READERS, f"{block.page}: nothing here reads {block.language}: name a language above"
    READERS[block.language](block.text, tmp_path)


def format_examples(page: str) -> list[str]:
    """Returns the JSON examples of a page on a file format."""
    return [block.text for block in BLOCKS if (block.page.name, block.language) == (page, "json")]


def test_the_examples_of_mapping_files_are_read() -> None:
    """GIVEN the examples of traffic and of a machine THEN the core maps one to the other."""
    *traffics, machine = map(json.loads, format_examples("mapping-files.md"))
    for traffic in traffics:
        ranks = traffic.get("ranks", 2)
        found = core.query("map", traffic=traffic, machine=machine, method="antiphon", seconds=0.05)
        assert len(found["slot_of_rank"]) == ranks


def test_the_example_of_a_placement_is_read(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(format_examples("placement.md")[0])
    assert Placement.load(tmp_path / "p.json").ranks == 4


def test_the_examples_of_plans_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN the examples of patterns and of a whole plan THEN `antiphon explain` takes them."""
    for text in format_examples("plan-format.md")[-2:]:
        (tmp_path / "a.plan").write_text(text)
        assert cli.main(["explain", "--plan", str(tmp_path / "a.plan")]) == 0
        assert "all_to_all" in capsys.readouterr().out


def test_the_examples_of_rules_are_read(tmp_path: Path) -> None:
    """GIVEN the examples of rules THEN a profile that has them is taken, and one with a wrong rule is not."""
    profile = json.loads(format_examples("profile.md")[0])
    for text in format_examples("rules.md"):
        rules = json.loads(text)
        profile["decisions"] = rules.get("decisions", rules)
        (tmp_path / "machine.json").write_text(json.dumps(profile))
        check_settings({"ANTIPHON_PROFILE": str(tmp_path / "machine.json")})
    profile["decisions"]["rules"][0]["use"] = "no such algorithm"
    (tmp_path / "machine.json").write_text(json.dumps(profile))
    with pytest.raises(AntiphonError):
        check_settings({"ANTIPHON_PROFILE": str(tmp_path / "machine.json")})


def test_all_languages_are_there() -> None:
    """GIVEN the pages THEN blocks of most of these languages are found in them."""
    assert len({block.language for block in BLOCKS} & set(READERS)) >= 6
