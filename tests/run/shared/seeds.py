"""Shared by scripts that generate a kernel for each seed, or that run as many items of a list as there is
time for."""

import argparse
import concurrent.futures
import datetime
import os
import pathlib
import random
import sys
import tempfile

from shared import checks


def of_today():
    """Returns the seed for selections: the date, or KDL_SEED to repeat one."""
    return os.environ.get("KDL_SEED", datetime.date.today().isoformat())


def check_drawn(check):
    """Calls `check(draw, folder)` with the random numbers of today and a temporary folder. Returns the exit code of the script."""
    print(f"seed {of_today()}")
    with tempfile.TemporaryDirectory() as name:
        check(random.Random(of_today()), pathlib.Path(name))
    return checks.end()


def one_in(number, items):
    """Returns one of every `number` items, in their order, or all of them if the script was called with
    `--all`."""
    if "--all" in sys.argv:
        return items
    drawn = random.Random(of_today()).sample(range(len(items)), -(-len(items) // number))
    print(f"one in {number} of {len(items)}, drawn with KDL_SEED={of_today()}")
    return [items[i] for i in sorted(drawn)]


def half(name, items):
    """Returns half of the items, which the day and the name decide, or all of them with `--all`."""
    return items if "--all" in sys.argv else random.Random(f"{of_today()} {name}").sample(items, -(-len(items) // 2))


def run(summary, check, kernels):
    """Runs `check(folder, seed)` for many seeds. `check` returns what is wrong with a seed's kernel, or None.
    Exits with the result."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--kernels", type=int, default=kernels, help=f"how many (default: {kernels})")
    parser.add_argument("--first", type=int, default=1, help="the first one's seed (default: 1)")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        seeds = range(options.first, options.first + options.kernels)
        for seed, wrong in zip(seeds, pool.map(lambda seed: check(pathlib.Path(name), seed), seeds)):
            if not wrong:
                continue
            failed += 1
            if failed <= 5:
                print(f"seed {seed}: {wrong}")
    print(f"--first {options.first} --kernels {options.kernels}")
    print(f"{options.kernels - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
