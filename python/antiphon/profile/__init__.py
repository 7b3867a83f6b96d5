# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and writes profiles as files, and compares them with the machine they are used on."""

from __future__ import annotations

from antiphon.profile.document import (
    FORMAT,
    VERSION,
    check,
    is_profile,
    is_profile_file,
    load,
    parse,
    schema,
    sureness,
    write,
)
from antiphon.profile.layout import json_text
from antiphon.profile.machine import differences, fingerprint, here, mismatch_warning, warning_for_run

__all__ = [
    "FORMAT",
    "VERSION",
    "check",
    "differences",
    "fingerprint",
    "here",
    "is_profile",
    "is_profile_file",
    "json_text",
    "load",
    "mismatch_warning",
    "parse",
    "schema",
    "sureness",
    "warning_for_run",
    "write",
]
