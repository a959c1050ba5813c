#!/usr/bin/env python3
"""Compares kernels with C functions that compute the same: tests/bench/twins/twins.py [--filter TEXT] …

Each kernel in a row of rows.txt has a twin, a function of the same name and with the same parameters. Twins are
compiled by gcc and clang. A row runs the kernel and both twins in alternation, on the same random data, and
first compares their results.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import opencv
import sources

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
COMPILERS = {"gcc": "gcc", "clang": "clang-19"}


@dataclasses.dataclass
class Row:
    file: str
    kernel: str
    sizes: dict  # also the scalars
    ranges: dict  # of tensors with ascending elements: the first number, and the end
    bound: bool  # whether the kernel's arguments are bound once for all runs
    flags: tuple  # for the C compilers

    def title(self):
        return " ".join([self.file, self.kernel, *(f"{n}={s}" for n, s in self.sizes.items()), *(["bound"] if self.bound else [])])


def rows(text):
    """Reads the lines `FILE KERNEL NAME=SIZE … [NAME=FIRST..END …] [bound] [-FLAG …]` of rows.txt."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        values = dict(word.split("=") for word in words[2:] if "=" in word and not word.startswith("-"))
        yield Row(words[0], words[1], {name: int(value) for name, value in values.items() if ".." not in value},
                  {name: value.split("..") for name, value in values.items() if ".." in value},
                  "bound" in words, tuple(word for word in words[2:] if word.startswith("-")))


def call_of_kernel(row, call):
    """Returns the declarations for calls of our kernel, the call, and what is done before the first call."""
    name = f"{row.file}_{row.kernel}"
    declared = [f"static {row.file}_kernels* kernels;", f"static {name}_bound bound;"]
    run = f"{name}_call(&bound)" if row.bound else f"{name}(kernels, {call('')})"
    return declared, run, [f"  Check({row.file}_open(NULL, argv[1], &kernels));"], [f"  Check({name}_bind(kernels, {call('')}, &bound));"]


def call_of_program(row, arrays):
    """Returns the same for our program."""
    names = ", ".join(f"{p.name}_array" for p in arrays)
    declared = [f"static kdl_array {names};", "static kdl_context* context;", f"static struct {row.file}_devices devices;"]
    run = f"{row.file}_{row.kernel}(context, {', '.join(f'&{p.name}_array' for p in arrays)}, &devices)"
    opened = ["  kdl_device* device;", "  Check(kdl_context_create(&context));", f"  Check(kdl_context_register_all(context, kdl_images_{row.file}));",
              "  Check(kdl_select_device(context, argv[1], &device));", "  devices.host = argv[1];"]
    wrapped = [f"  Check(kdl_array_wrap(device, {p.name}, {sources.element(p.type)}, {len(p.dims)}, (const int64_t[]){{{', '.join(p.dims)}}}, NULL, \"{p.name}\", "
               f"&{p.name}_array));" for p in arrays]
    return declared, run, opened, wrapped


def caller(row):
    """Returns a C program that compares and times the kernel or program and its twins."""
    sizes, parameters = sources.signature(sources.kernels(row.file), row.kernel)
    arrays = [p for p in parameters if p.dims]
    types = ", ".join([f"int64_t {s}" for s in sizes] + [p.c_declaration() for p in parameters])

    def call(copy):
        values = [p.name + (copy if p.written else "") if p.dims else str(row.sizes.get(p.name, 2)) for p in parameters]
        return ", ".join(sizes + values)

    lines = [f'#include "{row.file}.h"', '#include "harness.h"']
    lines += [f"void {row.kernel}_{c}({types});" for c in COMPILERS]
    lines += [f"static const int64_t {name} = {row.sizes[name]};" for name in sizes]
    for p in arrays:
        for copy in ["", "_gcc", "_clang"] if p.written else [""]:
            lines.append(f"static {p.type}* {p.name}{copy};")
    is_program = sources.is_program(sources.kernels(row.file), row.kernel)
    declared, run, opened, bound = call_of_program(row, arrays) if is_program else call_of_kernel(row, call)
    lines += declared
    lines.append(f"static void Ours(void) {{ Check({run}); }}")
    lines += [f"static void Twin_{c}(void) {{ {row.kernel}_{c}({call('_' + c)}); }}" for c in COMPILERS]
    fills = {}
    for number, p in enumerate(arrays):
        fill = f"RAMP({{}}, {p.count()}, {', '.join(row.ranges[p.name])})" if p.name in row.ranges else f"FILL({{}}, {p.count()}, {number + 1})"
        fills[p.name] = [f"  {fill.format(p.name + copy)};" for copy in (["", "_gcc", "_clang"] if p.written else [""])]
    lines += ["static void Refill(void) {", *(fill for p in arrays if p.direction == "inout" for fill in fills[p.name]), "}"]
    lines += ["int main(int argc, char** argv) {", *opened]
    for p in arrays:
        for copy in ["", "_gcc", "_clang"] if p.written else [""]:
            lines.append(f"  {p.name}{copy} = Allocate({p.count()}, sizeof *{p.name});")
        lines += fills[p.name]
    lines += [*bound, "  Ours();"]
    for c in COMPILERS:
        lines.append(f"  Twin_{c}();")
        lines += [f'  COMPARE({p.name}, {p.name}_{c}, {p.count()}, "{c}: {p.name}");' for p in arrays if p.written]
    lines += ["  Measure(atoi(argv[2]), atoi(argv[3]), Refill, Ours, Twin_gcc, Twin_clang);", "  return argc == 0;", "}"]
    return "\n".join(lines) + "\n"


def run(*command, environment=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Builder:
    """Builds each file once, and a program for each row and number of threads."""

    def __init__(self, options, folder):
        self.build = options.build
        self.isa = options.isa
        self.folder = folder

    def kernels(self, row):
        """Returns the folder with the object files and the C functions of a file's kernels."""
        out = self.folder / row.file
        if not out.exists():
            run(self.build / "bin/kernelc", "build", sources.kernel_file(row.file), "-o", out, "--target", f"host?isa={self.isa}",
                "--emit", "header,c,obj,orch-c")
        return out

    def twin(self, row, compiler, openmp):
        """Returns an object file in which the twin's name ends with that of its compiler."""
        flags = [*row.flags, *openmp]
        everything = self.folder / f"{row.file}_{compiler}{''.join(flags)}.o"
        if not everything.exists():
            run(COMPILERS[compiler], "-O3", f"-march={self.isa}", "-std=c11", *flags, "-c", HERE / f"{row.file}.c", "-o", everything)
        twin = self.folder / f"{compiler}.o"
        renamed = f"{row.kernel}_{compiler}"
        run("objcopy", "--redefine-sym", f"{row.kernel}={renamed}", "--keep-global-symbol", renamed, everything, twin)
        return twin

    def program(self, row, threads):
        kernels = self.kernels(row)
        source = self.folder / "row.c"
        source.write_text(caller(row))
        twins = [self.twin(row, c, ["-fopenmp"] if threads > 1 else []) for c in COMPILERS]
        # LLVM's library for OpenMP also has the functions that gcc's code calls.
        programs = [*kernels.glob(f"{row.file}.orch.c")]
        libraries = ["-lstdc++", "-lm", "-ldl", "-lpthread", *(["-l:libomp.so.5"] if threads > 1 else [])]
        run("gcc", "-O2", "-std=gnu11", "-I", kernels, "-I", HERE, "-I", ROOT / "include", source, kernels / f"{row.file}.c", *programs,
            *kernels.glob(f"{row.file}*.o"), *twins, next((self.build / "lib").glob("libkdl_runtime.a")), *libraries, "-o", self.folder / "row")
        return self.folder / "row"


def measure(program, threads, trials):
    """Returns nanoseconds of one run of the kernel and of each twin, for each trial."""
    # OpenMP's threads sleep after 1 ms without work, so that they do not disturb the kernels.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "KMP_BLOCKTIME": "1"}
    return json.loads(run(program, f"host?threads={threads}", threads, trials, environment=environment))


def middle(values):
    return statistics.median(values)


def spread(values):
    if len(values) < 2:
        return 0.0
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / middle(values)


def report(row, threads, trials):
    """Returns what is reported about the trials of a row."""
    best = min(COMPILERS, key=lambda c: middle(trials[c]))
    ratios = [twin / ours for ours, twin in zip(trials["ours"], trials[best])]
    return {
        "row": row.title(), "threads": threads, **{name: middle(times) for name, times in trials.items()}, "better": best,
        "ratio": middle(ratios), "spread": spread(ratios), "kdl_lines": sources.line_count(sources.kernels(row.file), row.kernel),
        "c_lines": sources.line_count(sources.twins(row.file), row.kernel),
    }


def line(told):
    text = (f"{told['row']:44} {told['threads']:7} {told['ours']:10.0f} {told[told['better']]:10.0f} {told['better']:5} {told['ratio']:5.2f}"
            f" {told['spread']:6.2f} {told['kdl_lines']:4}:{told['c_lines']:<3}")
    if told.get("opencv"):
        text += f" {told['opencv']:10.0f} {told['opencv'] / told['ours']:6.2f}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only rows whose line contains the text")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the folder of the build (default: build)")
    parser.add_argument("--isa", default="x86-64-v3")
    parser.add_argument("--threads", default="1", help="numbers of threads: 1, 2, or 1,2 (default: 1)")
    parser.add_argument("--trials", type=int, default=21)
    parser.add_argument("--json", type=pathlib.Path, help="also writes the rows to a file")
    parser.add_argument("--opencv", action="store_true", help="also times OpenCV's functions, which do not take turns with ours")
    options = parser.parse_args()
    peer = opencv.Peer() if options.opencv else None
    head = f"{'row':44} {'threads':7} {'ours':>10} {'better twin':>16} {'ratio':>5} {'spread':>6} {'lines':>8}"
    print(head + (f" {'opencv':>10} {'ratio':>6}" if peer else ""))
    all_told = []
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(options, pathlib.Path(folder))
        for row in rows((HERE / "rows.txt").read_text()):
            for threads in map(int, options.threads.split(",")) if options.filter in row.title() else []:
                told = report(row, threads, measure(builder.program(row, threads), threads, options.trials))
                told["opencv"] = peer.time(row, threads, options.trials) if peer else None
                all_told.append(told)
                print(line(told), flush=True)
    if options.json:
        options.json.write_text(json.dumps(all_told, indent=2) + "\n")


if __name__ == "__main__":
    main()
