#!/usr/bin/env python3
"""Fails on source files and golden files that are too long, and on folders without a README.

`shape.py [ROOT]` checks the tree at ROOT, by default the project's own.
"""

import pathlib
import sys

LINES = {".h": 310, ".hpp": 310, ".cpp": 800, ".c": 800, ".g4": 800, ".py": 400}
README_LINES = 40
GOLDEN_LINES = 120
# Folders in which every child folder has its own purpose.
PARENTS = ["src", "src/codegen", "runtime", "stdlib", "samples", "tests"]
SINGLE = ["grammar", "include/kdl"]
NOT_OURS = ("build", ".")  # prefixes of names that are skipped


def files(root):
    for entry in sorted(root.iterdir()):
        if entry.name.startswith(NOT_OURS):
            continue
        if entry.is_dir():
            yield from files(entry)
        else:
            yield entry


def complaints(root):
    problems = []
    for file in files(root):
        name = file.relative_to(root)
        limit = LINES.get(file.suffix)
        if file.name == "README.md" and file.parent != root:
            limit = README_LINES
        elif name.parts[:2] == ("tests", "golden"):
            limit = GOLDEN_LINES
        if limit:
            lines = file.read_bytes().count(b"\n")
            if lines > limit:
                problems.append(f"{name}: {lines} lines, the limit is {limit}")
    folders = [root / s for s in SINGLE]
    for parent in PARENTS:
        children = (root / parent).iterdir() if (root / parent).is_dir() else []
        folders += [root / parent, *(c for c in children if c.is_dir())]
    for folder in sorted(set(folders)):
        holds = folder.is_dir() and any(f.is_file() for f in folder.rglob("*"))
        if holds and "__pycache__" not in folder.parts and not (folder / "README.md").is_file():
            problems.append(f"{folder.relative_to(root)}: has no README.md")
    return problems


def main():
    here = pathlib.Path(__file__).resolve().parent.parent.parent
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    problems = complaints(root)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
