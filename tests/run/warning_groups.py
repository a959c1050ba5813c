#!/usr/bin/env python3
"""Tests the warnings of -W: the library, samples, benchmarks and families have none, and mistakes that are planted in them
are found at the right line.

tests/run/warning_groups.py --plants 500    # 60 without the option
"""

import argparse
import datetime
import os
import pathlib
import random
import re
import subprocess
import sys

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["stdlib", "samples", "tests/bench", "tests/run/families", "tests/suites"]
KERNEL = re.compile(r"export kernel (\w+)\(([^{]*)\)[^{]*\{", re.S)
PARAM = re.compile(r"(\w+): in [\w.]+\[([A-Z][A-Z0-9]*), ([A-Z][A-Z0-9]*)\]")


def warnings_of(text, *options):
    """Checks a text. Returns the warnings as pairs of a line and an id, or None if it has errors, or kernels without values."""
    run = subprocess.run(["kernelc", "check", "-", *options], input=text, capture_output=True, text=True, timeout=120, cwd=ROOT)
    found = re.findall(r"^[^:\n]*:(\d+):\d+: warning: .*\[(E08\d\d)\]$", run.stderr, re.M)
    is_whole = run.returncode == 0 and "[E0409]" not in run.stderr
    return [(int(line), id) for line, id in found] if is_whole else None


def line_of(text, position):
    return text.count("\n", 0, position) + 1


# Each of these functions plants a mistake in a text. It returns the new text, the line of the mistake, and the warning that
# is due, or None if the mistake has no place there.

def plant_value(draw, text):
    loops = list(re.finditer(r"spmd for [^{;]*\{", text))
    if not loops:
        return None
    at = draw.choice(loops).end()
    return text[:at] + "\nlet planted = 1.0;\n" + text[at:], line_of(text, at) + 1, "E0801"


def plant_range(draw, text):
    kernels = list(KERNEL.finditer(text))
    if not kernels:
        return None
    at = draw.choice(kernels).end()
    return text[:at] + "\nrange planted in 4;\n" + text[at:], line_of(text, at) + 1, "E0801"


def plant_parameter(draw, text):
    kernels = [kernel for kernel in KERNEL.finditer(text) if not re.search(rf"\b{kernel[1]}\b", text[kernel.end():])]
    if not kernels:
        return None
    at = draw.choice(kernels).start(2)
    return text[:at] + "planted: f32, " + text[at:], line_of(text, at), "E0801"


def inputs(kernel, text):
    """Yields the inputs of two dimensions that the kernel reads as a whole, each with its first such element. Its indices run over
    complete sizes."""
    body = re.compile(r"^\}", re.M).search(text, kernel.end())
    end = body.start() if body else len(text)
    is_whole = lambda index: re.compile(rf"\b{index} in [A-Z]").search(text, kernel.end(), end)
    for param in PARAM.finditer(kernel[2]):
        element = re.compile(rf"\b{param[1]}\[([a-z]), ([a-z])\]").search(text, kernel.end(), end)
        if element and is_whole(element[1]) and is_whole(element[2]) and param[2] != param[3] and len(re.findall(rf"\b{param[2]}\b", kernel[2])) > 1:
            yield param, element


def plant_size(draw, text):
    """Gives the first dimension of an input a name of its own. Its uses then run over another size."""
    found = [(kernel, *found) for kernel in KERNEL.finditer(text) for found in inputs(kernel, text)]
    if not found:
        return None
    kernel, param, element = draw.choice(found)
    at = kernel.start(2) + param.start(2)
    return text[:at] + "PLANTED" + text[at + len(param[2]):], line_of(text, element.start()), "E0803"


def plant_order(draw, text):
    """Exchanges the indices of an element."""
    found = [found for kernel in KERNEL.finditer(text) for found in inputs(kernel, text)]
    if not found:
        return None
    _, element = draw.choice(found)
    swapped = f"{element[0].split('[')[0]}[{element[2]}, {element[1]}]"
    return text[:element.start()] + swapped + text[element.end():], line_of(text, element.start()), "E0803"


PLANTS = [plant_value, plant_range, plant_parameter, plant_size, plant_order]


def check_groups():
    """Every kind of warning is in a group, and the help and the guide list all groups."""
    table = re.findall(r'^KDL_WARNING\("([\w-]+)", [\w:]*::(\w+), (true|false)\)', (ROOT / "src/driver/warnings.def").read_text(), re.M)
    rows = "".join(path.read_text() for path in (ROOT / "src").glob("*/diagnostics.def"))
    kinds = set(re.findall(r'^KDL_DIAGNOSTIC\((\w+), "\w+", Warning,', rows, re.M))
    checks.expect("every kind of warning is in a group", kinds == {kind for _, kind, _ in table}, str(kinds))
    groups = {group: is_on for group, _, is_on in table}
    guide = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (yes|no) \|$", (ROOT / "samples/guide/testing.md").read_text(), re.M))
    checks.expect("the guide lists the groups", {group: {"true": "yes", "false": "no"}[on] for group, on in groups.items()}
                  == {group: guide.get(group) for group in groups}, str(guide))
    text = subprocess.run(["kernelc", "check", "--help"], capture_output=True, text=True, timeout=60).stdout
    checks.expect("the help lists the groups", ": " + ", ".join(groups) + ";" in re.sub(r"\s+", " ", text), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plants", type=int, default=60)
    options = parser.parse_args()
    check_groups()
    texts = {}
    for file in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.kdl")):
        text = file.read_text()
        found = warnings_of(text)
        if found is None:
            continue  # it needs values of parameters, or files in its folder
        checks.expect(f"no warnings: {file.relative_to(ROOT)}", not found, str(found))
        texts[file] = text
    checks.expect("most files can be checked alone", len(texts) > 40, str(len(texts)))
    draw = random.Random(os.environ.get("KDL_SEED", datetime.date.today().isoformat()))
    planted = 0
    while planted < options.plants:
        file, plant = draw.choice(list(texts)), draw.choice(PLANTS)
        made = plant(draw, texts[file])
        found = warnings_of(made[0]) if made else None
        if found is None:
            continue  # with the mistake, the file has errors
        _, line, id = made
        planted += 1
        checks.expect(f"{plant.__name__} in {file.relative_to(ROOT)}", (line, id) in found,
                      f"line {line} should have {id}, found {found}\n{made[0]}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
