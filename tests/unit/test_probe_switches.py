# SPDX-License-Identifier: Apache-2.0
"""Checks that switches are found by evidence only, on made-up clusters with a heavy tail of noise."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import profile
from antiphon.probe import document, evidence, recording, survey
from antiphon.probe.session import Event, Pair, RecordedSession

DATA = Path(__file__).parents[1] / "data"
RATE, LATENCY_S = 1.2e8, 20e-6
SEEDS = st.integers(0, 10**9)


@dataclass
class MadeUpCluster:
    """A session that measures a cluster that does not exist: nodes by switch, links that are shared, and noise."""

    homes: list[int]
    #: What each switch's link to the others carries, each way; None: nobody can fill it.
    uplink: float | None = None
    step_s: float = 0.0
    #: The tail of the noise: the smaller, the heavier.
    tail: float = 1.5
    noise: float = 0.15
    #: Pairs of an even and an odd node are that much slower or faster, as where two cores carry all nodes.
    share_cores: bool = False
    odd_and_even: float = 1.0
    odd_and_even_latency: float = 1.0
    seed: int = 0
    budget_s: float = 60.0
    launched: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        # Some nodes are always slower than others.
        self.speed = [self.chance.uniform(0.85, 1.0) for _ in self.homes]

    def has_label(self, *_labels: str) -> bool:
        return True

    def slower(self) -> float:
        return 1 + self.noise * (self.chance.paretovariate(self.tail) - 1)

    def survey(self) -> survey.Survey:
        count = len(self.homes)
        kernels = ["one"] * count if self.share_cores else list(map(str, range(count)))
        identity = {"kernels": kernels, "hosts": list(map(str, range(count)))}
        found = survey.Survey(identity, nodes=[[node] for node in range(count)])
        for a, b in itertools.combinations(range(len(self.homes)), 2):
            far = self.step_s if self.homes[a] != self.homes[b] else 0.0
            latency = LATENCY_S * (self.odd_and_even_latency if (a + b) % 2 else 1.0) + far
            found.least_s[a, b] = latency * min(1 + 0.1 * (self.slower() - 1) for _ in range(3))
        return found

    def run(self, tasks: list[str]) -> list[Event]:
        self.launched.append(tasks)
        events: list[Event] = []
        for text in tasks:
            values = dict(word.split("=", 1) for word in text.split(";")[1:])
            rounds = [
                [tuple(map(int, pair.split("-"))) for pair in part.split(",")] for part in values["rounds"].split("/")
            ]
            for repeat, (number, pairs) in itertools.product(range(int(values.get("repeat", 1))), enumerate(rounds)):
                rows = [[a, b, self.rates(a, b, pairs)] for a, b in pairs]
                events.append(
                    {"event": "pairs", "label": values["label"], "round": number, "repeat": repeat, "pairs": rows}
                )
        return events

    def rates(self, a: int, b: int, pairs: list[Pair]) -> list[float]:
        rate = RATE * min(self.speed[a], self.speed[b]) * (self.odd_and_even if (a + b) % 2 else 1.0)
        if self.uplink is not None and self.homes[a] != self.homes[b]:
            crossing = [{self.homes[x], self.homes[y]} for x, y in pairs if self.homes[x] != self.homes[y]]
            busiest = max(sum(self.homes[end] in both for both in crossing) for end in (a, b))
            rate = min(rate, self.uplink / busiest)
        return [rate / self.slower() for _ in range(2)]

    def found(self) -> survey.Survey:
        result = self.survey()
        survey._find_switches(self, result)
        return result

    @property
    def built(self) -> list[list[int]]:
        return sorted([n for n, home in enumerate(self.homes) if home == s] for s in set(self.homes))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(2, 16), st.sampled_from([1.2, 1.5, 3.0]), st.sampled_from([0.05, 0.2, 0.5]), SEEDS)
def test_noise_makes_no_switches(nodes: int, tail: float, noise: float, seed: int) -> None:
    found = MadeUpCluster([0] * nodes, tail=tail, noise=noise, seed=seed).found()
    assert found.switches == [list(range(nodes))]
    assert found.evidence == "none"
    assert found.confidence is None or 0 <= found.confidence <= 1


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(4, 12), st.floats(0.3, 0.7), st.sampled_from([0.6, 1.0, 1.3]), SEEDS)
def test_cores_that_nodes_share_are_no_switches(nodes: int, slower: float, latency: float, seed: int) -> None:
    """GIVEN pairs of an even and an odd node that are always slower, and nearer or as near, or farther where one kernel
    runs all nodes THEN there is one switch.
    """
    cluster = MadeUpCluster([0] * nodes, tail=3, share_cores=latency > 1, seed=seed)
    cluster.odd_and_even, cluster.odd_and_even_latency = slower, latency
    assert cluster.found().switches == [list(range(nodes))]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.integers(2, 6), min_size=2, max_size=3), st.floats(0.2, 0.5), st.booleans(), SEEDS)
def test_a_link_that_binds_is_found(sizes: list[int], part: float, step: bool, seed: int) -> None:
    homes = [switch for switch, count in enumerate(sizes) for _ in range(count)]
    # A link can be filled by as many streams as there are pairs, and compared with as many within the switches.
    streams = min(min(a, b, a // 2 + b // 2) for a, b in itertools.combinations(sizes, 2))
    cluster = MadeUpCluster(homes, RATE * part * streams, 6e-6 if step else 0.0, tail=3, noise=0.1, seed=seed)
    found = cluster.found()
    assert found.switches == cluster.built
    assert found.evidence.startswith("uplink")
    assert found.confidence is not None and found.confidence >= evidence.SURE


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.lists(st.integers(3, 8), min_size=2, max_size=2), SEEDS)
def test_a_latency_step_is_found(sizes: list[int], seed: int) -> None:
    """GIVEN two switches with a link that nobody can fill THEN the step beyond the noise tells them apart."""
    homes = [switch for switch, count in enumerate(sizes) for _ in range(count)]
    random.Random(seed).shuffle(homes)
    cluster = MadeUpCluster(homes, None, 8e-6, tail=3, noise=0.1, seed=seed)
    found = cluster.found()
    assert (found.switches, found.evidence) == (cluster.built, "latency")


def test_a_lucky_pair_joins_no_switches() -> None:
    """Now and then a pair has the link between switches for itself. Groups may be too small: trials join them later."""
    for seed in range(30):
        chance = random.Random(seed)
        rate = {
            (a, b): chance.uniform(8.4, 11) if (a < 8) == (b < 8) else chance.triangular(4.3, 11, 6.5)
            for a, b in itertools.combinations(range(16), 2)
        }
        for group in evidence.by_bandwidth(range(16), rate):
            assert len({node < 8 for node in group}) == 1, (seed, group)


@pytest.mark.parametrize(("name", "sizes"), [("gigabit-8-noisy", [8]), ("paper1-16-noisy", [8, 8])])
def test_recorded_probes_of_a_busy_machine(name: str, sizes: list[int]) -> None:
    """GIVEN samples of emulated clusters, taken while compilers ran THEN their switches are found, and no others."""
    recorded = recording.read(DATA / f"{name}.samples.json.gz")
    session = RecordedSession(recorded.launches, recorded.source["ranks"], recorded.source["budget_s"])
    found = survey.Survey()
    survey._find_nodes(session, found)
    survey._find_switches(session, found)
    assert [len(group) for group in found.switches] == sizes
    assert found.evidence == ("none" if len(sizes) == 1 else "uplink")
    assert found.confidence is not None and found.confidence >= evidence.SURE


def test_samples_without_trials_stay_as_they_were() -> None:
    recorded = recording.read(DATA / "paper1-16-noisy.samples.json.gz")
    session = RecordedSession([*recorded.launches[:2], []], recorded.source["ranks"], 60)
    found = survey.Survey()
    survey._find_nodes(session, found)
    survey._find_switches(session, found)
    assert ([len(group) for group in found.switches], found.confidence) == ([8, 8], None)


def test_a_message_across_switches_is_not_faster() -> None:
    classes = [{"scope": "switch", "latency_s": 16.6e-6}, {"scope": "uplink", "latency_s": 11.2e-6}]
    notes: list[str] = []
    document.keep_order(classes, notes)
    assert [entry["latency_s"] for entry in classes] == [16.6e-6, 16.6e-6]
    assert "11.2 µs" in notes[0]


def test_the_confidence_is_said() -> None:
    assert profile.sureness({"evidence": "uplink", "confidence": 0.9844}) == " (by uplink, confidence 0.98)"
    assert profile.sureness({"evidence": "none", "confidence": 0.875}) == " (confidence 0.88)"
    assert profile.sureness({}) == ""
