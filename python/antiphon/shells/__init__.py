# SPDX-License-Identifier: Apache-2.0
"""Describes all commands for shells and manuals, from the definitions that parse their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Option:
    """An option, or an argument without a name."""

    #: As ("-n", "--ranks"); empty for an argument.
    names: tuple[str, ...]
    #: What stands for its value, as "FILE"; empty if it takes none.
    value: str
    #: "file", "directory", "program", "words" (only `words` are allowed), or "" for anything.
    kind: str
    words: tuple[str, ...]
    help: str
    #: It may be left out; the value of an option then has to be joined by "=".
    optional: bool
    #: The argument takes all that follows.
    rest: bool
    #: The heading of its group in the help.
    group: str
    #: It belongs to one action of the command, as `up` of `antiphon lab up`.
    of_action: bool = False


@dataclass(frozen=True)
class Command:
    """A command of Antiphon."""

    name: str
    summary: str
    #: The rest of its help: paragraphs, and examples, which are indented.
    details: str
    #: All options and arguments, in the order of the help.
    all: tuple[Option, ...]

    @property
    def options(self) -> tuple[Option, ...]:
        """Returns the options; those that several actions have are one."""
        return tuple({option.names: option for option in reversed(self.all) if option.names}.values())[::-1]

    @property
    def arguments(self) -> tuple[Option, ...]:
        """Returns the arguments that have no names, but those of single actions."""
        return tuple(option for option in self.all if not option.names and not option.of_action)

    @property
    def has_program(self) -> bool:
        """Returns whether a program with options of its own may follow."""
        return any(argument.kind == "program" for argument in self.arguments)


def commands(parsers: Mapping[str, argparse.ArgumentParser]) -> tuple[Command, ...]:
    """Returns what the commands' parsers define."""
    return tuple(_command(name, parser) for name, parser in parsers.items())


def _command(name: str, parser: argparse.ArgumentParser) -> Command:
    return Command(
        name=name,
        summary=(parser.description or "").strip(),
        details=(parser.epilog or "").strip("\n"),
        all=tuple(_options(parser)),
    )


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for group in parser._action_groups:
        for action in group._group_actions:
            if action.help is not argparse.SUPPRESS:
                yield _option(parser, action, group.title or "")
            if isinstance(action, argparse._SubParsersAction):
                for name, its in action.choices.items():
                    for option in _options(its):
                        if "--help" not in option.names:
                            yield replace(option, group=f"antiphon {parser.prog.split()[-1]} {name}", of_action=True)


def _option(parser: argparse.ArgumentParser, action: argparse.Action, group: str) -> Option:
    takes = action.nargs != 0
    words = tuple(str(word) for word in action.choices or ()) if takes else ()
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return Option(
        names=tuple(action.option_strings),
        value=("|".join(words) if words and action.metavar is None else metavar) if takes else "",
        kind=_kind(action, metavar, words) if takes else "",
        words=words,
        help=" ".join(parser._get_formatter()._expand_help(action).split()) if action.help else "",
        optional=action.nargs in (argparse.OPTIONAL, argparse.ZERO_OR_MORE),
        rest=action.nargs == argparse.REMAINDER,
        group=group,
    )


def _kind(action: argparse.Action, metavar: str, words: Sequence[str]) -> str:
    if action.dest == "program":
        return "program"
    if words:
        return "words"
    if metavar.startswith("DIR"):
        return "directory"
    is_file = action.type is Path or "FILE" in metavar or metavar == "PROGRAM" or action.nargs == argparse.REMAINDER
    return "file" if is_file else ""
