#!/usr/bin/env python3
"""Tests `spmd for … @dynamic`: blocks of very different cost are distributed to whichever core is free. The
bits must be those of the interpreter, and of the same kernels without @dynamic, for every number of cores,
number of workers, -O and device."""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

# Three kernels: one with blocks of increasing cost; one with a loop whose blocks are distributed again in
# each iteration, using a second counter; and one with a named domain of a single loop.
KERNELS = """
export kernel triangle(x: in f32[M, K], y: inout f32[M, M]) {
    spmd for i in M by 8, j in M by 16 @dynamic {
        var acc: f32[i, j] = 0;
        for k in 0..i.start { acc = acc * 0.5 + x[i, k % K] * x[j, k % K]; }
        y[i, j] += acc;
    }
}

export kernel turns(x: in f32[M, K], y: inout f32[K, M], z: out f32[K, M]) {
    for t in 0..K {
        spmd for i in M by 4 @dynamic {
            var acc: f32[i] = 0;
            for k in 0..i.start * t { acc = acc * 0.25 + x[i, k % K]; }
            y[t, i] += acc;
        }
    }
    spmd for t in 0..K, m in 0..M @dynamic {
        var acc: f32 = 0;
        for k in 0..m { acc = acc * 0.5 + x[k, t]; }
        z[t, m] = acc;
    }
}

export kernel domain_alone(x: in f32[M, K], y: inout f32[M, M]) {
    range k in K max 16;
    domain rows = (M by 16, 0..M);
    spmd for i, j in rows @dynamic { y[i, j] += sum(x[i, k] * x[j, k] over k); }
}
"""

SHAPES = [(67, 5), (1, 1), (130, 9), (0, 3)]
CORES = ["1", "2", "7", "1000", "auto"]
TARGETS = ["host?threads=1", "host?threads=2", "debug?threads=1", "debug?threads=2&seed=5"]
LEVELS = ["-O0", "-O3"]
failures = []
checks = 0


def call(*words, folder):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)


def outputs(folder, source, kernel, shape, options):
    """Returns what one `kernelc run` writes, as {tensor: bytes}, or None after a failure."""
    global checks
    checks += 1
    results = ["y", "z"] if kernel == "turns" else ["y"]
    done = call("kernelc", "run", source, "--kernel", kernel, "--set", f"M={shape[0]}", "--set", f"K={shape[1]}",
                "--arg", "x=random:3", "--arg", "y=random:4", *[f"--out={name}=@{name}.npy" for name in results], *options,
                folder=folder)
    if done.returncode:
        failures.append(f"{source} {kernel} {shape} {' '.join(options)}: {done.stderr}")
        return None
    return [(folder / f"{name}.npy").read_bytes() for name in results]


def check_bits(folder):
    for kernel, shape in itertools.product(re.findall(r"kernel (\w+)", KERNELS), SHAPES):
        expected = outputs(folder, "static.kdl", kernel, shape, ["--verify", "--core-num", "3"])
        ways = [(cores, target, "-O2") for n, cores in enumerate(CORES) for target in (TARGETS[n % 4], TARGETS[(n + 1) % 4])]
        ways += [("7", TARGETS[1], level) for level in LEVELS]
        for cores, target, level in ways:
            options = ["--target", target, level] + (["--core-num", cores] if cores != "auto" else [])
            if cores == "7":
                options.append("--verify")
            if outputs(folder, "dynamic.kdl", kernel, shape, options) != expected:
                failures.append(f"{kernel} {shape} {' '.join(options)}: other bits than without @dynamic")


def check_claims(folder):
    """Checks that kernels obey @dynamic: their loops take block numbers from counters. There are four such
    loops in total."""
    for name, counters in (("dynamic", 4), ("static", 0)):
        done = call("kernelc", "build", f"{name}.kdl", "--emit", "llvm", "--target", "host?isa=x86-64-v3", "-o", name, folder=folder)
        text = "".join(path.read_text() for path in sorted((folder / name).glob("*.ll")))
        # A loop takes its first number in one place, and the following numbers in another place.
        found = text.count("atomicrmw add") // 2
        if done.returncode or found != counters:
            failures.append(f"{name}.kdl takes from {found} counters, not {counters}; {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "dynamic.kdl").write_text(KERNELS)
        (folder / "static.kdl").write_text(KERNELS.replace(" @dynamic", ""))
        check_bits(folder)
        check_claims(folder)
    print("\n".join(failures))
    print(f"{checks} runs, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
