#!/usr/bin/env python3
"""Tests the site that samples/site/make.py writes: every link leads to a page and an anchor, nothing comes from a network,
the search knows every section, and the pictures of the gallery show something. The OpenMP program of the guide compiles."""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def check_links(folder):
    pages = {path.name: path.read_text() for path in folder.glob("*.html")}
    anchors = {name: set(re.findall(r'\bid="([^"]+)"', page)) for name, page in pages.items()}
    links = 0
    for name, page in pages.items():
        for address in map(html.unescape, re.findall(r'<a (?:[^>]* )?href="([^"]*)"', page)):
            if re.match(r"[a-z]+:", address):
                continue
            path, _, anchor = address.partition("#")
            links += 1
            checks.expect(f"{name}: the link {address}", (path or name) in pages and (not anchor or anchor in anchors[path or name]))
        assets = re.findall(r'\bsrc="([^"]*)"|<link [^>]*href="([^"]*)"', page)
        for asset in (one or other for one, other in assets):
            checks.expect(f"{name}: {asset} is a file of the site", (folder / asset).is_file())
    checks.expect("pages and links were found", len(pages) > 30 and links > 1000, f"{len(pages)} pages, {links} links")
    return anchors


def check_search(folder, anchors):
    text = (folder / "index.js").read_text()
    sections = json.loads(text.removeprefix("const SECTIONS = ").rstrip(";\n"))
    for page, anchor, title, _ in sections:
        checks.expect(f"the section {title} exists", not anchor or anchor in anchors[page])
    titles = {title for _, _, title, _ in sections}
    for wanted in ("Ranges", "Windows", "std.nn.softmax", "From Triton", "Gallery"):
        checks.expect(f"the search knows {wanted}", wanted in titles)
    checks.expect("the search knows the diagnostics", any(title.startswith("E0302: ") for title in titles))


def check_pictures(folder):
    pictures = sorted((folder / "pictures").glob("*.png"))
    checks.expect("there are pictures", len(pictures) >= 8)
    for path in pictures:
        data = path.read_bytes()
        at = data.index(b"IDAT")
        length = int.from_bytes(data[at - 4:at], "big")
        pixels = zlib.decompress(data[at + 4:at + 4 + length])
        checks.expect(f"{path.name} shows something", len(set(pixels)) > 2)


def check_openmp():
    page = (ROOT / "samples/guide/coming_from.md").read_text()
    program = next(code for code in re.findall(r"^```cpp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "#pragma omp" in code)
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "softmax.cpp"
        file.write_text(program)
        made = subprocess.run(["g++", "-fopenmp", "-Wall", "-Werror", "-c", str(file), "-o", str(file) + ".o"], capture_output=True, text=True)
    checks.expect("the OpenMP program compiles", made.returncode == 0, made.stderr)


def main():
    if subprocess.run([sys.executable, "-c", "import markdown, numpy"], capture_output=True).returncode != 0:
        print("skipped: Python's markdown or NumPy is missing")
        return SKIPPED
    check_openmp()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "site"
        made = subprocess.run([sys.executable, str(ROOT / "samples/site/make.py"), str(folder)], capture_output=True, text=True, timeout=600)
        checks.expect("the site is made", made.returncode == 0, made.stderr)
        if made.returncode == 0:
            check_search(folder, check_links(folder))
            check_pictures(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
