# SPDX-License-Identifier: Apache-2.0
"""Checks schedules in GOAL: a reader of ours runs them, and finds what is wrong with others."""

from __future__ import annotations

import pytest

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.exporters import _goal_reader, goal


class TestGoal:
    @pytest.mark.parametrize("algorithm", core.algorithms(), ids=lambda a: f"{a.collective}:{a.name}")
    def test_every_algorithm_moves_the_same_bytes(self, algorithm: core.Algorithm) -> None:
        case = core.Case(algorithm.collective, algorithm.name, 8, 40000, element_bytes=8, ranks_per_node=2,
                         switch_sizes=(4, 4))  # fmt: skip
        matrix = core.matrix(case)
        plan = core.build(case)
        if "multicast" in algorithm.name:
            with pytest.raises(AntiphonError, match="GOAL has no multicast"):
                goal.render(plan)
            return
        outcome = _goal_reader.run(goal.render(plan))
        assert goal.with_tokens(matrix.bytes, plan) == outcome.bytes
        assert [list(r) for r in matrix.messages] == outcome.messages

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("num_ranks 1\nrank 0 {\nl1: send 8 to 0\n}\n", "line 3 is not GOAL"),
            ("num_ranks 1\nrank 0 {\nl1: calc 8\nl1 requires l2\n}\n", "line 4 is not GOAL"),
            ("num_ranks 2\nrank 0 {\n}\n", "1 of 2 ranks"),
            ("num_ranks 1\nrank 0 {\nl1: send 8b from 0\n}\n", "line 3 is not GOAL"),
            ("num_ranks 2\nrank 0 {\nl1: recv 8b from 1 tag 0\n}\nrank 1 {\n}\n", "deadlock"),
            ("num_ranks 2\nrank 0 {\n}\nrank 1 {\nl1: send 8b to 0 tag 0\n}\n", "never received"),
            ("num_ranks 2\nrank 0 {\nl1: recv 4b from 1\n}\nrank 1 {\nl1: send 8b to 0\n}\n", "expects 4 bytes"),
        ],
    )
    def test_what_is_wrong_is_found(self, text: str, said: str) -> None:
        with pytest.raises(AntiphonError, match=said):
            _goal_reader.run(text)

    def test_dependencies_are_kept(self) -> None:
        """A receive that waits for what comes after its message is a deadlock in any order."""
        text = "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
        text += "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\n"
        _goal_reader.run(text + "}\n")
        with pytest.raises(AntiphonError, match="deadlock"):
            _goal_reader.run(text + "b requires a\n}\n")
