#!/usr/bin/env python3
"""Compiles programs over ranks to C, and calls them in an MPI application that is compiled with mpicc, with Open MPI and MPICH.

Each process passes whole tensors. Of distributed ones, it must have got the elements that its rank owns. Together, they must be
those of the same program without `by` on one host, bit for bit.

tests/run/ranks_compiled.py                # a grid of two or three ranks, which changes every day
tests/run/ranks_compiled.py --ranks 5
"""

import argparse
import itertools
import math
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
from shared import checks, seeds
from shared.rank_families import PROGRAMS, SOURCE
from shared.rank_runs import LAUNCHERS

NUMBERS = {"f32": np.float32, "i64": np.int64, "bf16": np.uint16}
PARAM = re.compile(r"(\w+): (in|out|inout) (\w+)\[([^\]]*)\](?: on grid by \(([^)]*)\))?|(\w+): (i64)")

MAIN = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "kdl/use_mpi.h"

static int rank;

static void stop(const char* what) {
  fprintf(stderr, "rank %%d: %%s\\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void check(kdl_error* error) {
  if (error != NULL) stop(kdl_error_message(error));
}
static void* tensor(const char* name, size_t bytes) {
  char* data = calloc(bytes + 1, 1);
  FILE* file = fopen(name, "rb");
  if (data == NULL) stop("no memory");
  if (file != NULL) {
    if (fread(data, 1, bytes, file) != bytes) stop(name);
    fclose(file);
  }
  return data;
}
static void save(const char* name, const void* data, size_t bytes) {
  char path[100];
  snprintf(path, sizeof path, "%%s.%%d", name, rank);
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, bytes, file) != bytes) stop(path);
  fclose(file);
}
%s
int main(int argc, char** argv) {
  kdl_context* context = NULL;
  kdl_device* host = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check(kdl_context_create(&context));
  check(kdl_use_mpi(context, MPI_COMM_WORLD));
  check(kdl_context_register_all(context, kdl_images_grid));
  check(kdl_select_device(context, "host", &host));
%s
  kdl_context_destroy(context);
  MPI_Finalize();
  return 0;
}
"""


class Tensor:
    """A parameter of a program that is a tensor."""

    def __init__(self, program, found, sizes):
        self.name, self.direction, self.type, dims, by = found[:5]
        self.file = f"{program}_{self.name}"
        self.shape = [sizes[dim] if dim in sizes else int(dim) for dim in dims.split(", ")]
        self.by = by.split(", ") if by else ["_"] * len(self.shape)
        self.bytes = math.prod(self.shape) * np.dtype(NUMBERS[self.type]).itemsize

    def owned_by_ranks(self, grid, parts):
        """Returns the elements that the ranks own of their tensors."""
        whole = np.zeros(self.shape, NUMBERS[self.type])
        for at in itertools.product(*map(range, grid)):
            rank = at[0] * grid[1] + at[1]
            own = []
            for axis, (size, name) in enumerate(zip(self.shape, self.by)):
                share = -(-size // grid[axis]) if name != "_" else size
                first = share * at[axis] if name != "_" else 0
                own.append(slice(min(first, size), min(first + share, size)))
            whole[tuple(own)] = parts[rank][tuple(own)]
        return whole


class Call:
    """A call of a program with random inputs, and the code for it in C."""

    def __init__(self, program, draw):
        names, self.numbers, self.outputs = PROGRAMS[program]
        self.program = program
        self.sizes = {name: draw.randint(2, 19) for name in names}
        signature = re.search(rf"^export program {program}\((.*?)\)\s*{{", SOURCE.read_text(), re.MULTILINE | re.DOTALL)[1]
        self.params = [Tensor(program, found, self.sizes) if found[0] else found[5] for found in PARAM.findall(signature)]

    def tensors(self):
        return [param for param in self.params if isinstance(param, Tensor)]

    def write_inputs(self, numbers, folder):
        for one in self.tensors():
            if one.direction == "out":
                continue
            values = numbers.random(one.shape, np.float32) if one.type == "f32" else numbers.integers(0, 20, one.shape)
            np.save(folder / f"{one.file}.npy", values)
            values.tofile(folder / f"{one.file}.bin")

    def on_one_host(self, file, folder):
        """Returns the results of `kernelc run` by the names of the parameters."""
        words = [word for name, size in self.sizes.items() for word in ("--set", f"{name}={size}")]
        words += [word for name, value in self.numbers.items() for word in ("--arg", f"{name}={value}")]
        words += [word for one in self.tensors() if one.direction != "out" for word in ("--arg", f"{one.name}=@{one.file}.npy")]
        words += [word for name in self.outputs for word in ("--out", f"{name}=@result_{name}.npy")]
        run(["kernelc", "run", str(file), "--program", self.program, *words], folder)
        return {name: np.load(folder / f"result_{name}.npy").tobytes() for name in self.outputs}

    def code(self):
        """Returns a function in C that calls the program."""
        lines = []
        arguments = []
        for one in self.params:
            if not isinstance(one, Tensor):
                arguments.append(str(self.numbers[one]))
                continue
            sizes = ", ".join(map(str, one.shape))
            lines += [f"  static const int64_t {one.name}_sizes[] = {{{sizes}}};", f"  kdl_array {one.name};",
                      f"  void* {one.name}_data = tensor(\"{one.file}.bin\", {one.bytes});",
                      f"  check(kdl_array_wrap(host, {one.name}_data, KDL_{one.type.upper()}, {len(one.shape)}, {one.name}_sizes, NULL, "
                      f"\"{one.name}\", &{one.name}));"]
            arguments.append(f"&{one.name}")
        lines.append(f"  check(grid_{self.program}(context, {', '.join(arguments)}, NULL));")
        for one in self.tensors():
            lines.append(f"  kdl_array_free(&{one.name});")
            if one.name in self.outputs:
                lines.append(f"  save(\"{one.file}\", {one.name}_data, {one.bytes});")
            lines.append(f"  free({one.name}_data);")
        return f"static void {self.program}(kdl_context* context, kdl_device* host) {{\n" + "\n".join(lines) + "\n}\n"

    def results(self, grid, folder):
        """Returns what the ranks have written, by the names of the parameters."""
        found = {}
        for one in self.tensors():
            if one.name in self.outputs:
                parts = [np.fromfile(folder / f"{one.file}.{rank}", NUMBERS[one.type]).reshape(one.shape)
                         for rank in range(math.prod(grid))]
                found[one.name] = one.owned_by_ranks(grid, parts).tobytes()
        return found


def run(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    checks.expect(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}", done.returncode == 0)
    return done.returncode == 0


def build(calls, library, folder):
    """Builds the application, and returns its path, or null if that fails."""
    main = MAIN % ("\n".join(call.code() for call in calls), "\n".join(f"  {call.program}(context, host);" for call in calls))
    (folder / "main.c").write_text(main)
    own_root = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    words = [f"mpicc{library}", "-std=c11", "-O1", "-Wall", "-Wextra", "-ffp-contract=off", "-Iout", "-I", str(SOURCE.parents[2] / "include"),
             "main.c", "out/grid.orch.c", *map(str, sorted((folder / "out").glob("*.o"))), str(own_root / "lib" / "libkdl_runtime.a"),
             "-lstdc++", "-lm", "-pthread", "-ldl", "-o", "caller"]
    return folder / "caller" if run(words, folder) else None


def check_all(draw, folder):
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int)
    options = parser.parse_args()
    ranks = options.ranks or draw.choice([2, 3])
    grid = draw.choice([(ranks, 1), (1, ranks)])
    print(f"grid {grid}")
    text = SOURCE.read_text()
    (folder / "grid.kdl").write_text(text.replace("ranks(2, 3)", f"ranks({grid[0]}, {grid[1]})"))
    (folder / "one.kdl").write_text(re.sub(r" on grid by \([^)]*\)|^device grid.*", "", text, flags=re.MULTILINE))
    calls = [Call(program, draw) for program in PROGRAMS]
    for call in calls:
        call.write_inputs(np.random.default_rng(draw.randint(0, 1000)), folder)
    wanted = [call.on_one_host(folder / "one.kdl", folder) for call in calls]
    run(["kernelc", "build", "grid.kdl", "--emit", "header,orch-c,obj", "-o", "out"], folder)
    for library, (launcher_name, launcher) in zip((".openmpi", ".mpich"), LAUNCHERS.items()):
        caller = build(calls, library, folder)
        if not caller or not run([*launcher, str(ranks), str(caller)], folder):
            continue
        for call, one in zip(calls, wanted):
            checks.expect(f"{call.program} with {call.sizes} on a grid of {grid} differs with {launcher_name}",
                          call.results(grid, folder) == one)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
