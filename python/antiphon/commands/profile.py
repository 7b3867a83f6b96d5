# SPDX-License-Identifier: Apache-2.0
"""List, show and remove what is known of nodes, and name a profile for them

A run finds by itself what is known of its nodes under its MPI library: the profile of `antiphon probe` and `antiphon
tune`, and what earlier runs have learned. It is kept in the user's cache directory; a site may keep profiles for all
in /etc/antiphon/profiles. ANTIPHON_STORE names other directories, or is off.

  antiphon profile list
  antiphon profile show                        every fact, and where it comes from
  antiphon profile show openmpi-5.16           of one entry: its name, or the beginning of one
  antiphon profile use machine.json            for the nodes that it was measured on
  antiphon profile use machine.json --hostfile nodes
  antiphon profile use machine.json --mpi openmpi,mpich    also for libraries that it has no decisions for
  antiphon profile forget 1f2e                 or --all; --learned keeps the profiles
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon import core, mpi, output
from antiphon import profile as profiles
from antiphon.commands import _keeping
from antiphon.errors import AntiphonError
from antiphon.mpi.launch import read_hostfile
from antiphon.output import tables
from antiphon.output.facts import Fact, print_fact, width_of
from antiphon.profile import store
from antiphon.units import format_rate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions of `antiphon profile` and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _action(actions, "list", "list what is known of which nodes")
    show = _action(actions, "show", "show every fact, and where it comes from")
    show.add_argument("key", nargs="?", metavar="KEY", help="name of an entry, or its beginning (default: all)")
    use = _action(actions, "use", "copy a profile into the store, so that runs on its nodes find it")
    use.add_argument("file", type=Path, metavar="FILE", help="the profile")
    use.add_argument("--hostfile", type=Path, metavar="FILE", help="the nodes that it is for (default: those it names)")
    use.add_argument("--mpi", metavar="MPI", help="the libraries that it is for: openmpi, mpich, or a path; several "
                     "with commas (default: that which measured it, and all that it has decisions for)")  # fmt: skip
    forget = _action(actions, "forget", "remove what is known")
    forget.add_argument("keys", nargs="*", metavar="KEY", help="names of entries, or their beginnings")
    forget.add_argument("--all", action="store_true", help="everything in the directory that is written")
    forget.add_argument("--learned", action="store_true", help="only what runs have learned; profiles stay")


def _action(actions: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    text = help_text[0].upper() + help_text[1:] + "."
    parser: argparse.ArgumentParser = actions.add_parser(name, help=help_text, description=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Does what the action asks."""
    return {"list": _list, "show": _show, "use": _use, "forget": _forget}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    found = store.entries()
    if args.json:
        output.print_json([_row(entry) for entry in found])
        return 0
    if not found:
        output.stdout().print(_nothing_known(), soft_wrap=True)
        return 0
    table = tables.new_table()
    for heading in ("name", "nodes", "profile", "learned rules", "link", "directory"):
        table.add_column(heading, justify="right" if heading in ("nodes", "learned rules") else "left", overflow="fold")
    for entry in found:
        row = _row(entry)
        rate = format_rate(row["link_bits_per_s"]) if row["link_bits_per_s"] else "–"
        date = row["profile_created"] or ("yes" if row["profile"] else "–")
        table.add_row(entry.name, str(len(entry.nodes)), date, str(row["learned_rules"]), rate, str(entry.path.parent))
    tables.print_wide(table, ("directory", "learned rules"))
    return 0


def _nothing_known() -> str:
    folders = store.directories()
    if not folders:
        return f"the store is off ({store.VARIABLE}=off)"
    return f"nothing is known of any nodes (looked in {', '.join(str(folder) for folder in folders if folder)})"


def _row(entry: store.Entry) -> dict[str, Any]:
    """An entry in short. A broken file counts as none."""
    learned = entry.read_learned()
    document = _profile_of(entry)
    rates = [found.link_bits_per_s for found in learned if found.link_is_used]
    own_rate = int(core.query("profile", text=profiles.json_text(document))["link_bits_per_s"]) if document else 0
    return {
        "name": entry.name,
        "mpi": entry.mpi,
        "nodes": list(entry.nodes),
        "path": str(entry.path),
        "profile": str(entry.profile) if document else None,
        "profile_created": document.get("created") if document else None,
        "learned": [str(found.path) for found in learned],
        "learned_rules": sum(found.rules for found in learned),
        "link_bits_per_s": own_rate or min(rates, default=0),
    }


def _profile_of(entry: store.Entry) -> dict[str, Any] | None:
    try:
        return profiles.load(entry.profile) if entry.profile else None
    except AntiphonError as error:
        output.print_warning(f"{error.message}: runs pass over it")
        return None


def _show(args: argparse.Namespace) -> int:
    found = store.entries()
    chosen = [store.choose(args.key, found)] if args.key else found
    shown = [(entry, facts_of(entry)) for entry in chosen]
    if args.json:
        output.print_json([_row(entry) | {"facts": [fact.to_json() for fact in facts]} for entry, facts in shown])
        return 0
    console = output.stdout()
    if not shown:
        console.print(_nothing_known(), soft_wrap=True)
    for entry, facts in shown:
        console.print(entry.name, style="bold", soft_wrap=True)
        for fact in facts:
            print_fact(console, fact.name, fact.text(), width_of(console))
    return 0


def facts_of(entry: store.Entry) -> list[Fact]:
    """Everything that is known of an entry's nodes, each with its source."""
    facts = [Fact("nodes", _names(entry.nodes), str(entry.path / "about.json")), Fact("MPI", entry.mpi, "")]
    document = _profile_of(entry)
    if document:
        facts += profile_facts(document, str(entry.profile))
    for learned in entry.read_learned():
        if learned.broken:
            facts.append(Fact("broken", learned.broken, f"{learned.path}; runs pass over it"))
            continue
        if learned.link_bits_per_s:
            day = time.strftime("%Y-%m-%d", time.gmtime(learned.link_measured_s))
            old = "" if learned.link_is_used else "; too old, it will be measured again"
            one = learned.connection_bits_per_s
            rate = f"{format_rate(learned.link_bits_per_s)}{f', {format_rate(one)} a connection' if one else ''}"
            rate += f" ({learned.network})"
            facts.append(Fact("link rate", rate, f"measured by a run on {day}{old}, {learned.path}"))
        if learned.rules:
            rules = f"{learned.rules} rule{'s' * (learned.rules != 1)}"
            facts.append(Fact("learned", f"{rules} ({learned.network})", str(learned.path)))
    return facts


def profile_facts(document: dict[str, Any], source: str) -> list[Fact]:
    """What runs take from a profile."""
    known = core.query("profile", text=profiles.json_text(document))
    facts = [Fact("link rate", format_rate(known["link_bits_per_s"]), f"measured, {source}")]
    if known["credit_bytes"]:
        facts.append(Fact("credit", f"{tables.bytes_text(known['credit_bytes'])} under way to one node", source))
    facts.append(Fact("switches", f"{known['switches']}{profiles.sureness(document['topology'])}", source))
    rules = len(document.get("decisions", {}).get("rules", []))
    facts.append(Fact("decisions", f"{rules} rules" if rules else "none: the built-in rules", source))
    return facts


def _names(nodes: Sequence[str]) -> str:
    few = ", ".join(nodes) if len(nodes) <= 8 else f"{', '.join(nodes[:4])} … {nodes[-1]}"
    return f"{len(nodes)} ({few})" if nodes else "unknown"


def _use(args: argparse.Namespace) -> int:
    document = profiles.load(args.file)
    hosts = [host for host, _ in read_hostfile(args.hostfile)] if args.hostfile else []
    named = [(found.family, found.version) for found in mpi.chosen(*args.mpi.split(","))] if args.mpi else []
    libraries = named or _keeping.libraries_of(document)
    paths = list(dict.fromkeys(store.save(document, hosts, library=library) for library in libraries))
    nodes = hosts or store.nodes_of(document)
    if args.json:
        output.print_json({"path": str(paths[0]), "paths": [str(path) for path in paths], "nodes": nodes})
        return 0
    for path in paths:
        output.stdout().print(f"{path}: runs on {_names(nodes)} find it from now on", soft_wrap=True)
    return 0


def _forget(args: argparse.Namespace) -> int:
    if args.all == bool(args.keys):
        raise AntiphonError("name what to forget, or give --all", hint="`antiphon profile list` shows all names")
    found = store.entries()
    written = store.directories()[:1]
    chosen = store.entries(written) if args.all else [store.choose(key, found) for key in args.keys]
    gone = [entry for entry in chosen if not args.learned or entry.learned]
    for entry in gone:
        store.forget(entry, learned_only=args.learned)
        if not args.learned and entry.path.exists():
            output.print_warning(f"{entry.path} stays: it has files that are not Antiphon's")
    if args.json:
        output.print_json({"forgotten": [str(entry.path) for entry in gone]})
        return 0
    for entry in gone:
        what = "what runs learned of " if args.learned else ""
        output.stdout().print(f"forgotten: {what}{entry.name}", soft_wrap=True)
    if not gone:
        output.stdout().print("nothing to forget", soft_wrap=True)
    return 0
