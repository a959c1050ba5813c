#!/usr/bin/env python3
"""Kernels on an OpenCL device: samples and families against their contracts and the interpreter, in an order drawn from a
seed until the time is over; traps with their places; a barrier of the launch in a loop; what a machine without OpenCL says.

Skipped where no OpenCL driver is installed.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
TRAPS = """
export kernel pick(x: in f32[N], at: in i32[N], y: out f32[N]) {
    spmd for i in N by 8 { y[i] = x[at[i]]; }
}
"""
STEPS = """
export kernel steps(x: inout f32[N], turns: i64) {
    for t in 0..turns {
        spmd for i in N by 16 { x[i] = x[i] * 0.5 + 1.0; }
        sync;
    }
}
"""
DEVICES = """
device a = target("host");
device b = target("host");
kernel twice(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 16 { y[i] = x[i] + x[i]; }
}
kernel next(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 16 { y[i] = x[i] + 1.0; }
}
export program both(x: in f32[N], y: out f32[N]) {
    let t: f32[N];
    spmd on a twice(x, t);
    spmd on b next(t, y);
}
"""
PRINTS = """
export kernel says(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 4 { print("block", i.start, x[i]); y[i] = x[i]; }
}
"""
failures = []
passed = 0


def kernelc(*arguments, seconds=300):
    return subprocess.run(["kernelc", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=seconds)


def expect(what, holds, output):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(f"{what}\n{output}")


def contracts(files, seconds, seed):
    """The contracts of files in a drawn order; at least two files."""
    files = list(files)
    random.Random(seed).shuffle(files)
    begin = time.monotonic()
    for number, file in enumerate(files):
        if number >= 2 and time.monotonic() - begin > seconds:
            break
        done = kernelc("test", file, "--target", "opencl", seconds=600)
        expect(f"contracts of {file} on opencl", done.returncode == 0, done.stdout + done.stderr)


def against_interpreter(folder):
    for name, text, arguments in [
            ("steps", STEPS, ["--set", "N=100", "--arg", "turns=3"]),
            ("pick", TRAPS, ["--set", "N=33", "--arg", "at=zeros"])]:
        file = folder / f"{name}.kdl"
        file.write_text(text)
        done = kernelc("run", file, "--target", "opencl", "--check", *arguments)
        expect(f"{name} equals the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
    done = kernelc("run", folder / "pick.kdl", "--target", "opencl", "--set", "N=33", "--arg", "at=40")
    told = "index 40 is outside dimension 0 of size 33 in 'x[at[i]]'"
    expect("a trap says what and where", done.returncode != 0 and told in done.stderr, done.stdout + done.stderr)


def listed():
    """What `kernelc devices` says."""
    done = kernelc("devices")
    there = [line.split(":")[0] for line in done.stdout.splitlines()]
    expect("both devices are listed", done.returncode == 0 and {"opencl", "opencl[1]"} <= set(there), done.stdout + done.stderr)
    done = kernelc("devices", "opencl[2]", "opencl?foo=1")
    expected = ("opencl[2]: not here: there is no opencl[2]: wanted the 3rd, 2 match\n"
                "opencl?foo=1: not here: opencl takes no options, and 'foo' is given\n")
    expect("why a spec is none", done.stdout == expected, done.stdout + done.stderr)


def programs(folder):
    """OpenCL and the host, and two OpenCL devices, of which PoCL makes as many as it is asked for; and what kernels print."""
    (folder / "both.kdl").write_text(DEVICES)
    run = ["run", folder / "both.kdl", "--set", "N=37"]
    alone = kernelc(*run)
    for second in ["host", "opencl[1]"]:
        done = kernelc(*run, "--device", "a=opencl", "--device", f"b={second}")
        same = done.returncode == 0 and done.stdout == alone.stdout
        expect(f"a program on opencl and {second}", same, done.stdout + done.stderr)
    (folder / "says.kdl").write_text(PRINTS)
    done = kernelc("run", folder / "says.kdl", "--target", "opencl", "--core-num", "1", "--set", "N=6", "--arg", "x=iota")
    here = kernelc("run", folder / "says.kdl", "--target", "reference", "--core-num", "1", "--set", "N=6", "--arg", "x=iota")
    expect("prints as the interpreter does", done.returncode == 0 and done.stdout == here.stdout, done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.setdefault("POCL_DEVICES", "pthread basic")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        probe = kernelc("run", "samples/saxpy/saxpy.kdl", "--target", "opencl", "--set", "N=5", "--arg", "a=2.0", "--check")
        if "there is no OpenCL here" in probe.stderr or "opencl[0]: wanted the 1st, 0 match" in probe.stderr:
            print("no OpenCL device")
            return SKIPPED
        expect("saxpy equals the interpreter", "bit for bit" in probe.stdout, probe.stdout + probe.stderr)
        listed()
        against_interpreter(folder)
        programs(folder)
        families = [f"tests/run/families/{f.name}" for f in (ROOT / "tests/run/families").glob("*.kdl")]
        contracts(["samples/matmul", "samples/softmax", *sorted(families)], options.seconds, options.seed)
    for failure in failures:
        print(f"FAILED: {failure}\n")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
