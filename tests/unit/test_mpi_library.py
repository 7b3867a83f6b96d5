# SPDX-License-Identifier: Apache-2.0
"""Checks ABIs by SONAME, versions by what the libraries say, transports by build and environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, abi_of, elf, is_libmpi, library, search


@pytest.mark.parametrize(("soname", "abi"), [
    ("libmpi.so.40", "openmpi"), ("libmpi.so.12", "mpich"), ("libmpich.so.12", "mpich"), ("libmpi_abi.so.1", "mpiabi"),
    ("libmpi_cray.so.12", "mpich"), ("libmpi_gnu_123.so.12", "mpich"),
    ("libmpi.so.20", None), ("libmpi_mpifh.so.40", None), ("libmpicxx.so.12", None), ("libmpifort.so.12", None),
    ("libmpi_abi.so.2", None), ("libc.so.6", None),
])  # fmt: skip
def test_abi_by_soname(soname, abi):
    assert abi_of(soname) == abi


def test_libraries_that_are_mpi_but_not_supported():
    assert is_libmpi("libmpi.so.20") and is_libmpi("libmpi.so.40")
    assert not is_libmpi("libmpi_mpifh.so.40") and not is_libmpi("libm.so.6")


@pytest.mark.parametrize(("text", "abi", "expected"), [
    ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "openmpi", ("Open MPI", "openmpi", "4.1.4")),
    ("MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx\n", "mpiabi", ("MPICH", "mpich", "5.0.2")),
    ("MPICH Version:\t4.0.2\n", "mpich", ("MPICH", "mpich", "4.0.2")),
    ("Intel(R) MPI Library 2021.11 for Linux* OS\n", "mpich", ("Intel MPI", "mpich", "2021.11")),
    ("MVAPICH2 Version      :\t2.3.7\nMPICH Version: 3.2.1", "mpich", ("MVAPICH", "mpich", "2.3.7")),
    ("MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)\n", "mpich", ("Cray MPICH", "mpich", "8.1.28.15")),
    ("Open MPI v1.10.7, package: old", "mpich", ("Open MPI", "openmpi", "1.10.7")),
    ("", "openmpi", ("Open MPI", "openmpi", "")),
    ("somebody's MPI", "mpiabi", ("MPI", "mpiabi", "")),
])  # fmt: skip
def test_versions(text, abi, expected, monkeypatch):
    assert library._parse_version(text, abi) == expected


def test_open_mpi_with_the_name_of_mpich_is_refused(tmp_path, monkeypatch):
    """Open MPI 1.10 has libmpi.so.12 as well."""
    file = tmp_path / "libmpi.so.12"
    file.touch()
    monkeypatch.setattr(elf, "read", lambda path: elf.ElfFile(path, "64/EM_X86_64", "libmpi.so.12", (), (), ()))
    monkeypatch.setattr(library, "library_version", lambda path: "Open MPI v1.10.7, package: old")
    with pytest.raises(AntiphonError, match=r"Open MPI 1\.10\.7"):
        library.identify(file)


def test_directories_that_may_not_be_entered_have_no_library(tmp_path, monkeypatch, closed):
    """GIVEN a PATH and a prefix in another user's home THEN they are passed over."""
    monkeypatch.setenv("PATH", f"{tmp_path}/home/bin")
    with closed(tmp_path):
        found = list(search.candidates({"PATH": f"{tmp_path}/home/bin", "MPI_HOME": f"{tmp_path}/home"}))
        launcher = library._prefix_and_launcher(tmp_path / "home" / "lib" / "libmpi.so.40", "nobody's")[1]
    assert launcher is None and not any(path.is_relative_to(tmp_path) for path in found)


def test_a_library_that_does_not_load_is_still_described(tmp_path):
    """The match of preload object and launcher matters more than the version."""
    assert library.library_version(tmp_path / "none.so") == ""


BASE = Mpi(family="mpich", abi="mpich", name="MPICH", version="5.0.2", vendor="", soname="libmpi.so.12",
           prefix=Path("/p"), libmpi=Path("/p/lib/libmpi.so.12"), launcher=None, device="ch4:ucx")  # fmt: skip
OPEN_MPI = replace(BASE, family="openmpi", device="")


@pytest.mark.parametrize(("library", "env", "expected"), [
    (BASE, {}, "ch4:ucx"),
    (BASE, {"UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"}, "ch4:ucx (tcp,self)"),
    (BASE, {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}, "ch4:ofi (tcp)"),
    (OPEN_MPI, {}, "default"),
    (OPEN_MPI, {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}, "pml=ob1 btl=tcp,self"),
])  # fmt: skip
def test_transport(library, env, expected):
    assert library.transport(env) == expected


def test_labels():
    assert BASE.label == "MPICH 5.0.2"
    assert replace(BASE, abi="mpiabi").label == "MPICH 5.0.2 (MPI ABI)"


@pytest.mark.parametrize(("value", "expected"), [(None, ()), ("", ()), ("/a::/b", ("/a", ".", "/b"))])
def test_library_path(value, expected):
    assert elf.library_path({} if value is None else {"LD_LIBRARY_PATH": value}) == expected


def test_run_path_tokens(monkeypatch):
    assert elf._expand(["$ORIGIN/../lib:${ORIGIN}/x", ""], "/opt/bin") == ("/opt/bin/../lib", "/opt/bin/x")
