# SPDX-License-Identifier: Apache-2.0
"""Checks what the preload objects export to, and need from, the process they are loaded into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from antiphon.mpi import launch

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "antiphon.h"
#: These have no counts that could be large.
LIFE_CYCLE = {"Init", "Init_thread", "Session_init", "Finalize", "Comm_set_info"}
DUPLICATES = {"Comm_dup", "Comm_dup_with_info", "Comm_idup", "Comm_idup_with_info"}
PARTS = {"Comm_split", "Comm_split_type", "Comm_create", "Cart_sub"}
TOPOLOGY = {"Cart_create", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent"}
CONNECTIONS = {"Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_join"}
NO_BUFFER = LIFE_CYCLE | DUPLICATES | PARTS | TOPOLOGY | {"Barrier", "Barrier_init", "Ibarrier", "Win_create_dynamic"}
NO_BUFFER |= CONNECTIONS | {"Op_free", "Type_free", "Comm_free", "Comm_disconnect"}
#: What Open MPI calls when it starts, and by which the ranks tell each other that they load the object.
PMIX = {f"{prefix}PMIx_{name}" for prefix in ("", "OPAL_MCA_PMIX3X_") for name in ("Init", "Put")}

pytestmark = pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils")


def names(file: str) -> set[str]:
    """Returns the calls that a list names."""
    lines = (ROOT / "mpi" / "bindings" / file).read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def calls() -> set[str]:
    """Returns collectives and life cycle calls."""
    return names("calls.txt")


def messages(abi: str) -> set[str]:
    """Returns point-to-point calls; the newest are not in Open MPI."""
    return {name for name in names("calls_p2p.txt") if abi != "openmpi" or not name.startswith("Request_get_status_")}


def has_no_buffer(name: str) -> bool:
    """Returns whether this is a point-to-point call on requests, messages and statuses alone."""
    return name.startswith(("Start", "Wait", "Test", "Request", "Cancel")) or name.endswith("robe")


def expected(abi: str) -> set[str]:
    """Returns the symbols that an object must export."""
    wrapped = calls() | messages(abi)
    if abi == "openmpi":
        wrapped |= {"Message_c2f", "Message_f2c"}
    else:
        wrapped |= {f"{name}_c" for name in wrapped - NO_BUFFER if not has_no_buffer(name)}
    own = set(re.findall(r'antiphon_find\("(antiphon_impl_\w+)"\)', HEADER.read_text()))
    return {f"{prefix}_{name}" for name in wrapped for prefix in ("MPI", "PMPI")} | own | PMIX


def dynamic_symbols(abi: str) -> dict[str, str]:
    """Returns each symbol's letter, as nm writes it."""
    lines = subprocess.check_output(["nm", "-D", launch.preload_object(abi)], text=True).splitlines()
    return {
        line.split()[-1].partition("@")[0] if "GLIBC" not in line else line.split()[-1]: line.split()[-2]
        for line in lines
    }


def test_exports_are_what_calls_txt_says(abi: str) -> None:
    """GIVEN an object THEN it exports the wrapped calls, also by PMPI_X, the C API, and nothing of its C++ runtime."""
    exported = {name for name, letter in dynamic_symbols(abi).items() if letter not in "Uwv"}
    assert exported == expected(abi)


def test_only_mpi_and_libc_are_wanted(abi: str) -> None:
    """GIVEN an object THEN what it does not define is a PMPI function or comes from libc."""
    wanted = {name for name, letter in dynamic_symbols(abi).items() if letter == "U"}
    strange = {name for name in wanted if not name.startswith("PMPI_") and "@GLIBC" not in name}
    # __tls_get_addr is the dynamic linker's own.
    assert not strange - {"__tls_get_addr"}


def test_mpi_is_bound_when_it_is_called(abi: str) -> None:
    """GIVEN an object THEN no reference to MPI must be resolved when it is loaded: there may be no MPI yet."""
    if shutil.which("readelf") is None:
        pytest.skip("needs binutils")
    relocations = subprocess.check_output(["readelf", "-rW", launch.preload_object(abi)], text=True)
    eager = [
        line for line in relocations.splitlines() if "MPI_" in line and "JUMP_SLO" not in line and "JU_SLO" not in line
    ]
    own = {name for name, letter in dynamic_symbols(abi).items() if letter != "U"}
    assert not [line for line in eager if not any(f" {name} " in f"{line} " for name in own)]


def test_processes_without_mpi_start(abi: str) -> None:
    """GIVEN a program without MPI THEN it runs with the object as without."""
    env = os.environ | {"LD_PRELOAD": str(launch.preload_object(abi))}
    done = subprocess.run(
        ["/bin/sh", "-c", "echo fine"], capture_output=True, text=True, env=env, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_needs_only_libc(abi: str) -> None:
    """GIVEN an object THEN it needs no C++ runtime and no MPI library."""
    dynamic = subprocess.check_output(["readelf", "-dW", launch.preload_object(abi)], text=True)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    assert needed <= {
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    }
