# SPDX-License-Identifier: Apache-2.0
"""Writes a rankfile for Open MPI 4, or a list of nodes where processors are not known."""

from __future__ import annotations

from antiphon.placement.document import Placement
from antiphon.placement.launchers import Written, _rankfile

SUMMARY = "Open MPI 4: a rankfile"


def write(placement: Placement) -> Written:
    """Uses `--rankfile`; without known processors it uses the mapper `seq`."""
    if _rankfile.binds(placement):
        return Written(_rankfile.text(placement), ["--host", _rankfile.hosts(placement), "--rankfile", "FILE"])
    return Written(_rankfile.sequence(placement), ["--hostfile", "FILE", "--mca", "rmaps", "seq", "--bind-to", "none"])
