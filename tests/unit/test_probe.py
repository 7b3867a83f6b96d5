# SPDX-License-Identifier: Apache-2.0
"""Checks what the probe makes of samples: groups, trees, curves, γ, credit. Samples come from known models."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.probe import clusters, contention, curves, document, host, multicast, plan, survey

L_S, OS_S, OR_S, RATE = 20e-6, 4e-6, 6e-6, 1.19e7


def g(size: int) -> float:
    """Models a link of 11.9 MB/s behind a processor that needs 5 µs a message."""
    return max(5e-6, size / RATE)


def point(size: int, label: str = "switch", eager: int = 65536) -> dict:
    """Makes an event as the program prints it, without noise."""
    late = g(size) if size > eager else 0.0
    round_ns = 1e9 * (2 * L_S + g(size) + g(0))
    return {
        "event": "point",
        "label": label,
        "bytes": size,
        "round_ns": [round_ns] * 9,
        "os_ns": [OS_S * 1e9] * 9,
        "g_ns": [g(size) * 1e9] * 9,
        "or_ns": [(OR_S + late) * 1e9] * 9,
    }


SIZES = (0, 64, 1024, 4096, 16384, 65536, 70000, 262144, 1048576)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 40))
def test_rounds_hold_every_pair_once(count: int) -> None:
    members = list(range(100, 100 + count))
    rounds = plan.all_rounds(members)
    assert len(rounds) == count - 1 + count % 2
    for pairs in rounds:
        busy = [rank for pair in pairs for rank in pair]
        assert len(busy) == len(set(busy))
    seen = sorted(tuple(sorted(pair)) for pairs in rounds for pair in pairs)
    assert seen == list(itertools.combinations(members, 2))


def test_a_task_is_one_word_without_blanks() -> None:
    said = plan.task("curves", pairs=plan.pairs_text([(0, 1), (2, 3)]), sizes=(0, 64), quiet=True, budget=1.5)
    assert said == "curves;pairs=0-1,2-3;sizes=0,64;quiet=1;budget=1.5"


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(2, 4), st.randoms(use_true_random=False))
def test_nodes_are_found_by_latency(nodes: int, ranks_per_node: int, chance: random.Random) -> None:
    ranks = list(range(nodes * ranks_per_node))
    home = [rank % nodes for rank in ranks]
    latency = {
        (a, b): (0.4e-6 if home[a] == home[b] else 9e-6) * chance.uniform(1, 1.7)
        for a, b in itertools.combinations(ranks, 2)
    }
    expected = sorted([rank for rank in ranks if home[rank] == node] for node in range(nodes))
    assert next(clusters.groupings(ranks, latency)) == expected
    assert clusters.node_groups(ranks, latency, latency, named=[[rank] for rank in ranks]) == expected


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 6), st.integers(2, 4), st.booleans(), st.randoms(use_true_random=False))
def test_nodes_are_found_on_busy_machines(nodes: int, ranks_per_node: int, told: bool, chance: random.Random) -> None:
    """Programs that share the processors delay some pairs, near ones far more than by their own latency."""
    ranks = list(range(nodes * ranks_per_node))
    home = [rank % nodes for rank in ranks]
    pairs = list(itertools.combinations(ranks, 2))
    near = [pair for pair in pairs if home[pair[0]] == home[pair[1]]]
    late = set(chance.sample(near, len(near) // 2))
    least = {(a, b): (0.4e-6 if home[a] == home[b] else 90e-6) * chance.uniform(1, 1.7) for a, b in pairs}
    least |= {pair: chance.uniform(10e-6, 40e-6) for pair in late}
    bulk = {(a, b): (0.1e-3 if home[a] == home[b] else 6e-3) * chance.uniform(1, 1.7) for a, b in pairs}
    expected = sorted([rank for rank in ranks if home[rank] == node] for node in range(nodes))
    named = expected if told else [[rank] for rank in ranks]
    assert clusters.node_groups(ranks, least, bulk, named) == expected


def test_groups_by_bulk_count_only_if_latency_agrees() -> None:
    groups, alone = [[0, 1], [2, 3]], [[0], [1], [2], [3]]
    pairs = list(itertools.combinations(range(4), 2))
    bulk = {pair: 1e-3 if pair in ((0, 1), (2, 3)) else 9e-3 for pair in pairs}
    busy = {pair: 4e-6 if pair in ((0, 1), (2, 3)) else 9e-6 for pair in pairs}
    flat = dict.fromkeys(pairs, 9e-6)
    assert clusters.node_groups(range(4), busy, bulk, alone) == groups
    assert clusters.node_groups(range(4), flat, bulk, alone) is None, "two switches, not two nodes"
    assert clusters.node_groups(range(4), flat, bulk, groups) == groups, "the names say so, too"
    assert clusters.node_groups(range(4), flat, flat, groups) is None, "names alone say nothing"


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 16), st.randoms(use_true_random=False))
def test_no_nodes_are_made_up_where_all_are_alike(count: int, chance: random.Random) -> None:
    latency = {pair: 10e-6 * chance.uniform(1, 1.7) for pair in itertools.combinations(range(count), 2)}
    assert not list(clusters.groupings(range(count), latency))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.floats(0.1, 0.6), st.randoms(use_true_random=False))
def test_switches_are_found_by_shared_bandwidth(sizes: list[int], left: float, chance: random.Random) -> None:
    homes = [switch for switch, count in enumerate(sizes) for _ in range(count)]
    chance.shuffle(homes)
    rate = {
        (a, b): RATE * chance.uniform(0.93, 1.0) * (1 if homes[a] == homes[b] else left * chance.uniform(0.7, 1.2))
        for a, b in itertools.combinations(range(len(homes)), 2)
    }
    expected = sorted([node for node, home in enumerate(homes) if home == s] for s in range(len(sizes)))
    assert clusters.switch_groups(range(len(homes)), rate) == expected


def test_sockets_are_found_where_all_nodes_have_them() -> None:
    nodes = [[0, 1, 2, 3], [4, 5, 6, 7]]
    least = {
        (a, b): 1e-5 if a // 4 != b // 4 else 3e-7 if a // 2 == b // 2 else 8e-7
        for a, b in itertools.combinations(range(8), 2)
    }
    found = survey.Survey(nodes=nodes, least_s=least, switches=[[0, 4]])
    scopes = survey._scopes(found)
    assert scopes == {"socket": [(0, 1), (2, 3), (4, 5), (6, 7)], "node": [(0, 2), (4, 6)], "switch": [(0, 4)]}
    assert found.sockets_per_node == 2
    least[4, 6] = 3e-7  # One node is not divided like the other.
    assert survey._scopes(found) == {"node": [(0, 1), (4, 5)], "switch": [(0, 4)]}


def test_trees_of_switches() -> None:
    assert clusters.switch_tree({}, {0: 0.0}) == [(None, 0.0)]
    assert clusters.switch_tree({(0, 1): 5.0}, {0: 5.0, 1: 5.0}) == [(None, 0.0), (0, 5.0)]
    alike = {(0, 1): 5.0, (0, 2): 5.0, (1, 2): 5.0}
    # In a chain 0 – 1 – 2, the middle one takes in from both sides at once.
    assert clusters.switch_tree(alike, {0: 5.0, 1: 9.8, 2: 5.1}) == [(1, 5.0), (None, 0.0), (1, 5.0)]
    # The middle of this star has no nodes of its own.
    assert clusters.switch_tree(alike, {0: 5.0, 1: 5.1, 2: 5.0}) == [(3, 5.0), (3, 5.0), (3, 5.0), (None, 0.0)]


def test_curves_from_samples_of_a_known_link() -> None:
    found = curves.collect([point(size) for size in SIZES], "switch")
    assert found.latency_s == pytest.approx(L_S)
    assert found.bytes_per_s == pytest.approx(RATE)
    assert found.eager_bytes == 65536
    for size in (0, 500, 3000, 30000, 2**20):
        assert curves.at(found.curve("g"), size) == pytest.approx(g(size), rel=0.05, abs=4e-6)
    assert curves.at(found.curve("or"), 65536) == pytest.approx(OR_S)
    assert curves.at(found.curve("or"), 65537) > 100 * OR_S, "a jump is not smoothed away"
    assert [size for size, _ in found.curve("or")].count(65536) == 2
    assert [size for size, _ in found.curve("g")].count(65536) == 1


def test_a_disturbed_size_does_not_cost_more_than_longer_ones() -> None:
    events = [point(size) for size in SIZES]
    disturbed = SIZES[3]
    events[3]["or_ns"] = [50 * value for value in events[3]["or_ns"]]
    found = dict(curves.collect(events, "switch").curve("or"))
    assert found[disturbed] == pytest.approx(found[SIZES[4]])
    assert curves.undisturbed([(0, 1.3), (1, 1.0), (2, 9.0)]) == [(0, 1.3), (1, 1.0), (2, 9.0)], "noise, and a jump"


def test_what_a_receiver_fetches_is_not_eager() -> None:
    """GIVEN sends within a node that take as long as the receiver's turn from 1 KiB on THEN shorter ones are eager."""
    events = [{**point(size), "or_ns": [700.0] * 9, "os_ns": [100.0] * 9, "g_ns": [2000.0] * 9} for size in SIZES]
    assert curves.collect(events, "switch").eager_bytes is None
    long = [i for i, size in enumerate(SIZES) if size >= 1024]
    for i in long:
        events[i] |= {"os_ns": [46000.0] * 9, "g_ns": [47000.0] * 9}
    assert curves.collect(events, "switch").eager_bytes == SIZES[long[0] - 1]


def test_cores_are_those_of_all_who_share_them() -> None:
    who = {"kernels": ["a", "a", "b"], "allowed_cores": ["0", "2-3,8", "4"]}
    assert survey.Survey(identity=who).cores == 4
    assert survey.Survey(identity={**who, "kernels": ["a", "b", "a"]}).cores == 2
    assert survey.Survey(identity={"cores": ["2", "2", "2"]}).cores == 2, "samples of before"


def test_the_fingerprint_has_the_machine_s_cores() -> None:
    """The fingerprint omits the cores that ranks were bound to, because a process that checks it may lack them."""
    who = {"kernels": ["a", "a"], "allowed_cores": ["0", "1"], "machine_cores": 8}
    assert (survey.Survey(identity=who).cores, survey.Survey(identity=who).machine_cores) == (2, 8)
    del who["machine_cores"]
    assert survey.Survey(identity=who).machine_cores == 2, "samples of before"


def test_buffer_of_the_sending_side() -> None:
    assert curves.collect([point(size) for size in SIZES], "switch").send_buffer_bytes is None
    events = [point(size) for size in SIZES]
    for event in events:
        event["os_ns"] = [1e9 * (OS_S + max(0, event["bytes"] - 400_000) / RATE)] * 9
    assert curves.collect(events, "switch").send_buffer_bytes == pytest.approx(400_000, rel=0.01)


def test_burst_of_a_rested_link() -> None:
    events = [point(size) for size in SIZES]
    for size in (0, 4096, 16384, 32768):
        delivered = L_S + max(5e-6, (size - 8000) / RATE)
        events.append({**point(size, "switch rested"), "round_ns": [1e9 * (delivered + L_S + 5e-6)] * 9})
    assert curves.collect(events, "switch").burst_bytes == pytest.approx(8000, rel=0.05)
    assert curves.collect(events[: len(SIZES)], "switch").burst_bytes == 0


def test_held_out_sizes_are_compared_with_the_curves() -> None:
    events = [point(size) for size in SIZES] + [point(24000, "switch held out")]
    [row] = curves.held_out_errors(curves.collect(events, "switch"))
    assert row["bytes"] == 24000
    assert abs(row["error"]) < 0.001
    events[-1]["round_ns"] = [2 * value for value in events[-1]["round_ns"]]
    [row] = curves.held_out_errors(curves.collect(events, "switch"))
    assert row["error"] == pytest.approx(-0.5, abs=0.01)


def test_outliers_are_counted_and_kept() -> None:
    found = curves.estimate([100.0, 101, 102, 103, 104, 105, 106, 107, 108, 9000])
    assert (found.count, found.outliers) == (10, 1)
    assert found.median == pytest.approx(104.5e-9)


@pytest.mark.parametrize("true_gamma", [0.4, 1.3])
def test_gamma_is_recovered(true_gamma: float) -> None:
    found = curves.collect([point(size) for size in SIZES], "switch")
    events = []
    for ranks, size in itertools.product((4, 16), (1024, 16384, 65536)):
        lower, upper = contention.bounds_s(found, ranks, size)
        events.append(
            {
                "event": "all_to_all",
                "ranks": ranks,
                "bytes": size,
                "ns": [1e9 * (lower + true_gamma * (upper - lower))] * 5,
            }
        )
    rows = contention.gamma(events, found)
    assert [row["ranks"] for row in rows] == [4, 16]
    assert all(row["gamma"] == pytest.approx(true_gamma) for row in rows)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([65536, 131072, 500_000]), st.integers(3, 20))
def test_credit_is_the_port_s_buffer(buffer: int, senders: int) -> None:
    events = []
    for count in (senders, max(2, senders // 2)):
        for total in (16384 * 1.06**i for i in range(80)):
            lost = total * (1 - 1 / count) > buffer
            events.append(
                {
                    "event": "incast",
                    "senders": count,
                    "total_bytes": int(total),
                    "trials": 5,
                    "lost": 2 * int(lost),
                    "passed": not lost,
                    "seconds": [total / RATE + 0.2 * lost],
                }
            )
    found = contention.incast(events, RATE)
    assert found.credit_bytes == pytest.approx(buffer, rel=0.07)
    assert found.credit_bytes <= buffer
    assert found.timeout_s == pytest.approx(0.2)


def test_the_buffer_of_a_link_between_switches() -> None:
    def event(total: float, lost: bool, label: str) -> dict[str, object]:
        return {"event": "incast", "label": label, "senders": 64, "total_bytes": int(total), "passed": not lost}

    # Eight senders fill it with three quarters of what they send, as the link passes two senders' worth.
    events = [event(16384 * 1.06**i, 16384 * 1.06**i * 0.75 > 131072, "uplink 0 1") for i in range(60)]
    events += [event(2**20, False, "uplink 1 2"), event(4096, True, "")]
    found = contention.uplink_buffer(events, ["uplink 0 1", "uplink 1 2"], 2 * RATE, RATE)
    assert found == pytest.approx(131072, rel=0.07)
    assert contention.uplink_buffer(events, ["uplink 1 2"], 2 * RATE, RATE) is None


def test_no_credit_is_claimed_where_nothing_was_lost() -> None:
    events = [
        {
            "event": "incast",
            "senders": 4,
            "total_bytes": 2**20,
            "trials": 5,
            "lost": 0,
            "passed": True,
            "seconds": [0.1] * 5,
        }
    ]
    assert contention.incast(events, RATE).credit_bytes is None


@pytest.mark.parametrize(("two", "four", "index"), [(2.0, 4.0, 1), (1.2, 2.4, 2), (1.1, 1.3, 4)])
def test_concurrency_index(two: float, four: float, index: int) -> None:
    times = {"one": 1.0, "two": two, "four": four, "one_way": 0.5}
    events = [
        {"event": "concurrency", "bytes": 65536, "pattern": name, "ns": [value * 1e6] * 3}
        for name, value in times.items()
    ]
    found = contention.concurrency(events)
    assert (found["index"], found["two_destinations_ratio"], found["two_directions_ratio"]) == (
        index,
        pytest.approx(two),
        2.0,
    )


def test_gamma_is_not_taken_from_bounds_that_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a link on which handing a message over takes as long as the wire THEN nothing is said of γ."""
    found = curves.collect([point(size) for size in SIZES], "switch")
    event = {"event": "all_to_all", "ranks": 4, "bytes": 65536, "ns": [9_000_000]}
    assert contention.gamma([event], found)
    for upper_s in (1e-3, 1.01e-3, 0.9e-3):
        monkeypatch.setattr(contention, "bounds_s", lambda *_, upper_s=upper_s: (1e-3, upper_s))
        assert contention.gamma([event], found) == []


def test_multicast_that_is_not_heard_says_why() -> None:
    """GIVEN broadcasts that had to go without multicast THEN the profile says that it does not work, and the reason."""
    why = "rank 2 hears no multicast of rank 0"
    row = {"bytes": 8, "chosen": f"multicast:segment_bytes=32768{multicast.WITHOUT_MULTICAST}{why}", "samples": [1e-3]}
    assert multicast.describe({"nodes": 4, "rows": [row]}, 1e-4, 1) == {"works": False, "why_not": why}
    assert multicast.describe({"nodes": 1, "rows": []}, 1e-4, 1) is None
    wrong = {"nodes": 4, "rows": [row | {"chosen": "multicast"}], "wrong": [{"bytes": 1024, "why": "2 wrong elements"}]}
    assert multicast.describe(wrong, 1e-4, 1) == {"works": False, "why_not": "a multicast brought wrong data"}


def test_a_multicast_takes_its_time_on_the_wire() -> None:
    """GIVEN broadcasts after a barrier THEN what all sizes take alike is no gap: the bytes' rate is."""
    samples = {8: 2e-4, 1024: 1e-4, 65536: 5.6e-3}
    rows = [{"bytes": size, "chosen": "multicast", "samples": [s]} for size, s in samples.items()]
    found = multicast.describe({"nodes": 16, "rows": rows}, 1e-4, 8)
    assert found is not None and found["works"] is True and "crowded_s" not in found
    rate = (65536 - 1024) / 5.5e-3
    assert found["bytes_per_s"] == pytest.approx(rate, rel=1e-3)
    assert found["g_s"] == [[size, pytest.approx(size / rate, rel=1e-3)] for size in samples]


def test_what_a_short_multicast_costs_cores_is_known_from_ranks_that_take_turns() -> None:
    """GIVEN turns that take a latency and a time per receiver THEN both are found, on shared cores only."""
    nodes, latency_s, work_s = 16, 2e-5, 4e-6
    turn_s = latency_s + (nodes - 1) * work_s / 2 + nodes / 2 / 2 * work_s / 2
    row = {"bytes": 8, "chosen": "multicast", "samples": [1e-4]}
    kept = {"nodes": nodes, "rows": [row], "turns": [{**row, "samples": [nodes * turn_s]}]}
    found = multicast.describe(kept, latency_s, nodes / 2)
    assert found is not None and found["crowded_s"] == pytest.approx(work_s, rel=1e-3)
    alone = multicast.describe(kept, latency_s, 1)
    assert alone is not None and "crowded_s" not in alone


def shared_event(size: int, fetches: bool, round_s: float) -> dict:
    return {"event": "shared", "bytes": size, "fetches": fetches, "round_ns": [round_s * 1e9] * 5}


def test_shared_memory_takes_the_faster_way() -> None:
    """GIVEN two copies at 5 GB/s, one at 20 GB/s that begins 3 us later THEN the curve is the lower of both."""
    flag_s, begins_s = 3e-7, 3e-6
    sizes = (0, 1024, 16384, 65536)
    events = [shared_event(size, False, 2 * flag_s + size / 5e9) for size in sizes]
    events += [shared_event(size, True, 2 * flag_s + begins_s + size / 20e9) for size in sizes if size > 0]
    found = document.shared_memory(events)
    assert found["latency_s"] == pytest.approx(flag_s)
    assert found["fetched_from_bytes"] == 65536
    expected = [1e-9, 1024 / 5e9, 16384 / 5e9, begins_s + 65536 / 20e9]
    assert [seconds for _, seconds in found["g_s"]] == pytest.approx(expected, rel=1e-3)
    assert document.shared_memory([shared_event(0, False, 0.0) | {"round_ns": []}]) == {}


def flows(label: str, rates: list[float]) -> dict:
    """Makes the event of streams at once, repeated three times alike."""
    return {"event": "flows", "label": label, "bytes_per_s": [rates] * 3, "together": [sum(rates)] * 3}


def test_what_binds_before_the_wire() -> None:
    wire = [flows("both", [99.0] * 2), flows("ring", [98.0] * 3), flows("out", [33.0] * 3)]
    assert host.rates(wire, 100.0, False) == host.HostRates(port=100.0)
    paced = [flows("both", [25.0] * 2), flows("ring", [25.0] * 3), flows("out", [20.0] * 5)]
    assert host.rates(paced, 25.0, False) == host.HostRates(port=100.0, connection_way=25.0)
    # As on a host of 10 Gb/s: two that exchange share a connection, and a ring is slower than one way.
    taurus = [flows("both", [58.0] * 2), flows("ring", [82.0] * 3), flows("out", [24.0] * 5)]
    assert host.rates(taurus, 116.0, False) == host.HostRates(port=120.0, connection=116.0, rank=164.0)
    # Cores that nodes share say nothing of a host of its own.
    assert host.rates(taurus, 116.0, True) == host.HostRates(port=120.0)
    assert host.rates([], 100.0, False) == host.HostRates()


def test_flows_of_hosts_use_the_ranks_there_are() -> None:
    assert host.patterns([[0]], [0]) == {}
    assert set(host.patterns([[0], [1]], [0, 1])) == {"both"}
    found = host.patterns([[0, 1], [2, 3], [4, 5]], [0, 2, 4])
    assert found["ring"] == [(0, 2), (2, 4), (4, 0)]
    assert found["ranks"] == [(0, 2), (1, 3)]
