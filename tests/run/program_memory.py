#!/usr/bin/env python3
"""Checks that a program does not need more memory with each iteration of its loops: neither for operations that have ended,
nor for tensors and slices that it no longer uses."""

import os
import pathlib
import subprocess
import sys
import tempfile

KERNEL = "kernel halve(x: in f32[M, N], y: out f32[M, N]) { spmd for i in M by 16, j in N by 4096 { y[i, j] = 0.5 * x[i, j]; } }\n"
# Each with the sizes, two numbers of iterations, and the most KiB by which the memory may grow. A tensor of the first
# program has 4 MiB, and at most 64 operations are on their way.
PROGRAMS = [
    ("tensors", "M=1 N=1000000", (50, 400), 300_000, """export program run(x: in f32[M, N], y: out f32[M, N], steps: i64) {
    copy(x, y);
    for t in 0..steps { let h: f32[M, N]; spmd halve(x, h); copy(h[0..M, 0..N / 2], y[0..M, 0..N / 2]); }
}
"""),
    ("slices", "M=4 N=8", (10_000, 200_000), 40_000, """export program run(x: in f32[M, N], y: out f32[M, N], steps: i64) {
    copy(x, y);
    for t in 0..steps { spmd halve(x[0..2], y[0..2]); }
}
"""),
    ("ranks", "M=20 N=7", (2_000, 20_000), 40_000, """device grid = ranks();
export program run(x: in f32[M, N], y: out f32[M, N], steps: i64) {
    let now: f32[M, N] on grid by (M: 3, _);
    let next: f32[M, N] on grid by (M: 3, _);
    copy(x, now);
    for t in 0..steps { spmd halve(now, next); swap(now, next); }
    copy(now, y);
}
"""),
]


def most_memory(folder, name, sizes, steps):
    """Returns the exit code of a run, and the KiB that it needed at most."""
    words = ["kernelc", "run", f"{name}.kdl", *(word for size in sizes.split() for word in ("--set", size)), "--arg", f"steps={steps}"]
    run = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="program-memory-") as scratch:
        folder = pathlib.Path(scratch)
        for name, sizes, steps, limit, program in PROGRAMS:
            (folder / f"{name}.kdl").write_text(KERNEL + program)
            (few_code, few), (many_code, many) = (most_memory(folder, name, sizes, count) for count in steps)
            if few_code or many_code or many - few > limit:
                problems.append(f"{name}: exit codes {few_code} and {many_code}, {few} KiB for {steps[0]} iterations, "
                                f"{many} KiB for {steps[1]}")
    print("\n".join([*problems, f"{len(PROGRAMS) - len(problems)} passed, {len(problems)} failed"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
