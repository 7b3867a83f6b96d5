# SPDX-License-Identifier: Apache-2.0
"""The packages of antiphon form layers: no import closes a circle, and few imports wait until a function runs."""

from __future__ import annotations

import ast
import functools
import graphlib
from collections.abc import Iterator
from pathlib import Path

import antiphon

ROOT = Path(antiphon.__file__).parent


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Returns the syntax of each module."""
    return {
        ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            file.read_text()
        )
        for file in sorted(ROOT.rglob("*.py"))
    }


#: Maps what a function or a block for type checkers may import to the reason why it is not at the top of the module.
LATE = {
    "elftools": "only the commands that look into programs need it",
    "jinja2": "only reports in HTML need it",
    "markupsafe": "comes with jinja2, for reports in HTML",
    "jsonschema": "takes 0.1 s to import; only commands that read a profile need it",
    "matplotlib": "optional, and takes 0.5 s to import",
    "numpy": "takes 0.1 s to import",
    "plotext": "optional",
    "tomllib": "Python 3.10 does not have it",
    "tomli": "stands in for tomllib",
    "rich": "takes 0.1 s to import; output in JSON does not need it",
    "channel": "lab/agent.py is a script of its own, which puts its directory on the path first",
    "antiphon.build_facts": "only --version needs it, which looks into the compiled files",
    "antiphon.mapping": "imports NumPy",
    "antiphon.nodes": "starts agents on nodes; only doctor with a hostfile needs it",
    "antiphon.plan.making": "imports NumPy",
    "antiphon.report.kinds._timeline": "imports NumPy",
    "antiphon.traffic": "imports NumPy",
    "antiphon.bench.trace_sizes": "imports NumPy",
    "antiphon.bench.validation": "imports NumPy",
    "antiphon.bench.verify": "imports NumPy",
    "antiphon.tune.modelled": "imports NumPy",
}


def imports(tree: ast.AST) -> Iterator[str]:
    """Returns the modules that a tree imports, whether at the top or inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def package_of(module: str) -> str:
    """Returns the package right below antiphon that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def test_packages_import_one_another_without_cycles() -> None:
    graph: dict[str, set[str]] = {}
    for module, tree in modules().items():
        used = {package_of(name) for name in imports(tree) if name in modules()}
        graph.setdefault(package_of(module), set()).update(used - {package_of(module), "antiphon"})
    tuple(graphlib.TopologicalSorter(graph).static_order())  # This raises CycleError, which names the cycle.


def test_modules_import_one_another_without_cycles() -> None:
    graph = {module: {name for name in imports(tree) if name in modules()} for module, tree in modules().items()}
    tuple(graphlib.TopologicalSorter(graph).static_order())


def late_imports(tree: ast.Module) -> Iterator[str]:
    """Returns what is imported inside functions and in blocks for type checkers."""
    for node in tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from imports(node)


def test_late_imports_have_a_reason() -> None:
    unexplained = {
        f"{module} imports {name}"
        for module, tree in modules().items()
        for name in late_imports(tree)
        if not any(name == late or name.startswith(f"{late}.") for late in LATE)
    }
    assert unexplained == set()


def test_every_reason_is_needed() -> None:
    late = {name for tree in modules().values() for name in late_imports(tree)}
    needless = [known for known in LATE if not any(name == known or name.startswith(f"{known}.") for name in late)]
    assert needless == []
