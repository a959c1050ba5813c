#!/usr/bin/env python3
"""Tests kernels on an OpenCL device.

The kernels of the samples and of tests/run/families are compared with their contracts and the interpreter,
in a random order, until the time limit is reached. Also tests traps with their locations, a barrier across
the whole launch in a loop, and errors on a machine without OpenCL. Further checks: kernels in the form for
GPUs; barriers on both sides of branches; the time that PoCL needs; the text for a device without f64 and
without 64-bit atomics.

Skipped if no OpenCL driver is installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks, teams


def is_missing(said):
    return "OpenCL is not available" in said


WORKGROUPS = """
export kernel scaled(x: in f32[N], y: out f32[N]) { spmd for i in N by 256 { y[i] = x[i] * 2.0 + 1.0; } }
export kernel products(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by 32, j in N by 32 {
        var acc: f32[i, j] = 0;
        for k in K by 16 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""


def workgroups():
    """Checks the form of kernels for GPUs, whose workgroups have several threads and barriers. On PoCL, the driver of the tests
    selects it. PoCL compiles only simple kernels of this form correctly."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "workgroups.kdl"
        file.write_text(WORKGROUPS)
        fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake-opencl"
        threads = {"LD_LIBRARY_PATH": f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}", "FAKE_OPENCL_DEFINES": "-DKDL_WORKGROUPS"}
        for environment in ({}, threads):
            for kernel, sizes in (("scaled", ["N=1000"]), ("products", ["M=40", "N=70", "K=33"])):
                done = teams.kernelc("run", file, "--kernel", kernel, "--target", "opencl", "--verify", environment=environment,
                                     *[word for size in sizes for word in ("--set", size)])
                checks.expect(f"{kernel} in workgroups {bool(environment)}", "bit for bit" in done.stdout, done.stdout + done.stderr)


SYNCS = """
export kernel steps(x: inout f32[N], y: inout f32[N]) {
    let count: i32[8];
    range k in 8;
    spmd for b in 0..1 { count[k] = 0; }
    sync;
    spmd for i in N by 64 { atomic count[(x[i] * 100.0) as i32 & 7] += 1; }
    sync;
    for turn in 0..3 {
        spmd for i in N by 64 { y[i] = x[i] + 1.0; }
        sync;
        if turn > 0 {
            spmd for i in N by 64 { x[i] = y[N - 1 - i] * 0.5; }
            sync;
        }
        spmd for i in N by 64 { atomic count[(y[i] * 10.0) as i32 & 7] += 1; }
        sync;
    }
    spmd for i in N by 64 { y[i] = x[i] + (count[iota(i) & 7] as f32); }
}
"""
REDUCES = """
export kernel steps(x: in f32[N], a: inout f32[1], b: inout f32[1], c: inout i64[1], d: inout f32[1], e: inout i64[1]) {
    spmd for i in N by 64 {
        reduce a[0] += sum(x[i] over i);
        reduce b[0] max= max(x[i] over i);
        reduce c[0] += sum((x[i] * 100.0) as i64 over i);
        reduce d[0] min= min(x[i] over i);
        reduce e[0] ^= max((x[i] * 1000.0) as i64 over i);
    }
}
"""
MOST_PARTS_S = 20  # limit on processor time


def parts():
    """Checks that PoCL's compile time for several `sync`s or `reduce`s grows linearly, not exponentially, with
    its optimizer enabled."""
    for what, source, inputs in (("syncs", SYNCS, ["x=random:1", "y=random:2"]), ("reduces", REDUCES, ["x=random:1"])):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / f"{what}.kdl"
            file.write_text(source)
            before = os.times()
            done = teams.kernelc("run", file, "--target", "opencl", "--verify", "--set", "N=1000",
                                 *[word for value in inputs for word in ("--arg", value)], environment={"POCL_CACHE_DIR": folder})
            after = os.times()
            seconds = after.children_user + after.children_system - before.children_user - before.children_system
            checks.expect(f"five {what} equal the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
            checks.expect(f"and are compiled in {seconds:.1f} s", seconds < MOST_PARTS_S)


ROWS = """
export kernel rows(x: in f32[N], y: out f32[16, N]) {{
    spmd for i in N by 64 {{
        let v = x[i];
        {}
    }}
}}
"""


def rows():
    """Checks that the rows of one tensor that a block stores form one loop without barriers, in OpenCL C and
    in PTX."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.kdl"
        file.write_text(ROWS.format(" ".join(f"y[{row}, i] = v * {row}.5;" for row in range(16))))
        for target, kind, barrier in [("opencl", "ocl", "KDL_BARRIER;"), ("cuda", "ptx", "bar.sync")]:
            built = teams.kernelc("build", file, "--target", target, "--emit", kind, "-o", folder)
            (text,) = pathlib.Path(folder).glob("*.cl" if kind == "ocl" else "*.ptx")
            text = text.read_text().split("__kernel", 1)[-1]
            checks.expect(f"16 rows meet nowhere on {target}", built.returncode == 0 and text.count(barrier) <= 1, text)
        done = teams.kernelc("run", file, "--target", "opencl", "--verify", "--set", "N=1000", "--arg", "x=random:1")
        checks.expect("16 rows equal the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)


WAYS = """
export kernel ways(x: in f32[H, C, W], w: in f32[O, 4, C], y: out f32[OH, OW, O])
    where OH == (H - 1) / 2 + 1, OW == (W - 3) / 2 + 1
{
    range s in 4;
    spmd for o in O by 16, i in OH by 4, j in OW by 16 {
        var acc: f32[o, i, j] = 0;
        for c in C by 8 { acc += dot(w[o, s, c], x[2 * i - 2, c, 2 * j + 2 * s - 2 else 0] over s, c); }
        y[i, j, o] = acc;
    }
}
"""


def ways():
    """Checks a barrier on a branch whose two sides have different loops: for rows of whole vectors, and for
    other rows."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "ways.kdl"
        file.write_text(WAYS)
        for channels in (3, 4, 12):
            done = teams.kernelc("run", file, "--target", "opencl", "--verify", "--core-num", "1", *[
                word for size in ("H=9", "C=2", "W=3", f"O={channels}") for word in ("--set", size)])
            checks.expect(f"both ways equal the interpreter, {channels} channels", "bit for bit" in done.stdout, done.stdout + done.stderr)


LACKING = """
export kernel single(x: inout f32[N]) { spmd for i in N by 64 { x[i] = x[i] * 3.0 + 1.0; } }
export kernel double_named(x: inout f32[N], double: f32, atom_max: i64) {
    spmd for i in N by 64 { x[i] = x[i] * double + (atom_max as f32); }
}
export kernel wide(x: inout f64[N]) { spmd for i in N by 64 { x[i] = x[i] * 3.0 + 1.0; } }
const STEPS: f64[4] = [0.5, 1.0, 1.5, 2.0];
export kernel listed(x: out f64[N]) { spmd for i in N by 64 { x[i] = STEPS[i % 4]; } }
export kernel once(x: in i64[N], y: out bf16[N]) { spmd for i in N by 64 { y[i] = x[i] as bf16; } }
export kernel count(x: inout i64[N]) { spmd for i in N by 64 { atomic x[i % 2] += 1; } }
export kernel most(x: inout u64[N]) { spmd for i in N by 64 { atomic x[i % 2] max= 7; } }
export kernel loud(x: inout f32[N]) { spmd for i in N by 64 { print(sum(x[i] over i)); } }
"""
EXTENSIONS = ["cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"]


def lacking():
    """Checks OpenCL compilers that lack extensions. They must accept the text, which must then contain
    exactly the kernels that do not need these extensions."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "lacking.kdl"
        file.write_text(LACKING)
        built = teams.kernelc("build", file, "--target", "opencl", "--emit", "ocl", "-o", folder)
        checks.expect("the text is made", built.returncode == 0, built.stderr)
        clang = ["clang-19", "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-Xclang", "-finclude-default-header", "-Werror"]
        every = {"single", "double_named", "wide", "listed", "once", "count", "most", "loud"}
        for lacks, left in (([], every), (EXTENSIONS[:1], every - {"wide", "listed", "once"}), (EXTENSIONS[2:], every - {"most"}),
                            (EXTENSIONS[1:], every - {"count", "most", "loud"}), (EXTENSIONS, {"single", "double_named"})):
            without = ["-Xclang", "-cl-ext=" + ",".join(f"-{name}" for name in lacks)] if lacks else []
            text = f"{folder}/lacking.opencl.cl"
            done = subprocess.run([*clang, *without, "-fsyntax-only", text], capture_output=True, text=True)
            checks.expect(f"without {lacks} it compiles", done.returncode == 0, done.stderr)
            seen = subprocess.run([*clang, *without, "-E", text], capture_output=True, text=True).stdout
            checks.expect(f"without {lacks} these are left", set(re.findall(r"^void kdl_(\w+)_\d+\(", seen, re.M)) == left, seen[-2000:])


def driverless():
    """Checks a machine with the loader but without a driver."""
    nothing = {"OCL_ICD_VENDORS": "/nonexistent"}
    told = "OpenCL is not available: no driver has a device; install a driver"
    done = teams.kernelc("devices", "opencl", "opencl[1]", environment=nothing)
    checks.expect("it is told what is missing", done.stdout.count(told) == 2, done.stdout + done.stderr)
    done = teams.kernelc("targets", "--device", "opencl", environment=nothing)
    checks.expect("so it is where the device is to be described", done.returncode == 3 and told in done.stderr and "[E0982]" in done.stderr,
                  done.stdout + done.stderr)
    run = ["run", "samples/saxpy/saxpy.kdl", "--set", "N=5", "--arg", "a=2.0", "--verify"]
    done = teams.kernelc(*run, "--target", "opencl,host", environment=nothing)
    checks.expect("the next of a list is taken", "bit for bit" in done.stdout, done.stdout + done.stderr)


# Tables of 80,000 bytes and of 8 bytes.
TABLES = """
const LARGE: f32[20000] = [{}];
const SMALL: f32[2] = [3.0, 5.0];
export kernel large(x: out f32[N]) {{ spmd for i in N by 64 {{ x[i] = LARGE[i % 20000] * SMALL[i % 2]; }} }}
export kernel small(x: out f32[N]) {{ spmd for i in N by 64 {{ x[i] = SMALL[i % 2]; }} }}
"""


def tables():
    """Checks tables that are too large for some devices. Where the tables fit, results must be the same as on
    other devices. Otherwise there must be an error, and other kernels must still run."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "tables.kdl"
        file.write_text(TABLES.format(", ".join(f"{number}.25" for number in range(20000))))
        fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake-opencl"
        libraries = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        for kernel, constants, told in [("large", "100000", ""), ("small", "65536", ""),
                                        ("large", "65536", "kdl_large_1, whose tables need more than the 65536 bytes of constant memory")]:
            done = teams.kernelc("run", file, "--kernel", kernel, "--target", "opencl", "--set", "N=20003", "--verify",
                                 environment={"LD_LIBRARY_PATH": libraries, "FAKE_OPENCL_CONSTANTS": constants})
            is_right = told in done.stderr and done.returncode == 3 if told else "bit for bit" in done.stdout
            checks.expect(f"{kernel} with {constants} bytes of constants", is_right, done.stdout[-300:] + done.stderr[-2000:])


def texts():
    driverless()
    tables()
    workgroups()
    lacking()
    parts()
    rows()
    ways()


if __name__ == "__main__":
    # PoCL provides one device for each word of this list.
    os.environ.setdefault("POCL_DEVICES", "pthread basic")
    sys.exit(teams.run(__doc__.splitlines()[0], "opencl", is_missing, {"texts": texts}))
