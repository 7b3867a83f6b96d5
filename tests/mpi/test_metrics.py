# SPDX-License-Identifier: Apache-2.0
"""Reads the metrics of a run with Prometheus' own parsers, and compares them with the summary."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families

from antiphon.mpi import Mpi

HERE = Path(__file__).resolve().parent
RANKS = 4


@pytest.fixture
def run(compiled: Callable[..., Path], run_ranks: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Runs the program with known calls; returns its result and the text of its metrics."""

    def run(mpi: Mpi, file: Path = tmp_path / "run.prom", **variables: str) -> tuple[Any, str]:
        program = compiled(mpi, [HERE / "programs" / "summary.c"])
        result = run_ranks(mpi, RANKS, [program], ANTIPHON_METRICS=str(file), **variables)
        assert result.returncode == 0, result.text
        return result, file.read_text() if file.is_file() else ""

    return run


def samples(families: Any) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_metrics_are_the_summary(native: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN a run with both files THEN each row of the summary has its metrics, and both formats' parsers take them."""
    result, text = run(native, ANTIPHON_FORCE="alltoall:rotated")
    found = samples(openmetrics_parser.text_string_to_metric_families(text))
    assert found == samples(text_string_to_metric_families(text))
    rows = result.summary["collectives"]
    for metric, key in (("calls", "calls"), ("seconds", "time_s"), ("most_seconds", "max_time_s"), ("bytes", "bytes"),
                        ("waiting_seconds", "waiting_s")):  # fmt: skip
        values = [value for _, value in found[f"antiphon_collective_{metric}"]]
        assert values == pytest.approx([row[key] for row in rows if row[key] is not None])
    labels = [label for label, _ in found["antiphon_collective_calls"]]
    assert [label["done_by"] for label in labels] == [row["algorithm"] for row in rows]
    assert [label["reason"] for label in labels] == [row["reason"] or "" for row in rows]
    assert any(label["done_by"].startswith("rotated") for label in labels)
    assert found["antiphon_ranks"] == [({}, RANKS)] and found["antiphon_nodes"] == [({}, 1)]
    assert found["antiphon_run_seconds"][0][1] == pytest.approx(result.summary["run_s"])
    assert found["antiphon_run"][0][0]["program"] == result.summary["program"]
    assert found["antiphon_network"][0][0]["text"] == result.summary["network"]["line"]


def test_metrics_alone(native: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN no summary THEN the file is written all the same, and nothing is printed."""
    result, text = run(native, ANTIPHON_SUMMARY="0")
    assert text.endswith("# EOF\n") and "antiphon_collective_calls{" in text
    assert "antiphon:" not in result.text


def test_a_file_that_cannot_be_written_is_an_error_before_the_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "antiphon", "run", "-n", "1", "--metrics", tmp_path / "none" / "x.prom", "--mpi"]
    result = subprocess.run([*command, "mpich", "/bin/true"], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2 and "--metrics" in result.stderr and "\nhint: " in result.stderr
