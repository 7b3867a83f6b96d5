# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries of this machine: which they are, which ABI they have, and what starts their programs."""

from __future__ import annotations

from antiphon.mpi.library import ABIS, Mpi, abi_of, identify, is_libmpi, launcher_family, library_version, unsupported
from antiphon.mpi.search import by_name, candidates, chosen, discover, libraries_in

__all__ = [
    "ABIS",
    "Mpi",
    "abi_of",
    "by_name",
    "candidates",
    "chosen",
    "discover",
    "identify",
    "is_libmpi",
    "launcher_family",
    "libraries_in",
    "library_version",
    "unsupported",
]
