#!/usr/bin/env python3
"""Tests `kernelc shrink`: large programs with one mistake become small ones that fail in the same way, and are formatted."""

import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Kernels and programs around the mistakes, which shrinking must remove.
AROUND = """
import helpers;
const SCALE = 3;
/// Scales rows.
export kernel scale<T: f32 | f64, B: int = auto>(a: T, x: in T[M, N], y: out T[M, N]) {
    spmd for i in M by B, j in N by 64 { y[i, j] = a * helpers.half(x[i, j] as f32) as T * (SCALE as T); }
}
"""
RACE = AROUND + """
export kernel means<B: int = 64>(limit: f32, x: in f32[R, C], y: out f32[R], total: inout f32[1])
    where C <= 4096
{
    spmd for r in R by B {
        var s: f32[r] = 0;
        for c in C by 32 {
            let t = if limit > 0.0 then min(x[r, c], limit) else x[r, c];
            s += sum(t over c);
        }
        let mean = s / (C as f32);
        y[r] = mean;
        if limit > 1.0 { total[0] += sum(mean over r); }
    }
}
export program both(a: f32, x: in f32[M, N], z: out f32[M], total: inout f32[1]) {
    let t: f32[M, N];
    spmd scale(a, x, t);
    spmd means(0.5, t, z, total);
}
"""
WRONG_CONTRACT = AROUND + """
export kernel sums<B: int = 64>(x: in f32[R, C], y: out f32[R]) {
    spmd for r in R by B {
        var s: f32[r] = 0;
        for c in C by 32 { s += sum(x[r, c] over c); }
        y[r] = s;
    }
}
ensures { y[r] ~ sum(x[r, k] over k) + 1.0; }
"""
# Name, program, command, pattern of what the command prints, largest number of lines.
CASES = [
    ("race", RACE, "kernelc check", r"\[E041[34]\]", 5),
    ("wrong_contract", WRONG_CONTRACT, "kernelc test", r"FAILED|differs|\[E\d+\]", 8),
    ("words", RACE, "! grep -q 'min('", "", 5),
]


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def check_case(folder, name, program, command, pattern, most):
    (folder / f"{name}.kdl").write_text(program)
    before = run(["sh", "-c", f"{command} {name}.kdl"], folder)
    checks.expect(f"{name}: the program fails", before.returncode == 1 and re.search(pattern, before.stdout + before.stderr),
                  before.stdout + before.stderr)
    shrunk = run(["kernelc", "shrink", f"{name}.kdl", "--fails", command], folder)
    checks.expect(f"{name}: it is shrunk", shrunk.returncode == 0, shrunk.stderr)
    small = folder / f"{name}.small.kdl"
    text = small.read_text() if small.exists() else program
    lines = text.count("\n")
    checks.expect(f"{name}: to at most {most} lines", lines <= most, text)
    after = run(["sh", "-c", f"{command} {name}.small.kdl"], folder)
    checks.expect(f"{name}: it fails in the same way", after.returncode == before.returncode
                  and re.search(pattern, after.stdout + after.stderr), after.stdout + after.stderr + text)
    checks.expect(f"{name}: it is formatted", run(["kernelc", "fmt", "--dry-run", small.name], folder).stdout == "", text)
    print(f"{name}: {lines} of {program.count(chr(10))} lines")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "helpers.kdl").write_text("export fn half(x: f32) -> f32 { return 0.5 * x; }\n")
        for case in CASES:
            check_case(folder, *case)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
