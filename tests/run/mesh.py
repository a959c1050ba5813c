#!/usr/bin/env python3
"""Tests a family of targets outside the compiler (tests/mesh).

Compares kernels of the samples and of tests/run/families with their contracts until the time limit is
reached; the selection changes every day. Also checks the results of the target family's own matrix
instruction, and that a race of threads is found if its barriers are removed.

tests/run/mesh.py --seconds 10000    # all kernels
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from shared import checks, contracts

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ["matmul", "moe", "softmax", "two_devices"]
PRODUCT = """
export kernel product(a: in TYPE[M, K], b: in TYPE[K, N], c: out f32[M, N]) {
    spmd for i in M by 8, j in N by 8 {
        var acc: f32[i, j] = 0;
        for k in K by 16 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""


def run(*words, tool="kernelc_mesh"):
    return subprocess.run([tool, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=600)


def contract(case, draw):
    """Tests a kernel's contract on a random number of cores."""
    file, kernel = case
    cores = draw.choice([1, 2, 3, 1000])
    done = run("test", file, "--kernel", kernel, "--target", "mesh", "--core-num", cores)
    return f"contract of {kernel} in {file} on {cores} cores", done.returncode == 0, done.stdout + done.stderr


def drawn(folder):
    """Writes f16 values that use all of their digits."""
    draw = np.random.default_rng(1)
    for name, shape in (("a", (5, 203)), ("b", (203, 7))):
        np.save(folder / f"{name}.npy", draw.standard_normal(shape).astype(np.float16))
    return ["--arg", f"a=@{folder}/a.npy", "--arg", f"b=@{folder}/b.npy"]


def steps(a, b):
    """Returns the matrix instruction's results: f32 products, eight of which at a time are added in pairs of
    neighbours."""
    depth, blocks = 8, -(-a.shape[1] // 8)
    wide = np.zeros((a.shape[0], blocks * depth), np.float32), np.zeros((blocks * depth, b.shape[1]), np.float32)
    wide[0][:, : a.shape[1]], wide[1][: b.shape[0]] = a, b
    acc = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for block in range(blocks):
        at = slice(block * depth, (block + 1) * depth)
        terms = wide[0][:, at, None] * wide[1][None, at, :]
        while terms.shape[1] > 1:
            terms = terms[:, 0::2] + terms[:, 1::2]
        acc = acc + terms[:, 0]
    return acc


def result(folder, name, target, arguments):
    out = folder / f"{target}.npy"
    done = run("run", folder / f"{name}.kdl", "--target", target, "--verify", *arguments, "--out", f"c=@{out}")
    checks.expect(f"{name} on {target} equals the reference", "bit for bit" in done.stdout, done.stdout + done.stderr)
    return np.load(out)


def numbers(folder):
    for scalar in ("f16", "bf16", "f32"):
        (folder / f"{scalar}.kdl").write_text(PRODUCT.replace("TYPE", scalar))
    arguments = drawn(folder)
    of_unit = steps(np.load(folder / "a.npy"), np.load(folder / "b.npy"))
    here, there = (result(folder, "f16", target, arguments) for target in ("host", "mesh"))
    checks.expect("the unit's steps are as its row says", (there == of_unit).all(), f"{there}\n{of_unit}")
    checks.expect("the host has no such unit", (there != here).any(), f"{there}\n{here}")
    sizes = ["--set", "M=5", "--set", "N=7", "--set", "K=61"]
    for scalar in ("bf16", "f32"):
        here, there = (result(folder, scalar, target, sizes) for target in ("host", "mesh"))
        checks.expect(f"{scalar} has one definition", (there == here).all(), f"{there}\n{here}")


def without_barriers(folder):
    for last, holds in (("insert-barriers", True), ("lower-stages-to-state-machine", False)):
        done = run("build", folder / "f32.kdl", "--target", "mesh", "--emit", "ir", f"--stop-after={last}", "-o", folder)
        checks.expect(f"lowered to {last}", done.returncode == 0, done.stderr)
        text = folder / "f32.kir"
        text.write_text("".join(line for line in text.open() if not line.startswith('after "')))
        done = run("run", text, "--target", "reference", "--trust-ir", "--set", "M=9", "--set", "N=9", "--set", "K=33")
        checks.expect(f"after {last}", (done.returncode == 0) == holds and (holds or re.search("(without a|last) barrier|has not been written", done.stderr)), done.stderr)


def limits(folder):
    (folder / "large.kdl").write_text(PRODUCT.replace("TYPE", "f32").replace("by 8", "by 4096"))
    for target, tool, holds in (("mesh", "kernelc_mesh", False), ("host", "kernelc", True)):
        done = run("build", folder / "large.kdl", "--target", target, "-o", folder, tool=tool)
        text = "a core of mesh has 16 MiB [E0437]"
        checks.expect(f"memory of a core of {target}", holds == (done.returncode == 0) and holds == (text not in done.stderr), done.stderr)


def beside_others(folder):
    done = run("build", folder / "f32.kdl", "--target", "host", "--target", "mesh", "-o", folder)
    object_file = folder / "f32.host.o"
    checks.expect("one object has both", done.returncode == 0 and b"workgroup 4" in object_file.read_bytes(), done.stderr)
    done = run("build", folder / "f32.kdl", "--target", "mesh", "-o", folder, tool="kernelc")
    checks.expect("kernelc itself knows nothing of it", "unknown kind 'mesh'" in done.stderr, done.stderr)


def main():
    options = contracts.options(__doc__.splitlines()[0], 5)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        numbers(folder)
        without_barriers(folder)
        beside_others(folder)
        limits(folder)
    files = [file for sample in SAMPLES for file in (ROOT / "samples" / sample).glob("*.kdl")]
    cases = contracts.with_contracts([*files, *(ROOT / "tests/run/families").glob("*.kdl")])
    contracts.sample(cases, contract, options.seconds)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
