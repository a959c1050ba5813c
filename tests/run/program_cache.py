#!/usr/bin/env python3
"""Tests the disk cache of programs that OpenCL drivers have compiled. A second process must compile nothing;
a damaged file must be compiled again and replaced; several processes may run at once. A different driver,
different options or a different text must give a different program. The cache's folder may be unwritable.

Skipped if no OpenCL driver is installed.
"""

import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

from shared import checks, teams

KERNEL = "export kernel k(x: in f32[N], y: out f32[N]) { spmd for i in N by 16 { y[i] = x[i] + 1.0; } }\n"


class Place:
    """A source file, a folder for programs, and the driver's own cache, which is empty at the start of each
    process."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.programs = self.folder / "programs"
        self.file = self.folder / "k.kdl"
        self.file.write_text(KERNEL)
        self.runs = 0

    def files(self):
        return sorted(self.programs.glob("*.kdlcache"))

    def run(self, device="opencl", programs=None, **settings):
        """Runs a process and returns (programs compiled, programs found, whether the result was right,
        output)."""
        self.runs += 1
        own = self.folder / f"driver{self.runs}"
        own.mkdir()
        environment = {"POCL_CACHE_DIR": str(own), "KDL_CACHE_DIR": str(self.programs if programs is None else programs), **settings}
        done = teams.kernelc("run", self.file, "--target", device, "--set", "N=40", "--arg", "x=iota", "--verify", "--verbose",
                             environment=environment)
        said = done.stdout + done.stderr
        counts = re.search(r"programs compiled (\d+), programs found on disk (\d+)", said)
        return (*(map(int, counts.groups()) if counts else (-1, -1)), "bit for bit" in said, said)


def expect(what, place, compiled, found, **how):
    got = place.run(**how)
    checks.expect(what, got[:3] == (compiled, found, True), f"{got[:3]}\n{got[3]}")


def spoiled(place):
    (file,) = place.files()
    whole = file.read_bytes()
    for what, contents in [("cut off", whole[:len(whole) // 2]), ("one byte wrong", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]),
                           ("empty", b"")]:
        file.write_bytes(contents)
        expect(f"{what}: compiled anew", place, 1, 0)
        expect(f"{what}: mended", place, 0, 1)


def at_once(place):
    for file in place.files():
        file.unlink()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda _: place.run(), range(4)))
    checks.expect("four processes at once", all(right and sum(counts) == 1 for *counts, right, _ in got), str(got))
    checks.expect("they leave one file", len(list(place.programs.iterdir())) == 1, str(list(place.programs.iterdir())))
    expect("what they left is found", place, 0, 1)


def main():
    os.environ.setdefault("POCL_DEVICES", "pthread basic")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        compiled, found, right, said = place.run()
        if "OpenCL is not available" in said or "opencl[0]: it would be the 1st, 0 match" in said:
            print("no opencl device")
            return 77
        checks.expect("the first process compiles", (compiled, found, right) == (1, 0, True), said)
        expect("the second one does not", place, 0, 1)
        spoiled(place)
        at_once(place)
        expect("switched off", place, 1, 0, programs="")
        blocked = place.folder / "file"
        blocked.write_text("")
        expect("a folder that cannot be made", place, 1, 0, programs=blocked / "below")
        expect("another device", place, 1, 0, device="opencl[1]")
        place.file.write_text(KERNEL.replace("1.0", "2.0"))
        expect("another text", place, 1, 0)
        checks.expect("each has its file", len(place.files()) == 3, str(place.files()))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
