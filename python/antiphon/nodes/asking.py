# SPDX-License-Identifier: Apache-2.0
"""Starts an agent on every node, by the launcher that will start the program, and collects the answers."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from antiphon.bench.testbed import Exit, HostTestbed, Testbed
from antiphon.mpi import Mpi
from antiphon.mpi.hosts import short
from antiphon.nodes import agent, hearing

TIMEOUT_S = 90
#: Nodes that did not answer are asked one by one, so many at a time.
AT_ONCE, ONE_TIMEOUT_S = 16, 30
#: What a node says where the agent cannot start.
NO_PYTHON, NO_PACKAGE = "antiphon-node-without-python", "antiphon-node-without-antiphon"
SCRIPT = f"""
if [ -n "$5" ]; then LD_LIBRARY_PATH=$5; export LD_LIBRARY_PATH; else unset LD_LIBRARY_PATH; fi
[ -x "$1" ] || {{ echo "{NO_PYTHON} $(uname -n)"; exit 0; }}
"$1" -c "$2" "$3" "$4" 2>/dev/null || echo "{NO_PACKAGE} $(uname -n)"
"""
#: Modules in the current directory may be anybody's.
START = "import sys; sys.path[0] = sys.argv[1]; from antiphon.nodes import agent; agent.main(sys.argv[2])"


@dataclass
class Survey:
    """What all nodes said."""

    hosts: list[str]
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Why a node has no facts.
    missing: dict[str, str] = field(default_factory=dict)

    def host_of(self, name: str) -> str:
        """Returns the node's name in the hostfile: launchers take short, long and numeric ones."""
        for host in self.hosts:
            if host == name or (not _is_address(host) and short(host) == short(name)):
                return host
        return next((host for host in self.hosts if _is_named(host, name)), name)

    def take(self, line: str) -> None:
        """Takes a line of an agent."""
        facts = agent.decode(line)
        if facts is not None:
            self.facts[self.host_of(facts["host"])] = facts
        for mark, why in (
            (NO_PYTHON, f"{sys.executable} is not there"),
            (NO_PACKAGE, f"Antiphon in {_package_parent()} does not start there"),
        ):
            if line.startswith(mark + " "):
                self.missing[self.host_of(line.split()[1])] = why

    def unanswered(self) -> list[str]:
        return [host for host in self.hosts if host not in self.facts and host not in self.missing]


def _is_address(host: str) -> bool:
    return host.replace(".", "").isdigit() or ":" in host


def _is_named(host: str, name: str) -> bool:
    try:
        return short(socket.gethostbyaddr(host)[0]) == short(name)
    except OSError:
        return False


def survey(testbed: Testbed, mpi: Mpi, program: Sequence[str], choice: str | None,
           say: Callable[[str], None]) -> Survey:  # fmt: skip
    """Asks all nodes at once, and then one by one those that did not answer."""
    found = Survey(list(testbed.node_names()) or [socket.gethostname()])
    say(f"asking {len(found.hosts)} node{'s' * (len(found.hosts) != 1)}")
    wanted = hearing.request(len(found.hosts)) if len(found.hosts) > 1 else None
    everywhere = _one_a_node(testbed, found.hosts)
    ended = _ask(everywhere, mpi, len(found.hosts), _request(program, choice, found.hosts, wanted), found, TIMEOUT_S)
    silent = found.unanswered()
    if silent and len(found.hosts) > 1 and isinstance(testbed, HostTestbed) and testbed.where.is_told_nodes():
        say(f"asking {len(silent)} silent nodes one by one")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            asked = _request(program, choice, found.hosts, None)
            list(pool.map(lambda host: _ask_alone(testbed, mpi, host, asked, found), silent))
    for host in found.unanswered():
        found.missing[host] = f"the launcher does not reach it: {_last_line(ended)}"
    return found


def _request(program: Sequence[str], choice: str | None, hosts: Sequence[str], wanted: dict[str, Any] | None) -> str:
    asked = {"program": program[0] if program else None, "arguments": list(program[1:]), "choice": choice}
    return json.dumps(asked | {"hosts": list(hosts), "hearing": wanted})


def _one_a_node(testbed: Testbed, hosts: Sequence[str]) -> Testbed:
    """Returns the testbed with one place on each node."""
    if not isinstance(testbed, HostTestbed) or not testbed.where.hosts():
        return testbed
    return replace(testbed, where=testbed.where.one_each(hosts))


def _ask(testbed: Testbed, mpi: Mpi, n: int, request: str, found: Survey, timeout_s: float) -> Exit:
    argv = ["/bin/sh", "-c", SCRIPT, "antiphon", sys.executable, START, _package_parent(), request]
    argv.append(
        os.environ.get("LD_LIBRARY_PATH", "")
    )  # The MPI library's own directory may displace Python's libraries.
    return testbed.run(mpi, n, argv, preload=False, env={}, on_line=found.take, timeout_s=timeout_s)


def _ask_alone(testbed: HostTestbed, mpi: Mpi, host: str, request: str, found: Survey) -> None:
    alone = Survey([host])
    ended = _ask(_one_a_node(testbed, [host]), mpi, 1, request, alone, ONE_TIMEOUT_S)
    answers = [*alone.facts.values()]
    if answers:
        found.facts[host] = answers[0]
    else:
        why = f"the launcher does not reach it: {_last_line(ended)}"
        found.missing[host] = next(iter(alone.missing.values()), why)


def _package_parent() -> str:
    return str(Path(__file__).resolve().parents[2])


def _last_line(ended: Exit) -> str:
    if ended.timed_out:
        return "no answer in time"
    lines = [line.strip() for line in ended.stderr.splitlines() if line.strip(" -\t=|")]
    return lines[-1] if lines else f"exit code {ended.exit_code}"
