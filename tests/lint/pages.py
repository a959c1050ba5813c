#!/usr/bin/env python3
"""Fails if a table of src/DECISIONS.md or src/ADDING.md names a missing file or, in the last of three
columns, a name that is in no file of its row.

Files are given relative to src/, include/ or the root. A file without a folder is in the folder of the file
before it.

`pages.py [ROOT]` checks the tree at ROOT, by default the project's own.
"""

import pathlib
import re
import sys

PAGES = ["src/DECISIONS.md", "src/ADDING.md"]
IS_FILE = re.compile(r"[\w./-]+\.(?:cpp|h|hpp|def|g4|md|py|txt|in)")
IS_NAME = re.compile(r"[\w:]+")


def find(root, name, folder):
    """Returns the file or folder with that name, or None."""
    places = [root / "src", root / "include", root] + ([folder] if folder and "/" not in name else [])
    return next((place / name for place in reversed(places) if (place / name).exists()), None)


def faults_of(root, page):
    for number, line in enumerate((root / page).read_text().splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or len(cells) < 2:
            continue
        files, folder = [], None
        for name in re.findall(r"`([^`]+)`", cells[1]):
            if not IS_FILE.fullmatch(name) and not (IS_NAME.fullmatch(name.replace("/", "")) and "/" in name):
                continue
            file = find(root, name, folder)
            if file is None:
                yield f"{page}:{number}: there is no {name}"
                continue
            folder = file.parent if file.is_file() else file
            files += [file] if file.is_file() else [f for f in file.rglob("*") if f.is_file()]
        if len(cells) < 3:
            continue
        text = "".join(file.read_text() for file in files)
        for name in re.findall(r"`([^`]+)`", cells[2]):
            last = name.split("::")[-1]
            if IS_NAME.fullmatch(name) and not re.search(rf"\b{last}\b", text):
                yield f"{page}:{number}: no file of the row has {name}"


def complaints(root):
    for page in PAGES:
        if (root / page).exists():
            yield from faults_of(root, page)


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    problems = list(complaints(root.resolve()))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
