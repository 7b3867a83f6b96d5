# SPDX-License-Identifier: Apache-2.0
"""Show what would be run for a collective call, why, and its rounds

  antiphon explain alltoall --ranks 16 --bytes 64k
  antiphon explain alltoall --ranks 16 --bytes 64k --nonblocking          MPI_Ialltoall
  antiphon explain bcast --ranks 16 --bytes 256k --algorithm chain:segment_bytes=4k --svg bcast.svg
  antiphon explain --pattern random --ranks 16 --link-rate 100mbit        a pattern in phases, by every scheduler
  antiphon explain --plan plan.json --svg phases.svg                      what `antiphon compile` made of a trace

Rounds are counted on an ideal network: every port sends one message at a time and receives one at a time. `wire` is the
time the bytes need on such a network when messages are cut into pieces, over the limit that no algorithm can beat.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import core, model, output
from antiphon.commands import _explain_phases, _options
from antiphon.documents import parse_json
from antiphon.draw import rounds
from antiphon.errors import AntiphonError
from antiphon.explain import svg
from antiphon.explain.answer import Answer, answer
from antiphon.explain.evidence import DISAGREE, MeasuredContenders, measured_contenders
from antiphon.explain.explanation import MAX_DRAWN_RANKS, MAX_REPLAYED_RANKS, Cost, ExplainedCall, Explanation, explain
from antiphon.explain.options import ASSUMED_RATE, call_of_options, link_rate
from antiphon.model import limits
from antiphon.output import files, progress
from antiphon.output.facts import LABEL_WIDTH, Fact, print_fact, width_of
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text
from antiphon.units import format_rate

if TYPE_CHECKING:
    from rich.console import Console

#: A plan does not record its rate, so this is the default of `antiphon compile`.
COMPILED_RATE = "100mbit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon explain`."""
    parser.add_argument("collective", nargs="?", metavar="COLLECTIVE", help="bcast, alltoall, allreduce, …")
    parser.add_argument("-n", "--ranks", type=int, metavar="P", help="number of ranks")
    parser.add_argument("--ranks-per-node", type=int, default=1, metavar="K",
                        help="consecutive ranks on each node (default: 1)")  # fmt: skip
    parser.add_argument("--switches", metavar="N,N,…", help="nodes behind each switch, as 8,8 (default: as --profile "
                        "says, else one switch)")  # fmt: skip
    parser.add_argument("--bytes", metavar="M", help="bytes of a block (bcast, reduce, allreduce, scan: of the whole "
                        "message), as 65536 or 64k; not for barrier")  # fmt: skip
    parser.add_argument("--root", type=int, default=0, metavar="R", help="root of a rooted collective (default: 0)")
    parser.add_argument("--element-bytes", type=int, metavar="E", help="reductions: size of an element (default: 8)")
    parser.add_argument("--ordered", action="store_true", help="reductions: operands may not change places")
    parser.add_argument("--nonblocking", action="store_true", help="MPI_I…: beside the library's nonblocking call")
    parser.add_argument("--shared-cores", action="store_true", help="a machine has more ranks than cores")
    parser.add_argument("--algorithm", metavar="A[:P=V,…]", help="show this one instead of the rules' choice")
    parser.add_argument("--link-rate", metavar="RATE", help=f"of a node's link, as 100mbit or 1gbit, or `unknown` "
                        f"(default: {ASSUMED_RATE}; of a plan {COMPILED_RATE})")  # fmt: skip
    parser.add_argument("--transport", choices=("tcp", "other"), default="tcp", help="what messages "
                        "between nodes travel by: TCP over Ethernet (the default) or another network; "
                        "`antiphon run --summary` shows which")  # fmt: skip
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default="",
                        help="the library the program has; a few rules differ")  # fmt: skip
    parser.add_argument("--profile", type=Path, metavar="FILE", help="profile of the machine: its decisions come first")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a time line of all messages")
    _options.add_overwrite(parser, "FILE of --svg", old="--force")
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")
    _explain_phases.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Explains one call, a pattern or a plan."""
    if args.svg:
        files.check(args.svg, overwrite=args.overwrite, sources=(args.profile, args.plan, args.pattern))
    if args.pattern or args.plan:
        assumed = COMPILED_RATE if args.plan else ASSUMED_RATE
        return _explain_phases.run(args, link_rate(args.link_rate or assumed))
    profile = model.read_profile(args.profile)
    call = call_of_options(args, profile)
    with progress.bar("explain: comparing the algorithms", None):
        explanation = explain(call, args.algorithm, profile)
        expected = answer(call, profile) if not args.algorithm and call.ranks <= MAX_DRAWN_RANKS else None
    comparison = measured_contenders(call, profile) if profile else None
    if args.svg:
        _write_svg(explanation, args.svg)
    if args.json:
        extra: dict[str, Any] = {"comparison": comparison.to_json() if comparison else None} if profile else {}
        extra |= {"expected": expected.to_json() if expected else None}
        extra |= {"facts": [fact.to_json() for fact in facts_of(args, call, profile)]}
        output.print_json(explanation.to_json() | extra)
    else:
        source = "" if args.link_rate else "by the profile" if profile else "assumed"
        _show(explanation, expected, source, facts_of(args, call, profile))
        if profile:
            _show_comparison(output.stdout(), call, comparison)
        if args.svg:
            output.stderr().print(f"wrote {args.svg}", soft_wrap=True)
    return 0


def _write_svg(explanation: Explanation, path: Path) -> None:
    cost = explanation.cost
    if cost is None or not cost.wire.transfers:
        why = f"more than {MAX_DRAWN_RANKS} ranks" if explanation.call.ranks > MAX_DRAWN_RANKS else "no messages"
        raise AntiphonError(f"--svg: there is nothing to draw ({why})")
    files.write(path, svg.time_line(explanation))


def facts_of(args: argparse.Namespace, call: ExplainedCall, profile: str | None) -> list[Fact]:
    """What the choice rests on, each with its source."""
    told = f"the profile {args.profile}" if profile else "assumed"
    rate = format_rate(call.link_bits_per_s) if call.link_bits_per_s else "unknown"
    most = min(call.ranks_per_node, call.ranks)
    nodes = f"{call.nodes} with {most} rank{'s' * (most != 1)} each, one node after the other"
    facts = [
        Fact("link rate", rate, "--link-rate" if args.link_rate else told),
        Fact("nodes", nodes, "--ranks, --ranks-per-node"),
        Fact("transport", "TCP over Ethernet" if call.transport == "tcp" else call.transport, "--transport"),
    ]
    if call.switch_sizes:
        held = ", ".join(map(str, call.switch_sizes))
        facts.append(Fact("switches", f"{len(call.switch_sizes)} with {held} ranks",
                          "--switches" if args.switches else told))  # fmt: skip
    if call.mpi:
        facts.append(Fact("library", call.mpi, "--mpi" if args.mpi else told))
    if call.nonblocking:
        facts.append(Fact("call", f"MPI_I{call.collective}; times are of starting it and waiting at once: what is left "
                          "beside a computation is at most that", "--nonblocking"))  # fmt: skip
    if profile:
        rules = len(parse_json(profile).get("decisions", {}).get("rules", []))
        facts.append(Fact("rules", f"{rules} of the profile, then the built-in ones", str(args.profile)))
    else:
        facts.append(Fact("rules", "the built-in ones", "no --profile"))
    return facts


def _show(explanation: Explanation, expected: Answer | None, rate_from: str, facts: Sequence[Fact]) -> None:
    console = output.stdout()
    width = width_of(console)
    call, shown = explanation.call, explanation.shown
    console.print(_heading(call, rate_from), style="bold", soft_wrap=True)
    console.print()
    print_fact(console, "used", explanation.choice.choice, width, style="bold green")
    print_fact(console, "because", explanation.choice.reason, width)
    print_fact(console, "known", "; ".join(f"{fact.name} {fact.text()}" for fact in facts), width)
    if expected:
        print_fact(console, "the model", expected.verdict(), width)
    if explanation.choice.algorithm is None and shown.algorithm:
        print_fact(console, "if forced", f"{shown.choice} ({shown.reason}); shown below", width)
    summary = next((a.summary for a in core.algorithms(call.collective) if a.name == shown.algorithm), None)
    if summary:
        print_fact(console, f"{shown.algorithm}"[:LABEL_WIDTH], summary, width)
    if explanation.cost:
        _show_cost(console, call, explanation.cost, width)
    elif shown.algorithm:
        print_fact(console, "rounds", f"not counted for more than {MAX_REPLAYED_RANKS} ranks", width)
    _show_alternatives(console, explanation, width)


def _heading(call: ExplainedCall, rate_from: str) -> str:
    size = "" if call.collective == "barrier" else f" of {bytes_text(call.bytes)}"
    rate = f"{format_rate(call.link_bits_per_s)} links" if call.link_bits_per_s else "links of unknown rate"
    rate += "" if call.transport == "tcp" else ", no TCP over Ethernet"
    root = next((f", root {call.root}" for c in core.collectives() if c.name == call.collective and c.has_root), "")
    return (f"{call.collective}{size}{root}; {call.ranks} ranks on {call.nodes} node{'s' * (call.nodes != 1)}, "
            f"{rate}{f' ({rate_from})' if rate_from else ''}")  # fmt: skip


def _show_cost(console: Console, call: ExplainedCall, cost: Cost, width: int) -> None:
    print_fact(console, "rounds", _rounds_text(cost), width)
    for label, text in _traffic(call, cost):
        print_fact(console, label, text, width)
    console.print()
    elided = True
    if cost.rounds.transfers:
        lines, elided = rounds.grid(cost.rounds.transfers, call.ranks, cost.rounds.end, width)
        for line in [*lines, rounds.LEGEND]:
            console.print(line, soft_wrap=True)
        console.print()
    if elided and cost.rounds.rounds:
        _show_summary(console, list(rounds.summary(cost.rounds.rounds)))
        console.print()


def _show_summary(console: Console, lines: list[str]) -> None:
    shown = lines if len(lines) <= 16 else [*lines[:12], f"… {len(lines) - 14} more …", *lines[-2:]]
    for line in shown:
        console.print(line, soft_wrap=True)


def _rounds_text(cost: Cost) -> str:
    messages = sum(r.messages for r in cost.rounds.rounds)
    pieces = sum(r.sent_messages for r in cost.wire.ranks) - cost.tokens
    text = f"{cost.rounds.end}{' of whole messages' if messages else ''}"
    if pieces > messages:
        text += f", which are cut into {pieces / messages:.3g} pieces on average"
    return text + (f"; {cost.tokens} tokens" if cost.tokens else "")


def _traffic(call: ExplainedCall, cost: Cost) -> list[tuple[str, str]]:
    ranks, limit = cost.wire.ranks, call.limit_bytes()
    what = " messages and tokens, " if cost.tokens else " messages, "
    sent = _span([r.sent_messages for r in ranks], str) + what + _span([r.sent_bytes for r in ranks], bytes_text)
    received = (_span([r.received_messages for r in ranks], str) + what
                + _span([r.received_bytes for r in ranks], bytes_text))  # fmt: skip
    facts = [("a rank sends", sent), ("receives", received)]
    if call.nodes > 1:
        ratio = f" = {cost.busiest_link_bytes / limit:.2f}× the least possible" if limit else ""
        facts.append(("busiest link", f"{bytes_text(cost.busiest_link_bytes)}{ratio} ({bytes_text(round(limit))})"
                      if limit else bytes_text(cost.busiest_link_bytes)))  # fmt: skip
    if limit:
        facts.append(("wire", _wire_text(call, cost, limit)))
    if cost.wire.scratch_bytes:
        facts.append(("scratch", f"{bytes_text(cost.wire.scratch_bytes)} a rank at most"))
    return facts


def _wire_text(call: ExplainedCall, cost: Cost, limit: float) -> str:
    text = f"{ratio_text(cost.ratio(limit))} the limit on an ideal network"
    if not call.link_bits_per_s:
        return text
    payload_bytes_per_s = call.link_bits_per_s * limits.PAYLOAD_SHARE / 8
    return f"{text}: {time_text(cost.wire.end / payload_bytes_per_s)}, limit {time_text(limit / payload_bytes_per_s)}"


def _span(values: list[int], text: Callable[[int], str]) -> str:
    low, high = min(values), max(values)
    return text(low) if low == high else f"{text(low)} … {text(high)}"


def _show_comparison(console: Console, call: ExplainedCall, comparison: MeasuredContenders | None) -> None:
    """Shows the measurements of the profile's tuning beside its model's predictions and the limit of the links."""
    console.print()
    if comparison is None:
        text = f"The profile has no measurements near this call on {call.ranks} ranks (`antiphon tune` makes them)"
        console.print(text, soft_wrap=True)
        return
    size = "" if call.collective == "barrier" else f" of {bytes_text(comparison.bytes)}"
    console.print(f"Measured with {comparison.library}{size} on {comparison.ranks} ranks", style="bold", soft_wrap=True)
    table = new_table()
    for heading in ("contender", "mode", "predicted", "measured", "95 %", "× library", "× limit"):
        left = heading in ("contender", "mode")
        table.add_column(heading, justify="left" if left else "right", overflow="fold", no_wrap=not left)
    for c in comparison.contenders:
        interval = f"{time_text(c.ci_low_s)} … {time_text(c.ci_high_s)}"
        predicted = time_text(c.predicted_s) + (" (!)" if c.disagrees else "")
        table.add_row(c.choice, c.mode, predicted, time_text(c.measured_s), interval, ratio_text(c.faster),
                      limits.ratio_text(c.measured_s, c.limit_s))  # fmt: skip
    print_wide(table)
    below = limits.below_note((c.measured_s, c.limit_s) for c in comparison.contenders)
    if below:
        console.print(below, soft_wrap=True)
    if any(c.disagrees for c in comparison.contenders):
        console.print(f"(!) prediction and measurement differ by more than {DISAGREE:g} times", soft_wrap=True)


def _show_alternatives(console: Console, explanation: Explanation, width: int) -> None:
    limit = explanation.call.limit_bytes()
    if not explanation.alternative_costs:
        print_fact(console, "others", ", ".join([*explanation.alternatives, "library"]), width)
        return
    console.print("The other algorithms, with their default parameters", style="bold")
    table = new_table()
    table.add_column("algorithm")
    for heading in ("rounds", "busiest link", "wire / limit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cost in sorted(explanation.alternative_costs, key=lambda c: (c.wire.end, c.rounds.end)):
        link = bytes_text(cost.busiest_link_bytes)
        table.add_row(cost.algorithm, str(cost.rounds.end), link, ratio_text(cost.ratio(limit)))
    print_wide(table)
