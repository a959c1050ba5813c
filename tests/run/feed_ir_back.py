#!/usr/bin/env python3
"""The text form is the module: `--emit ir --locs` of each sample, fed back as .kir, gives the same objects."""

import pathlib
import subprocess
import sys
import tempfile

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


def build(source, out, *options):
    subprocess.run(["kernelc", "build", str(source), "-o", str(out), *options], check=True, timeout=300)


def main():
    different = 0
    for source in sorted(SAMPLES.glob("*/*.kdl")):
        with tempfile.TemporaryDirectory(prefix="ir-") as scratch:
            folder = pathlib.Path(scratch)
            build(source, folder / "direct", "--emit=obj,ir", "--locs")
            build(folder / "direct" / f"{source.stem}.kir", folder / "again", "--emit=obj")
            for made in sorted((folder / "again").iterdir()):
                if made.read_bytes() != (folder / "direct" / made.name).read_bytes():
                    print(f"{source.name}: {made.name} differs when it comes from the KIR text")
                    different += 1
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
