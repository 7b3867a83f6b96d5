# SPDX-License-Identifier: Apache-2.0
"""Compares the machine a profile was measured on with the one it is used on."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json


def fingerprint(*, mpi: str, cpu_model: str, cores: int, hosts: Sequence[str]) -> str:
    """Returns a text that is equal on the measured machine: facts that every node of it knows of itself."""
    stem = {re.sub(r"\d+", "#", host.partition(".")[0]) for host in hosts}
    return f"mpi={mpi};cpu={cpu_model};cores={cores};hosts={','.join(sorted(stem))}"


def here(hosts: Sequence[str] | None = None) -> str:
    """Returns the fingerprint of the machine this runs on, as far as one process can know it."""
    model = re.search(r"^(?:model name|Model|Hardware|CPU implementer)\s*: (.*)$", _cpuinfo(), re.MULTILINE)
    known = [f"cpu={model[1]}"] if model else []
    # These are the machine's cores, not this process's: a node of a lab keeps to one core, and launchers bind ranks.
    known.append(f"cores={os.cpu_count()}")
    full = fingerprint(mpi="", cpu_model="", cores=0, hosts=hosts) if hosts else ""
    return ";".join(known + [part for part in full.split(";") if part.startswith("hosts=")])


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def warning_for_run(path: Path, hosts: Sequence[str] | None = None) -> str | None:
    """Returns a warning before a program runs with another machine's profile. The profile's reader reports errors."""
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
        return mismatch_warning(document, here(hosts))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def differences(document: Mapping[str, Any], here: str, but: Container[str] = ()) -> list[str]:
    """Returns the differences between the profile's fingerprint and another in words, but for some parts; none if
    either is unknown.
    """
    measured = document["machine"].get("fingerprint", "")
    parts = [dict(part.split("=", 1) for part in text.split(";") if "=" in part) for text in (measured, here)]
    words = {"mpi": "MPI library", "cpu": "processor", "cores": "cores of a node", "hosts": "names of nodes"}
    return [
        f"{words[key]}: measured on {parts[0][key]!r}, this is {parts[1][key]!r}"
        for key in words
        if key not in but and key in parts[0] and key in parts[1] and parts[0][key] != parts[1][key]
    ]


def mismatch_warning(document: Mapping[str, Any], here: str) -> str | None:
    """Returns one line for a profile that was measured elsewhere, or None where nothing indicates that."""
    found = differences(document, here)
    if not found:
        return None
    name = document["machine"]["name"]
    return f"the profile of {name!r} was taken on another machine ({'; '.join(found)}): its choices may be wrong"
