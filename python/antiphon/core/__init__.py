# SPDX-License-Identifier: Apache-2.0
"""Offers the core (libantiphon_core.so) as Python functions: algorithms, choices, schedules, and traffic."""

from __future__ import annotations

from antiphon.core.library import LIBRARY, CoreError, loaded, query
from antiphon.core.requests import (
    algorithms,
    build,
    check,
    choose,
    collectives,
    fields,
    matrix,
    parse,
    processor_quota,
    replay,
    schedule_text,
    supported,
    version,
)
from antiphon.core.values import (
    Algorithm,
    Case,
    Choice,
    Collective,
    Matrix,
    NodeTraffic,
    Parameter,
    Question,
    RankTraffic,
    Replay,
    RoundTraffic,
    Transfer,
)

__all__ = [
    "Algorithm",
    "Case",
    "Choice",
    "Collective",
    "CoreError",
    "LIBRARY",
    "Matrix",
    "NodeTraffic",
    "Parameter",
    "Question",
    "RankTraffic",
    "Replay",
    "RoundTraffic",
    "Transfer",
    "algorithms",
    "build",
    "check",
    "choose",
    "collectives",
    "fields",
    "loaded",
    "matrix",
    "parse",
    "processor_quota",
    "query",
    "replay",
    "schedule_text",
    "supported",
    "version",
]
