#!/usr/bin/env python3
"""Runs random kernels in the interpreter after a target's passes, with a check for races of threads, and
compares the bits with those of the original kernels. No driver is needed.

tests/fuzz/lowered.py --kernels 2000    # any number of kernels; --first SEED repeats one
"""

import itertools
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "run")]
from shared import seeds  # noqa: E402
from files import File  # noqa: E402
from names import FLOATS  # noqa: E402

TARGET = "opencl"
LIMIT_S = 120
REFUSED = ("[E0418]", "[E0422]")  # errors for kernels that the proofs refuse for every target


def run(arguments):
    return subprocess.run(["kernelc", *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S)


def open_tensors(kernel):
    """Returns the tensors whose values are unspecified, because updates store one of several values, or add or
    multiply floats in an unspecified order."""
    found = set()
    for line in str(kernel.tree).splitlines():
        if not line.startswith("atomic "):
            continue
        name = line.removeprefix("atomic ").split("[", 1)[0]
        depth = 0
        for at, sign in enumerate(line):
            depth += {"[": 1, "]": -1}.get(sign, 0)
            if sign == "]" and depth == 0:
                break
        how = line[at + 1:].split()[0]
        of_floats = any(t.name == name and t.type in FLOATS for t in kernel.tensors)
        if how == "=" or (how in ("+=", "-=", "*=") and of_floats):
            found.add(name)
    return found


def outputs(file, kernel, cores, inputs, folder):
    """Runs a file in the interpreter and returns (exit code, {tensor: bytes of its file}, output)."""
    tensors = [t for t in kernel.tensors if t.direction in ("in", "out", "inout")]
    named = {dim for tensor in tensors for dim in tensor.dims}
    words = ["run", file, "--target", "reference", "--core-num", cores]
    words += [word for name, value in kernel.sizes.items() if name in named for word in ("--set", f"{name}={value}")]
    for seed, tensor in enumerate(t for t in tensors if t.direction != "out"):
        words += ["--arg", f"{tensor.name}={inputs}:{seed}"]
    # Give all inputs. Otherwise the interpreter would choose missing inputs depending on the kernel's
    # loops, which differ between the original and the lowered text.
    for seed, scalar in enumerate(kernel.scalars, len(tensors)):
        words += ["--arg", f"{scalar.name}=random:{seed}"]
    written = [t.name for t in tensors if t.direction != "in"]
    for name in written:
        words += ["--out", f"{name}=@{folder / name}.npy"]
    done = run([*words, *(["--trust-ir"] if file.suffix == ".kir" else [])])
    bits = {name: (folder / f"{name}.npy").read_bytes() for name in written} if done.returncode == 0 else {}
    return done.returncode, bits, done.stderr


def drawn(seed):
    """Returns the first file generated from the seed that contains only a kernel without prints, so that the
    interpreter can run its lowered text."""
    for number in itertools.count():
        kernel = File(seed + number * 1000003)
        if not kernel.callees and "print(" not in str(kernel.tree):
            return kernel


def after(last, source, pipes, target=TARGET):
    """Runs the passes up to `last` on the kernel, and writes the result as KIR that the interpreter runs
    without further passes. Returns None if the kernel is refused."""
    folder = source.parent / last
    done = run(["build", source, "--target", target, *pipes, "--emit", "ir", f"--stop-after={last}", "-o", folder])
    if done.returncode == 1 and any(code in done.stderr for code in REFUSED):
        return None
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    text = folder / f"{source.stem}.kir"
    text.write_text("".join(line for line in text.open() if not line.startswith('after "')))
    return text


def check(folder, seed):
    """Returns what is wrong with a seed's kernel, or None."""
    kernel = drawn(seed)
    place = folder / str(seed)
    place.mkdir()
    source = place / f"k{seed}.kdl"
    source.write_text(str(kernel.tree))
    draw = random.Random(seed)
    cores = draw.choice([1, 2, 3])
    pipes = draw.choice([[], ["--pipes", "buffered"]])
    inputs = draw.choice(["random", "special"])
    try:
        first, last = after("select-tiles", source, pipes), after("canonicalize-loops", source, pipes)
        if not first:
            return None
        expected = outputs(first, kernel, cores, inputs, place)
        got = outputs(last, kernel, cores, inputs, place)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return f"{error}\n{kernel.tree}"
    if got[0] != expected[0]:
        return f"exit code {got[0]} instead of {expected[0]}, {cores} cores {pipes}\n{got[2]}{expected[2]}\n{kernel.tree}"
    told = set(expected[1]) - open_tensors(kernel)
    different = [name for name in sorted(told) if got[1][name] != expected[1][name]]
    return f"{different} differ, {cores} cores {pipes}\n{kernel.tree}" if different else None


if __name__ == "__main__":
    seeds.run("Random kernels as a target's passes leave them, against what they were.", check, 30)
