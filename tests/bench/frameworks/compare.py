#!/usr/bin/env python3
"""Compares kernels with PyTorch, IREE and NumPy, if this Python can import them. All implementations
alternate in one process, on the same arrays.

Rows are the kernels in kernels/, with `auto` tiles, called through their C functions. Results are first
compared with NumPy's in float64; a wrong row is reported as WRONG without a time, and the exit code is 1.
With one thread, times are processor time. With two threads, they are wall-clock time, and the fastest of five
tries counts in each trial. The column `unit` contains the name that the peer reports for its implementation.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for NumPy, which reads it once; its threads would otherwise spin
import numpy

from library import Library
from peers import PEERS
from rows import ROWS

BENCH = pathlib.Path(__file__).resolve().parents[1]
TURN = 2e-3  # minimum seconds for one turn of a library
TRIES = 5  # other load only adds wall-clock time, so the fastest counts
REST = 20e-3  # pause between turns, so that no peer's threads are still spinning


@dataclasses.dataclass
class Result:
    name: str
    dtype: str
    size: str
    threads: int
    peer_name: str
    unit: str = ""
    ours: float = 0  # median time in seconds
    peer: float = 0
    ratio: float = 0  # the peer's time divided by ours: higher is better
    spread: float = 0  # interquartile range of the quotients, divided by their median
    trials: int = 0
    wrong: str = ""


def turn(call, runs, threads):
    """Returns the seconds per call. With several threads, the fastest of several tries counts."""
    if threads == 1:
        start = time.process_time()
        for _ in range(runs):
            call()
        return (time.process_time() - start) / runs
    best = float("inf")
    for _ in range(TRIES):
        time.sleep(REST)
        start = time.perf_counter()
        for _ in range(runs):
            call()
        best = min(best, (time.perf_counter() - start) / runs)
    return best


def alternate(sides, threads, trials, seconds):
    """Returns a series of timings for each implementation. A trial consists of one turn of each
    implementation."""
    runs = []
    for call in sides:
        call()  # run one-time initialization
        runs.append(max(1, round(TURN / max(turn(call, 1, threads), 1e-7))))
    series = [[] for _ in sides]
    start = time.monotonic()
    for trial in range(trials):
        if trial >= 3 and time.monotonic() - start > seconds:
            break
        for times, call, count in zip(series, sides, runs):
            times.append(turn(call, count, threads))
    return series


def difference(row, found, expected):
    """Returns what is wrong with the result, or an empty string."""
    if row.tolerance == 0:
        return "" if numpy.array_equal(found, expected) else "another number"
    error = numpy.max(numpy.abs(found.astype(numpy.float64) - expected)) / max(1.0, float(numpy.max(numpy.abs(expected))))
    return "" if error <= row.tolerance else f"off by {error:.1e} of the largest number"


def measure(row, kernels, peers, threads, options):
    """Returns one result for each peer that supports the row's work."""
    arrays = row.arrays(numpy.random.default_rng(1))
    output = arrays[row.output]
    output.fill(1)
    run = kernels.function(row.function, {**row.sizes, **arrays, **row.scalars}, threads)
    run()
    result = Result(row.name, row.dtype, row.size, threads, "")
    if wrong := difference(row, output, row.expected(arrays)):
        yield dataclasses.replace(result, wrong=wrong)
        return
    calls = {peer.name: call for peer in peers if (call := peer.prepare(row, arrays, threads))}
    if not calls:
        return
    units = {peer.name: peer.unit(calls[peer.name]) for peer in peers if peer.name in calls}
    ours, *others = alternate([run, *calls.values()], threads, options.trials, options.seconds)
    for name, theirs in zip(calls, others):
        quotients = [their / our for their, our in zip(theirs, ours)]
        low, middle, high = statistics.quantiles(quotients, n=4, method="inclusive")
        yield dataclasses.replace(result, peer_name=name, unit=units[name], ours=statistics.median(ours),
                                  peer=statistics.median(theirs), ratio=middle, spread=(high - low) / middle, trials=len(ours))


def text(result):
    label = f"{result.name:14} {result.dtype:5} {result.size:18} {result.threads}"
    if result.wrong:
        return f"{label}  WRONG: {result.wrong}"
    return (f"{label}  {result.ours * 1e6:12.1f} {result.peer * 1e6:12.1f}  {result.ratio:5.2f} {result.spread:6.1%}  "
            f"{result.trials:6}  {result.peer_name:8} {result.unit}")


def add_to_json(path, results):
    """Appends the results to the file, which may already contain rows for other libraries."""
    rows = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps(rows + [dataclasses.asdict(result) for result in results], indent=1) + "\n")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only rows whose `name dtype size` contains this")
    parser.add_argument("--threads", type=int, help="only with so many (default: 1, then 2)")
    parser.add_argument("--trials", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=30, help="fewer trials, 3 at least, where a row would take longer")
    parser.add_argument("--json", type=pathlib.Path, help="adds the rows to this file")
    parser.add_argument("--peers", default=",".join(PEERS), help="default: %(default)s, those that can be imported")
    parser.add_argument("--target", default="host", help="what the kernels are compiled for")
    parser.add_argument("--kernelc", type=pathlib.Path, default=BENCH.parents[1] / "build/bin/kernelc")
    parser.add_argument("--kernels", type=pathlib.Path, default=BENCH / "kernels")
    parser.add_argument("--list", action="store_true", help="prints the rows and runs nothing")
    return parser.parse_args()


def main():
    options = parse()
    rows = [row for row in ROWS if options.filter in f"{row.name} {row.dtype} {row.size}"]
    if options.list:
        print("\n".join(f"{row.name} {row.dtype} {row.size}" for row in rows))
        return 0
    peers = [peer for name in options.peers.split(",") if (peer := PEERS[name].found())]
    print("peers: " + (", ".join(f"{peer.name} {peer.version}" for peer in peers) or f"{sys.executable} can import none"))
    if not peers:
        return 0
    print(f"{'name':14} {'dtype':5} {'size':18} threads  {'ours, us':>9} {'peer, us':>12}  ratio spread  trials  peer     its unit")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        libraries = {}
        for threads in [options.threads] if options.threads else [1, 2]:
            for row in rows:
                key = (row.file, row.defines)
                if key not in libraries:
                    libraries[key] = Library(options, row, pathlib.Path(folder))
                for result in measure(row, libraries[key], peers, threads, options):
                    print(text(result), flush=True)
                    results.append(result)
    if options.json:
        add_to_json(options.json, results)
    return 1 if any(result.wrong for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
