#!/usr/bin/env python3
"""Tests every kernel with a contract, in the samples, the library and the families next to this file, with
random shapes, inputs and numbers of cores. A contract that would accept an output of zeros, of ones, or a
copy of an input is too weak, and fails here, too, unless a list below gives a reason. By default a fifth of
the files is tested, selected anew each day; `contracts.py --all` tests all."""
import pathlib
import re
import subprocess
import sys

from shared import contracts, seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["samples", "stdlib", "tests/run/families", "tests/bench/kernels"]
# (file, kernel): the reason why the contract accepts such outputs.
ACCEPTING = {("stdlib/linalg.kdl", "quantize"): "with the two digits of f8e5m2, an element may differ by as much as it is large"}


def files_with_contracts():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.kdl")):
            if re.search(r'\bensures\b|^test "', path.read_text(), re.MULTILINE):
                yield path


def kernels_without_contract():
    """Yields kernels of the samples, the library and the families that have neither a contract nor any other
    test."""
    for folder in FOLDERS[:3]:
        for path in sorted((ROOT / folder).rglob("*.kdl")):
            for name, has_contract in contracts.kernels(path):
                if not has_contract:
                    yield f"{path.relative_to(ROOT)}: kernel '{name}' has no `ensures`"


def complaints(output):
    """Yields the lines of a test's output, over several files, that are about contracts that accept too
    much."""
    path = ""
    for line in output.splitlines():
        if (ROOT / line).is_file():
            path = line
        accepts = re.match(r"(\S+).* ok, but would accept (.*)", line)
        if accepts and (path, accepts[1].split(".")[0]) not in ACCEPTING:
            yield f"{path}: the contract of '{accepts[1]}' would accept {accepts[2]}"


def main():
    faults = list(kernels_without_contract())
    files = seeds.one_in(5, [str(path.relative_to(ROOT)) for path in files_with_contracts()])
    if len(files) < 8:
        faults.append(f"only {len(files)} files with contracts were found")
    # All files are in a single call, which runs them in parallel.
    process = subprocess.run(["kernelc", "test", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        faults += [part for part in re.split(r"(?m)^(?=\S+\.kdl$)", process.stdout) if "FAILED" in part]
        faults.append(process.stderr)
    faults += complaints(process.stdout)
    print("\n".join(faults) if faults else f"{len(files)} files keep their contracts")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
