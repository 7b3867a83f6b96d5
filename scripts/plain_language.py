#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how plainly README, guides and tutorials are written, beside mpi4py's documentation and memray's README.

Code, tables, headings and links' targets are taken out, and textstat reads the rest. Flesch's reading ease is higher
for plainer text; Flesch-Kincaid's grade and words per sentence are lower. The others' pages are those of their source
packages.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tool_environment

ROOT = Path(__file__).resolve().parent.parent
#: Pages in their source packages; that of memray has no more.
OTHERS = {"mpi4py": "docs/source/*.rst", "memray": "README.md"}
#: Shorter paragraphs are labels, not sentences.
LEAST_WORDS = 5
#: Asks textstat, in its own environment; texts come as JSON.
MEASURE = """
import json, sys, textstat
for name, text in json.load(sys.stdin).items():
    words = textstat.lexicon_count(text)
    print(json.dumps({"text": name, "words": words, "reading_ease": round(textstat.flesch_reading_ease(text), 1),
                      "grade": round(textstat.flesch_kincaid_grade(text), 1),
                      "words_a_sentence": round(words / max(1, textstat.sentence_count(text)), 1)}))
"""


def prose_of_markdown(text: str) -> str:
    """Returns the sentences of a page in Markdown."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not re.match(r"\s{4}|\t|\||#|<|\[!", line)]
    return sentences("\n".join(re.sub(r"^\s*[*-] |^\d+\. ", "\n", line) for line in lines))


def prose_of_rst(text: str) -> str:
    """Returns the sentences of a page in reStructuredText."""
    kept = []
    directive = False
    for line in text.splitlines():
        if re.match(r"\s*\.\. ", line) or line.rstrip().endswith("::"):
            directive = True
            line = line.rstrip().removesuffix("::") if not line.lstrip().startswith("..") else ""
        elif directive and (line.startswith(" ") or not line.strip()):
            continue
        else:
            directive = False
        if not re.match(r"\s*([=\-~^*+#\"'`|]{3,}|:\w+:|\+[-=])", line):
            kept.append(re.sub(r"^\s*[*-] ", "\n", line))
    return sentences("\n".join(kept))


def prose(page: Path) -> str:
    """Returns the sentences of a page."""
    text = page.read_text(encoding="utf-8")
    return prose_of_rst(text) if page.suffix == ".rst" else prose_of_markdown(text)


def sentences(text: str) -> str:
    """Takes markup out, and what is no sentence."""
    text = re.sub(r":[\w:]+:`([^`<]*)[^`]*`|!?\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or m[2] or "", text)
    text = re.sub(r"`+([^`<]*?)\s*(<[^`]*>)?`+_*|[*_|]{1,2}", lambda m: m[1] or "", text)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return "\n".join(p if p.endswith((".", "!", "?")) else p + "." for p in paragraphs if len(p.split()) >= LEAST_WORDS)


def ours() -> dict[str, str]:
    """Returns the texts of our pages."""
    folders = {
        "guides": ROOT / "docs" / "guides",
        "tutorials": ROOT / "docs" / "tutorials",
        "concepts": ROOT / "docs" / "concepts",
    }
    found = {"README": prose(ROOT / "README.md"), "start page": prose(ROOT / "docs" / "index.md")}
    for name, folder in folders.items():
        found[name] = "\n".join(map(prose, sorted(folder.glob("*.md"))))
    return found


def theirs(python: Path) -> Iterator[tuple[str, str]]:
    """Yields the texts of the others' documentation."""
    with tempfile.TemporaryDirectory() as folder:
        for name, pattern in OTHERS.items():
            command = [
                python,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                name,
                "-d",
                folder,
                name,
            ]
            if subprocess.run(command, check=False).returncode != 0:
                print(f"no source package of {name}: it is left out", file=sys.stderr)
                continue
            (archive,) = Path(folder).glob(f"{name}-*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder)
            (top,) = (path for path in Path(folder).glob(f"{name}-*") if path.is_dir())
            pages = sorted(top.glob(pattern))
            label = f"{top.name} ({f'{len(pages)} pages' if pages[1:] else pages[0].name})"
            yield label, "\n".join(map(prose, pages))


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--pages", action="store_true", help="each guide by itself, the hardest first (no network)")
    parser.add_argument("--own", action="store_true", help="our own pages alone (no network)")
    args = parser.parse_args()
    python = tool_environment.install("language") / "bin" / "python"
    guides = sorted((ROOT / "docs" / "guides").glob("*.md"))
    texts = {page.name: prose(page) for page in guides} if args.pages else ours()
    texts |= {} if args.own or args.pages else dict(theirs(python))
    done = subprocess.run([python, "-c", MEASURE], input=json.dumps(texts), capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if args.pages:
        rows.sort(key=lambda row: row["reading_ease"])
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    print("| text | words | reading ease | grade | words a sentence |\n|---|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(str(value) for value in row.values())} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
