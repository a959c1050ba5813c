#!/usr/bin/env python3
"""Tests that the schedule of a GPU kernel can be changed by hand, between two passes, without changing a bit of the result.

A matrix product is lowered to the text after a pass. The text is changed as a reader of src/targets/simt/schedule.md
would change it (another depth of the rings, threads that copy instead of TMA), and the compiler continues from there. The
PTX is interpreted by the tests' own driver. Wrong changes must be refused, or must be noticed when the kernel runs.
gpu_changes.py draws random changes.
"""

import pathlib
import re
import sys
import tempfile

from shared import checks, schedules
from shared.schedules import LAST

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
LOOP = re.compile(r"^( *%acc\S* = loop %\S+ in 0 \.\. %K step \d+ carry\([^)]*\))( \{ahead = \d+\})? \{$", re.MULTILINE)
FITS = re.compile(r"= tile_copy_fits %(\w) to %\S+ \{along = \[0, 1\]\} : bool$", re.MULTILINE)


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
        lowered, said = product.lower(product.write(text), "sm_90a", AFTER_RINGS)
        rings[ahead] = re.findall(r"buffer<bf16,\[(\d+),64,64\]; workgroup>", lowered or said)
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


def main():
    schedules.use_interpreted_driver()
    with tempfile.TemporaryDirectory() as folder:
        product = schedules.Kernel(pathlib.Path(folder), "product", SOURCE, ["a", "b"], "c")
        check_by_hand(product)
        check_wrong(product)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
