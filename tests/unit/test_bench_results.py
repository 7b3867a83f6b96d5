# SPDX-License-Identifier: Apache-2.0
"""Checks what the benchmark programs are started with."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.bench import collectives
from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.mpi import discover


class Listening(HostTestbed):
    """Keeps the variables of a program that it does not start."""

    seen: dict[str, str]

    def run(self, *_: Any, env: dict[str, str], **__: Any) -> Exit:
        object.__setattr__(self, "seen", env)
        return Exit(0, "")


@pytest.mark.parametrize(("asked", "told"), [(None, "off"), ("auto", None)])
def test_compression_is_off_unless_asked_for(
    asked: str | None, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN blocks that are made up THEN no codec makes them short, even with a profile that would have it."""
    monkeypatch.delenv("ANTIPHON_COMPRESS", raising=False)
    if asked:
        monkeypatch.setenv("ANTIPHON_COMPRESS", asked)
    testbed = Listening()
    benchmark = collectives.CollectiveBenchmark(["bcast"], [1024], ["sync"], ["*:library"], budget_s=1)
    mpi = next(mpi for mpi in discover() if mpi.launcher is not None)
    collectives.run(testbed, mpi, 2, benchmark, lambda _event: None)
    assert testbed.seen.get("ANTIPHON_COMPRESS") == told
