# SPDX-License-Identifier: Apache-2.0
"""Shows pages of the documentation's site in a real browser, light and dark, on a phone and on a desk."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("matplotlib", reason="brings the font and the images: pip install 'antiphon[plots]'")
ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
EXPECTED = ROOT / "tests" / "data" / "screenshots"
PAGES = ("index", "guides/fortran", "concepts/phases", "measurements/index")
HEIGHT = 1400


def load(name: str) -> ModuleType:
    """Returns a module of this folder, which is no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


browser = load("browser")


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """Builds the site, which has no broken link then, and provides the addresses of some of its pages."""
    command = [sys.executable, str(ROOT / "scripts" / "docs_site.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr
    return {name.replace("/", "-"): f"file://{SITE / name}.html" for name in PAGES}


@pytest.mark.timeout(900)
@pytest.mark.skipif("ANTIPHON_SLOW" not in os.environ, reason="builds the site, 30 s and its tools: ANTIPHON_SLOW=1")
@pytest.mark.skipif(browser.BROWSER is None, reason="no browser on this machine")
@pytest.mark.parametrize("scheme", browser.SCHEMES)
def test_the_site_looks_as_expected(scheme: str, site: dict[str, str], tmp_path: Path) -> None:
    """GIVEN pages of the site, narrow and wide THEN each looks as its screenshot in the tree does."""
    (tmp_path / "frames.html").write_text(browser.frames(site, height=HEIGHT))
    size = f"--window-size={sum(browser.WIDTHS)},{HEIGHT * len(site)}"
    address = f"file://{tmp_path / 'frames.html'}"
    browser.browse(tmp_path, browser.SCHEMES[scheme], size, f"--screenshot={tmp_path / 'all.png'}", address)
    pictures = browser.split(tmp_path / "all.png", list(site), HEIGHT)
    expected = {name: EXPECTED / f"site-{name}-{scheme}.png" for name in site}
    if os.environ.get("WRITE_SCREENSHOTS"):
        for name, picture in pictures.items():
            browser.keep(picture, expected[name])
    different = browser.compare(pictures, expected, tmp_path)
    assert not different, "look at both; if the new one is right: WRITE_SCREENSHOTS=1\n" + "\n".join(different)
