# SPDX-License-Identifier: Apache-2.0
"""Write environment modules, for Environment Modules and Lmod

  antiphon module -o /opt/modulefiles                     then `module load antiphon` offers the command to everybody
  antiphon module -o /opt/modulefiles --name antiphon-on --switch-on openmpi
                                                          while it is loaded, Open MPI's programs run under Antiphon

DIR gets NAME/VERSION (Tcl), NAME/VERSION.lua (Lmod), and a hidden directory with the command and its manual alone, so
that PATH does not get the Python that Antiphon is installed in. --switch-on preloads the object into every program of
the shell; a launcher passes that on to other nodes by itself (Hydra, srun) or on request (Open MPI: -x LD_PRELOAD).
"""

from __future__ import annotations

import argparse
import re
import sys
import sysconfig
from pathlib import Path

from antiphon import __version__, module_files, output
from antiphon.commands.prefix import PLACES, prefix
from antiphon.errors import AntiphonError
from antiphon.mpi import ABIS
from antiphon.mpi.launch import check_settings, preload_object
from antiphon.output import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon module`."""
    add = parser.add_argument
    add(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        required=True,
        help="the directory of module files, as in MODULEPATH",
    )
    add("--name", default="antiphon", metavar="NAME", help="the module's name (default: antiphon)")
    add(
        "--switch-on", choices=ABIS, metavar="ABI", help=f"preload the object for programs of an MPI: {', '.join(ABIS)}"
    )
    add("--set", action="append", default=[], metavar="ANTIPHON_X=VALUE", help="a setting while it is loaded, as "
        "ANTIPHON_SUMMARY=1; may be given again")  # fmt: skip
    add("--overwrite", action="store_true", help="replace the files if they are there")
    add("--json", action="store_true", help="which files were written, as JSON")


def run(args: argparse.Namespace) -> int:
    """Writes the files."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", args.name):
        raise AntiphonError(f"--name {args.name!r} is not a module's name", hint="letters, digits, and ._+- within")
    places = (Path(sysconfig.get_path("scripts")), Path(sys.prefix) / "bin")  # pip's, a distribution's
    command = next((path / "antiphon" for path in places if (path / "antiphon").is_file()), places[0] / "antiphon")
    if not command.is_file():
        raise AntiphonError(f"{command}: the command is not installed there", hint="install Antiphon with pip first")
    folder = args.output.absolute() / args.name
    alone = folder / f".{__version__}"
    paths = {"PATH": alone / "bin", "CMAKE_PREFIX_PATH": prefix(), "PKG_CONFIG_PATH": prefix() / PLACES["pkg_config"]}
    preload = preload_object(args.switch_on) if args.switch_on else None
    module = module_files.Module(args.name, paths, preload, _settings(args.set))
    written = {folder / __version__: module_files.tcl(module), folder / f"{__version__}.lua": module_files.lua(module)}
    links = {alone / "bin" / "antiphon": command, alone / "share": command.parents[1] / "share"}
    _make_directory(alone / "bin")
    for path in written:
        files.check(path, overwrite=args.overwrite)
    for path, target in links.items():  # man looks for ../share/man of a directory in PATH.
        path.unlink(missing_ok=True)
        path.symlink_to(target)
    for path, text in written.items():
        files.write(path, text)
    if args.json:
        output.print_json({"files": [str(path) for path in written], "command": str(alone / "bin" / "antiphon")})
    else:
        output.stdout().print(f"{folder}: module use {args.output.absolute()}; module load {args.name}", soft_wrap=True)
    return 0


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AntiphonError(f"{error.filename}: {error.strerror}", hint="name a directory that you may write") from None


def _settings(given: list[str]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in given]
    for pair, (name, sign, _) in zip(given, pairs, strict=True):
        if not sign or not (name == "ANTIPHON" or name.startswith("ANTIPHON_")):
            raise AntiphonError(
                f"--set {pair}: is no setting of Antiphon", hint="for example: --set ANTIPHON_SUMMARY=1"
            )
    settings = {name: value for name, _, value in pairs}
    check_settings(settings)
    return settings
