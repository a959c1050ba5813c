#!/usr/bin/env python3
"""Compiles random kernels for aarch64, runs them in an emulator, and compares the bits with the
interpreter's.

tests/fuzz/emulated.py --kernels 2000    # any number of kernels; --first SEED repeats one
"""

import itertools
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "run")]
from shared import seeds  # noqa: E402
from shared.aarch64_runtime import EMULATOR, ROOT, TOOLS, build_runtime, call  # noqa: E402
from element_types import FORMATS, NARROW_FLOATS  # noqa: E402
from files import File  # noqa: E402
from lowered import after, open_tensors  # noqa: E402
from names import FLOATS  # noqa: E402
from special import drawn, is_nan, memory_type  # noqa: E402

LEVELS = ["armv8-a", "armv8-a-fp16"]
ONES = {type_: hex(FORMATS[type_].one) for type_ in NARROW_FLOATS}  # the bits of 1
SKIPPED = 77
REFUSED = re.compile(r"\[E0[0-9]{3}\]")
PARAMETER = re.compile(r"(\w+)(?=[,)])")
MAIN = """#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"
static void* in(const char* path, size_t bytes) {{
  void* memory = malloc(bytes + 1);
  FILE* file = fopen(path, "rb");
  if (!file || fread(memory, 1, bytes, file) != bytes) exit(2);
  fclose(file);
  return memory;
}}
static void out(const char* path, const void* memory, size_t bytes) {{
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(memory, 1, bytes, file) != bytes) exit(2);
  fclose(file);
}}
int main(void) {{
{lets}  {name}_kernels* kernels = NULL;
  kdl_error* error = {name}_open(NULL, "host?threads=2", &kernels);
  if (error == NULL) error = {name}_k({arguments});
  if (error != NULL) {{
    fprintf(stderr, "%s\\n", kdl_error_message(error));
    return 1;
  }}
{outs}  return 0;
}}
"""


def kernel_of(seed):
    """Returns the first file generated from the seed that contains only a kernel."""
    for number in itertools.count():
        kernel = File(seed + number * 1000003)
        if not kernel.callees and "core_num" not in str(kernel.tree) and "print(" not in str(kernel.tree):
            return kernel


def shape_of(kernel, tensor):
    return tuple(kernel.size(dim) for dim in tensor.dims)


def caller(kernel, name, header):
    """Returns C code that reads all inputs, calls the kernel and writes its outputs."""
    text = re.search(rf"kdl_error\* {name}_k\((.*?)\);", header, re.DOTALL)[1]
    tensors = {t.name: t for t in kernel.tensors}
    scalars = {v.name: v.type for v in kernel.scalars}
    arguments, lets, outs = ["kernels"], "", ""
    for parameter in PARAMETER.findall(text + ")")[1:]:
        if parameter in scalars:
            arguments.append(ONES.get(scalars[parameter], "1"))
        elif parameter in tensors:
            tensor = tensors[parameter]
            bytes_ = int(np.prod(shape_of(kernel, tensor), dtype=np.int64)) * memory_type(tensor.type).itemsize
            lets += f'  void* {parameter} = in("{parameter}.raw", {bytes_});\n'
            outs += f'  out("{parameter}.got", {parameter}, {bytes_});\n' if tensor.direction != "in" else ""
            arguments.append(parameter)
        else:
            arguments.append(str(kernel.sizes[parameter]))
    return MAIN.format(name=name, lets=lets, outs=outs, arguments=", ".join(arguments))


def write_inputs(kernel, tensors, seed, folder):
    """Writes the input files for the caller and the interpreter, and returns the interpreter's arguments for
    them."""
    words = []
    random_ = np.random.default_rng(seed)
    for tensor in tensors:
        values = drawn(random_, tensor.type, shape_of(kernel, tensor))
        values.tofile(folder / f"{tensor.name}.raw")
        if tensor.direction != "out":
            np.save(folder / f"{tensor.name}.npy", values)
            words += ["--arg", f"{tensor.name}=@{tensor.name}.npy"]
        if tensor.direction != "in":
            words += ["--out", f"{tensor.name}=@{tensor.name}.want.npy"]
    return words + [word for v in kernel.scalars for word in ("--arg", f"{v.name}={'true' if v.type == 'bool' else 1}")]


def equal(type_, want, got):
    if type_ == "bool":  # each byte but 0 is true, and kernels keep the bytes of elements that they do not write
        return np.array_equal(want != 0, got != 0)
    if type_ not in FLOATS:
        return np.array_equal(want, got)
    return bool(np.all((want == got) | (is_nan(type_, want) & is_nan(type_, got))))


def check_in(runtime, folder, seed):
    """Returns what is wrong with a seed's kernel, or None."""
    kernel = kernel_of(seed)
    place = folder / str(seed)
    place.mkdir()
    name = f"k{seed}"
    (place / f"{name}.kdl").write_text(str(kernel.tree))
    draw = random.Random(seed)
    level, optimized = draw.choice(LEVELS), f"-O{draw.choice([0, 1, 2, 3])}"
    target = f"host?isa={level}"
    tensors = [t for t in kernel.tensors if t.direction in ("in", "out", "inout")]
    named = {dim for tensor in tensors for dim in tensor.dims}
    sizes = [word for dim, size in kernel.sizes.items() if dim in named for word in ("--set", f"{dim}={size}")]
    try:
        files = write_inputs(kernel, tensors, seed, place)
        # Results may depend on blocks of size `auto`, so the interpreter runs the kernel with the sizes for the level.
        selected = after("select-tiles", place / f"{name}.kdl", [], target)
        if not selected:
            return None
        wanted = subprocess.run(["kernelc", "run", selected, "--trust-ir", "--target", "reference", *sizes, *files], cwd=place,
                                capture_output=True, text=True, timeout=300)
        if wanted.returncode in (1, 3) and REFUSED.search(wanted.stderr):
            return None
        call("kernelc", "build", f"{name}.kdl", optimized, "--target", target, folder=place)
        (place / "main.c").write_text(caller(kernel, name, (place / f"{name}.h").read_text()))
        call(f"{TOOLS[0][:-3]}gcc", "-O0", "-w", "-I", ROOT / "include", "-c", "main.c", f"{name}.c", folder=place)
        call(TOOLS[0], "main.o", f"{name}.o", f"{name}.aarch64.o", f"{name}.host.o", runtime / "lib/libkdl_runtime.a", "-pthread",
             "-ldl", "-o", "program", folder=place)
        call(*EMULATOR, "./program", folder=place)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return f"{level} {optimized}: {error}\n{kernel.tree}"
    told = [t for t in tensors if t.direction != "in" and t.name not in open_tensors(kernel)]
    bits = {t.name: np.dtype(f"u{memory_type(t.type).itemsize}") for t in told}
    different = [t.name for t in told if not equal(t.type, np.load(place / f"{t.name}.want.npy").view(bits[t.name]).ravel(),
                                                   np.fromfile(place / f"{t.name}.got", bits[t.name]))]
    if different:
        return f"{different} differ, {level} {optimized}\n{kernel.tree}"
    shutil.rmtree(place)
    return None


if __name__ == "__main__":
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        print(f"not installed: {', '.join(missing)}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="aarch64-") as built:
        build_runtime(pathlib.Path(built))
        seeds.run("Random kernels for aarch64, run by an emulator.",
                  lambda folder, seed: check_in(pathlib.Path(built) / "runtime", folder, seed), 30)
