# SPDX-License-Identifier: Apache-2.0
"""The `antiphon` command line. Commands are found by listing antiphon.commands; none is named here."""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from antiphon import DESCRIPTION, commands, output
from antiphon.errors import EXIT_BROKEN_PIPE, EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE, AntiphonError


class Parser(argparse.ArgumentParser):
    """Reports wrong usage in the same form as every other error of Antiphon."""

    def __init__(self, **options: Any) -> None:
        # What begins like an option may be an option of the user's program.
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        output.print_error(message, f"`{self.prog} --help` shows the usage")
        sys.exit(EXIT_USAGE)

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parses `args`, where a program's command line may follow the options."""
        args = sys.argv[1:] if args is None else list(args)
        if any(action.dest == "program" or action.nargs == argparse.REMAINDER for action in self._actions):
            args = self._join_values(args)
        return super().parse_known_args(args, namespace)

    def _join_values(self, args: list[str]) -> list[str]:
        """Makes `--option=value` of the options before the program. So in `run --summary ./prog` the program is not
        the file to write (an optional value needs `--summary=FILE`), and a value may begin with a dash."""
        options = {name: action for action in self._actions for name in action.option_strings}
        words = [action for action in self._actions if not action.option_strings]
        # argparse takes the first "--" away, which may be the program's own.
        mark = ["--"] if words[-1].nargs == argparse.REMAINDER else []
        ahead = next((i for i, action in enumerate(words) if action.dest == "program"), 0)
        joined: list[str] = []
        rest = iter(args)
        for arg in rest:
            action = options.get(arg)
            if action is None and not (arg.startswith("-") and len(arg) > 1 and arg != "--"):
                if arg == "--":
                    return [*joined, arg, *rest]
                if ahead == 0:
                    return [*joined, *mark, arg, *rest]
                ahead -= 1
            value = None
            if action is not None and action.nargs == argparse.OPTIONAL:
                value = action.const
            elif action is not None and action.nargs is None:
                value = next(rest, None)
            if value is None:
                joined.append(arg)
            else:
                joined += [f"{arg}={value}"] if arg.startswith("--") else [arg, value]
        return joined


def command_names() -> list[str]:
    """The names of all commands: the modules of antiphon.commands, compress_test as compress-test."""
    return sorted(
        m.name.replace("_", "-") for m in pkgutil.iter_modules(commands.__path__) if not m.name.startswith("_")
    )


def summary(name: str) -> str:
    """The first line of a command's docstring, read without importing the command: help stays fast."""
    module = name.replace("-", "_")
    for folder in commands.__path__:
        file = Path(folder, f"{module}.py")
        file = file if file.is_file() else Path(folder, module, "__init__.py")
        if file.is_file():
            doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            return doc.partition("\n")[0].rstrip(".")
    return ""


def top_help() -> str:
    """The text of `antiphon --help`."""
    names = command_names()
    width = max((len(name) for name in names), default=0)
    lines = [f"usage: antiphon COMMAND …\n\n{DESCRIPTION}\n\ncommands:"]
    lines += [f"  {name:<{width}}  {summary(name)}" for name in names]
    lines += [
        "",
        "options:",
        "  -h, --help  show this, or with a command its help",
        "  --version   show the version and who built it (--version --json: as JSON)",
    ]
    return "\n".join(lines) + "\n"


def load(name: str) -> tuple[Parser, argparse.Namespace]:
    """Imports one command and builds its parser."""
    module = importlib.import_module(f"{commands.__name__}.{name.replace('-', '_')}")
    description, _, details = (module.__doc__ or "").partition("\n")
    parser = Parser(
        prog=f"antiphon {name}",
        description=description,
        epilog=details.strip("\n") or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser, argparse.Namespace(run=module.run)


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Returns the parsers of all commands, for those that describe them."""
    return {name: load(name)[0] for name in command_names()}


def dispatch(argv: Sequence[str]) -> int:
    """Runs the command that `argv` asks for and returns its exit code."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        if len(argv) > 1 and argv[0] == "help":
            return dispatch([argv[1], "--help"])
        (sys.stdout if argv else sys.stderr).write(top_help())
        return 0 if argv else EXIT_USAGE
    if argv[0] in ("-V", "--version"):
        return _version("--json" in argv[1:])
    name, names = argv[0], command_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean `antiphon {close[0]}`?" if close else "`antiphon --help` lists the commands"
        what = "option" if name.startswith("-") else "command"
        raise AntiphonError(f"unknown {what} {name!r}", hint=hint)
    parser, command = load(name)
    args = parser.parse_args(argv[1:], argparse.Namespace(parsers=parsers))
    return int(command.run(args) or 0)


def _version(as_json: bool) -> int:
    from antiphon import build_facts

    found = build_facts.facts()
    if as_json:
        output.print_json(found)
    else:
        sys.stdout.write("\n".join(build_facts.lines(found)) + "\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `antiphon`: turns every expected failure into a message and an exit code."""
    output.prepare_streams()
    try:
        code = dispatch(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except AntiphonError as error:
        output.print_error(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _forget_output()
        output.print_error(f"{error.filename or 'standard output'}: {error.strerror or error}")
        return EXIT_FAILURE


def _forget_output() -> None:
    """The interpreter flushes stdout once more at exit: it gets somewhere to go."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
