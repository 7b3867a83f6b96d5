# SPDX-License-Identifier: Apache-2.0
"""What the answers of all nodes and the real run mean: lines with what to do, and one answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.checks import FAIL, OK, WARN, Check
from antiphon.nodes.asking import Survey
from antiphon.nodes.trying import Call, Trial
from antiphon.output.tables import bytes_text

GROUP = "nodes"
#: Fewer open files than this beside one for each other rank may end a run.
SPARE_FILES = 64
#: MPI libraries keep messages within a node there (MPICH 5 MiB for each rank), and programs their shared windows.
LEAST_SHARED_BYTES, SHARED_BYTES_OF_RANK = 64 << 20, 16 << 20
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """All lines, and the answer to the question whether anything would be accelerated."""

    checks: list[Check]
    accelerated: bool
    answer: list[str]

    @property
    def ok(self) -> bool:
        return all(line.status != FAIL for line in self.checks)


def judge(survey: Survey, trial: Trial | None) -> Report:
    """Judges what was found; `trial` is None where nothing could be run."""
    facts = {host: survey.facts[host] for host in survey.hosts if host in survey.facts}
    lines = [*_missing(survey)]
    if facts:
        lines += [*_installation(facts), *_program(facts), *_links(facts), *_multicast(facts), *_limits(facts, trial)]
    if trial is not None:
        lines.append(_run(trial))
    found = bool(trial and trial.accelerated and not trial.failed)
    return Report(lines, found, [*_answer(survey, trial, lines)])


def names(hosts: Iterable[str]) -> str:
    """Names up to three nodes, and counts the others."""
    listed = list(hosts)
    more = len(listed) - 3
    return ", ".join(listed[:3]) + (f" and {more} more" if more > 0 else "")


def _groups(facts: Mapping[str, Facts], key: Callable[[Facts], Hashable]) -> dict[Any, list[str]]:
    """Returns the nodes by what they have, the most common first."""
    found: dict[Any, list[str]] = {}
    for host, about in facts.items():
        found.setdefault(key(about), []).append(host)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def _alike(
    name: str, facts: Mapping[str, Facts], key: Callable[[Facts], Hashable], text: Callable[[Any], str], hint: str,
    otherwise: str = WARN,
) -> Check:  # fmt: skip
    """Makes a line that is ok where all nodes have the same."""
    groups = _groups(facts, key)
    if len(groups) == 1:
        where = f"on all {len(facts)} nodes" if len(facts) > 1 else f"on {next(iter(facts))}"
        return Check(GROUP, name, OK, f"{text(next(iter(groups)))} {where}")
    said = "; ".join(f"{text(value)} on {names(hosts)}" for value, hosts in groups.items())
    return Check(GROUP, name, otherwise, said, hint)


def _missing(survey: Survey) -> Iterator[Check]:
    by_reason: dict[str, list[str]] = {}
    for host, why in survey.missing.items():
        by_reason.setdefault(why, []).append(host)
    for why, hosts in by_reason.items():
        reached = "launcher" not in why
        hint = "install Antiphon where all nodes see it, at the same path" if reached else f"try `ssh {hosts[0]} true`"
        yield Check(GROUP, names(hosts), FAIL, why, hint)


def _installation(facts: Mapping[str, Facts]) -> Iterator[Check]:
    def build(about: Facts) -> Hashable:
        return about["antiphon"]["version"], tuple(sorted(about["antiphon"]["builds"].items()))

    def text(value: Any) -> str:
        return f"Antiphon {value[0]} (build {value[1][0][1][:8]})" if value[1] else f"Antiphon {value[0]}, not built"

    yield _alike("installation", facts, build, text, "install the same on all nodes: ranks with different builds leave "
                 "every call to the library", FAIL)  # fmt: skip
    yield _alike("processor", facts, lambda about: about["processor"], str, "one job wants one kind of processor")
    settings = {host: about for host, about in facts.items() if about["settings"]}
    if len(_groups(settings, lambda about: tuple(sorted(about["settings"].items())))) > 1:
        yield Check(GROUP, "settings", FAIL, f"different ANTIPHON_ variables on {names(settings)}",
                    "unset them in the nodes' start files")  # fmt: skip


def _program(facts: Mapping[str, Facts]) -> Iterator[Check]:
    asked = {host: about["program"] for host, about in facts.items() if about["program"] is not None}
    if not asked:
        return
    wrong = _groups({host: about for host, about in asked.items() if "error" in about}, lambda about: about["error"])
    for why, hosts in wrong.items():
        yield Check("program", names(hosts), FAIL, why, asked[hosts[0]]["hint"])
    good = {host: about for host, about in asked.items() if "error" not in about}
    if good:
        yield _alike("MPI library", good, lambda about: (about["mpi"], about["libmpi"]),
                     lambda value: f"{value[0]}, {value[1]}", "the same library on all nodes", FAIL)  # fmt: skip
        yield _alike("program", good, lambda about: about["digest"], lambda value: f"the same file ({value})",
                     "copy it anew, or put it where all nodes see it")  # fmt: skip


def rate_text(bits_per_s: float | None) -> str:
    """Returns a link's rate in words."""
    if not bits_per_s:
        return "rate not told by the system"
    return f"{bits_per_s / 1e9:g} Gb/s" if bits_per_s >= 1e9 else f"{bits_per_s / 1e6:g} Mb/s"


def _links(facts: Mapping[str, Facts]) -> Iterator[Check]:
    linked = {host: about["interface"] for host, about in facts.items() if about["interface"]}
    without = [host for host in facts if host not in linked]
    if without:
        yield Check(GROUP, "interface", WARN, f"no IPv4 interface leads to the others from {names(without)}",
                    "check `ip address` and the names in the hostfile")  # fmt: skip
    if linked:
        yield _alike("link", linked, lambda about: about["bits_per_s"], rate_text,
                     "the slowest link decides: look at cables, ports and `ethtool`")  # fmt: skip
        yield _alike("frames", linked, lambda about: about["mtu_bytes"], lambda value: f"MTU {value}",
                     "set the same MTU everywhere: longer frames are lost on the way")  # fmt: skip
    rdma = {host: about for host, about in facts.items() if about["rdma"]}
    if rdma:
        kinds = sorted({port["layer"] or "RDMA" for about in rdma.values() for port in about["rdma"]})
        yield Check(GROUP, "RDMA", OK, f"{', '.join(kinds)} on {names(rdma)}; used where the MPI library chooses it")


def _multicast(facts: Mapping[str, Facts]) -> Iterator[Check]:
    asked = {host: about["multicast"] for host, about in facts.items() if about["multicast"]}
    if len(asked) < 2:
        return
    for why, hosts in _groups(
        {host: about for host, about in asked.items() if about.get("why")}, lambda about: about["why"]
    ).items():
        yield Check(GROUP, "multicast", WARN, f"{names(hosts)}: {why}", "`ip link set DEV multicast on`")
    everybody = {facts[host]["host"] for host in asked}
    deaf = [host for host, about in asked.items() if not everybody <= set(about["heard"]) and not about.get("why")]
    if not deaf and all(not about.get("why") for about in asked.values()):
        yield Check(GROUP, "multicast", OK, f"all {len(asked)} nodes hear each other")
    elif deaf:
        unheard = sorted(everybody - set(asked[deaf[0]]["heard"]))
        yield Check(GROUP, "multicast", WARN, f"{names(deaf)} do not hear all others ({deaf[0]} not {names(unheard)})",
                    "a firewall, or switches that snoop with no IGMP querier; other algorithms are used")  # fmt: skip


def _limits(facts: Mapping[str, Facts], trial: Trial | None) -> Iterator[Check]:
    needed = SPARE_FILES + (trial.ranks if trial else len(facts))
    few = [host for host, about in facts.items() if 0 <= about["open_files"] < needed]
    if few:
        yield Check(GROUP, "open files", WARN, f"{facts[few[0]]['open_files']} on {names(few)}", "`ulimit -n 4096`")
    ranks = -(-trial.ranks // len(facts)) if trial else 1
    wanted = LEAST_SHARED_BYTES + SHARED_BYTES_OF_RANK * ranks
    small = [host for host, about in facts.items() if (about["shared_memory_free_bytes"] or 0) < wanted]
    if small:
        free = bytes_text(facts[small[0]]["shared_memory_free_bytes"] or 0)
        said = f"{free} are free in /dev/shm on {names(small)}; {bytes_text(wanted)} are enough"
        hint = "remove what earlier runs have left there, or make it larger (containers: --shm-size)"
        yield Check(GROUP, "shared memory", WARN, said, hint)
    every = {(w["name"], w["detail"], w["hint"]) for about in facts.values() for w in about["warnings"]}
    for name, detail, hint in sorted(every, key=str):
        hosts = [host for host, about in facts.items() if any(w["detail"] == detail for w in about["warnings"])]
        yield Check(GROUP, name, WARN, f"{detail} ({names(hosts)})", hint)


def _run(trial: Trial) -> Check:
    if trial.failed:
        return Check("run", f"{trial.ranks} ranks", FAIL, trial.failed, trial.hint)
    said = f"; {trial.said[0]}" if trial.said and not trial.network else ""
    return Check("run", f"{trial.ranks} ranks", OK, (trial.network or "the run ended well") + said)


def _answer(survey: Survey, trial: Trial | None, lines: list[Check]) -> Iterator[str]:
    """Says whether anything would be accelerated here, what not, and why."""
    if trial is None or trial.failed:
        yield "no: nothing can be said before the lines that say fail are mended"
        return
    yours, left = trial.accelerated, [call for call in trial.calls if not call.accelerated]
    if not trial.calls:
        yield "no: every call is left to the library"
        yield from trial.said
    elif not yours:
        yield "no: the library does all calls here"
    else:
        nodes = "one node" if len(survey.hosts) == 1 else f"{len(survey.hosts)} nodes"
        yield f"yes: {_kinds(yours)} would be accelerated, on {nodes} with {trial.ranks} ranks"
        yield "`antiphon selftest` with the same options shows the gain"
    for reason, calls in _by_reason(left).items():
        yield f"left to the library: {_kinds(calls)}: {reason}"
    if any(line.status == FAIL for line in lines):
        yield "runs on all nodes need the lines that say fail mended first"


def _by_reason(calls: list[Call]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(call.reason or "no reason is known", []).append(call)
    return found


def _kinds(calls: list[Call]) -> str:
    sizes: dict[str, list[int]] = {}
    for call in calls:
        sizes.setdefault(call.collective, []).append(call.bytes)
    return ", ".join(
        f"{name} ({', '.join(bytes_text(size) for size in sorted(set(of)))})" for name, of in sizes.items()
    )
