"""Finds kernels with a contract, and runs as many of them as there is time for, in an order that changes
every day."""

import argparse
import concurrent.futures
import os
import random
import re
import time

from shared import checks, seeds

ITEM = re.compile(r"^(?=(?:export )?(?:kernel|program|fn|test|device|const|import)\b)", re.MULTILINE)


def kernels(file):
    """Yields (name, whether it has a contract) for each kernel."""
    for item in ITEM.split(re.sub(r"//.*", "", file.read_text())):
        if kernel := re.match(r"(?:export )?kernel (\w+)", item):
            yield kernel[1], bool(re.search(r"\bensures\b", item))


def with_contracts(files):
    return [(file, name) for file in sorted(files) for name, has_contract in kernels(file) if has_contract]


def options(summary, seconds):
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--seconds", type=float, default=seconds, help=f"a large number tries all (default: {seconds})")
    return parser.parse_args()


def sample(cases, check, seconds, least=8):
    """Runs a selection of the cases. `check(case, draw)` returns what is expected, whether it holds, and the
    output. The order of the cases, and the random numbers of each case, depend on KDL_SEED or the date. No
    case is started after the time limit."""
    seed = seeds.of_today()
    order = sorted(cases, key=lambda case: random.Random(f"{seed} {case}").random())
    end = time.monotonic() + seconds

    def tried(number):
        if number >= least and time.monotonic() > end:
            return None
        return check(order[number], random.Random(f"{seed} {order[number]}"))

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outcomes = [outcome for outcome in pool.map(tried, range(len(order))) if outcome]
    for outcome in outcomes:
        checks.expect(*outcome)
    checks.expect("there are many kernels with contracts", len(order) > 50, str(order))
    print(f"{len(outcomes)} of {len(order)} kernels with contracts were tried (KDL_SEED={seed}, --seconds {seconds:g})")
