# SPDX-License-Identifier: Apache-2.0
"""Reads traces of runs (docs/reference/trace.md)."""

from __future__ import annotations

from antiphon.trace.calls import (
    AS_SCHEDULE,
    FAILED,
    IN_PLACE,
    RECEIVE_GAPS,
    SEND_GAPS,
    Call,
    Communicator,
    RankTrace,
    Shape,
)
from antiphon.trace.file import MAGIC, VERSION, Trace
from antiphon.trace.reader import Reader, TraceError

__all__ = [
    "AS_SCHEDULE",
    "Call",
    "Communicator",
    "FAILED",
    "IN_PLACE",
    "MAGIC",
    "RECEIVE_GAPS",
    "RankTrace",
    "Reader",
    "SEND_GAPS",
    "Shape",
    "Trace",
    "TraceError",
    "VERSION",
]
