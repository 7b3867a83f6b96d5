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


@pytest.fixture(scope="module")
def gains() -> ModuleType:
    """Provides the script, which imports matplotlib."""
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("draw_gains", ROOT / "scripts" / "draw_gains.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts(svg: str) -> tuple[dict[str, tuple[list[float], str]], list[str]]:
    """Returns each named bar's outline and style, and all texts: what does not depend on matplotlib's version."""
    root = ElementTree.fromstring(svg)
    bars = {}
    for group in root.iter(f"{SVG}g"):
        if re.fullmatch(r".* (library|antiphon)", group.get("id", "")):
            path = next(group.iter(f"{SVG}path"))
            bars[group.get("id")] = ([float(n) for n in re.findall(r"-?[\d.]+", path.get("d"))], path.get("style"))
    return bars, [text.text for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_is_what_the_script_draws(gains: ModuleType, scheme: str) -> None:
    assert scheme in gains.SCHEMES
    kept, kept_texts = parts((gains.PICTURES / f"gains-{scheme}.svg").read_text(encoding="utf-8"))
    drawn, texts = parts(gains.draw(scheme))
    assert texts == kept_texts
    assert len(drawn) == 2 * 2 * 9 and set(drawn) == set(kept), "two libraries, two contenders, nine collectives"
    for name, (outline, style) in drawn.items():
        assert outline == pytest.approx(kept[name][0], abs=0.2), name
        assert style == kept[name][1], name


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
