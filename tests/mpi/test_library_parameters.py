# SPDX-License-Identifier: Apache-2.0
"""Checks how Open MPI is made to send long messages over TCP, and when it is left as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

Run = Callable[..., Any]
PROGRAM = Path(__file__).resolve().parent / "programs" / "library_parameters.c"
OVER_TCP = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}
SLOW = {"ANTIPHON_LINK_BITS_PER_S": "100000000"}
EAGER_BYTES = 131072
DEFAULT_BYTES = 65536
FACT = "long messages"


@pytest.fixture
def library(native: Mpi) -> Mpi:
    if native.family != "openmpi":
        pytest.skip("MPICH over TCP sends long messages at once by itself")
    return native


@pytest.fixture
def parameters(library: Mpi, compiled: Callable[..., Path], run_ranks: Run) -> Callable[..., tuple[Any, Any]]:
    """Runs the program; returns Open MPI's limit for what is sent at once, and what the summary knows of it."""

    def run(*arguments: str, **options: Any) -> tuple[Any, Any]:
        result = run_ranks(library, 3, [compiled(library, [PROGRAM]), *arguments], **OVER_TCP | SLOW | options)
        assert result.returncode == 0, result.text
        found = result.pairs("wrong ")
        assert found["wrong"] == "0"
        assert found["inherited"] == ("yes" if "OMPI_MCA_btl_tcp_eager_limit" in options else "no")
        return int(found["eager"]), result.fact(FACT)

    return run


def test_long_messages_do_not_wait_for_answers(parameters: Callable[..., tuple[Any, Any]]) -> None:
    """GIVEN a slow link THEN messages of up to 128 KiB go at once, and the summary says so."""
    found, fact = parameters()
    assert found == EAGER_BYTES
    assert "128 KiB" in fact["value"]


def test_ranks_may_differ(parameters: Callable[..., tuple[Any, Any]]) -> None:
    """GIVEN ranks that have set a parameter themselves THEN they keep it, and messages arrive all the same."""
    assert parameters("odd")[0] == EAGER_BYTES


@pytest.mark.parametrize(("variable", "value"), [
    ("ANTIPHON_LIBRARY_PARAMETERS", "off"),
    ("ANTIPHON_LINK_BITS_PER_S", "1000000000"),
    ("ANTIPHON", "off"),
])  # fmt: skip
def test_left_as_it_is(parameters: Callable[..., tuple[Any, Any]], variable: str, value: str) -> None:
    """GIVEN that it is switched off, or a link on which it does not gain THEN Open MPI has its own defaults."""
    found, fact = parameters(**{variable: value})
    assert found == DEFAULT_BYTES
    assert (fact is None) == (variable == "ANTIPHON")


def test_the_system_says_the_rate(parameters: Callable[..., tuple[Any, Any]], tmp_path: Path) -> None:
    """GIVEN no told rate THEN the node's fastest card decides, and where none says its rate nothing is changed."""
    card = tmp_path / "sys" / "class" / "net" / "eth0"
    (card / "device").mkdir(parents=True)
    for speed, expected in (("1000\n", DEFAULT_BYTES), ("100\n", EAGER_BYTES), ("-1\n", DEFAULT_BYTES)):
        (card / "speed").write_text(speed)
        variables = {"ANTIPHON_SYSTEM_ROOT": str(tmp_path), "ANTIPHON_LINK_BITS_PER_S": ""}
        assert parameters(**variables)[0] == expected


def test_what_a_user_has_set_stays(parameters: Callable[..., tuple[Any, Any]], tmp_path: Path) -> None:
    """GIVEN a parameter of the user's, in the environment or in a file THEN none is changed, and a line says why."""
    found, fact = parameters(OMPI_MCA_btl_tcp_eager_limit="50000")
    assert found == 50000
    assert "OMPI_MCA_btl_tcp_eager_limit" in fact["source"]
    file = tmp_path / ".openmpi" / "mca-params.conf"
    file.parent.mkdir()
    file.write_text("# btl_tcp_flags = 1\nbtl_tcp_links = 1\n")
    assert parameters(HOME=str(tmp_path))[0] == EAGER_BYTES, "nothing in the file is about messages"
    file.write_text("  btl_tcp_rndv_eager_limit = 40000\n")
    found, fact = parameters(HOME=str(tmp_path))
    assert found == DEFAULT_BYTES
    assert str(file) in fact["source"]
