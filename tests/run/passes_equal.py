#!/usr/bin/env python3
"""Checks that the output of a pass in a golden file computes the same as its source.

Covers each file of tests/golden/passes whose command prints the KIR after a pass. The interpreter runs its
kernels from the file and from the whole printed text, with the same sizes and random arguments. All outputs
must be equal bit for bit, or both runs must stop in the same way. The selection of files changes every day;
no file is started after the time limit.

tests/run/passes_equal.py --seconds 10000    # all files
"""

import argparse
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np

from shared import seeds

GOLDENS = pathlib.Path(__file__).resolve().parents[1] / "golden/passes"
LIMIT_S = 60
SIZES = [1, 2, 3, 5, 9, 17, 33]
TRIES = 2
LEAST_RUNS = 50
RACE = "with no `sync` between"
UNTRUE = "does not hold"
SEVERAL = "[E0976]"  # a text for several targets cannot be run
KERNEL = re.compile(r'^kernel @("?)([\w.\-]+)\1 (?:types\(.*?\) )?(?:dims\((.*?)\) )?(?:\{.*?\} )?\((.*)\) \{$', re.MULTILINE)
PARAM = re.compile(r"%(\w+): tensor<\w+,\[[^\]]*\]> (inout|in|out)")
AXIS = re.compile(r"^ *axis (\S+) = \S+ by (\d+)$", re.MULTILINE)
WHOLE = re.compile(r"make_block %\w+, %(\w+), %\w+ : block<(\S+)>")  # a whole dimension is one block
STOP = re.compile(r"--stop-after=([\w-]+)")


def source_of(text):
    """Returns the text without the expected output."""
    lines = text.split("//=== ")[0].splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("//~"))


def arguments(text):
    """Returns the words of the command if it prints a text that can be processed further."""
    command = re.search(r"^//! args: (.*)$", text, re.MULTILINE)
    if not command or "//! exit:" in text or not STOP.search(command[1]):
        return None
    return shlex.split(command[1])


class Kernel:
    def __init__(self, found, source):
        self.name = found[2]
        self.dims = re.findall(r"%(\w+)", found[3] or "")
        self.tensors = PARAM.findall(found[4])
        extents = dict(AXIS.findall(source))
        self.most = {dim: int(extents[axis]) for dim, axis in WHOLE.findall(source) if axis in extents}

    def command(self, file, seed, folder, target, trust=True):
        draw = random.Random(seed)
        words = ["kernelc", "run", str(file), "--kernel", self.name, "--target", target, "--core-num", "3"]
        words += ["--trust-ir"] if trust else []
        for dim in self.dims:
            words += ["--set", f"{dim}={min(draw.choice(SIZES), self.most.get(dim, SIZES[-1]))}"]
        for name, direction in self.tensors:
            if direction != "out":
                words += ["--arg", f"{name}=random:{seed}"]
            if direction != "in":
                words += ["--out", f"{name}=@{folder / name}.npy"]
        return words

    def run(self, file, seed, folder, target, trust=True):
        folder.mkdir()
        command = self.command(file, seed, folder, target, trust)
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        outputs = {path.name: np.load(path).tobytes() for path in sorted(folder.iterdir())}
        return done.returncode, outputs, done.stderr


def reference(words):
    """Returns the interpreter's spec for the target that the command compiles for."""
    for flag, value in zip(words, words[1:]):
        if flag == "--target":
            return value.replace("host", "reference", 1)
    return "reference"


def compare(golden, scratch):
    """Returns (kernels compared, complaints) for one file."""
    text = golden.read_text()
    words = arguments(text)
    if words is None:
        return 0, []
    scratch.mkdir()
    before = scratch / golden.name
    before.write_text(source_of(text))
    printed = subprocess.run(["kernelc", *words, golden.name], cwd=scratch, capture_output=True, text=True, timeout=LIMIT_S)
    if printed.returncode != 0 or "\n// after" in printed.stdout:
        return 0, []
    after = scratch / "after.kir"
    after.write_text(printed.stdout)
    count, problems = 0, []
    for kernel in [Kernel(found, text) for found in KERNEL.finditer(printed.stdout)]:
        for seed in range(1, TRIES + 1):
            folder = scratch / f"{kernel.name}.{seed}"
            target = reference(words)
            watched = target + ("&" if "?" in target else "?") + "sanitize=races+init"
            first = kernel.run(before, seed, pathlib.Path(f"{folder}.watched"), watched)
            if RACE in first[2]:
                continue  # the kernel's result is unspecified
            if first[0] != 0:  # a sanitized run may also stop where others do not
                first = kernel.run(before, seed, pathlib.Path(f"{folder}.before"), target)
            if first[0] != 0 and not first[1]:
                continue  # the kernel needs other sizes or data
            second = kernel.run(after, seed, pathlib.Path(f"{folder}.after"), target)
            if SEVERAL in second[2]:
                continue
            if UNTRUE in second[2] and UNTRUE in kernel.run(before, seed, pathlib.Path(f"{folder}.own"), target, False)[2]:
                continue  # the text contains a false assumption, and its launch is refused unless the text is trusted
            count += 1
            if first[:2] != second[:2]:
                differ = [name for name in first[1] if first[1][name] != second[1].get(name)]
                problems.append(f"{golden.name}: @{kernel.name}: {', '.join(differ)} after {STOP.search(' '.join(words))[1]}\n"
                                f"{' '.join(kernel.command(after, seed, folder, target))}\n{second[2]}")
    return count, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="a large number tries all (default: %(default)s)")
    end = time.monotonic() + parser.parse_args().seconds
    seed = seeds.of_today()
    goldens = [golden for golden in sorted(GOLDENS.iterdir()) if golden.suffix in (".kdl", ".kir")]
    random.Random(seed).shuffle(goldens)
    total, files, problems = 0, 0, []
    with tempfile.TemporaryDirectory(prefix="passes-") as name:
        for golden in goldens:
            if total >= LEAST_RUNS and time.monotonic() > end:
                break
            count, found = compare(golden, pathlib.Path(name) / golden.name.replace(".", "_"))
            total += count
            files += count > 0
            problems += found
    print("\n".join(problems))
    print(f"{total} runs of {files} files compared (KDL_SEED={seed})")
    sys.exit(1 if problems or total < LEAST_RUNS else 0)


if __name__ == "__main__":
    main()
