#!/usr/bin/env python3
"""Random programs for several devices: tensors with and without `on`, launches on queues of any device,
parts, copies, swaps, elements that the host reads and writes, loops and branches. Each program runs on random
devices (hosts, debug devices and the interpreter). Its results must equal those of a model in Python, which
knows only one memory and no devices, and no device memory may leak. If a debug device is used, it checks
ordering and memory.

tests/fuzz/devices.py --kernels 10000    # any number of programs; --first SEED repeats one
tests/fuzz/devices.py --kernels 100 --c    # run the programs' C, NAME.orch.c
tests/fuzz/devices.py --kernels 100 --tsan build-tsan/lib    # the same with the thread sanitizer's runtime
"""

import argparse
import functools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "run"))
from shared import seeds  # noqa: E402

ROWS, COLUMNS = 3, 40
MOST_DEVICES = 4
BATCH = 25  # number of programs in one file, which is compiled once
C_CALLER = pathlib.Path(__file__).resolve().parent / "devices_caller.c"
LIMIT_S = 600  # for one program; long, because the machine may be busy
KERNELS = """
kernel fill(c: i32, y: out i32[M, N]) {
    spmd for i in 0..M, j in N by 16 { y[i, j] = c; }
}
kernel scale(x: in i32[M, N], y: out i32[M, N]) {
    spmd for i in 0..M, j in N by 16 { y[i, j] = x[i, j] * 3 + 1; }
}
kernel bump(c: i32, y: inout i32[M, N]) {
    spmd for i in 0..M, j in N by 16 { y[i, j] = y[i, j] + c; }
}
kernel add(a: in i32[M, N], b: in i32[M, N], y: out i32[M, N]) {
    spmd for i in 0..M, j in N by 16 { y[i, j] = a[i, j] + b[i, j]; }
}
kernel row_bump(c: i32, y: inout i32[N]) {
    spmd for j in N by 16 { y[j] = y[j] * 5 + c; }
}
kernel row_scale(x: in i32[N], y: out i32[N]) {
    spmd for j in N by 16 { y[j] = x[j] * 7 - 2; }
}
"""
SPECS = ["host", "host?threads=1", "host?threads=2", "debug", "debug[1]", "debug[2]", "debug[3]", "reference"]


class Draw:
    """A program, both as text and as operations on arrays."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.devices = [f"d{n}" for n in range(self.random.randint(2, MOST_DEVICES))]
        self.specs = [self.spec() for _ in self.devices]
        self.params = {}  # name: direction
        self.on = {}      # tensor: its device, or None
        self.locals = []
        for n in range(self.random.randint(1, 3)):
            name = f"p{n}"
            self.params[name] = self.random.choice(["in", "inout", "out"]) if n else "inout"
            self.on[name] = self.device() if self.random.random() < 0.4 else None
        self.steps = []
        for name, direction in self.params.items():
            if direction == "out":
                self.steps.append(self.launch("fill", [name]))
        for n in range(self.random.randint(1, 3)):
            name = f"t{n}"
            self.on[name] = self.device() if self.random.random() < 0.3 else None
            self.locals.append(name)
            self.steps.append(("let", name, self.random.randrange(100) if self.random.random() < 0.3 else None))
            if self.steps[-1][2] is None:
                self.steps.append(self.launch("fill", [name]))
        self.steps += self.body(self.random.randint(3, 9), 0)

    def spec(self):
        spec = self.random.choice(SPECS)
        return f"{spec}?seed={self.random.randrange(1000)}" if spec.startswith("debug") else spec

    def device(self):
        return self.random.choice(self.devices)

    def tensors(self, written):
        return [t for t in self.on if not written or self.params.get(t) != "in"]

    def launch(self, kernel, tensors, rows=()):
        queue = self.random.choice([0, 0, 0, 1])
        moves = [self.random.random() < 0.1 for _ in tensors]
        return ("launch", kernel, self.device(), queue, tensors, list(rows), self.random.randrange(1, 9), moves)

    def body(self, count, depth):
        return [self.step(depth) for _ in range(count)]

    def step(self, depth):
        pick = self.random.random()
        y = self.random.choice(self.tensors(written=True))
        others = [t for t in self.on if t != y]
        x = self.random.choice(others) if others else None
        row, column = self.random.randrange(ROWS), self.random.randrange(COLUMNS)
        if pick < 0.2 and x:
            return self.launch("scale", [x, y])
        if pick < 0.3 and x:
            return self.launch("add", [x, self.random.choice(others), y])
        if pick < 0.4:
            return self.launch("row_bump", [y], [self.row(depth)])
        if pick < 0.5:
            # Uses two rows of one tensor, or a row of each of two tensors.
            if x and self.random.random() < 0.7:
                return self.launch("row_scale", [x, y], [self.row(depth), self.row(depth)])
            return self.launch("row_scale", [y, y], [(row + 1) % ROWS, row])
        if pick < 0.57 and x:
            return ("copy", x, y, self.random.choice([None, (row, self.random.randrange(ROWS))]))
        if pick < 0.63:
            a, b = self.random.choice(self.locals), self.random.choice(self.locals)
            if a != b and self.on[a] == self.on[b]:
                return ("swap", a, b)
        if pick < 0.7:
            return ("store", y, row, column, self.random.randrange(100))
        if pick < 0.82 and depth < 2:
            return ("for", self.random.randint(0, 3), self.body(self.random.randint(1, 4), depth + 1))
        if pick < 0.92 and depth < 2:
            t = self.random.choice(list(self.on))
            return ("if", t, row, column, self.random.randrange(-5, 200),
                    self.body(self.random.randint(1, 3), depth + 1),
                    self.body(self.random.randint(0, 2), depth + 1))
        return self.launch("bump", [y])

    def row(self, depth):
        return self.random.choice([*range(ROWS), "t"]) if depth else self.random.randrange(ROWS)

    # -- As text --------------------------------------------------------------------------------

    def text(self, name="run"):
        params = ", ".join(f"{p}: {direction} i32[M, N]" + (f" on {self.on[p]}" if self.on[p] else "")
                           for p, direction in self.params.items())
        self.lines = [f"export program {name}({params}) {{"]
        self.loops = 0
        self.write(self.steps, 1, None)
        return "\n".join([*self.lines, "}"]) + "\n"

    def write(self, steps, depth, loop):
        for step in steps:
            for line in self.statement(step, depth, loop):
                self.lines.append("    " * depth + line)

    def statement(self, step, depth, loop):
        kind = step[0]
        if kind == "let":
            place = f" on {self.on[step[1]]}" if self.on[step[1]] else ""
            value = "" if step[2] is None else f" = {step[2]}"
            return [f"let {step[1]}: i32[M, N]{place}{value};"]
        if kind == "launch":
            _, kernel, device, queue, tensors, rows, number, moves = step
            arguments = [str(number)] if kernel in ("fill", "bump", "row_bump") else []
            for n, tensor in enumerate(tensors):
                part = f"[{self.row_text(rows[n], loop)}]" if rows else ""
                arguments.append(tensor + part + (f" to {device}" if moves[n] else ""))
            where = device if queue == 0 else f"{device}.queue({queue})"
            return [f"spmd on {where} {kernel}({', '.join(arguments)});"]
        if kind == "copy":
            rows = step[3]
            x, y = (step[1], step[2]) if rows is None else (f"{step[1]}[{rows[0]}]", f"{step[2]}[{rows[1]}]")
            return [f"copy({x}, {y});"]
        if kind == "swap":
            return [f"swap({step[1]}, {step[2]});"]
        if kind == "store":
            return [f"{step[1]}[{step[2]}, {step[3]}] = {step[4]};"]
        if kind == "for":
            self.loops += 1
            name = f"i{self.loops}"
            self.lines.append("    " * depth + f"for {name} in 0..{step[1]} {{")
            self.write(step[2], depth + 1, name)
            return ["}"]
        self.lines.append("    " * depth + f"if {step[1]}[{step[2]}, {step[3]}] > {step[4]} {{")
        self.write(step[5], depth + 1, loop)
        if step[6]:
            self.lines.append("    " * depth + "} else {")
            self.write(step[6], depth + 1, loop)
        return ["}"]

    @staticmethod
    def row_text(row, loop):
        return str(row) if row != "t" else loop if loop else "0"

    # -- As operations on arrays ----------------------------------------------------------------

    def run(self, arrays):
        self.do(self.steps, arrays, None)

    def do(self, steps, arrays, turn):
        for step in steps:
            self.one(step, arrays, turn)

    def one(self, step, arrays, turn):
        kind = step[0]
        if kind == "let":
            arrays[step[1]] = np.full((ROWS, COLUMNS), step[2] or 0, np.int32)
        elif kind == "launch":
            _, kernel, _, _, tensors, rows, c, _ = step
            views = [arrays[t] for t in tensors]
            if rows:
                views = [v[(turn or 0) if r == "t" else r] for v, r in zip(views, rows)]
            y = views[-1]
            y[...] = {"fill": lambda: c, "scale": lambda: views[0] * 3 + 1, "bump": lambda: y + c,
                      "add": lambda: views[0] + views[1], "row_bump": lambda: y * 5 + c,
                      "row_scale": lambda: views[0] * 7 - 2}[kernel]()
        elif kind == "copy":
            x, y = arrays[step[1]], arrays[step[2]]
            if step[3]:
                x, y = x[step[3][0]], y[step[3][1]]
            y[...] = x
        elif kind == "swap":
            arrays[step[1]], arrays[step[2]] = arrays[step[2]], arrays[step[1]]
        elif kind == "store":
            arrays[step[1]][step[2], step[3]] = step[4]
        elif kind == "for":
            for t in range(step[1]):
                self.do(step[2], arrays, t)
        else:
            self.do(step[5] if arrays[step[1]][step[2], step[3]] > step[4] else step[6], arrays, turn)


def fault(command, place, draw, arrays):
    """Returns what is wrong with the program's results on its devices, or None."""
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT_S} s"
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{done.stderr}"
    if "still in use" in done.stdout:
        return f"memory is left:\n{done.stdout}"
    with np.errstate(over="ignore"):
        draw.run(arrays)
    differs = [name for name, direction in draw.params.items()
               if direction != "in" and not np.array_equal(np.load(place / f"{name}_out.npy"), arrays[name])]
    return f"{', '.join(differs)} differ" if differs else None


def file_of(programs, devices):
    """Returns the text of a file that contains these programs."""
    return "".join(f'device d{n} = target("host");\n' for n in range(devices)) + KERNELS + "\n".join(programs)


class Programs:
    """Executables with many programs each, because compiling and linking each one separately would take nine
    tenths of the time. -O0 is enough, because the programs vary the placement of data, not loops."""

    def __init__(self):
        self.lock = threading.Lock()
        self.built = {}  # executables by batch

    def command(self, folder, seed):
        """Returns the command that runs the program of a seed."""
        batch = seed // BATCH
        with self.lock:
            if batch not in self.built:
                # The programs of this batch have finished.
                shutil.rmtree(folder / f"batch{batch - 2}", ignore_errors=True)
                self.built[batch] = self.build(folder / f"batch{batch}", range(batch * BATCH, (batch + 1) * BATCH))
        return [str(self.built[batch]), "--program", f"run{seed}"]

    def build(self, folder, seeds_of_batch):
        folder.mkdir()
        texts = [Draw(seed).text(f"run{seed}") for seed in seeds_of_batch]
        (folder / "programs.kdl").write_text(file_of(texts, MOST_DEVICES))
        done = subprocess.run(["kernelc", "build", "programs.kdl", "-O0", "--emit", "exe", "-o", "."], cwd=folder,
                              capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            sys.exit(f"programs {seeds_of_batch} do not build:\n{done.stderr}")
        return folder / "programs"


    def arguments(self, draw):
        """Returns the arguments that give sizes, the files of parameters, and devices."""
        words = ["--set", f"M={ROWS}", "--set", f"N={COLUMNS}", "-v"]
        for name, direction in draw.params.items():
            words += ["--arg", f"{name}=@{name}.npy"] if direction != "out" else []
            words += ["--out", f"{name}=@{name}_out.npy"] if direction != "in" else []
        for device, spec in zip(draw.devices, draw.specs):
            words += ["--device", f"{device}={spec}"]
        return words


class CPrograms(Programs):
    """The same programs, compiled to C. They are linked only with the runtime, which does not contain the
    interpreter. With `tsan`, the folder of a runtime built with the thread sanitizer, all code of an
    executable except its kernels is instrumented. C++ library functions from an uninstrumented library would
    hide their atomics from the sanitizer, which would then report false races."""

    def __init__(self, tsan):
        super().__init__()
        self.libraries = pathlib.Path(tsan).resolve() if tsan else pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib"
        self.sanitizer = ["-fsanitize=thread"] if tsan else []
        self.folders = {}  # folders by seed

    def command(self, folder, seed):
        return [super().command(folder, seed)[0], str(seed)]

    def build(self, folder, seeds_of_batch):
        folder.mkdir()
        draws = {seed: Draw(seed) for seed in seeds_of_batch}
        (folder / "programs.kdl").write_text(file_of([draw.text(f"run{seed}") for seed, draw in draws.items()], MOST_DEVICES))
        (folder / "programs.def").write_text("".join(
            f"PROGRAM({seed}, {', '.join(f'&p[{n}]' for n in range(len(draw.params)))})\n" for seed, draw in draws.items()))
        own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
        self.folders.update(dict.fromkeys(seeds_of_batch, folder))
        for words in (["kernelc", "build", "programs.kdl", "-O0", "--emit", "header,c,orch-c,obj", "--target", "host"],
                      ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *self.sanitizer, "-I", own / "include", "-I", folder,
                       f"-DROWS={ROWS}", f"-DCOLUMNS={COLUMNS}", "-c", C_CALLER, "programs.c", "programs.orch.c"]):
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
            if done.returncode != 0:
                sys.exit(f"programs {seeds_of_batch} do not build:\n{done.stderr}")
        done = subprocess.run(["g++", *self.sanitizer, *sorted(folder.glob("*.o")), self.libraries / "libkdl_runtime.a",
                               "-ldl", "-pthread", "-o", "programs"], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            sys.exit(f"programs {seeds_of_batch} do not link:\n{done.stderr}")
        return folder / "programs"

    def arguments(self, draw):
        specs = [spec if spec != "reference" else "debug[4]" for spec in draw.specs]
        specs += specs[:1] * (MOST_DEVICES - len(specs))
        # The header says which device is best for a parameter.
        header = (self.folders[draw.seed] / "programs.h").read_text()
        told = header[:header.index(f"kdl_error* programs_run{draw.seed}(")]
        home = dict(re.findall(r"^///   (p\d): .*\bon d(\d)$", told[told.rindex("\n\n"):], re.MULTILINE))
        return [*specs, *(word for name, direction in draw.params.items() for word in (name, direction, specs[int(home.get(name, 0))]))]


def check(programs, folder, seed):
    """Returns what is wrong with a seed's program, or None."""
    draw = Draw(seed)
    place = folder / str(seed)
    place.mkdir()
    arrays = {}
    command = [*programs.command(folder, seed), *programs.arguments(draw)]
    for n, (name, direction) in enumerate(draw.params.items()):
        arrays[name] = (np.arange(ROWS * COLUMNS, dtype=np.int32) * (n + 3) % 101).reshape(ROWS, COLUMNS)
        if direction != "out":
            np.save(place / f"{name}.npy", arrays[name])
    wrong = fault(command, place, draw, arrays)
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    return wrong and f"{' '.join(command)}\n{wrong}\n{file_of([draw.text()], len(draw.devices))}"


if __name__ == "__main__":
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--tsan")
    options.add_argument("--c", action="store_true")
    chosen, sys.argv[1:] = options.parse_known_args()
    programs = CPrograms(chosen.tsan) if chosen.c or chosen.tsan else Programs()
    seeds.run("Programs over several devices, drawn at random.", functools.partial(check, programs), 300)
