# SPDX-License-Identifier: Apache-2.0
"""Checks the command line as a whole: help, errors, exit codes, output that other programs can rely on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon import __version__, cli, commands, output
from antiphon.errors import AntiphonError
from antiphon.mpi import discover


def test_help_lists_every_command_with_its_first_line(command):
    result = command("--help")
    assert result.returncode == 0
    for name in cli.command_names():
        line = cli.summary(name)
        assert line, f"the docstring of {name} is missing"
        assert f"  {name}" in result.stdout and line in result.stdout


@pytest.mark.parametrize("name", cli.command_names())
def test_every_command_has_help(name, command):
    result = command(name, "--help")
    assert result.returncode == 0, result.stderr
    assert f"usage: antiphon {name}" in result.stdout


def test_a_new_file_is_a_new_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "greet.py").write_text('"""Say hello."""\ndef add_arguments(parser): parser.add_argument("who")\n'
                                       'def run(args):\n    print("hello", args.who)\n    return 3\n')  # fmt: skip
    (tmp_path / "_private.py").write_text("raise RuntimeError")
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert cli.main(["greet", "world"]) == 3
    assert capsys.readouterr().out == "hello world\n"
    assert cli.summary("greet") == "Say hello"
    assert "_private" not in cli.command_names()


def test_version(capsys):
    """GIVEN an installation THEN its first line is the version alone, and the rest says who built what."""
    assert cli.main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"antiphon {__version__}"
    assert re.match(r"core: [\w-]+, .*\d+\.\d+", lines[1]), "the processor and the compiler"
    assert cli.main(["--version", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == __version__ and {"core", "mpich", "openmpi"} <= found["parts"].keys()
    assert re.fullmatch(r"[0-9a-f]{40}", found["parts"]["mpich"]["build"])


def test_without_a_command_the_help_goes_to_stderr(command):
    result = command()
    assert (result.returncode, result.stdout) == (2, "")
    assert "commands:" in result.stderr


def test_a_misspelt_command_gets_a_suggestion(command):
    result = command("rum")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: unknown command 'rum'\nhint: did you mean `antiphon run`?\n"


def test_wrong_usage_is_an_error_with_a_hint(command):
    result = command("run", "-n", "none", "prog")
    assert result.returncode == 2
    assert result.stderr.startswith("error: argument -n/-np/--ranks: 'none' is not a number of ranks\nhint: ")


@pytest.mark.parametrize("words", [["run"], ["trace"], ["plan", "--link-rate", "1gbit"], ["doctor"], ["lab", "run"]])
def test_no_option_of_a_program_is_an_abbreviation_of_ours(words, command):
    """GIVEN options that begin as several of Antiphon's do THEN it is the program that is looked for."""
    result = command(*words, "-n", 2, "./no-program", "--s", 5, "--p=1", "--l")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ./no-program: no such file\n")


@pytest.mark.parametrize("words", [["run", "-n", "2"], ["trace"], ["plan"], ["doctor"], ["lab", "run", "--plain"],
                                   ["lab", "exec", "3"], ["lab", "exec", "3", "--json"]])  # fmt: skip
@pytest.mark.parametrize("mark", [[], ["--"]])
@pytest.mark.parametrize("args", [["--", "x"], ["x", "--"], ["-n", "--", "--"], []])
def test_a_program_gets_its_own_dashes(words, mark, args):
    found = cli.load(words[0])[0].parse_args([*words[1:], *mark, "/bin/echo", *args])
    assert (found.program, found.args) == ("/bin/echo", args)


def test_a_command_without_a_programs_arguments_takes_options_after_it():
    found = cli.load("env")[0].parse_args(["./solver", "--mpirun"])
    assert (found.program, found.mpirun) == ("./solver", True)


def test_an_abbreviation_is_no_option(command):
    result = command("run", "--summ", "./no-program")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: unrecognized arguments: --summ\n")


def test_errors_of_commands_become_messages(monkeypatch, capsys):
    def fail(argv):
        raise AntiphonError("what is wrong", hint="what to do", exit_code=1)

    monkeypatch.setattr(cli, "dispatch", fail)
    assert cli.main(["run"]) == 1
    assert capsys.readouterr().err == "error: what is wrong\nhint: what to do\n"


def test_interrupt_is_130(monkeypatch):
    def interrupt(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "dispatch", interrupt)
    assert cli.main([]) == 130


def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "antiphon", "--help"]
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True) as process:
        os.close(write)
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, "")


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("variables", "color"), [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False),
                                                  ({"TERM": "xterm", "NO_COLOR": "1"}, False)])  # fmt: skip
def test_colour_only_where_it_is_wanted(variables, color, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert output.use_color(Terminal()) is color


def test_help_imports_no_command():
    """The start imports neither a command nor anything heavy; bench/startup measures how long it takes."""
    code = """
import sys
from antiphon.cli import main
main(["--help"])
loaded = [name for name in sys.modules if name.startswith(("antiphon.commands.", "rich", "numpy", "jsonschema"))]
sys.exit(f"loaded: {loaded}" if loaded else 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=30)


def test_commands_import_quickly():
    """A command's module imports only what its options need; the rest is imported inside run()."""
    heavy = ("numpy", "rich.progress", "rich.console", "elftools", "jinja2", "matplotlib", "ssl")
    code = f"""
import importlib, sys
for name in {cli.command_names()!r}:
    importlib.import_module("antiphon.commands." + name.replace("-", "_"))
    loaded = [module for module in {heavy!r} if module in sys.modules]
    if loaded:
        sys.exit(f"{{name}} imports {{loaded}}")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_a_run_starts_quickly(compiled):
    """What starts a program imports no tables, whose readers take longer than all the rest."""
    program = compiled(discover()[0])
    code = f"""
import sys
from antiphon.cli import main
assert main(["run", "--dry-run", "-n", "2", "{program}"]) == 0
loaded = [name for name in ("numpy", "jsonschema", "antiphon.traffic", "rich.console") if name in sys.modules]
sys.exit(f"loaded: {{loaded}}" if loaded else 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=30)


def test_sources_name_their_licence():
    package = Path(cli.__file__).parent
    unnamed = [path for path in package.rglob("*.py") if "SPDX-License-Identifier" not in path.read_text()[:200]]
    assert unnamed == []
