# SPDX-License-Identifier: Apache-2.0
"""Shows pages in a headless browser whose fonts and colour scheme are the same on every machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from PIL import Image, ImageChops

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
         "--disable-lcd-text", "--force-device-scale-factor=1", "--allow-file-access-from-files")  # fmt: skip
#: The browser's own setting of what prefers-color-scheme says.
SCHEMES = {"dark": "--blink-settings=preferredColorScheme=0", "light": "--blink-settings=preferredColorScheme=1"}
WIDTHS = (390, 1280)
#: matplotlib brings its font, so letters are as wide everywhere.
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>{fonts}</dir><cachedir>{cache}</cachedir>
<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<match target="font"><edit name="hinting" mode="assign"><bool>false</bool></edit></match></fontconfig>"""
#: Shows each page in a frame of each width, side by side; a script may look at them when all are there.
FRAMES = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0;background:#888"><script>
const pages = PAGES, widths = WIDTHS, height = HEIGHT, found = [];
SCRIPT
let waiting = pages.length * widths.length;
for (const [row, [name, source]] of pages.entries()) {
  let left = 0;
  for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style = `position:absolute;border:0;width:${width}px;height:${height}px;left:${left}px;top:${row * height}px`;
    left += width;
    frame.onload = () => {
      if (typeof look === "function") found.push(look(name, width, frame));
      if (!--waiting) document.documentElement.dataset.found = JSON.stringify(found);
    };
    if (source.startsWith("file:")) frame.src = source; else frame.srcdoc = source;
    document.body.append(frame);
  }
}
</script>"""


def browse(folder: Path, *options: str) -> str:
    """Starts the browser and returns what it writes to stdout."""
    (folder / "fonts.conf").write_text(
        FONTS.format(fonts=Path(matplotlib.get_data_path(), "fonts", "ttf"), cache=folder / "fonts")
    )
    env = {**os.environ, "HOME": str(folder), "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    command = [str(BROWSER), *QUIET, f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=8000", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=170, env=env, check=False)
    assert "Uncaught" not in result.stderr and "ERR_" not in result.stderr, result.stderr[-2000:]
    return result.stdout


def frames(pages: Mapping[str, str], widths: Sequence[int] = WIDTHS, height: int = 900, script: str = "") -> str:
    """Returns a document with a frame for each page (its text, or a file:// address) and width."""
    listed = json.dumps(list(pages.items())).replace("<", "\\u003c")
    text = FRAMES.replace("HEIGHT", str(height)).replace("WIDTHS", str(list(widths))).replace("SCRIPT", script)
    return text.replace("PAGES", listed, 1)


#: A block of a picture differs if a colour is further off than this, and a picture if this part of its blocks differs.
BLOCK, FAR, PART = 8, 24, 0.01


def split(path: Path, names: Sequence[str], height: int) -> dict[str, Image.Image]:
    """Returns each page's views, side by side, of a picture of all frames: at half size."""
    with Image.open(path) as picture:
        whole = picture.convert("RGB").reduce(2)
    half = height // 2
    return {name: whole.crop((0, i * half, whole.width, (i + 1) * half)) for i, name in enumerate(names)}


def keep(picture: Image.Image, path: Path) -> None:
    """Writes a picture with few colours, which is small."""
    path.parent.mkdir(exist_ok=True)
    picture.quantize(24, dither=Image.Dither.NONE).save(path, optimize=True)


def open_picture(path: Path) -> Image.Image:
    """Reads a picture."""
    with Image.open(path) as picture:
        return picture.convert("RGB")


def different_part(one: Image.Image, other: Image.Image) -> float:
    """Returns the part of blocks that differ: lay-out and colours count, the edges of letters do not."""
    if one.size != other.size:
        return 1.0
    blocks = ImageChops.difference(one.reduce(BLOCK), other.reduce(BLOCK))
    red, green, blue = blocks.split()
    largest = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return sum(largest.histogram()[FAR:]) / (largest.width * largest.height)


def compare(pictures: Mapping[str, Image.Image], expected: Mapping[str, Path], folder: Path) -> list[str]:
    """Returns a line for each picture that does not look as expected, and writes it into the folder."""
    found = []
    for name, picture in pictures.items():
        part = different_part(picture, open_picture(expected[name])) if expected[name].is_file() else 1.0
        if part > PART:
            picture.save(folder / f"{name}.png")
            found.append(f"{folder / name}.png differs from {expected[name]} in {100 * part:.1f} % of its blocks")
    return found


def moved_down(picture: Image.Image, below: int, pixels: int) -> Image.Image:
    """Returns a picture whose lower part begins so many pixels later."""
    moved = picture.copy()
    moved.paste(picture.crop((0, below, picture.width, picture.height - pixels)), (0, below + pixels))
    return moved
