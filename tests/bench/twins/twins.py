#!/usr/bin/env python3
"""Compares kernels with C functions that compute the same: tests/bench/twins/twins.py [--filter TEXT] …

Each kernel of a .kdl file here has a twin, a function of the same name in the .c file of the same name, with
the same parameters. Twins are compiled by gcc and clang. A row runs the kernel and both twins in alternation,
on the same random data, and first compares their results.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
C_TYPES = {"f32": "float", "f64": "double", "u8": "uint8_t", "i8": "int8_t", "u16": "uint16_t", "i16": "int16_t",
           "i32": "int32_t", "u32": "uint32_t", "i64": "int64_t"}
COMPILERS = {"gcc": "gcc", "clang": "clang-19"}


@dataclasses.dataclass
class Row:
    file: str
    kernel: str
    sizes: dict
    flags: tuple = ()  # for the C compilers
    bound: bool = False  # whether the kernel's arguments are bound once for all runs


def rows(text):
    """Reads the lines `FILE KERNEL NAME=SIZE … [bound] [-FLAG …]` of rows.txt."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        bound = "bound" in words
        sizes = dict(word.split("=") for word in words[2:] if not word.startswith("-") and word != "bound")
        flags = tuple(word for word in words[2:] if word.startswith("-"))
        yield Row(words[0], words[1], {name: int(size) for name, size in sizes.items()}, flags, bound)


@dataclasses.dataclass
class Parameter:
    name: str
    type: str
    dims: list  # None for a scalar
    written: bool


def signature(source, kernel):
    """Returns the size names and parameters of a kernel, in the order of the C interface."""
    text = re.search(rf"export kernel {kernel}\((.*?)\)\s*(?:where.*?)?\{{", source, re.DOTALL).group(1)
    parameters, sizes = [], []
    for name, direction, kind, dims in re.findall(r"(\w+): (?:(in|out|inout) )?(\w+)(?:\[(.*?)\])?", text):
        dims = [dim.strip() for dim in dims.split(",")] if dims else None
        parameters.append(Parameter(name, C_TYPES[kind], dims, direction in ("out", "inout")))
        sizes += [dim for dim in dims or [] if dim.isidentifier() and dim not in sizes]
    return sizes, parameters


def caller(row, source):
    """Returns a C program that compares and times the kernel and its twins."""
    sizes, parameters = signature(source, row.kernel)
    arrays = [p for p in parameters if p.dims]
    types = ", ".join([f"int64_t {s}" for s in sizes] + [f"{'' if p.written or not p.dims else 'const '}{p.type}{'*' if p.dims else ''} {p.name}"
                                                          for p in parameters])
    def call(copy):
        return ", ".join(sizes + [p.name + (copy if p.written else "") if p.dims else "2" for p in parameters])
    lines = [f'#include "{row.file}.h"', '#include "harness.h"']
    lines += [f"void {row.kernel}_{c}({types});" for c in COMPILERS]
    lines += [f"static const int64_t {name} = {row.sizes[name]};" for name in sizes]
    for p in arrays:
        for copy in ["", "_gcc", "_clang"] if p.written else [""]:
            lines.append(f"static {p.type}* {p.name}{copy};")
    lines.append(f"static {row.file}_kernels* kernels;")
    name = f"{row.file}_{row.kernel}"
    run = f"{name}_call(&bound)" if row.bound else f"{name}(kernels, {call('')})"
    lines.append(f"static {name}_bound bound;")
    lines.append(f"static void Ours(void) {{ Check({run}); }}")
    lines += [f"static void Twin_{c}(void) {{ {row.kernel}_{c}({call('_' + c)}); }}" for c in COMPILERS]
    lines += ["int main(int argc, char** argv) {", f"  Check({row.file}_open(NULL, argv[1], &kernels));"]
    for number, p in enumerate(arrays):
        count = " * ".join(f"({dim})" for dim in p.dims)
        for copy in ["", "_gcc", "_clang"] if p.written else [""]:
            lines.append(f"  {p.name}{copy} = Allocate({count}, sizeof *{p.name});")
            lines.append(f"  FILL({p.name}{copy}, {count}, {number + 1});")
    lines.append(f"  Check({name}_bind(kernels, {call('')}, &bound));")
    lines.append("  Ours();")
    for c in COMPILERS:
        lines.append(f"  Twin_{c}();")
        for p in arrays:
            if p.written:
                count = " * ".join(f"({dim})" for dim in p.dims)
                lines.append(f'  COMPARE({p.name}, {p.name}_{c}, {count}, "{c}: {p.name}");')
    lines += ["  Measure(atoi(argv[2]), atoi(argv[3]), Ours, Twin_gcc, Twin_clang);", "  return argc == 0;", "}"]
    return "\n".join(lines) + "\n"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(row, options, folder):
    """Returns the trials of a row: nanoseconds of one run of the kernel and of each twin."""
    source = (HERE / f"{row.file}.kdl").read_text()
    run(options.build / "bin/kernelc", "build", HERE / f"{row.file}.kdl", "-o", folder, "--target", f"host?isa={options.isa}")
    program = folder / f"{row.file}_{row.kernel}.c"
    program.write_text(caller(row, source))
    objects = [*folder.glob(f"{row.file}*.o")]
    for name, compiler in COMPILERS.items():
        twin = folder / f"{row.file}_{name}.twin.o"
        run(compiler, "-O3", f"-march={options.isa}", "-std=c11", *row.flags, f"-D{row.kernel}={row.kernel}_{name}", "-c",
            HERE / f"{row.file}.c", "-o", twin)
        run("objcopy", "--keep-global-symbol", f"{row.kernel}_{name}", twin)
        objects.append(twin)
    run("gcc", "-O2", "-std=gnu11", "-I", folder, "-I", HERE, "-I", ROOT / "include", program, folder / f"{row.file}.c", *objects,
        next((options.build / "lib").glob("libkdl_runtime.a")), "-lstdc++", "-lm", "-ldl", "-lpthread", "-o", folder / "row")
    out = run(folder / "row", f"host?threads={options.threads}", options.threads, options.trials)
    for program in folder.iterdir():
        program.unlink()
    return json.loads(out)


def middle(values):
    return statistics.median(values)


def spread(values):
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / middle(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only rows whose line contains the text")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the folder of the build (default: build)")
    parser.add_argument("--isa", default="x86-64-v3")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=21)
    options = parser.parse_args()
    print(f"{'row':44} {'ours':>10} {'better twin':>12} {'ratio':>6} {'spread':>6}")
    for row in rows((HERE / "rows.txt").read_text()):
        title = " ".join([row.file, row.kernel, *(f"{n}={s}" for n, s in row.sizes.items()), *(["bound"] if row.bound else [])])
        if options.filter not in title:
            continue
        with tempfile.TemporaryDirectory() as folder:
            trials = measure(row, options, pathlib.Path(folder))
        best = min(COMPILERS, key=lambda c: middle(trials[c]))
        ratios = [twin / ours for ours, twin in zip(trials["ours"], trials[best])]
        print(f"{title:44} {middle(trials['ours']):10.0f} {middle(trials[best]):6.0f} {best:5} {middle(ratios):6.2f} {spread(ratios):6.2f}",
              flush=True)


if __name__ == "__main__":
    main()
