#!/usr/bin/env python3
"""Tests that the schedule of a GPU kernel can be changed by hand, between two passes, without changing a bit of the result.

A matrix product is lowered to the text after a pass. The text is changed as a reader of src/targets/simt/schedule.md
would change it (another depth of the rings, threads that copy instead of TMA), and the compiler continues from there. The
PTX is interpreted by the tests' own driver. Wrong changes must be refused, or must be noticed when the kernel runs.

tests/run/gpu_schedules.py --changes 500    # more random changes
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile

import numpy

from shared import checks, seeds, teams

SOURCE = """
export kernel product<BM: int = 64, BN: int = 64, BK: int = 64>(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N]) {
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[j, k] over k); }
        c[i, j] = acc;
    }
}
"""
SIZES = [{"M": 70, "N": 9, "K": 328}, {"M": 3, "N": 133, "K": 72}, {"M": 65, "N": 5, "K": 0}]
BEFORE_RINGS = "expand-reductions"  # the loop over k still has its depth as an attribute
AFTER_RINGS = "pipeline-async-copies"
LAST = "insert-barriers"
LOOP = re.compile(r"^( *%acc\S* = loop %\S+ in 0 \.\. %K step \d+ carry\([^)]*\))( \{ahead = \d+\})? \{$", re.MULTILINE)
FITS = re.compile(r"= tile_copy_fits %(\w) to %\S+ \{along = \[0, 1\]\} : bool$", re.MULTILINE)
MOST_REFUSED = 0.2


def target(level):
    return ["--target", f"cuda?isa={level}"]


def defines(tiles):
    return [word for name, value in tiles.items() for word in ["-D", f"{name}={value}"]]


class Product:
    """The product, and what the compiler's own schedule computes."""

    def __init__(self, folder):
        self.folder = folder
        self.source = folder / "product.kdl"
        self.source.write_text(SOURCE)
        self.bits = {}

    def text(self, level, stop, tiles=(), pipeline=()):
        done = teams.kernelc("build", self.source, "--emit", "ir", f"--stop-after={stop}", *target(level), *defines(dict(tiles)), *pipeline)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, file, level, sizes, more=()):
        """Runs the kernel in the file. Returns the bytes of the result, or None, and what was said."""
        out = self.folder / "c.npy"
        out.unlink(missing_ok=True)
        given = [word for name, value in sizes.items() for word in ["--set", f"{name}={value}"]]
        done = teams.kernelc("run", file, "--kernel", "product", *target(level), *given, "--arg", "a=random:1", "--arg", "b=random:2",
                             "--core-num", "2", "--out", f"c=@{out}", *more)
        return (numpy.load(out).tobytes() if done.returncode == 0 else None), done.stdout + done.stderr

    def expected(self, level, sizes):
        key = (level, *sizes.values())
        if key not in self.bits:
            self.bits[key], said = self.run(self.source, level, sizes)
            checks.expect(f"the product runs on {level}, {sizes}", self.bits[key] is not None, said)
        return self.bits[key]

    def outcome(self, text, level, sizes, more=()):
        """Continues from a changed text. Returns 'equal', 'different' or 'refused', and what was said."""
        file = self.folder / "changed.kir"
        file.write_text(text)
        bits, said = self.run(file, level, sizes, ["--trust-ir", *more])
        if bits is None:
            return "refused", said
        return ("equal" if bits == self.expected(level, sizes) else "different"), said


def with_depth(text, ahead):
    changed, count = LOOP.subn(rf"\1 {{ahead = {ahead}}} {{", text)
    assert count == 1, text
    return changed


def without_tma(text, factors):
    """Lets threads copy these factors, although tile copies could."""
    changed = FITS.sub(lambda found: "= const false : bool" if found[1] in factors else found[0], text)
    assert changed != text or not factors, text
    return changed


def check_by_hand(product):
    rings = {}
    for ahead in [1, 2, 5]:
        text = with_depth(product.text("sm_90a", BEFORE_RINGS), ahead)
        for sizes in SIZES:
            outcome, said = product.outcome(text, "sm_90a", sizes)
            checks.expect(f"depth {ahead}, {sizes}", outcome == "equal", said)
        lowered = product.folder / "changed.kir"
        done = teams.kernelc("build", lowered, "--trust-ir", "--emit", "ir", f"--stop-after={AFTER_RINGS}", *target("sm_90a"))
        rings[ahead] = re.findall(r"buffer<bf16,\[(\d+),64,64\]; workgroup>", done.stdout)
    checks.expect("the rings have as many slots", rings == {ahead: [str(ahead + 1)] * 2 for ahead in rings}, rings)
    text = product.text("sm_90a", AFTER_RINGS)
    for factors in ["a", "b", "ab"]:
        for sizes in SIZES:
            outcome, said = product.outcome(without_tma(text, factors), "sm_90a", sizes)
            checks.expect(f"threads copy {factors}, {sizes}", outcome == "equal", said)
    for ahead in [1, 4]:
        text = with_depth(product.text("sm_80", BEFORE_RINGS), ahead)
        outcome, said = product.outcome(text, "sm_80", SIZES[0])
        checks.expect(f"copies of threads {ahead} iterations ahead", outcome == "equal", said)


WRONG = [
    ("a ring with a slot too few", r"buffer<bf16,\[4,64,64\]; workgroup>", "buffer<bf16,[3,64,64]; workgroup>"),
    ("mbarriers for other slots", r"buffer<u64,\[4\]; workgroup>", "buffer<u64,[3]; workgroup>"),
    ("a layout with more rows", r"map = \[2, 32, 4, 1,", "map = [4, 32, 4, 1,"),
    ("factors in other panels", r"swizzle = 128", "swizzle = 64"),
    ("arrivals of another number of threads", r"arrivals = 128", "arrivals = 129"),
    ("no wait for the factors", r"^ *mbarrier_wait %full.*\n", ""),
    ("no wait for the matrix instructions", r"^ *mma_wait .*\n", ""),
]


def check_wrong(product):
    text = product.text("sm_90a", LAST)
    outcome, said = product.outcome(text, "sm_90a", SIZES[0])
    checks.expect("the text of the last pass is right", outcome == "equal", said)
    for what, old, new in WRONG:
        changed, count = re.subn(old, new, text, flags=re.MULTILINE)
        checks.expect(f"{what}: there is such a place", count > 0, text)
        outcome, said = product.outcome(changed, "sm_90a", SIZES[0])
        checks.expect(f"{what} is noticed", outcome != "equal", said)


def check_random(product, changes):
    draw = random.Random(seeds.of_today())
    refused = 0
    for number in range(changes):
        level = draw.choice(["sm_90a", "sm_80"])
        tiles = {"BM": draw.choice([64, 128]), "BN": draw.choice([8, 16, 32, 64, 128]), "BK": draw.choice([16, 32, 64, 128])}
        ahead = draw.randint(1, 7)
        factors = draw.choice(["", "a", "b", "ab"]) if level == "sm_90a" else ""
        sizes = {"M": draw.randint(1, 140), "N": draw.randint(1, 140), "K": draw.randint(0, 300)}
        text = with_depth(product.text(level, BEFORE_RINGS, tiles), ahead)
        if factors:
            file = product.folder / "deep.kir"
            file.write_text(text)
            done = teams.kernelc("build", file, "--trust-ir", "--emit", "ir", f"--stop-after={AFTER_RINGS}", *target(level))
            text = without_tma(done.stdout, factors) if FITS.search(done.stdout) else done.stdout
        outcome, said = product.outcome(text, level, sizes)
        refused += outcome == "refused"
        checks.expect(f"change {number}: {level}, {tiles}, {ahead} ahead, threads copy '{factors}', {sizes}", outcome != "different", said)
    checks.expect(f"{refused} of {changes} changes are refused", refused <= MOST_REFUSED * changes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=12, help="the number of random changes (default: 12)")
    options = parser.parse_args()
    fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
    os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    with tempfile.TemporaryDirectory() as folder:
        product = Product(pathlib.Path(folder))
        check_by_hand(product)
        check_wrong(product)
        check_random(product, options.changes)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
