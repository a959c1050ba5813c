#!/usr/bin/env python3
"""Tests random kernels with stages and pipes.

An accepted kernel must run to completion for any depths, sizes and numbers of cores, with the results of the
interpreter and of a model in Python that ignores blocks and cores. A refused kernel must get an error about
pipes. Some of the kernels are correct by construction, and 99 of 100 of those must be accepted.

tests/run/graphs.py --graphs 10000    # any number of kernels; --first SEED repeats one
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

LIMIT_S = 60
PIPE_ERROR = re.compile(r"\[E044[1-9]\]")
OUT_OF_STEP = "[E0431]"  # an error of --pipes=fused
WAYS = [["--pipes=auto"], ["--pipes=auto"], ["--pipes=buffered"], ["--pipes=buffered"], ["--pipes=fused"],
        ["--target", "debug"], ["--target", "debug", "--pipes=buffered"],
        ["--target", "host?resident=cores", "--pipes=buffered"]]

Pipe = collections.namedtuple("Pipe", "name source sink scalar depth")
Transfer = collections.namedtuple("Transfer", "pipe")          # a push in one stage, a pop in another
Loop = collections.namedtuple("Loop", "count body")            # count is a number, or 't' for the argument
Branch = collections.namedtuple("Branch", "bound yes no")      # if t > bound; inside a loop, if k % 2 == bound


class Draw:
    """Generates one kernel: pipes between stages, and what each stage does with a block."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.stages = self.random.randint(2, 5)
        self.pipes = [self.pipe(p) for p in range(self.stages - 1 + self.random.randrange(3))]
        body = self.body(list(self.pipes), depth=0)
        # Every stage executes its part of the same sequence, so there can be no deadlock.
        self.bodies = [self.part(body, s) for s in range(self.stages)]
        self.right = self.random.random() < 0.6
        if not self.right:
            for _ in range(self.random.randint(1, 2)):
                self.spoil(self.random.choice(self.bodies))

    def pipe(self, number):
        # The first pipes connect consecutive stages; the others connect any two stages, in either direction.
        source, sink = number, number + 1
        if sink >= self.stages:
            source, sink = self.random.sample(range(self.stages), 2)
        return Pipe(f"q{number}", source, sink, self.random.random() < 0.2, self.random.choice([0, 0, 1, 2, 8]))

    def body(self, pipes, depth, turns=False):
        self.random.shuffle(pipes)
        statements = []
        while pipes:
            taken = [pipes.pop() for _ in range(min(len(pipes), self.random.randint(1, 2)))]
            kind = self.random.random() if depth < 2 else 1
            if kind < 0.2:
                statements.append(Loop(self.random.choice([1, 2, 3, "t"]), self.body(taken, depth + 1, True)))
            elif kind < 0.35:
                yes = self.body(taken, depth + 1, turns)
                no = self.random.sample(yes, len(yes)) if self.random.random() < 0.6 else []
                bound = "even" if turns and self.random.random() < 0.5 else self.random.randrange(4)
                statements.append(Branch(bound, yes, no))
            else:
                statements += [Transfer(p) for p in taken for _ in range(self.random.choice([1, 1, 2]))]
        return statements

    def part(self, statements, stage):
        part = []
        for statement in statements:
            if isinstance(statement, Transfer):
                if stage in (statement.pipe.source, statement.pipe.sink):
                    part.append(statement)
            elif isinstance(statement, Loop):
                body = self.part(statement.body, stage)
                if body:
                    part.append(Loop(statement.count, body))
            else:
                yes, no = self.part(statement.yes, stage), self.part(statement.no, stage)
                if yes or no:
                    part.append(Branch(statement.bound, yes, no))
        return part

    def spoil(self, body):
        """Changes the order of transfers, or removes or adds a transfer, somewhere in one stage."""
        if not body:
            return
        at = self.random.randrange(len(body))
        inner = body[at]
        if not isinstance(inner, Transfer) and self.random.random() < 0.5:
            self.spoil(inner.body if isinstance(inner, Loop) else inner.yes)
            return
        kind = self.random.random()
        if kind < 0.6:
            to = self.random.randrange(len(body))
            body[at], body[to] = body[to], body[at]
        elif kind < 0.8:
            body.pop(at)
        else:
            body.insert(at, inner)


class Text:
    """Writes a kernel in KDL."""

    def __init__(self, draw):
        self.draw = draw
        self.lines = []
        self.turns = []

    def write(self):
        outputs = ", ".join(f"y{s}: out i32[N]" for s in range(self.draw.stages))
        self.line(0, f"export kernel g<B: int = 4>(x: in i32[N], t: i32, {outputs}) {{")
        self.line(1, "domain blocks = (N by B);")
        for pipe in self.draw.pipes:
            extents = "" if pipe.scalar else "[B]"
            depth = f" @depth({pipe.depth})" if pipe.depth else ""
            self.line(1, f"pipe {pipe.name}: i32{extents}{depth};")
        for stage, body in enumerate(self.draw.bodies):
            self.line(1, f"stage s{stage} {{")
            self.line(2, "spmd for i in blocks {")
            self.line(3, f"var acc: i32[i] = x[i] + {stage};")
            self.line(3, f"var n: i32 = {stage};")
            self.statements(3, stage, body)
            self.line(3, f"y{stage}[i] = acc + n;")
            self.line(2, "}")
            self.line(1, "}")
        self.line(0, "}")
        return "\n".join(self.lines) + "\n"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def statements(self, depth, stage, body):
        for statement in body:
            if isinstance(statement, Transfer):
                self.transfer(depth, stage, statement.pipe)
            elif isinstance(statement, Loop):
                self.turns.append(f"k{depth}")
                self.line(depth, f"for k{depth} in 0..{statement.count} {{")
                self.line(depth + 1, f"n += k{depth} as i32;")
                self.statements(depth + 1, stage, statement.body)
                self.line(depth, "}")
                self.turns.pop()
            else:
                even = statement.bound == "even"
                self.line(depth, f"if {self.turns[-1]} % 2 == 0 {{" if even else f"if t > {statement.bound} {{")
                self.statements(depth + 1, stage, statement.yes)
                if statement.no:
                    self.line(depth, "} else {")
                    self.statements(depth + 1, stage, statement.no)
                self.line(depth, "}")

    def transfer(self, depth, stage, pipe):
        if pipe.source == stage:
            self.line(depth, f"{pipe.name}.push({'n * 3 + 1' if pipe.scalar else 'acc * 3 + n, i'});")
            self.line(depth, "n += 1;")
        elif pipe.scalar:
            self.line(depth, f"n = n * 5 + {pipe.name}.pop();")
        else:
            self.line(depth, f"acc = acc * 5 + {pipe.name}.pop(i);")


class Model:
    """Treats all of x as one block, because a stage does the same to each element."""

    def __init__(self, draw, x, t):
        self.draw, self.t = draw, t
        self.queues = {pipe.name: collections.deque() for pipe in draw.pipes}
        self.acc = [x + np.int32(s) for s in range(draw.stages)]
        self.n = [np.int32(s) for s in range(draw.stages)]
        self.moved = False

    def run(self):
        """Returns the outputs, or None if stages deadlock even with unlimited pipes, or leave something in a
        pipe."""
        waiting = [self.statements(s, body) for s, body in enumerate(self.draw.bodies)]
        while waiting:
            before, self.moved = len(waiting), False
            waiting = [stage for stage in waiting if next(stage, None) is not None]
            if not self.moved and len(waiting) == before:
                return None
        return None if any(self.queues.values()) else [a + n for a, n in zip(self.acc, self.n)]

    def statements(self, stage, body, turn=None):
        for statement in body:
            if isinstance(statement, Transfer):
                yield from self.transfer(stage, statement.pipe)
            elif isinstance(statement, Loop):
                for k in range(self.t if statement.count == "t" else statement.count):
                    self.n[stage] += np.int32(k)
                    yield from self.statements(stage, statement.body, k)
            else:
                holds = turn % 2 == 0 if statement.bound == "even" else self.t > statement.bound
                yield from self.statements(stage, statement.yes if holds else statement.no, turn)

    def transfer(self, stage, pipe):
        queue, n = self.queues[pipe.name], self.n
        if pipe.source == stage:
            queue.append(n[stage] * np.int32(3) + np.int32(1) if pipe.scalar
                         else self.acc[stage] * np.int32(3) + n[stage])
            n[stage] += np.int32(1)
        else:
            while not queue:
                yield "waits"
            value = queue.popleft()
            if pipe.scalar:
                n[stage] = n[stage] * np.int32(5) + value
            else:
                self.acc[stage] = self.acc[stage] * np.int32(5) + value
        self.moved = True


def check(folder, seed):
    """Returns ('accepted' | 'refused' | 'wrong', whether the kernel was meant to be correct, what is wrong)."""
    draw = Draw(seed)
    folder = folder / str(seed)
    folder.mkdir()
    source = folder / "g.kdl"
    source.write_text(Text(draw).write())
    chance = random.Random(-seed)
    size, t = chance.choice([0, 1, 4, 7, 23, 64, 131]), chance.choice([0, 1, 2, 3, 9])
    x = np.random.default_rng(seed).integers(-100, 100, size, dtype=np.int32)
    np.save(folder / "x.npy", x)
    command = ["kernelc", "run", str(source), *chance.choice(WAYS), "--verify", "--arg", f"x=@{folder / 'x.npy'}", "--arg", f"t={t}",
               "--core-num", chance.choice(["1", "2", "3", "7", "1000"]), "-O", chance.choice("0123")]
    for s in range(draw.stages):
        command += ["--out", f"y{s}=@{folder / f'y{s}.npy'}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        if OUT_OF_STEP in done.stderr and "--pipes=fused" in command:
            command.remove("--pipes=fused")
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "wrong", draw.right, f"seed {seed}: over {LIMIT_S} s\n{' '.join(command)}"
    if done.returncode == 1 and PIPE_ERROR.search(done.stderr):
        return "refused", draw.right, ""
    with np.errstate(over="ignore"):
        expected = Model(draw, x, np.int32(t)).run()
    if done.returncode != 0:
        return "wrong", draw.right, f"seed {seed}\n{' '.join(command)}\n{done.stderr}"
    if size and expected is None:
        return "wrong", draw.right, f"seed {seed}: accepted, but its stages wait for ever, or leave something in a pipe"
    for s in range(draw.stages if size else 0):
        if not np.array_equal(np.load(folder / f"y{s}.npy"), expected[s]):
            return "wrong", draw.right, f"seed {seed}: y{s} is not what the model has\n{' '.join(command)}"
    for file in folder.iterdir():
        file.unlink()
    return "accepted", draw.right, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=60, help="how many kernels (default: %(default)s)")
    parser.add_argument("--first", type=int, default=1, help="the first one's seed (default: 1)")
    options = parser.parse_args()
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        seeds = range(options.first, options.first + options.graphs)
        for outcome, right, text in pool.map(lambda seed: check(pathlib.Path(name), seed), seeds):
            seen[outcome, right] += 1
            if outcome == "wrong" and seen["wrong", True] + seen["wrong", False] <= 5:
                print(text)
    failed = seen["wrong", True] + seen["wrong", False]
    for right, kind in ((True, "written to be right"), (False, "spoilt")):
        print(f"{kind}: {seen['accepted', right]} accepted, {seen['refused', right]} refused")
    # The kernels are only useful if correct ones are accepted, and most spoiled ones are refused.
    if seen["refused", True] * 100 > seen["accepted", True]:
        print("refused what is right")
        failed += seen["refused", True]
    if options.graphs >= 100 and 2 * seen["refused", False] <= seen["accepted", False]:
        print("accepted too many spoilt kernels")
        failed += 1
    print(f"{options.graphs - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
