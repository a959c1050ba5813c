"""Tests for devices whose cores are workgroups of threads. The kernels of the samples and of
tests/run/families are compared with their contracts and the interpreter. Also tests traps with their
locations, a barrier across the whole launch in a loop, programs for several devices, and prints."""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

from shared import checks, contracts

ROOT = pathlib.Path(__file__).resolve().parents[3]
QUICK = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}  # PoCL's optimizer takes a minute for some kernels
SLOW_COMPILERS = ["opencl"]  # even with QUICK, PoCL takes minutes for some kernels with `argmax` and scans
SAMPLES = ["matmul", "matmul_residual", "softmax"]
TRAPS = """
export kernel pick(x: in f32[N], at: in i32[N], y: out f32[N]) {
    spmd for i in N by 8 { y[i] = x[at[i]]; }
}
"""
# Names that collide with generated, numbered names in the text, or with macros of OpenCL C.
NAMES = """
export kernel named(x: in f32[x_4, M_PI], w: in f32[v, half], y: out f32[x_4, M_PI], M_SQRT1: f32) {
    spmd for float in x_4 by 8, get_global_id in M_PI by 16 {
        let kdl_x = x[float, get_global_id] * M_SQRT1;
        let ok = kdl_x + (iota(get_global_id) as f32);
        y[float, get_global_id] = ok;
    }
}
"""
LIMITS = """
const F: f32[4] = [inf, -inf, nan, -0.0];
const D: f64[4] = [inf, -inf, nan, 4.9e-324];
const L: i64[3] = [-9223372036854775808, 9223372036854775807, -1];
const U: u64[3] = [18446744073709551615, 0, 1];
export kernel limits(n: in i32[N], f: out f32[N], d: out f64[N], l: out i64[N], u: out u64[N]) {
    spmd for i in N by 8 {
        f[i] = F[n[i] % 4];
        d[i] = D[n[i] % 4];
        l[i] = L[n[i] % 3];
        u[i] = U[n[i] % 3];
    }
}
"""
# Tables and a tile whose names are like that of the second kernel's function in OpenCL C or PTX, or like a
# keyword of PTX.
TABLES = """
const kdl_k_1_c_2: i32[3] = [5, 7, 9];
const WARP_SZ: i32[3] = [3, 2, 1];
const c: i32[3] = [3, 4, 5];
kernel k(x: in i32[N], y: out i32[N]) {
    spmd for i in N by 64 {
        let n = x[i] % 3;
        let c_2 = c[n] + kdl_k_1_c_2[n] + WARP_SZ[n];
        y[i] = c_2 + max(c_2 over i);
    }
}
kernel k_1_c(x: in i32[N], y: out i32[N]) { spmd for i in N by 64 { y[i] = x[i] + 1; } }
export program both(x: in i32[N], y: out i32[N]) {
    let t: i32[N];
    spmd k(x, t);
    spmd k_1_c(t, y);
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
# A range of more than 2^63 numbers, of which only a few iterations run.
FAR = """
export kernel far(x: inout f32[N], lo: i64, hi: i64, most: i64) {
    var n = 0 as i64;
    for t in lo..hi {
        spmd for i in N by 16 { x[i] = x[i] * 0.5 + 1.0; }
        sync;
        n += 1;
        if n >= most { break; }
    }
}
"""
# Loops that search for something that does not exist. Only a trap ends the search: in all threads of one
# kernel, and in one thread of the other kernel.
SEARCHES = """
const T: i32[4] = [1, 2, 3, 4];
fn look(key: i32) -> i64 {
    var at = -1 as i64;
    for t in 0..9000000000000000000 { if T[t] == key { at = t; break; } }
    return at;
}
export kernel all(x: in i32[N], hi: i64, y: out i64[N]) {
    spmd for b in N by 16 {
        var at = -1 as i64;
        for t in 0..hi { if x[t] == 77 { at = t; break; } }
        y[b] = at;
    }
}
export kernel each(x: in i32[N], hi: i64, y: out i64[N]) { spmd for b in N by 16 { y[b] = look(x[b]) + hi; } }
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
# Prints more than there is room for. The last block may trap.
PRINTS_MUCH = """
export kernel says(x: in f32[N], limit: f32, y: out f32[N]) {
    spmd for i in N by 1000 { print(x[i]); y[i] = x[i]; assert(x[i] < limit, "small"); }
}
"""


def kernelc(*arguments, seconds=300, environment=None):
    return subprocess.run(["kernelc", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=seconds,
                          env={**os.environ, **(environment or {})})


def keep_contracts(kind, seconds):
    """Tests as many kernels of some samples and of tests/run/families as there is time for."""
    def keeps(case, _):
        file, kernel = case
        what = f"{kernel} of {file.name} keeps its contract on {kind}"
        compiles_slowly = kind in SLOW_COMPILERS
        try:
            done = kernelc("test", file, "--kernel", kernel, "--target", kind, seconds=120 if compiles_slowly else 600, environment=QUICK)
        except subprocess.TimeoutExpired as late:
            print(f"not ended: {what}")
            return None if compiles_slowly else (what, False, str(late))
        return what, done.returncode == 0, done.stdout + done.stderr

    files = [*(ROOT / f"samples/{name}/{name}.kdl" for name in SAMPLES), *ROOT.glob("tests/run/families/*.kdl")]
    contracts.sample(contracts.with_contracts(files), keeps, seconds, least=2)


def against_interpreter(kind, folder):
    for name, text, arguments in [
            ("steps", STEPS, ["--set", "N=100", "--arg", "turns=3"]),
            ("named", NAMES, ["--set", "x_4=9", "--set", "M_PI=20", "--set", "v=1", "--set", "half=2"]),
            ("limits", LIMITS, ["--set", "N=13", "--arg", "n=iota"]),
            ("tables", TABLES, ["--set", "N=100", "--arg", "x=iota"]),
            ("far", FAR, ["--set", "N=30", "--arg", "x=random:1", "--arg", f"lo={-2**63}", "--arg", f"hi={2**63 - 1}", "--arg", "most=3"]),
            ("pick", TRAPS, ["--set", "N=33", "--arg", "at=zeros"])]:
        file = folder / f"{name}.kdl"
        file.write_text(text)
        done = kernelc("run", file, "--target", kind, "--verify", *arguments)
        checks.expect(f"{name} equals the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
    done = kernelc("run", folder / "pick.kdl", "--target", kind, "--set", "N=33", "--arg", "at=40")
    told = "index 40 is outside dimension 0 of size 33 in 'x[at[i]]'"
    checks.expect("a trap says what and where", done.returncode != 0 and told in done.stderr, done.stdout + done.stderr)
    (folder / "searches.kdl").write_text(SEARCHES)
    for kernel, told in [("all", "index 50 is outside dimension 0 of size 50 in 'x[t]'"), ("each", "of size 4 in 'T[t]'")]:
        done = kernelc("run", folder / "searches.kdl", "--kernel", kernel, "--target", kind, "--set", "N=50", "--arg", "x=iota",
                       "--arg", f"hi={9 * 10**18}", seconds=120)
        checks.expect(f"a trap ends a search by {kernel}", done.returncode != 0 and told in done.stderr, done.stdout + done.stderr)


def count_devices(kind):
    count = 1
    while "not here" not in kernelc("devices", f"{kind}[{count}]").stdout:
        count += 1
    return count


def missing(kind, count):
    """Returns the reason that kernelc gives for refusing a device number beyond the last device."""
    ordinal = {2: "2nd", 3: "3rd"}.get(count + 1, f"{count + 1}th")
    return f"it would be the {ordinal}, {count} match"


def listed(kind):
    """Checks the output of `kernelc devices`."""
    done = kernelc("devices")
    there = [line.split(":")[0] for line in done.stdout.splitlines()]
    count = count_devices(kind)
    wanted = {kind, *(f"{kind}[{number}]" for number in range(1, count))}
    checks.expect("all devices are listed", done.returncode == 0 and wanted <= set(there), done.stdout + done.stderr)
    done = kernelc("devices", f"{kind}[{count}]", f"{kind}?foo=1")
    expected = (f"{kind}[{count}]: not here: there is no {kind}[{count}]: {missing(kind, count)}\n"
                f"{kind}?foo=1: not here: {kind} has no options, but 'foo' is given\n")
    checks.expect("why a spec is none", done.stdout == expected, done.stdout + done.stderr)
    described(kind, count)


def described(kind, count):
    """Checks what `kernelc targets --device` says about the last device."""
    last = kind if count == 1 else f"{kind}[{count - 1}]"
    done = kernelc("targets", "--device", last)
    lines = dict(re.findall(r"^  (\S.*?) {2,}(\S.*)$", done.stdout, re.M))
    heads = re.findall(r"^\S.*", done.stdout, re.M)
    checks.expect("both parts are there", heads[:1] == [f"{last}, as the runtime sees it:"] and heads[1:2] and heads[1].endswith("is compiled for:"),
                  done.stdout + done.stderr)
    numbers = [{"opencl": "compute units", "cuda": "multiprocessors"}[kind], "bytes of memory", "bytes of workgroup memory"]
    checks.expect("the numbers are numbers", all(int(lines.get(name, "0")) > 0 for name in numbers), done.stdout + done.stderr)
    done = kernelc("targets", "--device", f"{kind}[{count}]")
    is_told = missing(kind, count) in done.stderr and "[E0982]" in done.stderr
    checks.expect("why a device is not there", done.returncode == 3 and is_told, done.stdout + done.stderr)


def programs(kind, folder):
    """Runs programs on the device and the host, programs on two devices, and kernels that print."""
    (folder / "both.kdl").write_text(DEVICES)
    run = ["run", folder / "both.kdl", "--set", "N=37"]
    alone = kernelc(*run)
    several = count_devices(kind) > 1
    if not several:
        checks.skip(f"a program on {kind} and {kind}[1]", f"there is one {kind} device")
    for second in ["host", *([f"{kind}[1]"] if several else [])]:
        done = kernelc(*run, "--device", f"a={kind}", "--device", f"b={second}")
        same = done.returncode == 0 and done.stdout == alone.stdout
        checks.expect(f"a program on {kind} and {second}", same, done.stdout + done.stderr)
        done = kernelc(*run, "--verify", "--device", f"a={kind}", "--device", f"b={second}")
        checks.expect(f"a program on {kind} and {second} equals the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
    (folder / "says.kdl").write_text(PRINTS)
    done = kernelc("run", folder / "says.kdl", "--target", kind, "--core-num", "1", "--set", "N=6", "--arg", "x=iota")
    here = kernelc("run", folder / "says.kdl", "--target", "reference", "--core-num", "1", "--set", "N=6", "--arg", "x=iota")
    checks.expect("prints as the interpreter does", done.returncode == 0 and done.stdout == here.stdout, done.stdout + done.stderr)
    (folder / "much.kdl").write_text(PRINTS_MUCH)
    much = ["run", folder / "much.kdl", "--core-num", "1", "--set", "N=132000", "--arg", "x=iota"]
    here = kernelc(*much, "--target", "reference", "--arg", "limit=inf").stdout
    for limit, told in [("inf", "prints more than the 1048576 bytes"), ("131999", "small")]:
        done = kernelc(*much, "--target", kind, "--arg", f"limit={limit}")
        same = done.returncode != 0 and 0 < len(done.stdout) < len(here) and here.startswith(done.stdout) and told in done.stderr
        checks.expect(f"prints that find no room are told of, or '{told}'", same, done.stdout[-500:] + done.stderr)


def run(summary, kind, is_missing, more):
    """Runs all tests and returns the exit code. Contracts are tested until the time limit.
    `is_missing(output)` says whether, according to kernelc's output, the device does not exist. `more` maps
    the names of further parts to functions."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--seconds", type=float, default=8, help="for contracts; a large number tries all (default: %(default)s)")
    parser.add_argument("--part", choices=["devices", "interpreter", "programs", "contracts", *more], help="this one only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        probe = kernelc("run", "samples/saxpy/saxpy.kdl", "--target", kind, "--set", "N=5", "--arg", "a=2.0", "--verify")
        if is_missing(probe.stderr):
            print(f"no {kind} device")
            return 77
        checks.expect("saxpy equals the interpreter", "bit for bit" in probe.stdout, probe.stdout + probe.stderr)
        parts = {"devices": lambda: listed(kind), "interpreter": lambda: against_interpreter(kind, folder),
                 "programs": lambda: programs(kind, folder), **more, "contracts": lambda: keep_contracts(kind, options.seconds)}
        for name in [options.part] if options.part else parts:
            parts[name]()
    return checks.end()
