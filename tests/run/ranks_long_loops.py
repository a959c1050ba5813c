#!/usr/bin/env python3
"""Checks that the time of a program over ranks grows like the number of iterations of its loop: of one in which each iteration
requests other elements, and of `kernelc explain --communication` for a loop that declares a tensor.

tests/run/ranks_long_loops.py
"""

import pathlib
import resource
import sys
import tempfile

from shared import checks
from shared.rank_runs import run

FEW, MANY = 4000, 32000
# The times of a quadratic algorithm would be 64 times as long.
MOST_TIMES_LONGER = 16

PROGRAMS = {
    "other_elements": ("""
device grid = ranks();
kernel add(x: in f32[N], k: i64, y: out f32[N]) { spmd for i in N by 4096 { y[i] = x[i] + x[k]; } }
export program other_elements(x: in f32[N], y: out f32[N], steps: i64) {
    let now: f32[N] on grid by (N);
    let next: f32[N] on grid by (N);
    copy(x, now);
    for t in 0..steps {
        spmd add(now, t, next);
        swap(now, next);
    }
    copy(now, y);
}
""", ["run", "--set", "N=50000", "--arg", "x=random:1", "--device", "grid=ranks?count=2"]),
    "declared_inside": ("""
device grid = ranks();
kernel relax(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 64 { y[i] = 0.5 * (x[i - 1 else 0.0] + x[i + 1 else 0.0]); }
}
export program declared_inside(x: in f32[N], y: out f32[N], steps: i64) {
    let now: f32[N] on grid by (N);
    copy(x, now);
    for t in 0..steps {
        let next: f32[N] on grid by (N);
        spmd relax(now, next);
        spmd relax(next, now);
    }
    copy(now, y);
}
""", ["explain", "--communication", "--set", "N=1000", "--ranks", "2"]),
}


def processor_time(words, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = run(["kernelc", *words], folder)
    checks.expect(f"{' '.join(words)}: {done.stderr}", done.returncode == 0)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program, (text, words) in PROGRAMS.items():
            file = folder / f"{program}.kdl"
            file.write_text(text)
            few, many = (processor_time([*words, str(file), "--arg", f"steps={steps}"], folder) for steps in (FEW, MANY))
            checks.expect(f"{program} takes {few:.2f} s with {FEW} iterations, and {many:.2f} s with {MANY}", many < MOST_TIMES_LONGER * few)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
