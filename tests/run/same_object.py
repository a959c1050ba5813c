#!/usr/bin/env python3
"""Checks that KIR text is complete: compiling the output of `--emit ir --locs` as .kir gives the same
objects. The text must be trusted, because otherwise the decisions that passes have recorded in programs are
ignored. Only the hash in the module's name differs."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def contents(path, code):
    """Returns sections, relocations and symbols; the order of symbol names in the file depends on the hash."""
    path.write_bytes(code)
    words = ["objdump", "-s", "-r", "-t", path]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\n", 2)[2]


def build(source, folder, *options):
    subprocess.run(["kernelc", "build", source, "-o", folder, *options], check=True, timeout=120)
    objects = {path: path.read_bytes() for path in sorted(pathlib.Path(folder).glob("*.o"))}
    for found in set(re.findall(rb"#([0-9a-f]{8})\0", b"".join(objects.values()))):
        objects = {path: code.replace(found, b"0" * 8) for path, code in objects.items()}
    return {path.name: contents(path, code) for path, code in objects.items()}


def main():
    failed = 0
    samples = sorted((ROOT / "samples").glob("*/*.kdl"))
    for sample in samples:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            direct = build(sample, folder / "direct", "--emit", "obj")
            build(sample, folder / "text", "--emit", "ir", "--locs")
            again = build(folder / "text" / f"{sample.stem}.kir", folder / "again", "--trust-ir", "--emit", "obj")
            if not direct or direct != again:
                failed += 1
                print(f"{sample}: {sorted(n for n in direct if direct[n] != again.get(n))} differ")
    print(f"{len(samples) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not samples else 0)


if __name__ == "__main__":
    main()
