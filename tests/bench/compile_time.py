#!/usr/bin/env python3
"""Measures kernelc's compile time for a matmul (and clang's, to compare), and for a small and a large file.

Prints two lines. `--passes` also prints the passes that take most of the time for the large file, and the
ratio of each pass's times for the large and the small file. Uses processor time, which depends least on other
programs on the machine; runs alternate.
"""

import argparse
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = "host?isa=x86-64-v4"

# One of every ten kernels is a product. Of the others, half are maps and half are sums.
PRODUCT = """
export kernel k{n}<BM: int = auto, BN: int = auto, BK: int = auto>(
    a: in f32[M, K], b: in f32[K, N], c: out f32[M, N])
{{
    spmd for i in M by BM, j in N by BN {{
        var acc: f32[i, j] = {n};
        for k in K by BK {{ acc += dot(a[i, k], b[k, j] over k); }}
        c[i, j] = acc;
    }}
}}
"""
SUM = """
export kernel k{n}<BR: int = auto, BC: int = auto>(x: in f32[R, C], y: out f32[R]) {{
    spmd for r in R by BR {{
        var s: f32[r] = {n};
        for c in C by BC {{ s += sum(x[r, c] over c); }}
        y[r] = s;
    }}
}}
"""
MAP = """
export kernel k{n}<B: int = auto>(x: in f32[N], y: out f32[N]) {{
    spmd for i in N by B {{ y[i] = max(x[i] * {n}.0 + 1.0, 0.0); }}
}}
"""


def large_file(count):
    forms = [PRODUCT] + [MAP, SUM] * 4 + [MAP]
    return "".join(forms[n % len(forms)].format(n=n) for n in range(count))


def seconds(command):
    """Runs a command, and returns its processor time and output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime), done.stdout


def alternate(commands, trials):
    """Returns medians of alternating runs; the first run of each command only warms the file cache."""
    for command in commands:
        seconds(command)
    times = [[seconds(command)[0] for command in commands] for _ in range(trials)]
    return [statistics.median(column) for column in zip(*times)]


def passes(output):
    """Returns {name: milliseconds} from the output of --time-passes, adding up all runs of a pass."""
    times = {}
    for time, name in re.findall(r"^ *([0-9.]+) ms  (.*)$", output, re.MULTILINE):
        times[name] = times.get(name, 0) + float(time)
    return times


def print_growth(small, large, factor):
    print(f"{'pass':<28} {'small ms':>9} {'large ms':>10} {'times':>7}")
    for name, time in sorted(large.items(), key=lambda row: -row[1])[:12]:
        times = time / small[name] if small.get(name) else float("nan")
        mark = "  more than its share" if times > 1.1 * factor and time > 50 else ""
        print(f"{name:<28} {small.get(name, 0):9.2f} {time:10.1f} {times:7.0f}{mark}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernelc", default=str(ROOT / "build/bin/kernelc"))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--passes", action="store_true", help="show which passes grow")
    options = parser.parse_args()
    clang = shutil.which("clang++-19") or sys.exit("clang++-19 is not here: tests/install.sh bench")
    with tempfile.TemporaryDirectory(prefix="compile-time-") as folder:
        def kernelc(source, *more):
            return [options.kernelc, "build", source, "--emit", "obj", "--target", TARGET,
                    "-o", folder, *more]

        ours = kernelc(str(HERE / "kernels/matmul.kdl"))
        theirs = [clang, "-O3", "-march=x86-64-v4", "-c", str(HERE / "peer_matmul.cpp"),
                  "-o", f"{folder}/peer.o"]
        mine, peer = alternate([ours, theirs], options.trials)
        print(f"f32 matmul: kernelc {mine * 1e3:.0f} ms, clang -O3 {peer * 1e3:.0f} ms, "
              f"{mine / peer:.2f} times as long (goal: at most 1.00)", flush=True)

        sources = []
        for count in (10, 1000):
            sources.append(pathlib.Path(folder) / f"kernels{count}.kdl")
            sources[-1].write_text(large_file(count))
        trials = max(3, options.trials // 7)
        small, large = alternate([kernelc(str(s)) for s in sources], trials)
        print(f"1,000 kernels: {large:.2f} s, 10 kernels: {small * 1e3:.0f} ms, "
              f"{large / small:.0f} times as long (goal: at most 110)", flush=True)
        if options.passes:
            print_growth(*(passes(seconds(kernelc(str(s), "--time-passes"))[1]) for s in sources),
                         factor=100)


if __name__ == "__main__":
    main()
