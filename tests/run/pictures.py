#!/usr/bin/env python3
"""Reads the pages that `kernelc explain --html` writes in the golden files, with their pictures: they adapt to small screens
and to dark ones. With --shots FOLDER, also writes screenshots of them with Chromium, at 1280 and 400 pixels, light and dark."""

import itertools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

from shared import checks

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/driver"
WIDEST = 360  # pixels that a phone shows
SCHEMES = {"dark": 0, "light": 1}  # numbers of Chromium


def page_of(golden, folder):
    """Runs the first command of a golden file, and returns the page that it writes."""
    words = shlex.split(re.search(r"^//! (?:args|command): (.*)$", golden.read_text(), re.M)[1].replace("{file}", golden.name))
    words = words if golden.name in words else [*words, golden.name]
    (folder / golden.name).write_text(golden.read_text())
    ran = subprocess.run(["kernelc", *words], cwd=folder, capture_output=True, text=True, timeout=120)
    checks.expect(f"{golden.name} writes a page", ran.returncode == 0, ran.stderr)
    return (folder / words[words.index("--html") + 1]).read_text()


def check_picture(name, page, begin, end):
    text = page[begin:end]
    picture = ElementTree.fromstring(text)
    width = float(picture.get("width") or picture.get("viewBox").split()[2])
    adapts = "svg { max-width: 100%" in page or page[:begin].rstrip().endswith('<div class="picture">')
    checks.expect(f"{name}: a picture of {width:g} pixels fits on a phone", width <= WIDEST or adapts, text[:100])
    for element in picture.iter():
        tag = element.tag.split("}")[-1]
        if tag == "text":
            checks.expect(f"{name}: texts have the colour of the page", element.get("fill") is None, text[:100])
        if tag in ("rect", "line", "path") and element.get("stroke") == "#000":
            checks.expect(f"{name}: no line is black", False)


def check_page(name, page):
    checks.expect(f"{name}: the page adapts to the width of the screen", 'name="viewport"' in page)
    checks.expect(f"{name}: the page can be dark", "color-scheme: light dark" in page and "fill: currentColor" in page)
    checks.expect(f"{name}: the page has a title and a heading", re.search(r"<title>(.+)</title>", page)[1] == re.search(r"<h1>(.+)</h1>", page)[1])
    pictures = [found.span() for found in re.finditer(r"<svg.*?</svg>", page, re.DOTALL)]
    for begin, end in pictures:
        check_picture(name, page, begin, end)
    return len(pictures)


def take_shots(page, name, folder):
    for width, (scheme, setting) in itertools.product((1280, 400), SCHEMES.items()):
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},900",
                        f"--blink-settings=preferredColorScheme={setting}", f"--screenshot={folder}/{name}-{width}-{scheme}.png",
                        f"file://{page}"], capture_output=True, timeout=120, check=True)


def main():
    goldens = [path for path in sorted(GOLDEN.glob("explain_*_html.kdl"))]
    pictures = 0
    with tempfile.TemporaryDirectory() as name:
        for golden in goldens:
            page = page_of(golden, pathlib.Path(name))
            pictures += check_page(golden.stem, page)
            if sys.argv[1:2] == ["--shots"]:
                (pathlib.Path(name) / "page.html").write_text(page)
                take_shots(pathlib.Path(name) / "page.html", golden.stem, sys.argv[2])
    checks.expect("pages and pictures were found", len(goldens) >= 4 and pictures >= 4, f"{len(goldens)} {pictures}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
