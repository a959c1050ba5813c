#!/usr/bin/env python3
"""The rows of tests/gpu/run.sh: each a command on `cuda`, with what it says about itself and how long it took."""

import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "build-gpu/report.md"
LIMIT_S = 1200
# A launch of each sample, compared with the interpreter bit for bit.
SAMPLES = [
    ["samples/saxpy/saxpy.kdl", "--set", "N=100000", "--arg", "a=2.0", "--arg", "x=random:1", "--arg", "y=random:2"],
    ["samples/softmax/softmax.kdl", "--set", "R=37", "--set", "C=1003", "--arg", "x=random:1"],
]


def commands():
    """(what, command)"""
    yield "conformance", ["gpu_conformance_cuda"]
    for words in SAMPLES:
        yield f"{words[0]} equals the interpreter", ["kernelc", "run", *words, "--target", "cuda", "--check"]
    yield "traps, prints, parts, programs", ["python3", "tests/run/cuda.py", "--seconds", "1"]
    files = [*ROOT.glob("samples/*/*.kdl"), *(ROOT / "tests/run/families").glob("*.kdl"), ROOT / "stdlib/nn.kdl"]
    for file in sorted(f.relative_to(ROOT).as_posix() for f in files):
        yield f"contracts of {file}", ["kernelc", "test", file, "--target", "cuda"]


def run(command):
    """(exit code, last words, seconds)"""
    begin = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=LIMIT_S)
        code, output = done.returncode, done.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        code, output = 1, str(error)
    lines = [line for line in output.splitlines() if line.strip()] or [""]
    return code, lines[-1], time.monotonic() - begin


def main():
    listed = subprocess.run(["kernelc", "devices", "cuda"], capture_output=True, text=True)
    device = listed.stdout.strip()
    if "not here" in device or listed.returncode != 0:
        print(device + listed.stderr)
        return 77
    rows = []
    failed = 0
    for what, command in commands():
        code, said, seconds = run(command)
        nothing = code != 0 and "nothing to test" in said.lower()
        failed += code != 0 and not nothing
        rows.append(f"| {what} | {'nothing to test' if nothing else 'ok' if code == 0 else 'FAILED'} | {said} | {seconds:.1f} |")
        print(rows[-1], flush=True)
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(f"{device}\n\n| what | | it says | seconds |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    print(f"{len(rows) - failed} passed, {failed} failed; {REPORT.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
