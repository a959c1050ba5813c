#!/usr/bin/env python3
"""Builds a CMake project from kernels as C source on a bare Debian system that has a C compiler but neither kernelc nor its runtime, and
compares the results with those of `kernelc run` on this machine, bit for bit.

    tests/run/bare_c_source.py --trial                      # Debian 12
    tests/run/bare_c_source.py --trial --system bullseye    # Debian 11

The project is what somebody would ship: generated files, a program of its own, and a CMakeLists.txt. Takes a minute and needs Debian's mirror.
Skipped without `--trial`, mmdebstrap or root."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from shared import bare_root, checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = [ROOT / "samples/softmax/softmax.kdl", ROOT / "tests/bench/kernels/attention.kdl"]
FLAGS = ["-D", "D=32"]
# Debian 11 has gcc 10, which builds loops instead of vectors.
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(application C)
set(CMAKE_C_STANDARD 11)
set(CMAKE_BUILD_TYPE Release)
add_library(kernels STATIC softmax.source.c attention.source.c)
target_compile_options(kernels PRIVATE -march=x86-64-v3 -ffp-contract=off -Wno-psabi -Wall -Werror)
add_executable(application main.c)
target_link_libraries(application kernels m)
"""
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

#include "attention.source.h"
#include "softmax.source.h"

static float* Read(const char* name, int64_t count) {
  float* values = malloc((size_t)count * sizeof *values);
  FILE* file = fopen(name, "rb");
  if (!values || !file || fread(values, sizeof *values, (size_t)count, file) != (size_t)count) exit(1);
  fclose(file);
  return values;
}

static void Write(const char* name, const float* values, int64_t count) {
  FILE* file = fopen(name, "wb");
  if (!file || fwrite(values, sizeof *values, (size_t)count, file) != (size_t)count || fclose(file)) exit(1);
}

static void Check(const char* error) {
  if (error) puts(error), exit(1);
}

int main(void) {
  enum { kRows = 37, kColumns = 103, kHeads = 6, kQueries = 50, kKeys = 70, kDepth = 32 };
  float* y = malloc(kRows * kColumns * sizeof *y);
  Check(softmax_softmax(kRows, kColumns, Read("x.f32", kRows * kColumns), y));
  Write("y.f32", y, kRows * kColumns);
  float* o = malloc(kHeads * kQueries * kDepth * sizeof *o);
  const int64_t keys = kHeads * kKeys * kDepth;
  const float *q = Read("q.f32", kHeads * kQueries * kDepth), *k = Read("k.f32", keys), *v = Read("v.f32", keys);
  Check(attention_attention(2, 3, kQueries, kKeys, q, k, v, o, 0.2f));
  Write("o.f32", o, kHeads * kQueries * kDepth);
  puts(softmax_softmax(2, 4, y, y));
}
"""
TRIAL = """
set -eu
cd /trial
echo "== tools"
if command -v kernelc || ls /usr/lib/*/libkdl* 2>/dev/null; then exit 1; fi
echo "== build"
cmake -S . -B build >words 2>&1 && cmake --build build >>words 2>&1 || cat words
echo "== run"
build/application
echo "== end"
"""
EXPECTED = {"tools": "", "build": "", "run": "launch of 'softmax': the tensors for x and y share memory\n", "end": ""}
RUNS = [("softmax", ["--set", "R=37", "--set", "C=103"], ["x"], "y"),
        ("attention", ["-D", "D=32", "--arg", "scale=0.2"], ["q", "k", "v"], "o")]


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    checks.expect(" ".join(map(str, words[:3])), done.returncode == 0, done.stdout + done.stderr)


def make_files(folder):
    """Writes the project and its inputs, and NAME.npy for kernelc outside of it."""
    for file in KERNELS:
        call("kernelc", "build", file, *(FLAGS if file.stem == "attention" else []), "--target", "host?isa=x86-64-v3", "--emit", "c-source",
             "-o", folder)
    for name, text in {"CMakeLists.txt": PROJECT, "main.c": PROGRAM, "trial.sh": TRIAL}.items():
        (folder / name).write_text(text)
    random = np.random.default_rng(1)
    for name, shape in {"x": (37, 103), "q": (2, 3, 50, 32), "k": (2, 3, 70, 32), "v": (2, 3, 70, 32)}.items():
        values = random.standard_normal(shape).astype("f4")
        values.tofile(folder / f"{name}.f32")
        np.save(folder.parent / f"{name}.npy", values)


def compare(folder, out):
    """Runs the same kernels by kernelc, and compares what they wrote."""
    for file, (kernel, options, inputs, output) in zip(KERNELS, RUNS):
        tensors = [word for name in inputs for word in ("--arg", f"{name}=@{folder.parent}/{name}.npy")]
        call("kernelc", "run", file, "--kernel", kernel, *options, *tensors, "--target", "host?isa=x86-64-v3", "--out",
             f"{output}=@{folder.parent}/{output}.npy")
        wanted = np.load(folder.parent / f"{output}.npy")
        written = out / f"{output}.f32"
        checks.expect(f"{kernel}: the same bits", written.exists() and written.read_bytes() == wanted.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trial", action="store_true")
    parser.add_argument("--system", choices=["bookworm", "bullseye"], default="bookworm")
    given = parser.parse_args()
    lacks = bare_root.missing() if given.trial else "--trial makes it"
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    with tempfile.TemporaryDirectory(prefix="bare-") as name:
        folder = pathlib.Path(name) / "trial"
        folder.mkdir()
        make_files(folder)
        keep = [f"copy-out /trial/{file}.f32 {name}" for file in ("y", "o")]
        bare_root.expect_steps(bare_root.run(folder, ["gcc", "libc6-dev", "cmake", "make"], given.system, after=keep), EXPECTED)
        compare(folder, pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
