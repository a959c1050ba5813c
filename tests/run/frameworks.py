#!/usr/bin/env python3
"""Tests tests/bench/frameworks: its rows must agree with NumPy, which is also one of the frameworks, and a
wrong kernel must be reported. Times are not checked."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
KERNELC = pathlib.Path(shutil.which("kernelc")).resolve()
QUICK = ["--kernelc", KERNELC, "--peers", "numpy", "--trials", "3", "--seconds", "1"]


def compare(*words):
    return subprocess.run([sys.executable, BENCH / "frameworks/compare.py", *QUICK, *map(str, words)], capture_output=True, text=True,
                          timeout=300)


def check_rows(folder):
    file = folder / "rows.json"
    for filter_, peers in [("matmul f32 64x", 1), ("column sum", 1), ("softmax f32 256x512", 0), ("layernorm f32 256x512", 0),
                           ("i8", 0), ("bf16 256", 0), ("attention f32 4x", 0), ("decode f32 32x1024x64", 0), ("56, 64 out", 0)]:
        before = len(json.loads(file.read_text())) if file.exists() else 0
        run = compare("--filter", filter_, "--threads", 1, "--json", file)
        checks.expect(f"{filter_} is right", run.returncode == 0 and "WRONG" not in run.stdout, run.stdout + run.stderr)
        rows = json.loads(file.read_text())[before:]
        checks.expect(f"{filter_} has its peers", len(rows) == peers, str(rows))
        checks.expect(f"{filter_} is timed", all(min(row["ours"], row["peer"], row["ratio"]) > 0 for row in rows), str(rows))


def check_wrong(folder):
    kernels = folder / "kernels"
    shutil.copytree(BENCH / "kernels", kernels)
    text = (kernels / "rows.kdl").read_text()
    (kernels / "rows.kdl").write_text(text.replace("y[c] = s;", "y[c] = s + 1.0;"))
    run = compare("--filter", "column sum", "--threads", 1, "--kernels", kernels)
    checks.expect("a wrong kernel has no time", run.returncode == 1 and "WRONG: off by" in run.stdout, run.stdout + run.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        check_rows(pathlib.Path(name))
        check_wrong(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
