# SPDX-License-Identifier: Apache-2.0
"""Open MPI 4: a rankfile, or a list of nodes where processors are not known."""

from __future__ import annotations

from antiphon.placement.document import Placement
from antiphon.placement.launchers import Written, _rankfile

SUMMARY = "Open MPI 4: a rankfile"


def write(placement: Placement) -> Written:
    """`--rankfile`; without processors the mapper `seq`."""
    if _rankfile.binds(placement):
        return Written(_rankfile.text(placement), ["--host", _rankfile.hosts(placement), "--rankfile", "FILE"])
    return Written(_rankfile.sequence(placement), ["--hostfile", "FILE", "--mca", "rmaps", "seq", "--bind-to", "none"])
