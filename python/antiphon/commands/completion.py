# SPDX-License-Identifier: Apache-2.0
"""Print completions for a shell, or write the manual pages

The package brings both along, in share/ of the directory that it is installed in, where shells and man look by
themselves if its bin/ is on the PATH. Elsewhere:

  source <(antiphon completion bash)                        in ~/.bashrc
  antiphon completion zsh > ~/.zfunc/_antiphon              with ~/.zfunc in $fpath, before compinit
  antiphon completion fish > ~/.config/fish/completions/antiphon.fish
  antiphon completion man -o ~/.local/share                 then `man antiphon-run`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from antiphon import output, shells
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.shells import bash, fish, man, zsh

SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon completion`."""
    parser.add_argument("form", choices=(*SHELLS, "man"), help="the shell, or man for manual pages")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write to DIR as into share/: each file where "
                        "shells and man look for it")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="with -o: which files were written, as JSON")


def run(args: argparse.Namespace) -> int:
    """Prints the script, or writes the files."""
    commands = shells.commands(args.parsers())
    if args.form == "man":
        if args.output is None:
            raise AntiphonError("manual pages need a directory", hint="antiphon completion man -o ~/.local/share")
        found = man.pages(commands)
    else:
        shell = SHELLS[args.form]
        found = {shell.PATH: shell.text(commands)}
        if args.output is None:
            sys.stdout.write(found[shell.PATH])
            return 0
    written = [args.output / name for name in found]
    for path, text in zip(written, found.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, text)
    if args.json:
        output.print_json({"files": [str(path) for path in written]})
    else:
        output.stderr().print(
            f"{len(written)} file{'s' if len(written) > 1 else ''} below {args.output}", soft_wrap=True
        )
    return 0
