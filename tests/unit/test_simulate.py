# SPDX-License-Identifier: Apache-2.0
"""Traces and platforms for SMPI, and its replay where SimGrid is installed."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from xml.etree import ElementTree

import pytest

from antiphon import core
from antiphon.cluster import files
from antiphon.errors import AntiphonError
from antiphon.lab import kernel
from antiphon.patterns import Pattern, compiled
from antiphon.simulate import ns3, platform, smpi, trace

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid's smpirun is not installed")
needs_time = pytest.mark.skipif("ANTIPHON_SLOW" not in os.environ, reason="compiles a program: set ANTIPHON_SLOW")


def plan_of(collective, algorithm, ranks, size):
    return core.build(core.Case(collective, algorithm, ranks, size))


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("bcast", "chain"),
        ("bcast", "circulant"),
        ("alltoall", "rotated"),
        ("allreduce", "ring"),
        ("barrier", "dissemination"),
    ],
)
def test_every_message_has_two_sides_and_is_waited_for_once(collective, algorithm):
    ranks = 5
    plan = plan_of(collective, algorithm, ranks, 0 if collective == "barrier" else 40000)
    listed = trace.actions(plan, trace.Work(0.25, 0.5))
    sent, received, waited = Counter(), Counter(), Counter()
    for rank, lines in enumerate(listed):
        assert (lines[0], lines[-1]) == (f"{rank} init", f"{rank} finalize")
        for line in lines[1:-1]:
            _, kind, *words = line.split()
            if kind == "isend":
                sent[rank, int(words[0]), int(words[1])] += int(words[2])
            elif kind == "irecv":
                received[int(words[0]), rank, int(words[1])] += int(words[2])
            elif kind == "wait":
                waited[int(words[0]), int(words[1]), int(words[2]), rank] += 1
    assert sent == received
    assert set(waited.values()) == {1}
    assert len(waited) == 2 * len(sent)


@pytest.mark.parametrize(("collective", "last"), [("bcast", 0), ("reduce", 4)])
def test_a_rank_passes_a_piece_on_before_it_waits_for_the_next(collective, last):
    """GIVEN a chain of more pieces than its window THEN they travel one behind the other."""
    plan = plan_of(collective, "chain:segment_bytes=4096,window=8", 5, 65536)
    lines = [line.split()[1:] for line in trace.actions(plan, trace.Work(0.25, 0.5))[2]]
    events = [line[0] for line in lines if line[0] == "isend" or line[:2] == ["wait", "1" if last == 0 else "3"]]
    assert events == ["wait", "isend"] * 16


def test_messages_of_a_connection_start_one_after_the_other():
    plan = plan_of("bcast", "flat:segment_bytes=4096,window=8", 2, 65536)
    lines = [line.split()[1] for line in trace.actions(plan, trace.Work())[0][1:-1]]
    assert lines == ["isend", "wait"] * 16


@pytest.mark.parametrize("messages", [((0, 1, 70000), (1, 0, 5), (2, 0, 30000)), ((0, 3, 9),)])
def test_a_patterns_schedules_send_its_messages(messages):
    text = compiled.compile_plan([(Pattern("p", 4, messages), 2)], {})
    (call,) = compiled.calls_of(text)
    sent = Counter()
    for rank, schedule in enumerate(call["schedules"]):
        for op in schedule["ops"]:
            if op["op"] == "send" and op["from"][0] == "input":
                sent[rank, op["peer"]] += op["from"][2]
    assert sent == {(source, target): size for source, target, size in messages}
    assert len(trace.actions(call, trace.Work())) == 4


def test_schedules_of_too_many_ranks_are_refused():
    text = compiled.compile_plan([(Pattern("p", 4097, ((0, 4096, 9),)), 1)], {})
    with pytest.raises(AntiphonError, match="4097 ranks are too many to list: of at most 4096"):
        compiled.calls_of(text)


def test_ranks_work_on_messages_as_far_as_they_go():
    """GIVEN two nodes with two ranks each THEN a rank works for messages that leave its node."""
    plan = plan_of("bcast", "flat", 4, 1000)
    work = trace.Work(send_s=3e-6, receive_s=4e-6, ranks_per_node=2)
    listed = trace.actions(plan, work)
    slept = [[line.split()[2] for line in lines if " sleep " in line] for lines in listed]
    assert slept == [["3e-06", "3e-06"], [], ["4e-06"], ["4e-06"]]
    for lines in listed[2:]:
        assert [line.split()[1] for line in lines[-3:]] == ["wait", "sleep", "finalize"]
    assert not any(" sleep " in line for lines in trace.actions(plan, trace.Work()) for line in lines)


@needs_simgrid
def test_messages_within_a_node_cost_less_in_smpi():
    """GIVEN a short broadcast THEN it takes less on one node than on as many nodes as ranks."""
    spec = files.load("25gbe-64x32")
    plan = plan_of("bcast", "binomial", 8, 64)
    within = smpi.run(smpi.find(), plan, spec, 8, 60).seconds
    between = smpi.run(smpi.find(), plan, spec, 1, 60).seconds
    host = spec.hosts.host()
    # SMPI says its times to the microsecond.
    assert 0 < within <= 3 * host.memory_us * 1e-6 + 1e-6
    assert between > 3 * (host.latency_us + host.send_us + host.receive_us) * 1e-6


def test_schedules_that_do_not_fit_together_are_said():
    plan = plan_of("bcast", "chain", 3, 1000)
    plan["schedules"][0]["ops"] = []
    with pytest.raises(AntiphonError, match="never sends"):
        trace.actions(plan, trace.Work(0.25, 0.5))
    wait = {"op": "recv", "peer": 1, "to": ["output", 0, 10]}
    send = {"op": "send", "peer": 1, "from": ["input", 0, 10], "after": [0]}
    other = [{**wait, "peer": 0}, {**send, "peer": 0}]
    with pytest.raises(AntiphonError, match="wait for ever"):
        trace.actions({"schedules": [{"ops": [wait, send]}, {"ops": other}]}, trace.Work(0.25, 0.5))


@pytest.mark.parametrize("name", ["10gbe-12", "25gbe-64x32", "two-racks-16x4"])
def test_the_platform_has_every_host_and_link(name):
    spec = files.load(name)
    zone = ElementTree.fromstring(platform.xml_of(spec, spec.ranks_per_node))[0]
    hosts = {host.get("id") for host in zone.iter("host")}
    assert len(hosts) == spec.nodes
    ports = [link for link in zone.iter("link") if link.get("id").startswith("port")]
    assert all(float(link.get("bandwidth")[:-3]) == pytest.approx(spec.port_bytes_per_s) for link in ports)
    linked = {link.get("id") for link in zone.iter("link")}
    assert {used.get("id") for used in zone.iter("link_ctn")} == linked


def test_a_missing_simulator_is_said(tmp_path):
    with pytest.raises(AntiphonError) as error:
        smpi.find(tmp_path / "smpirun")
    assert "libsimgrid-dev" in str(error.value.hint)


@needs_simgrid
def test_smpi_agrees_with_the_model_where_the_wire_alone_counts(tmp_path):
    """GIVEN a long message along a chain of two and a host that costs nothing THEN both take the wire's time."""
    path = tmp_path / "plain.toml"
    path.write_text(
        'rate = "1gbit"\nnodes = 4\n[host]\nlatency_us = 10\nsend_us = 1\nreceive_us = 1\n'
        "core_mb_per_s = 100000\nconnection_mb_per_s = 0\n"
    )
    spec = files.load(str(path))
    wire_s = (1 << 20) / spec.port_bytes_per_s
    for collective, algorithm, bytes_factor in (("bcast", "chain", 1), ("alltoall", "windowed", 3)):
        plan = plan_of(collective, algorithm, 4, 1 << 20)
        found = smpi.run(smpi.find(), plan, spec, 1, 60)
        assert bytes_factor * wire_s < found.seconds < 1.15 * bytes_factor * wire_s


@needs_simgrid
def test_pieces_follow_one_another_in_smpi():
    """GIVEN a chain THEN its last rank has the message when the pieces have passed all links, one behind the other."""
    spec = files.load("ethernet-16")
    plan = plan_of("bcast", "chain:segment_bytes=8192,window=8", 16, 262144)
    on_links = (262144 + 14 * 8192) / spec.port_bytes_per_s
    assert on_links < smpi.run(smpi.find(), plan, spec, 1, 60).seconds < 1.15 * on_links


@needs_simgrid
def test_a_simulation_that_takes_too_long_is_ended(tmp_path):
    with pytest.raises(AntiphonError, match="longer than"):
        smpi.run(smpi.find(), plan_of("alltoall", "rotated", 12, 1 << 20), files.load("10gbe-12"), 1, 0.01)


def test_a_simulation_that_takes_too_long_leaves_no_process(tmp_path):
    """GIVEN a simulator that is a script with the real one behind it, as smpirun is THEN that ends as well."""
    script, number = tmp_path / "smpirun", tmp_path / "number"
    script.write_text(f"#!/bin/sh\nsleep 300 &\necho $! > {number}\nwait\n")
    script.chmod(0o755)
    with pytest.raises(AntiphonError, match="longer than 1 s"):
        smpi.run(script, plan_of("bcast", "chain", 3, 1000), files.load("10gbe-12"), 1, 1)
    pid, deadline = int(number.read_text()), time.monotonic() + 5
    while kernel.process_start_time(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert kernel.process_start_time(pid) is None


def test_the_kept_program_for_ns3_is_used_again_whatever_the_umask(tmp_path):
    compiler, program = tmp_path / "g++", tmp_path / "program"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho program > "$2"\n')
    compiler.chmod(0o755)
    before = os.umask(0o002)
    try:
        ns3._compile(str(compiler), program)
    finally:
        os.umask(before)
    assert ns3._may_be_run(program) and os.access(program, os.X_OK)


def test_the_program_for_ns3_is_kept_in_the_user_s_cache(tmp_path, monkeypatch):
    """GIVEN a relative XDG_CACHE_HOME THEN it counts as unset, as its specification says; no HOME is an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ns3, "_HEADERS", ns3.SOURCE)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(ns3, "_compile", lambda compiler, program: program.touch(0o700))
    for name, value in (("XDG_CACHE_HOME", "cache"), ("HOME", str(tmp_path / "home")), ("ANTIPHON_STORE", "off")):
        monkeypatch.setenv(name, value)
    assert ns3.find().parent == tmp_path / "home" / ".cache" / "antiphon"
    assert not (tmp_path / "cache").exists()
    monkeypatch.delenv("HOME")
    with pytest.raises(AntiphonError, match="neither XDG_CACHE_HOME nor HOME is set"):
        ns3.find()


def test_ns3_is_for_one_rank_a_node(tmp_path):
    spec = files.load("25gbe-64x32")
    with pytest.raises(AntiphonError, match="one rank a node"):
        ns3.run(tmp_path / "none", plan_of("bcast", "chain", 4, 1000), spec, 2, 1)


@needs_time
def test_ns3_sends_every_packet_over_the_wire():
    spec = files.load("ethernet-16")
    plan = plan_of("bcast", "flat", 2, 1 << 20)
    wire_s = (1 << 20) / spec.port_bytes_per_s
    assert ns3.run(ns3.find(), plan, spec, 1, 60).seconds == pytest.approx(wire_s, rel=0.02)


@needs_time
def test_a_lost_packet_costs_ns3_no_minutes():
    """GIVEN a root that sends to three others at a time THEN losses cost as much again as the wire at most."""
    spec = files.load("ethernet-16")
    plan = plan_of("bcast", "knomial:radix=4", 8, 1 << 20)
    at_root_s = 4 * (1 << 20) / spec.port_bytes_per_s
    assert at_root_s < ns3.run(ns3.find(), plan, spec, 1, 60).seconds < 2 * at_root_s
