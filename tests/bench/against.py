#!/usr/bin/env python3
"""Compares two builds of `bench` with alternating trials, so that other load on the machine affects both.

against.py OLD NEW [--filter TEXT] [--threads N]

Each round starts both programs anew for one row of the benchmark (memory differs from process to process),
and alternates between their kernels. Prints for each row the old time divided by the new time (higher is
better): the median of all quotients, their interquartile range divided by this median, and the median of each
round. The exit code is 1 if a result is wrong.
"""

import argparse
import statistics
import subprocess

TURN = 4e-3  # minimum seconds for one timing
TRIES = 2  # number of tries for each timing; other load only adds time, so the fastest counts


class Server:
    """A process that runs one build's kernel for a row."""

    def __init__(self, program, row, threads):
        command = [program, "--serve", row, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.state = self.process.stdout.readline().strip() or "ended"

    def run(self, runs):
        """Runs the kernel `runs` times and returns the seconds per run."""
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def turn(self, runs):
        self.run(1)  # loads the operands into the caches again
        return min(self.run(runs) for _ in range(TRIES))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def quotients(row, options, old_first):
    """Returns the quotients of one round, or an error message if one program's result is wrong."""
    programs = [options.old, options.new]
    sides = {program: Server(program, row, options.threads) for program in (programs if old_first else programs[::-1])}
    old, new = (sides[program] for program in programs)
    wrong = [f"{program}: {side.state}" for program, side in sides.items() if side.state != "ready"]
    found = []
    if not wrong:
        one = min(old.run(1), new.run(1))
        runs = max(1, int(TURN / max(one, 1e-9)))
        trials = max(5, min(options.trials, int(options.seconds / (4 * runs * one))))
        for trial in range(trials):
            times = [(side, side.turn(runs)) for side in ((old, new) if trial % 2 else (new, old))]
            taken = dict(times)
            found.append(taken[old] / taken[new])
    for side in sides.values():
        side.end()
    return "; ".join(wrong) or found


def cases(program):
    return subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", help="the program bench of the build before")
    parser.add_argument("new")
    parser.add_argument("--filter", default="", help="only rows that contain the text")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2, help="fewer trials, 5 at least, where a round would take longer")
    options = parser.parse_args()
    both = set(cases(options.new))
    rows = [row for row in dict.fromkeys(cases(options.old)) if row in both and options.filter in row]
    medians, wrong = [], False
    for row in rows:
        rounds = [quotients(row, options, number % 2 == 0) for number in range(options.rounds)]
        texts = [found for found in rounds if isinstance(found, str)]
        if texts:
            print(f"{row:50} WRONG: {texts[0]}", flush=True)
            wrong = True
            continue
        found = sorted(quotient for one in rounds for quotient in one)
        median = statistics.median(found)
        spread = (found[3 * len(found) // 4] - found[len(found) // 4]) / median
        medians.append(median)
        each = " ".join(f"{statistics.median(one):.2f}" for one in rounds)
        print(f"{row:50} {median:.3f}  spread {spread:4.0%}  rounds {each}", flush=True)
    if medians:
        print(f"{len(medians)} rows: mean {statistics.geometric_mean(medians):.3f}, least {min(medians):.3f}, "
              f"{sum(median < 0.97 for median in medians)} below 0.97")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
