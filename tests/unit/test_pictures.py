# SPDX-License-Identifier: Apache-2.0
"""Draws README's pictures again from the samples: what is in the tree is what the script draws."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def load(name: str, patch: pytest.MonkeyPatch) -> ModuleType:
    """Returns a script as a module; it imports matplotlib."""
    pytest.importorskip("matplotlib")
    patch.syspath_prepend(str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gains(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Provides the script that draws README's picture."""
    return load("draw_gains", monkeypatch)


#: Outline and style, by name.
Bars = dict[str, tuple[list[float], str]]


def parts(svg: str) -> tuple[Bars, list[str]]:
    """Returns each named bar's outline and style, and all texts: what does not depend on matplotlib's version."""
    root = ElementTree.fromstring(svg)
    bars = {}
    for group in root.iter(f"{SVG}g"):
        if re.fullmatch(r".* (library|antiphon|flat|nested)", group.get("id", "")):
            path = next(group.iter(f"{SVG}path"))
            bars[group.get("id")] = ([float(n) for n in re.findall(r"-?[\d.]+", path.get("d"))], path.get("style"))
    return bars, [text.text for text in root.iter(f"{SVG}text")]


def expect_kept(name: str, drawn_svg: str) -> Bars:
    """What is drawn is the picture in the tree; returns its bars, or lines."""
    kept, kept_texts = parts((ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8"))
    drawn, texts = parts(drawn_svg)
    assert texts == kept_texts
    assert set(drawn) == set(kept)
    for one, (outline, style) in drawn.items():
        assert outline == pytest.approx(kept[one][0], abs=0.2), one
        assert style == kept[one][1], one
    return drawn


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_is_what_the_script_draws(gains: ModuleType, scheme: str) -> None:
    assert scheme in gains.SCHEMES
    drawn = expect_kept(f"gains-{scheme}.svg", gains.draw(scheme))
    assert len(drawn) == 2 * 2 * 9, "two libraries, two contenders, nine collectives"


def test_bars_are_as_long_as_their_times(gains: ModuleType) -> None:
    """GIVEN the picture THEN a bar's length over another's is that of the samples' medians in limits."""
    bars, texts = parts(gains.draw("light"))
    rows = {title: gains.read(mpi) for title, mpi in gains.SAMPLES.items()}

    def length(name: str) -> float:
        xs = bars[name][0][::2]
        return max(xs) - min(xs)

    first = rows["Open MPI 5"]["bcast"]["library"]
    unit = length("Open MPI 5 bcast library") / (first["median_s"] / first["limit_s"])
    for title, measured in rows.items():
        for collective, contenders in measured.items():
            for contender, row in contenders.items():
                expected = unit * row["median_s"] / row["limit_s"]
                assert length(f"{title} {collective} {contender}") == pytest.approx(expected, abs=0.1)
    assert "1.0×" in texts, "where nothing is gained, the picture says so"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_clusters_picture_is_what_the_script_draws(
    gains: ModuleType, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN the predictions THEN the picture has a bar for each time that is known, and is drawn from them."""
    clusters = load("draw_clusters", monkeypatch)
    drawn = expect_kept(f"clusters-{scheme}.svg", clusters.draw(scheme))
    rows = [row for cluster in clusters.PANELS.values() for row in clusters.read(cluster).values()]
    assert len(drawn) == sum(bool(row[f"{kind}_s"]) for row in rows for kind in clusters.KINDS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_growth_picture_is_what_the_script_draws(
    gains: ModuleType, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN the predictions THEN each collective has a line for each way on each cluster, drawn from them."""
    growth = load("draw_growth", monkeypatch)
    drawn = expect_kept(f"growth-{scheme}.svg", growth.draw(scheme))
    assert len(drawn) == len(growth.COLLECTIVES) * len(growth.PANELS) * len(growth.KINDS)
    for name, (outline, _) in drawn.items():
        rate, _, kind = name.partition(", ")[2].rpartition(" ")
        rows = growth.read(growth.PANELS[rate], name.partition(",")[0])
        assert len(outline) == 2 * sum(bool(row[f"{kind}_s"]) for row in rows), name


def test_concepts_show_what_their_commands_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN the pictures of concepts THEN each has a command, and is what that draws."""
    script = load("draw_concepts", monkeypatch)
    commands = script.commands()
    assert script.shown() == set(commands) and len(commands) >= 5
    for name, words in commands.items():
        picture = (script.PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        assert picture == script.drawn(words), f"{name}.svg: draw it again by scripts/draw_concepts.py"
