# SPDX-License-Identifier: Apache-2.0
"""Writes a rankfile for Open MPI 5 (PRRTE), or a list of nodes where processors are not known."""

from __future__ import annotations

from antiphon.placement.document import Placement
from antiphon.placement.launchers import Written, _rankfile

SUMMARY = "Open MPI 5: a rankfile"


def write(placement: Placement) -> Written:
    """Uses `--map-by rankfile:file=…`; without known processors it uses `--map-by seq`."""
    if _rankfile.binds(placement):
        options = ["--host", _rankfile.hosts(placement), "--map-by", "rankfile:file=FILE"]
        if any(node.cores < node.slots for node in placement.used()):
            options += ["--bind-to", ":overload-allowed"]
        return Written(_rankfile.text(placement), options)
    return Written(_rankfile.sequence(placement), ["--hostfile", "FILE", "--map-by", "seq", "--bind-to", "none"])
