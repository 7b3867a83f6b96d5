# SPDX-License-Identifier: Apache-2.0
"""Checks what the benchmark programs are started with."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from antiphon.bench import collectives, running
from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.commands import lab
from antiphon.mpi import discover
from antiphon.mpi.launch import Launch


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


def test_the_library_alone_has_no_object_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a shell that preloads a tool and Antiphon THEN ranks without Antiphon have the tool only."""
    commands: list[list[str]] = []

    def run(start: Launch, *_: Any) -> tuple[int, str, bool]:
        commands.append(start.command)
        return 0, "", False

    monkeypatch.setattr(running, "run", run)
    monkeypatch.setenv("LD_PRELOAD", "/opt/tool.so:/opt/lib/libantiphon-mpich.so")
    mpi = next(mpi for mpi in discover() if mpi.launcher is not None)
    how: dict[str, Any] = {"env": {}, "on_line": print, "timeout_s": 1}
    HostTestbed().run(mpi, 2, ["program"], preload=False, **how)
    assert "libantiphon" not in " ".join(commands[0])
    assert "/opt/tool.so" in " ".join(commands[0])
    plain = argparse.Namespace(plain=True, profile=None, summary=None, force=None, off=False)
    assert lab._rank_env(plain, mpi) == {"LD_PRELOAD": "/opt/tool.so"}  # noqa: SLF001
