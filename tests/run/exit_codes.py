#!/usr/bin/env python3
"""Tests that a full disk, a folder in which nothing may be written, and a missing device give exit code 3, and wrong paths 1."""

import os
import pathlib
import subprocess
import sys
import tempfile

from shared import checks

KERNEL = """export kernel twice(x: in f32[N], y: out f32[N]) {
  spmd for i in N by 64 { y[i] = 2 * x[i]; }
}
"""
MACHINE = 3
INPUT = 1


def call(*words, folder, **changes):
    return subprocess.run(["kernelc", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, **changes})


def expect_code(what, code, ran):
    checks.expect(f"{what}: exit code {code}", ran.returncode == code, f"{ran.returncode}\n{ran.stdout}{ran.stderr}")


def fill(folder):
    """Uses all space of a small disk, except for empty files."""
    with open(folder / "filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass


def check_full(folder, full):
    (full / "format.kdl").write_text(KERNEL)
    fill(full)
    for what, ran in {
            "build": call("build", "a.kdl", "-o", full / "out", folder=folder),
            "fmt": call("fmt", full / "format.kdl", folder=folder),
            "run --out": call("run", "a.kdl", "--set", "N=4", "--out", f"y=@{full}/y.npy", folder=folder),
            "new": call("new", full / "project", folder=folder),
            "--json=FILE": call("check", "a.kdl", f"--json={full}/told.json", folder=folder),
            "--emit exe": call("build", "a.kdl", "--emit", "exe", "-o", "out", folder=folder, TMPDIR=str(full))}.items():
        expect_code(f"{what} on a full disk", MACHINE, ran)
        checks.expect(f"{what}: the reason", "o space left" in ran.stderr, ran.stderr)
    expect_code("run with TMPDIR on a full disk", MACHINE, call("run", "a.kdl", "--set", "N=4", folder=folder, TMPDIR=str(full)))
    with open("/dev/full", "w") as output:
        ran = subprocess.run(["kernelc", "devices", "host"], stdout=output, stderr=subprocess.PIPE, text=True, timeout=300)
    expect_code("a full standard output", MACHINE, ran)
    checks.expect("no part of a project is left", not (full / "project").exists())
    checks.expect("the file is as it was", (full / "format.kdl").read_text() == KERNEL)


def check_small_disk(folder):
    """A full disk needs a disk, which only root can make."""
    full = folder / "full"
    full.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", full], capture_output=True, text=True)
    if mounted.returncode != 0:
        return checks.skip("a full disk", mounted.stderr.strip())
    try:
        check_full(folder, full)
    finally:
        subprocess.run(["umount", full], check=True)


def check_forbidden(folder):
    closed = folder / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        return checks.skip("a folder in which nothing may be written", "root may write to all folders")
    ran = call("build", "a.kdl", "-o", closed, folder=folder)
    expect_code("a folder in which nothing may be written", MACHINE, ran)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a.kdl").write_text(KERNEL)
        check_small_disk(folder)
        check_forbidden(folder)
        expect_code("a path through a file", INPUT, call("build", "a.kdl", "-o", "a.kdl/out", folder=folder))
        expect_code("a missing folder", INPUT, call("run", "a.kdl", "--set", "N=4", "--out", "y=@missing/y.npy", folder=folder))
        expect_code("a missing file", INPUT, call("check", "missing.kdl", folder=folder))
        for spec in ("host", "cuda", "opencl"):
            runs = call("run", "a.kdl", "--set", "N=4", "--target", spec, folder=folder).returncode
            expect_code(f"devices {spec}, like run", runs, call("devices", spec, folder=folder))
        expect_code("an unknown kind of device", MACHINE, call("devices", "host", "nodevice", folder=folder))
        expect_code("build of standard input without a name", INPUT, call("build", "-", folder=folder))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
