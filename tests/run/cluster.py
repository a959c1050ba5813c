#!/usr/bin/env python3
"""Tests kernels on a cluster machine, in an emulator.

The kernels of the samples and of tests/run/families are compared with their contracts and the interpreter,
in a random order, until the time limit. Further checks: any number of clusters gives the same bits; block
copies move as many bytes as the compiler predicts, and continue while workers compute; loops without
iterations copy nothing; memory beyond 4 GiB works. Also tests traps, a cluster that is killed or hangs, a
host that is stopped or killed, and a worker that leaves its scratchpad or its stack."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy

from shared import checks, contracts, teams
from shared.clusters import KIND, PRODUCT, SHIPPED, describe, moved

COUNTS = """
export kernel count(at: in i32[N], hits: inout i32[M], weights: inout f32[M]) {
    spmd for i in N by 4 {
        atomic hits[at[i]] += 1;
        atomic weights[at[i]] += 0.5;
    }
}
"""
SHIFTED = """
export kernel shifted(x: in f32[M, N], y: out f32[N, M], z: out f32[M]) {
    spmd for i in M by 24 {
        for j in N by 40 @pipelined(3) { y[j, i] = x[i, j] * 2.0; }
        z[i] = x[i, 0];
    }
}
requires { N > 0; }
"""
# The kernel's only buffer has 256 elements; the iteration that stores to element 1 stores far beyond its end.
STRAYS = """
export kernel strays(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 256 {
        let t = x[i] * 2.0;
        y[i] = t + sum(t over i);
    }
}
"""
# Most of the device's memory is before the part that is used.
FAR = """
device npu;
kernel twice(x: in f32[M, N], y: out f32[M, N]) { spmd for i in M by 4, j in N by 16 { y[i, j] = x[i, j] + x[i, j]; } }
export program far(x: in f32[M, N], y: out f32[M, N], rows: i64, columns: i64) {
    let all: f32[rows, columns] on npu;
    spmd on npu twice(x, all[rows - M..rows, columns - N..columns]);
    spmd on npu twice(all[rows - M..rows, columns - N..columns], y);
}
"""
# Products in two parts of a launch, and in a stage. In all of them, copies start iterations ahead.
PARTS = """
export kernel parts(x: in f32[M, K], w: in f32[K, N], v: in f32[N, N], h: inout f32[M, N], y: out f32[M, N]) {
    spmd for i in M by 16, j in N by 16 {
        var acc: f32[i, j] = 0;
        for k in K by 16 { acc += dot(x[i, k], w[k, j] over k); }
        h[i, j] = acc;
    }
    sync;
    spmd for i in M by 16, j in N by 16 {
        var acc: f32[i, j] = 0;
        for k in N by 16 { acc += dot(h[i, k], v[k, j] over k); }
        y[i, j] = acc;
    }
}
"""
STAGED = """
export kernel staged<B: int = 16>(a: in f32[M, K], b: in f32[K, N], res: in f32[M, N], c: out f32[M, N]) {
    domain blocks = (M by B, N by B);
    pipe q: f32[B, B];
    stage multiply {
        spmd for i, j in blocks {
            var acc: f32[i, j] = 0;
            for k in K by B { acc += dot(a[i, k], b[k, j] over k); }
            q.push(acc, i, j);
        }
    }
    stage add { spmd for i, j in blocks { c[i, j] = q.pop(i, j) + res[i, j]; } }
}
"""
SLOW = """
export kernel slow(x: inout f32[N], turns: i64) {
    for t in 0..turns {
        spmd for i in N by 64 { let s = x[i] * 0.5; x[i] = s + sum(s over i); }
        sync;
    }
}
"""
# The bounds come from data. If they are far apart, their difference exceeds the range of i64.
BOUNDED = """
export kernel bounded(x: in f32[M, N], ends: in i64[2], y: out f32[M]) {
    spmd for i in M by 8 {
        var t: f32[i] = 0.0;
        for j in max(ends[0], 0)..min(ends[1], N) by 16 @pipelined(3) { t += sum(x[i, j] over j); }
        y[i] = t;
    }
}
"""
STORED = "buffer_store %t.1 to %t["
ENDLESS = """
fn rounds(x: i32) -> i32 {
    var n = x;
    while n >= 0 { n = (n + 1) & 1023; }
    return n;
}
export kernel spin(x: in i32[N], y: out i32[N]) { spmd for i in N by 1 { y[i] = rounds(x[i]); } }
"""


def same_bits(folder):
    """Checks that neither sums in sequential order nor counts that clusters share depend on where a core
    runs."""
    (folder / "product.kdl").write_text(PRODUCT)
    sizes = ["--set", "M=100", "--set", "N=77", "--set", "K=65"]
    results = []
    for clusters in (1, 2, 5):
        out = folder / f"c{clusters}.npy"
        done = teams.kernelc("run", folder / "product.kdl", "--target", f"{KIND}?clusters={clusters}", "--verify", *sizes,
                             "--out", f"c=@{out}")
        checks.expect(f"{clusters} clusters equal the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
        results.append(out.read_bytes() if out.exists() else clusters)
    checks.expect("any number of clusters gives the same bits", len(set(results)) == 1)


def far_memory(folder):
    """Checks offsets of more than 32 bits, and row strides of more than 32 bits."""
    (folder / "far.kdl").write_text(FAR)
    spec = describe(folder, "far", memory_bytes=16 << 30)
    for name, rows, columns in [("elements", 60000000, 20), ("rows", 3, 1100000000)]:
        done = teams.kernelc("run", folder / "far.kdl", "--device", f"npu={spec}", "--set", "M=3", "--set", "N=20", "--arg", "x=iota",
                             "--arg", f"rows={rows}", "--arg", f"columns={columns}")
        checks.expect(f"{name} beyond 4 GiB", "[[0, 4, 8, 12," in done.stdout and "232, 236]]" in done.stdout, done.stdout + done.stderr)


def shared_counts(folder):
    """Checks that clusters can update the same elements concurrently."""
    (folder / "count.kdl").write_text(COUNTS)
    done = teams.kernelc("run", folder / "count.kdl", "--target", KIND, "--set", "N=40000", "--set", "M=2", "--arg", "at=zeros",
                         "--arg", "hits=zeros", "--arg", "weights=zeros")
    told = "hits: i32[2] = [40000, 0]" in done.stdout and "weights: f32[2] = [20000, 0]" in done.stdout
    checks.expect("no update is lost", told, done.stdout + done.stderr)


def predicted(file, kernel, sizes, *more):
    """Evaluates, for these sizes, the compiler's formula for the number of bytes that are copied."""
    done = teams.kernelc("explain", "--copies", file, "--target", KIND, *more)
    found = re.search(rf"kernel {kernel}\S* on \S+: block copies move (.*) bytes", done.stdout)
    checks.expect(f"a formula of {kernel}", found is not None, done.stdout + done.stderr)
    return eval(found[1].replace("/", "//"), {"min": min}, dict(sizes)) if found else -1


def copies(folder):
    """Checks that the device counts as many bytes as the formula gives, for different sizes, and that results
    are the interpreter's."""
    attention = (teams.ROOT / "tests/run/families/attention.kdl").read_text()
    (folder / "attention.kdl").write_text(attention[:attention.index("\n// Query i")])
    (folder / "shifted.kdl").write_text(SHIFTED)
    (folder / "parts.kdl").write_text(PARTS)
    (folder / "staged.kdl").write_text(STAGED)
    cases = [(folder / "parts.kdl", "parts", {"M": 20, "K": 100, "N": 70}, []),
             (folder / "staged.kdl", "staged", {"M": 20, "K": 100, "N": 70}, ["--pipes", "buffered"]),
             (folder / "product.kdl", "product", {"M": 100, "N": 77, "K": 65}, []),
             (folder / "product.kdl", "product", {"M": 5, "N": 300, "K": 1}, []),
             (folder / "shifted.kdl", "shifted", {"M": 50, "N": 333}, []),
             ("samples/softmax/softmax.kdl", "softmax", {"R": 37, "C": 1003}, []),
             (folder / "attention.kdl", "attention", {"B": 2, "H": 3, "L": 33, "S": 50}, ["-D", "D=16"])]
    for file, kernel, sizes, more in cases:
        bytes_said = predicted(file, kernel, sizes, *more)
        words = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
        done = teams.kernelc("run", file, "--target", KIND, "--verify", "--verbose", *words, *more)
        count, bytes_moved, barriers, peak = moved(done)
        checks.expect(f"{kernel} equals the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
        checks.expect(f"{kernel}: bytes counted are those of the formula", bytes_moved == bytes_said > 0, (bytes_moved, bytes_said))
        checks.expect(f"{kernel}: other counts", count > 0 and barriers > 0 and 0 < peak <= 4 << 20, done.stdout)


def overlaps(file):
    """Returns the number of copies during which some worker reached a barrier, according to the order of the
    device's own events."""
    begun, passed = {}, set()
    for line in file.read_text().splitlines():
        place, event = line.split(": ")
        word, number = event.rsplit(" ", 1)
        if word == "core begins":
            begun.clear()
        elif word == "copy begins":
            begun[number] = False
        elif word == "barrier":
            begun = {copy: True for copy in begun}
        elif word == "copy ends" and begun.pop(number):
            passed.add((place, number))
    return len(passed)


def ahead(folder):
    """Checks that copies continue while workers compute, and that each copy is awaited before its data is
    used."""
    (folder / "ahead.kdl").write_text(PRODUCT.replace("by 16 {", "by 16 @pipelined(2) {"))
    for name, more in [("product", []), ("ahead", []), ("parts", []), ("staged", ["--pipes", "buffered"])]:
        events = folder / f"{name}.events"
        done = teams.kernelc("run", folder / f"{name}.kdl", "--target", f"{KIND}?clusters=1&events={events}", "--verify",
                             "--set", "M=32", "--set", "N=32", "--set", "K=256", *more)
        checks.expect(f"{name}: turns ahead change no bit", "bit for bit" in done.stdout, done.stdout + done.stderr)
        seen = overlaps(events) if events.exists() else 0
        checks.expect(f"{name}: copies overlap with work", seen >= 10, seen)


def faults(folder):
    """Checks the errors, with source lines, for a worker that leaves the scratchpad, and for an instruction
    that the worker's core does not support."""
    (folder / "strays.kdl").write_text(STRAYS)
    done = teams.kernelc("build", folder / "strays.kdl", "--target", KIND, "--emit", "ir", "--stop-after", "check-scratch", "--locs",
                         "-o", folder)
    checks.expect("loops of a kernel", done.returncode == 0, done.stdout + done.stderr)
    file = folder / "strays.kir"
    turn = re.search(re.escape(STORED) + r"(%\d+)", file.read_text())[1]
    scaled = f"%far = const 1048576 : i64\n %away = mul {turn}, %far : i64\n {STORED}%away"
    file.write_text(file.read_text().replace(STORED + turn, scaled))
    run = ["run", file, "--trust-ir", "--set", "N=2", "--target"]
    told = r"cluster 0 of machine 'riscv64', thread 1 of core 0, accessed byte \d+ of a scratchpad of 4194304 bytes at .*strays.kdl:4 "
    done = teams.kernelc(*run, KIND)
    checks.expect("a worker that leaves its scratchpad", re.search(told, done.stderr), done.stdout + done.stderr)
    deep = folder / "deep.kir"
    large = (f"%large = buffer_new : buffer<f32,[8192]>\n%first = const 0 : i64\nbuffer_store %t.1 to %large[%first]\n"
             f"%again = buffer_load %large[{turn}] : f32\n")
    text = file.read_text().replace(scaled, f"{large}{STORED.replace('%t.1', '%again')}{turn}")
    spec = describe(folder, "flat", stack_bytes=16384)
    deep.write_text(text.replace(f'for "{KIND}"', f'for "{spec}"'))
    done = teams.kernelc("run", deep, "--trust-ir", "--set", "N=2", "--target", spec)
    checks.expect("a kernel that takes more than its stack", "needed more than its stack of 16384 bytes" in done.stderr,
                  done.stdout + done.stderr)
    lame = folder / "lame.yaml"
    lame.write_text(SHIPPED.read_text().replace("name: riscv64", "name: lame").replace("+zfhmin]", "+zfhmin, +zba]")
                    .replace("Zfhmin=on", "Zfhmin=on,zba=off").replace("llvm-addr2line-19", "no-such-program"))
    done = teams.kernelc("run", folder / "product.kdl", "--set", "M=9", "--set", "N=9", "--set", "K=9", "--target",
                         f"cluster?description={lame}")
    told = "executed an invalid instruction while it ran kernel 'product'"
    checks.expect("an instruction that a core lacks, without a program for lines", told in done.stderr, done.stdout + done.stderr)


def children(process):
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def emulators(process):
    """Returns the processes that run clusters and that the given process has started, directly or
    indirectly."""
    found = []
    for child in children(process):
        name = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
        found += [child] if name.startswith("qemu") else emulators(child)
    return found


def lives(process):
    stat = pathlib.Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def traps(folder):
    """Checks that a trap names its origin: here a worker of the second core, on the second of two clusters."""
    (folder / "pick.kdl").write_text(teams.TRAPS)
    at = numpy.zeros(16, numpy.int32)
    at[11] = 99
    numpy.save(folder / "at.npy", at)
    done = teams.kernelc("run", folder / "pick.kdl", "--target", f"{KIND}?clusters=2", "--set", "N=16", "--core-num", "2", "--arg",
                         f"at=@{folder}/at.npy")
    told = "index 99 is outside dimension 0 of size 16 in 'x[at[i]]' (cluster 1, thread 3 of core 1)"
    checks.expect("a trap says which worker", told in done.stderr, done.stdout + done.stderr)


# Only the assertion shows that the elements of x exist.
ASSERTED = """
export kernel part(x: in f32[N], first: i64, y: out f32[64]) {
    range c in 64;
    assert(first >= 0 && first <= N - 64);
    let t = x[first + c];
    spmd for z in 0..1 { y[c] = t * 2.0; }
}
"""


def asserted(folder):
    """Checks that no copy is started before the assertion that its elements exist."""
    (folder / "part.kdl").write_text(ASSERTED)
    run = ["run", folder / "part.kdl", "--target", KIND, "--verify", "--set", "N=100", "--arg", "x=random:1", "--arg"]
    done = teams.kernelc(*run, "first=36")
    checks.expect("the last part", "bit for bit" in done.stdout, done.stdout + done.stderr)
    done = teams.kernelc(*run, f"first={10**12}")
    checks.expect("a part that does not exist", "assertion failed" in done.stderr, done.stdout + done.stderr)


def bounds(folder):
    """Checks that no copy is started for a loop without iterations."""
    (folder / "bounded.kdl").write_text(BOUNDED)
    least = numpy.iinfo("int64").min
    for ends in ([5, 60], [20, 20], [60, 5], [10**12, least], [-least - 1, least]):
        numpy.save(folder / "ends.npy", numpy.array(ends, "int64"))
        done = teams.kernelc("run", folder / "bounded.kdl", "--target", KIND, "--verify", "--set", "M=19", "--set", "N=64",
                             "--arg", "x=random:1", "--arg", f"ends=@{folder}/ends.npy")
        checks.expect(f"a loop from {ends[0]} to {ends[1]}", "bit for bit" in done.stdout, done.stdout + done.stderr)


def failures(folder):
    (folder / "spin.kdl").write_text(ENDLESS)
    run = ["run", folder / "spin.kdl", "--set", "N=5", "--arg", "x=zeros", "--target"]
    done = teams.kernelc(*run, f"{KIND}?deadline=1")
    checks.expect("a cluster that hangs", "has made no progress for 1 s while it ran kernel 'spin'" in done.stderr, done.stdout + done.stderr)
    (folder / "slow.kdl").write_text(SLOW)
    process = subprocess.Popen(["kernelc", "run", folder / "slow.kdl", "--set", "N=64", "--arg", "x=zeros", "--arg", "turns=3000", "--device",
                                f"npu={KIND}?deadline=2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while len(emulators(process.pid)) < 5 and process.poll() is None and time.monotonic() - begin < 20:
        time.sleep(0.05)
    stopped = [process.pid, *emulators(process.pid)]
    for one in stopped:
        os.kill(one, signal.SIGSTOP)
    time.sleep(3)
    for one in reversed(stopped):
        os.kill(one, signal.SIGCONT)
    out, err = process.communicate(timeout=100)
    checks.expect("a host that is stopped for longer than the deadline", len(stopped) == 6 and process.returncode == 0, out + err)
    begin = time.monotonic()
    process = subprocess.Popen(["kernelc", *map(str, run), KIND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(emulators(process.pid)) < 5 and time.monotonic() - begin < 20:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(emulators(process.pid)[2], signal.SIGKILL)
    killed = time.monotonic()
    out, err = process.communicate(timeout=30)
    told = "cluster " in err and "was killed by signal 9 (Killed) while it ran kernel 'spin'" in err
    checks.expect("a cluster that is killed", process.returncode != 0 and told, out + err)
    checks.expect("and at once", time.monotonic() - killed < 5)
    for name, spec in [("ring", KIND), ("are polled", describe(folder, "polled", transport="polling"))]:
        process = subprocess.Popen(["kernelc", *map(str, run), spec], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        while len(started := emulators(process.pid)) < 5 and time.monotonic() - begin < 20:
            time.sleep(0.05)
        time.sleep(0.5)  # by now clusters are running
        process.kill()
        process.wait()
        begin = time.monotonic()
        while any(map(lives, started)) and time.monotonic() - begin < 10:
            time.sleep(0.05)
        checks.expect(f"clusters that {name} end with their host", len(started) == 5 and not any(map(lives, started)), started)


def main():
    options = contracts.options(__doc__.splitlines()[0], 8)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        same_bits(folder)
        shared_counts(folder)
        far_memory(folder)
        copies(folder)
        ahead(folder)
        asserted(folder)
        bounds(folder)
        failures(folder)
        faults(folder)
        traps(folder)
        teams.against_interpreter(KIND, folder)
        teams.programs(KIND, folder)
    teams.keep_contracts(KIND, options.seconds)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
