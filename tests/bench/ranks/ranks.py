#!/usr/bin/env python3
"""Times programs over two ranks, next to twins written by hand with MPI: tests/bench/ranks/ranks.py [--filter TEXT] …

Each program and its twins (twins.c) run in alternation, in two processes of Open MPI on this machine. It is a failure if a program
sends more messages or bytes than a twin. With --traffic, only this is checked, with small sizes. With --predict, the script instead compares
times with those that `kernelc explain --communication --times` predicts (predictions.py).
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import predictions

HERE = pathlib.Path(__file__).resolve().parent
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]
DEVICE = "host?threads=1"
BINS = 64  # TWIN_BINS
# Programs, the sizes M and N, the number of steps, and the twins.
ROWS = [
    ("jacobi", 2048, 2048, 60, ["jacobi", "jacobi in C"]),
    ("jacobi", 256, 1024, 1000, ["jacobi", "jacobi in C"]),
    ("matmul", 1024, 1024, 2, ["matmul"]),
    ("transposition", 2048, 2048, 4, ["transposition"]),
    ("histogram", 2048, 2048, 8, ["histogram"]),
]
# Small programs, whose shares have different sizes.
SMALL = [
    ("jacobi", 37, 24, 5, ["jacobi", "jacobi in C"]),
    ("matmul", 33, 20, 2, ["matmul"]),
    ("transposition", 37, 21, 2, ["transposition"]),
    ("histogram", 256, 300, 3, ["histogram"]),
]
# Small programs, whose shortest runs are not interrupted on a machine with other load, and the number of their trials.
PREDICTED = [
    ("jacobi", 512, 512, 12),
    ("matmul", 384, 384, 2),
    ("transposition", 768, 512, 4),
    ("histogram", 1024, 512, 6),
    ("red_black", 512, 512, 8),
    ("bodies", 768, 4, 4),
    ("sparse", 4096, 32, 12),
    ("kmeans", 4096, 16, 4),
    ("cosines", 256, 192, 2),
    ("waves", 512, 512, 8),
    ("attention", 512, 64, 4),
    ("blurred", 512, 512, 8),
    ("column_norms", 512, 512, 6),
]
# Programs that are only measured after everything that predicts their times is final (README.md).
UNSEEN = [
    ("advected", 512, 512, 8),
    ("powers", 512, 512, 6),
]


def run(words, **options):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True, **options).stdout


def build(kernelc, folder, level):
    """Builds the programs with their twins and the measurement of the network."""
    root = kernelc.resolve().parents[1]
    include = root / "include" if (root / "include" / "kdl").is_dir() else HERE.parents[2] / "include"
    run([kernelc, "build", HERE / "programs.kdl", "-o", folder])
    flags = [level, "-march=native", "-ffp-contract=off", "-DOMPI_SKIP_MPICXX", f"-I{folder}", f"-I{include}", f"-I{HERE}"]
    run(["mpicc.openmpi", "-std=c11", *flags, "-c", HERE / "twins.c", "-o", folder / "twins_of_mpi.o"])
    run(["mpicc.openmpi", "-std=c11", *flags, "-c", folder / "programs.c", "-o", folder / "programs_c.o"])
    for name in ("traffic", "network"):
        run(["mpicc.openmpi", "-std=c11", *flags, "-c", HERE / f"{name}.c", "-o", folder / f"{name}.o"])
    run(["mpicxx.openmpi", "-std=c++20", *flags, HERE / "main.cpp", folder / "programs.orch.cpp", *folder.glob("*.o"),
         root / "lib" / "libkdl_runtime.a", "-pthread", "-ldl", "-o", folder / "bench"])


def measured(folder, ranks, row, trials, twins=(), **options):
    """Returns what a program and its twins send, and the seconds of each trial."""
    return json.loads(run([*MPIRUN, "-n", ranks, folder / "bench", *row[:4], trials, DEVICE, *twins], **options))


def explained(kernelc, folder, row, ranks, times, plot=None):
    """Returns what `kernelc explain` predicts for a program with these times, by number of ranks."""
    program, m, n, steps = row[:4]
    file = folder / "times.json"
    file.write_text(json.dumps(times))
    sizes = {"M": m, "N": n, **({"Bins": BINS} if program == "histogram" else {})}
    words = [kernelc, "explain", "--communication", HERE / "programs.kdl", "--program", program, "--arg", f"steps={steps}", "--ranks", ranks,
             *[word for name, size in sizes.items() for word in ("--set", f"{name}={size}")], "--times", file, "--json",
             *(["--plot", plot] if plot else [])]
    points = json.loads(run(words))["communication"]["predicted_times"]
    return {point["ranks"]: point for point in points}


def title(row):
    return f"{row[0]} {row[1]}x{row[2]}, {row[3]} steps"


def compare(folder, row, trials):
    """Prints the median times of a program and its twins, which take turns, and the medians of the ratios. Returns whether the program sends
    no more than any twin."""
    all_measured = measured(folder, 2, row, trials, row[4])
    ours = all_measured["program"]
    print(f"{title(row):36} {statistics.median(ours['seconds']) * 1e3:9.2f} ms{'':12} {sent_text(ours)}")
    fits = True
    for name in row[4]:
        twin = all_measured[name]
        ratios = [theirs / own for theirs, own in zip(twin["seconds"], ours["seconds"])]
        has_less = any(twin[key] < ours[key] for key in ("messages", "bytes"))
        print(f"    twin {name:27} {statistics.median(twin['seconds']) * 1e3:9.2f} ms, ratio {statistics.median(ratios):.2f} {sent_text(twin)}"
              f"{': LESS than the program' if has_less else ''}", flush=True)
        fits = fits and not has_less
    return fits


def sent_text(measured_one):
    return f"{measured_one['messages']} messages, {measured_one['bytes']} bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", default="kernelc")
    parser.add_argument("--filter", default="", help="only rows whose text contains this")
    parser.add_argument("--trials", type=int, default=11)
    parser.add_argument("--traffic", action="store_true", help="compares only what small programs send, in seconds")
    parser.add_argument("--predict", action="store_true", help="predicts the times of small programs instead, and measures them")
    parser.add_argument("--unseen", action="store_true", help="with --predict: only the programs that are measured once")
    parser.add_argument("--plot", help="with --predict: draws the predicted times of the first program on up to 4,096 ranks")
    options = parser.parse_args()
    kernelc = pathlib.Path(shutil.which(options.kernelc))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build(kernelc, folder, "-O1" if options.traffic else "-O3")
        if options.predict:
            rows = [row for row in (UNSEEN if options.unseen else PREDICTED) if options.filter in title(row)]
            predictions.compare(rows, lambda *args, **options: measured(folder, *args, **options),
                                lambda *args: explained(kernelc, folder, *args), options.plot)
            return 0
        rows, trials = (SMALL, 1) if options.traffic else (ROWS, options.trials)
        fits = [compare(folder, row, trials) for row in rows if options.filter in title(row)]
    return 0 if fits and all(fits) else 1


if __name__ == "__main__":
    sys.exit(main())
