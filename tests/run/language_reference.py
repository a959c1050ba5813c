#!/usr/bin/env python3
"""Compiles every example of grammar/LANGUAGE.md.

An example is a whole file in a ```kdl block. It compiles, or every error says that the compiler cannot
build something of it yet: an example with any other mistake fails.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "grammar/LANGUAGE.md"
BLOCK = re.compile(r"^```kdl\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEVICE = re.compile(r"^device (\w+)", re.MULTILINE)
ERROR = re.compile(r"^\S*: error: .*$", re.MULTILINE)


def complaint(example, folder):
    """What is wrong with an example, or None; and whether it compiled."""
    source = folder / "example.kdl"
    source.write_text(example)
    # Whatever an example's devices are, it is compiled for this one.
    devices = [f"--device={name}=host" for name in DEVICE.findall(example)]
    done = subprocess.run(["kernelc", "build", "--emit", "header", "-o", str(folder / "out"), *devices,
                           str(source)], capture_output=True, text=True, timeout=120)
    if done.returncode == 0:
        return None, True
    errors = ERROR.findall(done.stderr)
    expected = done.returncode == 1 and errors and all("not supported yet" in e for e in errors)
    return (None if expected else f"exit code {done.returncode}\n{done.stderr}"), False


def main():
    text = REFERENCE.read_text()
    examples = BLOCK.findall(text)
    wrong = compiled = 0
    with tempfile.TemporaryDirectory(prefix="reference-") as scratch:
        for number, example in enumerate(examples):
            folder = pathlib.Path(scratch) / str(number)
            folder.mkdir()
            problem, built = complaint(example, folder)
            compiled += built
            if problem:
                wrong += 1
                line = text[:text.index(example)].count("\n") + 1
                print(f"{REFERENCE.name}:{line}: {problem}")
    print(f"{compiled} of {len(examples)} examples compile, {wrong} are wrong")
    sys.exit(0 if compiled and not wrong else 1)


if __name__ == "__main__":
    main()
