#!/usr/bin/env python3
"""KIR text is a complete form: what `--emit ir --locs` prints, given back as .kir, makes the same objects."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(source, folder, *options):
    subprocess.run(["kernelc", "build", source, "-o", folder, *options], check=True, timeout=120)
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).glob("*.o")}


def main():
    failed = 0
    samples = sorted((ROOT / "samples").glob("*/*.kdl"))
    for sample in samples:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            direct = build(sample, folder / "direct", "--emit", "obj")
            build(sample, folder / "text", "--emit", "ir", "--locs")
            again = build(folder / "text" / f"{sample.stem}.kir", folder / "again", "--emit", "obj")
            if not direct or direct != again:
                failed += 1
                print(f"{sample}: {sorted(n for n in direct if direct[n] != again.get(n))} differ")
    print(f"{len(samples) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not samples else 0)


if __name__ == "__main__":
    main()
