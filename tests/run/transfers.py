#!/usr/bin/env python3
"""Removes one transfer, move or event at a time from programs for two devices, as KIR text.

If a transfer, move or event is missing, the debug device must report it, or the results must differ. Complete
programs must run clean, so that nothing is reported without reason.

tests/run/transfers.py            # all of tests/run/transfers.kdl
tests/run/transfers.py --show     # what is removed, and the resulting message
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "transfers.kdl"
DEVICES = ["--device", "one=debug?seed=1", "--device", "two=debug[1]?seed=2"]
MOVE = re.compile(r"^\s*(?:(?P<results>%[\w.]+(?:, %[\w.]+)?) = )?(?P<kind>transfer|relocate|copy_back|mark)\b\s*(?P<tensor>%[\w.]+)?")
AFTER = re.compile(r"after\(([^)]*)\)")


def kernelc(folder, *arguments):
    return subprocess.run(["kernelc", *arguments], cwd=folder, capture_output=True, text=True, timeout=120)


def without_value(lines, name, other):
    """Returns the text with a value replaced by `other`. In the lists of events to wait for, the value is
    removed instead."""
    word = re.compile(re.escape(name) + r"(?![\w.])")
    kept = []
    for line in lines:
        def drop(after):
            return "after(" + ", ".join(e for e in after[1].split(", ") if e and e != name) + ")"
        line = AFTER.sub(drop, line)
        if re.match(r"\s*free " + re.escape(name) + r"(?![\w.])", line):
            continue
        kept.append(word.sub(other, line) if other else line)
    return kept


def without_line(lines, at, match):
    """Returns the text without the op on a line, and without freeing the tensor that replaces a transfer's
    result."""
    results = (match["results"] or "").split(", ")
    rest = lines[:at] + lines[at + 1:]
    if match["kind"] == "transfer":
        tensor = match["tensor"]
        rest = [line for line in rest if not re.match(rf"\s*free {re.escape(tensor)}(?![\w.])", line)]
        rest = without_value(rest, results[0], tensor)
    return without_value(rest, results[-1], None)


def changes(lines):
    """Yields (what is removed, the lines without it) for each op and event of a program."""
    for at, line in enumerate(lines):
        match = MOVE.match(line)
        if match:
            yield line.strip(), without_line(lines, at, match)
        after = AFTER.search(line)
        if not after or line.strip().startswith("free"):
            continue
        events = after[1].split(", ") if after[1] else []
        for event in events:
            rest = ", ".join(e for e in events if e != event)
            yield f"{event} of {line.strip()}", [*lines[:at], line[:after.start(1)] + rest + line[after.end(1):],
                                                 *lines[at + 1:]]


def parts(lines, program):
    """Returns the lines before a program, the program's lines, and the lines after the program."""
    begin = next(n for n, line in enumerate(lines) if re.match(rf"program @{program}\b", line))
    end = next(n for n in range(begin, len(lines)) if lines[n] == "}")
    return lines[:begin], lines[begin:end], lines[end:]


# The devices of a caller's tensors, for parameters without `on`. They differ from the device that uses the
# parameters first.
ELSEWHERE = {"lent": ["  lives %x on @one", "  lives %y on @two"]}


def run(folder, name, program):
    sizes = ["--set", "N=256"] + (["--set", "B=3"] if program == "batches" else [])
    done = kernelc(folder, "run", name, "--trust-ir", "--program", program, *sizes, *DEVICES, "--out", "y=@y.npy")
    return done, np.load(folder / "y.npy") if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true", help="prints each change and what is said then")
    options = parser.parse_args()
    programs = re.findall(r"export program (\w+)", SOURCE.read_text())
    failed = passed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        built = kernelc(folder, "build", str(SOURCE), "--emit", "ir", "--stop-after=order-launches")
        if built.returncode != 0:
            sys.exit(built.stderr)
        lines = built.stdout.splitlines()
        for program in programs:
            before, own, after = parts(lines, program)
            own[1:1] = ELSEWHERE.get(program, [])
            (folder / "whole.kir").write_text("\n".join([*before, *own, *after]) + "\n")
            done, expected = run(folder, "whole.kir", program)
            if done.returncode != 0:
                sys.exit(f"{program}, nothing taken out:\n{done.stderr}")
            for what, text in changes(own):
                (folder / "part.kir").write_text("\n".join([*before, *text, *after]) + "\n")
                done, result = run(folder, "part.kir", program)
                said = done.stderr.strip().splitlines()[0] if re.search(r"\[E09(59|60)\]", done.stderr) else ""  # a device reports it, or a launch
                differs = result is not None and result.tobytes() != expected.tobytes()
                found = bool(said) or differs
                passed, failed = passed + found, failed + (not found)
                if options.show or not found:
                    print(f"{program}: without {what}\n  {said or ('differs' if differs else 'NOTHING: ' + done.stderr)}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
