# SPDX-License-Identifier: Apache-2.0
"""Make a page of HTML from a profile, a trace or results: charts, matrices, drawings

The page is one file that loads nothing: it can be opened without a network, mailed, or kept beside the data.

  antiphon report machine.json                    writes machine.html
  antiphon report results.json -o results.html    what `antiphon bench --json` wrote
  antiphon report run.json --open                 what `antiphon run --summary=run.json` wrote, in a browser
  antiphon report run.json --trace run.trace      the same with a timeline (`antiphon run --summary=… --trace …`)
  antiphon report run.trace                       who sends how much to whom, collectives by the library's algorithms
  antiphon report run.trace --profile machine.json --placement run.placement
                                                  the same on that network, before and after
"""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from antiphon import output, report
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.report import html


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon report`."""
    add = parser.add_argument
    add("document", nargs="?", type=Path, metavar="FILE", help="a file that Antiphon wrote")
    add("-o", "--output", type=Path, metavar="FILE", help="the page (default: the document's name with .html)")
    add("--profile", type=Path, metavar="FILE", help="for a trace: a profile of the machine, for its links")
    _options.add_old_name(parser, "--machine", "--profile")
    add(
        "--placement", type=Path, metavar="FILE", help="for a trace: what `antiphon map` wrote, to compare with the run"
    )
    add("--trace", type=Path, metavar="FILE", help="for a run's summary: the same run's trace, for a timeline")
    _options.add_overwrite(parser, "the page", old="--force")
    add("--open", action="store_true", help="show the page in the browser that the system names (or $BROWSER)")
    add("--list", action="store_true", help="show what kinds of documents there is a report for")
    add("--json", action="store_true", help="with --list: as JSON; else the page's sections and where it was written")


def run(args: argparse.Namespace) -> int:
    """Reads the document and writes the page."""
    if args.list:
        return _list(args)
    if args.document is None:
        raise AntiphonError("no document is named", hint="for example: antiphon report machine.json")
    files.refuse_directory(args.document)
    target = args.output or args.document.with_name(args.document.name.removesuffix(".gz")).with_suffix(".html")
    sources = (args.document, args.profile, args.placement, args.trace)
    files.check(target, overwrite=args.overwrite, sources=sources)
    page, text = html.of_document(*sources)
    files.write(target, text)
    if args.json:
        output.print_json(
            {"page": str(target), "title": page.title, "sections": [section.title for section in page.sections]}
        )
    else:
        output.stdout().print(f"{target}: {page.title}", soft_wrap=True)
    if args.open and not webbrowser.open(target.absolute().as_uri()):
        output.print_warning("no browser was found")
        output.print_hint(f"open {target} where there is one: the page is complete, and loads nothing")
    return 0


def _list(args: argparse.Namespace) -> int:
    kinds = {kind.__name__.rpartition(".")[2]: report.summary(kind) for kind in report.all_kinds()}
    if args.json:
        output.print_json({"kinds": kinds})
    else:
        for name, text in kinds.items():
            output.stdout().print(f"{name}: {text}", soft_wrap=True)
    return 0
