# SPDX-License-Identifier: Apache-2.0
"""Completes command lines in real shells, and sets the manual pages with a real troff, where these are installed."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import reference_commands

from antiphon import cli, shells
from antiphon.commands import completion
from antiphon.shells import bash, fish, man, zsh

BASH = """
source {script}
complete_line() {{
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _antiphon; printf '%s|' "${{COMPREPLY[@]}}"; echo
}}
"""


@functools.cache
def commands() -> tuple[shells.Command, ...]:
    """Returns all commands with their options."""
    return shells.commands(cli.parsers())


def completed(tmp_path: Path, *words: str) -> set[str]:
    """Returns what bash offers for the last of the words."""
    script = tmp_path / "antiphon.bash"
    script.write_text(bash.text(commands()))
    line = BASH.format(script=script) + "complete_line " + " ".join(f"'{word}'" for word in words)
    result = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, cwd=tmp_path, timeout=30,
                            check=True)  # fmt: skip
    return set(filter(None, result.stdout.removesuffix("\n").split("|")))


@pytest.mark.parametrize(("words", "offered"), [
    (["antiphon", "pro"], {"probe", "profile"}),
    (["antiphon", "run", "--hostf"], {"--hostfile"}),
    (["antiphon", "run", "--compress", ""], {"auto", "on", "off"}),
    (["antiphon", "run", "--compress", "=", "o"], {"on", "off"}),
    (["antiphon", "lab", "do"], {"down"}),
    (["antiphon", "help", "tun"], {"tune"}),
    (["antiphon", "completion", "z"], {"zsh"}),
    (["antiphon", "report", "--profile", "ma"], {"machine.json"}),
    (["antiphon", "run", "-n", "4", "./solver", "ma"], {"machine.json"}),
    (["antiphon", "run", "-n", "4", "./solver", "--prof"], set()),
    (["antiphon", "run", "-n", ""], set()),
    (["antiphon", "run", "--hostfile", "=", "nodes", "--summ"], {"--summary"}),
    (["antiphon", "run", "--hostfile", "=", "nodes", "./solver", "--summ"], set()),
    (["antiphon", "run", "--force", "bcast", ":", "chain", "--summ"], {"--summary"}),
    (["antiphon", "run", "--force", "bcast", ":", "chain", ":", "window", "=", "4", "--summ"], {"--summary"}),
    (["antiphon", "run", "--force", "=", "bcast", ":", "chain", "--summ"], {"--summary"}),
    (["antiphon", "run", "--force", "bcast", ":", "ma"], set()),
    (["antiphon", "report", "--profile", "a m"], {"a machine.json"}),
    (["antiphon", "report", "--profile", "a\\ m"], {"a machine.json"}),
])  # fmt: skip
def test_bash_completes(words: list[str], offered: set[str], tmp_path: Path) -> None:
    """GIVEN a line that is not finished THEN bash offers what may stand there; a program's options are its own."""
    for name in ("machine.json", "a machine.json", "solver"):
        (tmp_path / name).touch(0o755)
    assert completed(tmp_path, *words) == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize(("line", "offered"), [("antiphon prob", "probe"), ("antiphon run --hostf", "--hostfile"),
                                               ("antiphon run --compress o", "off")])  # fmt: skip
def test_fish_completes(line: str, offered: str, tmp_path: Path) -> None:
    script = tmp_path / "antiphon.fish"
    script.write_text(fish.text(commands()))
    ask = f"source {script}; complete -C '{line}'"
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    result = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, env=env, timeout=30)
    assert result.returncode == 0 and result.stderr == ""
    assert offered in [answer.split("\t")[0] for answer in result.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_reads_it(tmp_path: Path) -> None:
    """GIVEN the function of zsh THEN it has no error, and compinit takes it for the command's."""
    (tmp_path / "_antiphon").write_text(zsh.text(commands()))
    line = f"fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -D -u; autoload +X _antiphon; "
    line += "echo $_comps[antiphon]"
    result = subprocess.run(["zsh", "-f", "-c", line], capture_output=True, text=True, timeout=30, check=True)
    assert (result.stdout, result.stderr) == ("_antiphon\n", "")


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_manual_pages_have_no_error() -> None:
    """GIVEN all pages THEN troff warns of nothing, and each has every option of its command."""
    for name, page in man.pages(commands()).items():
        command = ["groff", "-man", "-ww", "-k", "-Tutf8", "-P-cbou", "-rLL=200n"]
        result = subprocess.run(command, input=page, capture_output=True, text=True, timeout=30, check=True)
        assert result.stderr == "", (name, result.stderr)
        of_command = next((c for c in commands() if name.endswith(f"/antiphon-{c.name}.1")), None)
        for option in of_command.options if of_command else ():
            assert option.names[-1] in result.stdout.replace("\u2212", "-"), (name, option.names)


def test_every_command_is_described() -> None:
    assert [command.name for command in commands()] == cli.command_names()
    run = next(command for command in commands() if command.name == "run")
    assert run.has_program and any(option.names == ("-n", "-np", "--ranks") for option in run.options)
    assert not any("--machine" in option.names for command in commands() for option in command.options), "hidden"


def test_the_reference_has_a_table_for_each_action() -> None:
    """GIVEN a command with actions THEN each has a heading, and no table says an option twice."""
    sections = dict(
        re.findall(r"^##+ (antiphon .*)\n((?:(?!##).*\n)*)", reference_commands.page(commands()), re.MULTILINE)
    )
    assert {"antiphon lab", "antiphon lab run", "antiphon profile use", "antiphon cluster show"} <= set(sections)
    for name, text in sections.items():
        heads = re.findall(r"^\| (`.*?`) \| ", text, re.MULTILINE)
        assert heads and len(heads) == len(set(heads)), name
    assert "| `--name NAME` | run on this lab" in sections["antiphon lab run"]
    assert "| `ACTION` | `up`, `run`, " in sections["antiphon lab"]


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == bash.text(commands())
    for form in (*completion.SHELLS, "man"):
        assert cli.main(["completion", form, "-o", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.rglob("*antiphon*") if path.is_file()} >= {
        "antiphon", "_antiphon", "antiphon.fish", "antiphon.1", "antiphon-run.1"}  # fmt: skip
    assert cli.main(["completion", "man"]) == 2
    assert "hint: " in capsys.readouterr().err
