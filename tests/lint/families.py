#!/usr/bin/env python3
"""Fails if code of the compiler outside src/targets, or of runtime/core, which all devices share, names a kind of
device, such as `cuda`. Such code must find the kind by its purpose, with targets/kinds.h or kdl/own_device.h.

`families.py [ROOT]` checks the tree at ROOT, by default the project's own.
"""

import pathlib
import re
import sys

FAMILIES = "src/targets"
CHECKED = ("src", "runtime/core")
# Matches a row of the table of a family's kinds.
ROW = re.compile(r'^\s*\{"([\w-]+)", [^,]+, [^,]+, \w+,?$', re.MULTILINE)


def kinds(root):
    return {kind for file in sorted((root / FAMILIES).glob("*/*.cpp")) for kind in ROW.findall(file.read_text())}


def complaints(root):
    words = kinds(root)
    if not words:
        return [f"{FAMILIES}: no family has a row of a kind"]
    literal = re.compile(r'(?<!\\)"(' + "|".join(sorted(words)) + r')"')
    problems = []
    for file in sorted(file for folder in CHECKED for file in (root / folder).rglob("*")):
        name = file.relative_to(root)
        if file.suffix not in (".cpp", ".h", ".def") or name.as_posix().startswith(FAMILIES + "/"):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for kind in literal.findall(line):
                problems.append(f'{name}:{number}: names the kind "{kind}"; targets/kinds.h and kdl/own_device.h say what it is for')
    return problems


def main():
    here = pathlib.Path(__file__).resolve().parent.parent.parent
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    problems = complaints(root)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
