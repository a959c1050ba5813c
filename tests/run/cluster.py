#!/usr/bin/env python3
"""Kernels on a machine of clusters, under an emulator: samples and families against their contracts and the interpreter, in an
order drawn from a seed until the time is over; any number of clusters gives the same bits; block copies move as many bytes as the
compiler says, and go on while workers compute; machines that files describe; traps; a cluster that is killed; one that hangs; one
that leaves its scratchpad."""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy

from shared import checks, teams

KIND = "cluster-riscv64"
SHIPPED = teams.ROOT / "runtime/cluster/cluster-riscv64.yaml"
PRODUCT = """
export kernel product(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by 32, j in N by 32 {
        var acc: f32[i, j] = 0;
        for k in K by 16 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""
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
# Of a kernel whose one buffer has 256 elements: the turn that stores to element 1 stores far behind it.
STRAYS = """
export kernel strays(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 256 {
        let t = x[i] * 2.0;
        y[i] = t + sum(t over i);
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
    """Sums in order are the same wherever a core runs; so are counts that clusters share."""
    (folder / "product.kdl").write_text(PRODUCT)
    sizes = ["--set", "M=100", "--set", "N=77", "--set", "K=65"]
    results = []
    for clusters in (1, 2, 5):
        out = folder / f"c{clusters}.npy"
        done = teams.kernelc("run", folder / "product.kdl", "--target", f"{KIND}?clusters={clusters}", "--check", *sizes,
                             "--out", f"c=@{out}")
        checks.expect(f"{clusters} clusters equal the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
        results.append(out.read_bytes() if out.exists() else clusters)
    checks.expect("any number of clusters gives the same bits", len(set(results)) == 1)


def shared_counts(folder):
    """Clusters update the same elements at once."""
    (folder / "count.kdl").write_text(COUNTS)
    done = teams.kernelc("run", folder / "count.kdl", "--target", KIND, "--set", "N=40000", "--set", "M=2", "--arg", "at=zeros",
                         "--arg", "hits=zeros", "--arg", "weights=zeros")
    told = "hits: i32[2] = [40000, 0]" in done.stdout and "weights: f32[2] = [20000, 0]" in done.stdout
    checks.expect("no update is lost", told, done.stdout + done.stderr)


def moved(done):
    """What the device counted of its block copies: how many there were, and their bytes."""
    found = re.search(r"block copies (\d+), bytes by block copies (\d+), barriers (\d+), scratchpad bytes at most (\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0, 0, 0, 0)


def predicted(file, kernel, sizes, *more):
    """The bytes that the compiler's formula gives for these sizes."""
    done = teams.kernelc("explain", "--copies", file, "--target", KIND, *more)
    found = re.search(rf"kernel {kernel}\S* on \S+: block copies move (.*) bytes", done.stdout)
    checks.expect(f"a formula of {kernel}", found is not None, done.stdout + done.stderr)
    return eval(found[1].replace("/", "//"), {"min": min}, dict(sizes)) if found else -1


def copies(folder):
    """Bytes counted by the device are those of the formula, whatever the sizes; results are the interpreter's."""
    attention = (teams.ROOT / "tests/run/families/attention.kdl").read_text()
    (folder / "attention.kdl").write_text(attention[:attention.index("\n// Query i")])
    (folder / "shifted.kdl").write_text(SHIFTED)
    cases = [(folder / "product.kdl", "product", {"M": 100, "N": 77, "K": 65}, []),
             (folder / "product.kdl", "product", {"M": 5, "N": 300, "K": 1}, []),
             (folder / "shifted.kdl", "shifted", {"M": 50, "N": 333}, []),
             ("samples/softmax/softmax.kdl", "softmax", {"R": 37, "C": 1003}, []),
             (folder / "attention.kdl", "attention", {"B": 2, "H": 3, "L": 33, "S": 50}, ["-D", "D=16"])]
    for file, kernel, sizes, more in cases:
        bytes_said = predicted(file, kernel, sizes, *more)
        words = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
        done = teams.kernelc("run", file, "--target", KIND, "--check", "--verbose", *words, *more)
        count, bytes_moved, barriers, peak = moved(done)
        checks.expect(f"{kernel} equals the interpreter", "bit for bit" in done.stdout, done.stdout + done.stderr)
        checks.expect(f"{kernel}: bytes counted are those of the formula", bytes_moved == bytes_said > 0, (bytes_moved, bytes_said))
        checks.expect(f"{kernel}: other counts", count > 0 and barriers > 0 and 0 < peak <= 4 << 20, done.stdout)


def overlaps(file):
    """Of how many copies some worker met others at a barrier between their beginning and their end, in the device's own order."""
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
    """Copies go on while workers compute, and each is awaited before it is used."""
    (folder / "ahead.kdl").write_text(PRODUCT.replace("by 16 {", "by 16 @pipelined(2) {"))
    for name in ("product", "ahead"):
        events = folder / f"{name}.events"
        done = teams.kernelc("run", folder / f"{name}.kdl", "--target", f"{KIND}?clusters=1&events={events}", "--check",
                             "--set", "M=32", "--set", "N=32", "--set", "K=256")
        checks.expect(f"{name}: turns ahead change no bit", "bit for bit" in done.stdout, done.stdout + done.stderr)
        seen = overlaps(events) if events.exists() else 0
        checks.expect(f"{name}: copies overlap with work", seen >= 10, seen)


def described(folder):
    """Another topology needs no change of the code; what is wrong with a file is told."""
    text = SHIPPED.read_text()
    for key, value in (("name", "small"), ("clusters", 2), ("cores", 4), ("scratchpad_bytes", 262144)):
        at = text.index(f"\n{key}: ") + 1
        text = text[:at] + f"{key}: {value}" + text[text.index("\n", at):]
    small = folder / "small.yaml"
    small.write_text(text)
    spec = f"cluster?description={small}"
    for file in ("samples/matmul_residual", "samples/softmax"):
        done = teams.kernelc("test", file, "--target", spec)
        checks.expect(f"contracts of {file} on 2 clusters of 4", done.returncode == 0, done.stdout + done.stderr)
    done = teams.kernelc("devices", spec)
    checks.expect("what it is", "cluster small, 2 cores" in done.stdout and "an emulation" in done.stdout, done.stdout + done.stderr)
    small.write_text(text.replace("cores: 4", "cores: none"))
    run = ["run", folder / "product.kdl", "--target", spec, "--set", "M=3", "--set", "N=3", "--set", "K=3"]
    done = teams.kernelc(*run)
    checks.expect("where it is wrong", f"{small}:8: cores is a number from 1 to 256" in done.stderr, done.stdout + done.stderr)
    small.write_text(text.replace("run: [qemu-riscv64", "run: [no-such-runner"))
    done = teams.kernelc(*run)
    checks.expect("a runner that is not here", "cannot be started with no-such-runner" in done.stderr, done.stdout + done.stderr)


def faults(folder):
    """Who leaves the scratchpad, and who comes to an instruction that its core lacks, says so with the line of the source."""
    (folder / "strays.kdl").write_text(STRAYS)
    done = teams.kernelc("build", folder / "strays.kdl", "--target", KIND, "--emit", "ir", "--stop-after", "check-scratch", "--locs",
                         "-o", folder)
    checks.expect("loops of a kernel", done.returncode == 0, done.stdout + done.stderr)
    file = folder / "strays.kir"
    turn = re.search(re.escape(STORED) + r"(%\d+)", file.read_text())[1]
    scaled = f"%far = const 1048576 : i64\n %away = mul {turn}, %far : i64\n {STORED}%away"
    file.write_text(file.read_text().replace(STORED + turn, scaled))
    run = ["run", file, "--trust-ir", "--set", "N=2", "--target"]
    told = r"cluster 0 of machine 'riscv64', worker 1 of core 0, touched byte \d+ of a scratchpad of 4194304 bytes at .*strays.kdl:4 "
    done = teams.kernelc(*run, KIND)
    checks.expect("a worker that leaves its scratchpad", re.search(told, done.stderr), done.stdout + done.stderr)
    lame = folder / "lame.yaml"
    lame.write_text(SHIPPED.read_text().replace("name: riscv64", "name: lame").replace("+zfhmin]", "+zfhmin, +zba]")
                    .replace("Zfhmin=on", "Zfhmin=on,zba=off").replace("llvm-addr2line-19", "no-such-program"))
    done = teams.kernelc("run", folder / "product.kdl", "--set", "M=9", "--set", "N=9", "--set", "K=9", "--target",
                         f"cluster?description={lame}")
    told = "came to an instruction that it does not have while it ran kernel 'product'"
    checks.expect("an instruction that a core lacks, without a program for lines", told in done.stderr, done.stdout + done.stderr)


def children(process):
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def emulators(process):
    """Those that run clusters, of a process and of those that it has started."""
    found = []
    for child in children(process):
        name = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
        found += [child] if name.startswith("qemu") else emulators(child)
    return found


def lives(process):
    stat = pathlib.Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def traps(folder):
    """A trap says who it was: here a worker of the second core, whose cluster is the second of two."""
    (folder / "pick.kdl").write_text(teams.TRAPS)
    at = numpy.zeros(16, numpy.int32)
    at[11] = 99
    numpy.save(folder / "at.npy", at)
    done = teams.kernelc("run", folder / "pick.kdl", "--target", f"{KIND}?clusters=2", "--set", "N=16", "--core-num", "2", "--arg",
                         f"at=@{folder}/at.npy")
    told = "index 99 is outside dimension 0 of size 16 in 'x[at[i]]' (cluster 1, worker 3 of core 1)"
    checks.expect("a trap says which worker", told in done.stderr, done.stdout + done.stderr)


def failures(folder):
    (folder / "spin.kdl").write_text(ENDLESS)
    run = ["run", folder / "spin.kdl", "--set", "N=5", "--arg", "x=zeros", "--target"]
    done = teams.kernelc(*run, f"{KIND}?deadline=1")
    checks.expect("a cluster that hangs", "has not got on for 1 s while it ran kernel 'spin'" in done.stderr, done.stdout + done.stderr)
    begin = time.monotonic()
    process = subprocess.Popen(["kernelc", *map(str, run), KIND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(emulators(process.pid)) < 5 and time.monotonic() - begin < 20:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(emulators(process.pid)[2], signal.SIGKILL)
    killed = time.monotonic()
    out, err = process.communicate(timeout=30)
    told = "cluster " in err and "was ended by signal 9 (Killed) while it ran kernel 'spin'" in err
    checks.expect("a cluster that is killed", process.returncode != 0 and told, out + err)
    checks.expect("and at once", time.monotonic() - killed < 5)
    process = subprocess.Popen(["kernelc", *map(str, run), KIND], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    while len(started := emulators(process.pid)) < 5 and time.monotonic() - begin < 20:
        time.sleep(0.05)
    time.sleep(0.5)  # they run
    process.kill()
    process.wait()
    begin = time.monotonic()
    while any(map(lives, started)) and time.monotonic() - begin < 10:
        time.sleep(0.05)
    checks.expect("clusters end with their host", len(started) == 5 and not any(map(lives, started)), started)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        same_bits(folder)
        shared_counts(folder)
        copies(folder)
        ahead(folder)
        described(folder)
        failures(folder)
        faults(folder)
        traps(folder)
        teams.against_interpreter(KIND, folder)
        teams.programs(KIND, folder)
    families = sorted(f"tests/run/families/{f.name}" for f in (teams.ROOT / "tests/run/families").glob("*.kdl"))
    teams.contracts(KIND, ["samples/matmul_residual", "samples/softmax", "samples/matmul", *families], options.seconds, options.seed)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
