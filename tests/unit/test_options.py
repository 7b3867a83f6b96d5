# SPDX-License-Identifier: Apache-2.0
"""Checks the options of all commands: one word for one thing, and former names that still work, with a hint."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from antiphon import cli

DATA = Path(__file__).resolve().parents[1] / "data"
PROFILE = str(DATA / "ethernet-16.openmpi.json")

#: What an option means wherever it is: a part of its help text. A new meaning needs a new word.
MEANINGS = {
    "--force": ("force algorithms", "as of `antiphon run`"),
    "--overwrite": ("replace ",),
    "--summary": ("show at the end what was accelerated", "the summary of a run"),
    "--ranks": ("number of ranks",),
    "--link-rate": ("node's link", "share of the wire"),
    "--profile": ("profile", "as of `antiphon run`"),
    "--own": ("Antiphon's",),
}


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Returns the parsers of all commands and their actions."""
    found: dict[str, argparse.ArgumentParser] = {}
    for name in cli.command_names():
        parser, _ = cli.load(name)
        found[name] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= {f"{name} {key}": sub for key, sub in action.choices.items()}
    return found


def shown() -> list[tuple[str, argparse.Action]]:
    """Returns what the help shows, with the command."""
    every = [(name, action) for name, parser in parsers().items() for action in parser._actions]
    return [(n, a) for n, a in every if a.help != argparse.SUPPRESS and not isinstance(a, argparse._SubParsersAction)]


def test_one_word_has_one_meaning():
    for command, action in shown():
        for option in set(action.option_strings) & set(MEANINGS):
            assert any(text in action.help for text in MEANINGS[option]), (command, option, action.help)


def test_every_option_says_what_it_is():
    for command, action in shown():
        assert action.help, (command, action.option_strings, action.dest)


def test_a_list_is_offered_where_help_says_so():
    """GIVEN a help text that names `--list` THEN the command has it, or another is named that has it."""
    having = {command for command, action in shown() if "--list" in action.option_strings}
    for command, action in shown():
        if "--list" in action.help and "--list" not in action.option_strings:
            assert command in having or any(f"antiphon {name} --list" in action.help for name in having), command


OLD_NAMES = [
    (["report", PROFILE, "-o", "x.html", "--force"], "--overwrite"),
    (["report", "no.trace", "--machine", PROFILE], "--profile"),
    (["compile", "no.trace", "--force"], "--overwrite"),
    (["explain", "barrier", "--ranks", "2", "--force"], "--overwrite"),
    (["export", "--list", "--force"], "--overwrite"),
    (["predict", "barrier", "--ranks", "2", "--no-sweep", "--force"], "--overwrite"),
    (["trace", "--summary", "no.trace"], "--show"),
    (["bench", "--predict", PROFILE, "--list"], "--profile"),
    (["traffic", "no.trace", "--antiphon"], "--own"),
    (["traffic", "no.trace", "--joint", PROFILE], "--profile"),
    (["map", "--list", "--seconds", "1"], "--budget"),
    (["compress-test", "no.npy", "--bits-per-s", "1gbit"], "--link-rate"),
    (["lab", "run", "--rate", "1gbit", "no-program"], "--link-rate"),
]


@pytest.mark.parametrize(("words", "new"), OLD_NAMES, ids=[f"{w[0]}-{n}" for w, n in OLD_NAMES])
def test_former_names_work_for_a_while(words, new, capsys, tmp_path, monkeypatch):
    """GIVEN an option by a former name THEN the command goes on (at most to a file that is not there), with a hint."""
    monkeypatch.chdir(tmp_path)
    code = cli.main(words)
    err = capsys.readouterr().err
    assert err.startswith("hint: ") and new in err.splitlines()[0] and "goes away some day" in err, err
    assert "unrecognized" not in err and "usage" not in err
    assert code == 0 or "no.trace" in err or "no.npy" in err or "no-program" in err


def test_former_names_are_not_in_the_help(capsys):
    for name in ("report", "compile", "explain", "export", "predict"):
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        assert "--force" not in capsys.readouterr().out
