# SPDX-License-Identifier: Apache-2.0
"""One MPI library: which it is, which ABI it has, and what starts its programs."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.mpi import elf

#: The ABIs there is a preload object for, and the names of the libraries that have them.
#: Cray names its library after the compiler; its ABI is MPICH's.
SONAMES = {
    "openmpi": re.compile(r"libmpi\.so\.40$"),
    "mpich": re.compile(r"(libmpi|libmpich|libmpi_(cray|gnu|intel|nvidia|amd|aocc|pgi)\w*)\.so\.12$"),
    "mpiabi": re.compile(r"libmpi_abi\.so\.1$"),
}
ABIS = tuple(SONAMES)
#: Any libmpi, also those whose ABI is not supported.
ANY_LIBMPI = re.compile(r"libmpi(ch)?\.so\.\d+$")
#: Launchers by family; the names of the first ones say which family they belong to.
LAUNCHERS = {
    "openmpi": ("mpirun.openmpi", "mpiexec.openmpi", "mpirun", "mpiexec", "prterun", "orterun"),
    "mpich": ("mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec", "mpirun"),
}
VERSIONS = (
    ("Open MPI", "openmpi", re.compile(r"Open MPI v([^\s,]+)")),
    ("Cray MPICH", "mpich", re.compile(r"CRAY MPICH version (\S+)")),
    ("Intel MPI", "mpich", re.compile(r"Intel\(R\) MPI Library (\S+)")),
    ("MVAPICH", "mpich", re.compile(r"MVAPICH2? Version\s*:\s*(\S+)")),
    ("MPICH", "mpich", re.compile(r"MPICH Version:\s*(\S+)")),
)
GET_LIBRARY_VERSION = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(16384), ctypes.c_int()
lib.MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.write(text.value.decode("utf-8", "replace"))
"""


@dataclass(frozen=True)
class Mpi:
    """One MPI library."""

    #: The library whose launcher and options apply: "openmpi" or "mpich"; "mpiabi" if that is unknown.
    family: str
    #: Which preload object fits: "openmpi", "mpich" or "mpiabi".
    abi: str
    #: The library's name for its vendor, as "Open MPI" or "Intel MPI".
    name: str
    version: str
    #: The text of MPI_Get_library_version, on one line.
    vendor: str
    soname: str
    prefix: Path
    libmpi: Path
    launcher: Path | None
    #: The device MPICH was built for, as "ch4:ucx"; empty for others.
    device: str = ""
    #: The program opens libmpi itself, late (Python): it must be preloaded as well.
    late: bool = False
    #: The program would find another libmpi or none: the library's directory goes first in LD_LIBRARY_PATH.
    redirect: bool = False
    #: The address sanitizer's library that the program is linked to: it must be preloaded before all others.
    sanitizer: Path | None = None
    #: What the user should know of how it was found.
    note: str = ""

    @property
    def label(self) -> str:
        """Short name for tables: `Open MPI 5.0.11`."""
        return f"{self.name} {self.version}".strip() + (" (MPI ABI)" if self.abi == "mpiabi" else "")

    def transport(self, env: Mapping[str, str] | None = None) -> str:
        """The transport of its messages, as far as its build and the environment show it."""
        env = os.environ if env is None else env
        if self.family == "openmpi":
            parts = [f"{key}={env[f'OMPI_MCA_{key}']}" for key in ("pml", "btl", "mtl") if env.get(f"OMPI_MCA_{key}")]
            return " ".join(parts) or "default"
        device = self.device or "default"
        if env.get("MPIR_CVAR_CH4_NETMOD"):
            device = f"ch4:{env['MPIR_CVAR_CH4_NETMOD']}"
        detail = env.get("UCX_TLS") if "ucx" in device else env.get("FI_PROVIDER")
        return f"{device} ({detail})" if detail else device

    def to_json(self) -> dict[str, Any]:
        """All fields, with paths as strings."""
        data = asdict(self) | {"label": self.label, "transport": self.transport()}
        return {key: str(value) if isinstance(value, Path) else value for key, value in data.items()}


def abi_of(soname: str) -> str | None:
    """The ABI of a library by its SONAME; None if there is no preload object for it."""
    return next((abi for abi, pattern in SONAMES.items() if pattern.match(soname)), None)


def is_libmpi(soname: str) -> bool:
    """True for any MPI library, supported or not."""
    return abi_of(soname) is not None or ANY_LIBMPI.match(soname) is not None


@functools.lru_cache(maxsize=64)
def library_version(libmpi: Path) -> str:
    """What MPI_Get_library_version says (allowed before MPI_Init), asked in a process of its own; "" if it fails."""
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    command = [sys.executable, "-I", "-S", "-c", GET_LIBRARY_VERSION, str(libmpi)]
    try:
        result = subprocess.run(command, capture_output=True, errors="replace", env=env, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


@functools.lru_cache(maxsize=64)
def identify(libmpi: Path) -> Mpi:
    """Describes the MPI library in file `libmpi`."""
    # /lib may be a link to /usr/lib: Open MPI's launcher wants to be called where it was installed.
    libmpi = libmpi.parent.resolve() / libmpi.name
    file = elf.read(libmpi)
    if file is None:
        raise AntiphonError(f"{libmpi} is not a shared library", hint="name a libmpi.so.40, libmpi.so.12 or a prefix")
    abi = abi_of(file.soname) or abi_of(libmpi.name)
    if abi is None:
        raise unsupported(file.soname, str(libmpi))
    text = library_version(libmpi)
    name, family, version = _parse_version(text, abi)
    if abi == "mpich" and family == "openmpi":  # Open MPI 1.10 had the name that MPICH has
        raise unsupported(f"{file.soname} of {name} {version}", str(libmpi))
    device = re.search(r"MPICH Device:\s*(\S+)", text)
    prefix, launcher = _prefix_and_launcher(libmpi, family)
    return Mpi(
        family=family, abi=abi, name=name, version=version, vendor=" ".join(text.split())[:200], soname=file.soname,
        prefix=prefix, libmpi=libmpi, launcher=launcher, device=device.group(1) if device else "",
    )  # fmt: skip


def unsupported(soname: str, where: str) -> AntiphonError:
    """The error for an MPI library that there is no preload object for."""
    return AntiphonError(
        f"{where} is or uses {soname}, an MPI library that Antiphon has no preload object for",
        hint="supported are Open MPI 4 and 5 (libmpi.so.40), the MPICH ABI (libmpi.so.12, libmpich.so.12) "
        "and the MPI-5 ABI (libmpi_abi.so.1)",
    )


def _parse_version(text: str, abi: str) -> tuple[str, str, str]:
    for name, family, pattern in VERSIONS:
        match = pattern.search(text)
        if match:
            return name, family, match.group(1)
    return {"openmpi": "Open MPI", "mpich": "MPICH", "mpiabi": "MPI"}[abi], abi, ""


def _prefix_and_launcher(libmpi: Path, family: str) -> tuple[Path, Path | None]:
    """The nearest directory above the library whose bin/ has a launcher of the family; else one from PATH."""
    for folder in list(dict.fromkeys([*libmpi.parents, *libmpi.resolve().parents]))[:10]:
        launcher = _launcher_in(folder / "bin", family)
        if launcher:
            return folder, launcher
    prefix = libmpi.parent.parent if libmpi.parent.name in ("lib", "lib64") else libmpi.parent
    on_path = (Path(entry) for entry in os.environ.get("PATH", "").split(":") if entry)
    return prefix, next(filter(None, (_launcher_in(folder, family) for folder in on_path)), None)


def _launcher_in(folder: Path, family: str) -> Path | None:
    for name in LAUNCHERS.get(family, LAUNCHERS["mpich"]):
        path = folder / name
        if (
            os.path.isfile(path)
            and os.access(path, os.X_OK)
            and launcher_family(path) == family.replace("mpiabi", "mpich")
        ):
            return path
    return None


@functools.lru_cache(maxsize=64)
def launcher_family(launcher: Path) -> str | None:
    """The family of a launcher: by its name, else by its `--version` (mpirun may belong to any library)."""
    for family, marks in (("openmpi", ("openmpi", "prterun", "orterun")), ("mpich", ("mpich", "hydra"))):
        if any(mark in launcher.name for mark in marks):
            return family
    try:
        result = subprocess.run([launcher, "--version"], capture_output=True, errors="replace",
                                timeout=30, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = (result.stdout + result.stderr).lower()
    if any(mark in text for mark in ("open mpi", "openrte", "open rte", "prrte")):
        return "openmpi"
    return "mpich" if any(mark in text for mark in ("hydra", "mpich", "intel(r) mpi", "mvapich")) else None
