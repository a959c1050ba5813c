#!/usr/bin/env python3
"""Compares random kernels and programs with the interpreter, bit for bit.

Compiled code runs at each -O level, on host (as one and as several devices) and on debug devices; programs
also run as C++. Some files are also built for other processors.

tests/fuzz/programs.py --kernels 2000             # any number of kernels, or --seconds 3600
tests/fuzz/programs.py --first 17 --kernels 1     # repeats one

A failing kernel is shrunk and written to --out. The closing lines list what the kernels contained:
constructs, types, ranks, and the KIR ops and bounds modes of those that were compiled with a listing.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from files import File  # noqa: E402
from reduce import smaller  # noqa: E402

LIMIT_S = 60  # processor time, so that a busy machine causes no failures; STUCK_S limits waiting
STUCK_S = 600
SKIPPED = 77
INPUTS = ["random", "special"]
# Levels of other processors. Code for them is only built: LLVM must not fail. `emulated.py` runs code for aarch64.
BUILT_LEVELS = ["armv8-a", "armv8-a", "armv8-a-fp16", "armv8-a-i8mm", "armv8-a-bf16", "armv8-a-sve256", "x86-64-v2", "x86-64-v4", "x86-64-v4-amx", "x86-64-v4-fp16"]
BUILT = 4  # one in this many files is also built for one of these levels
LISTED = 8  # one in this many kernels also prints its KIR after the passes below
LISTED_AFTER = ["instantiate", "order-launches", "check-bounds", "scale-pipe-buffers", "cache-windows", "fuse-elementwise",
                "expand-tiles"]
OP = re.compile(r"^\s+(?:%[\w., %]+ = )?([a-z_0-9]+)\b", re.MULTILINE)
# Results with this message are not compared on a GPU, because its matrix instructions add in another order.
# The tests' own driver uses the interpreter's order.
UNCOMPARED = None if os.environ.get("KDL_CUDA") else "matrix units add in an order of their own"
TOO_LARGE = re.compile(r"\[E0437\]|not enough device memory for \d+ bytes")  # on a machine with little memory
EDGE = re.compile(r"edge = (\w+)")


def command(source, kernel, way):
    if not way.inputs:
        return ["kernelc", "build", str(source), "-W", "none", way.level, *way.pipes, *way.target, "-o", str(source.with_suffix(""))]
    params = [t for t in kernel.tensors if t.direction in ("in", "out", "inout")]
    named = {dim for tensor in params for dim in tensor.dims}
    sizes = [word for name, value in kernel.sizes.items() if name in named for word in ("--set", f"{name}={value}")]
    absent = way.inputs == "special"  # whether optional tensors are
    values = [word for seed, tensor in enumerate(t for t in params if t.direction != "out")
              for word in ("--arg", f"{tensor.name}=none" if tensor.optional and absent else f"{tensor.name}={way.inputs}:{seed}")]
    run_it = ["--verify", *sizes, *values, *way.cores, *way.target]
    if not way.is_exe:
        return ["kernelc", "run", str(source), "-W", "none", way.level, *way.pipes, *run_it]
    folder = source.with_suffix("")
    build = ["kernelc", "build", str(source), "-W", "none", way.level, *way.pipes, "--emit", "exe", "-o", str(folder)]
    return ["sh", "-c", " ".join(build) + " && " + " ".join([f"{folder}/{source.stem}", *run_it])]


def run(arguments):
    """Runs a command and returns (exit code, output); the code is None if it timed out."""
    try:
        done = subprocess.run(["prlimit", f"--cpu={LIMIT_S}", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=STUCK_S, text=True, errors="replace", stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, ""
    return None if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else done.returncode, done.stdout


def outcome(arguments):
    """Returns ('', output) if the compiled code gives the interpreter's results, else a short description and
    the output."""
    code, output = run(arguments)
    if code is None:
        return f"over {LIMIT_S} s", ""
    if code == 0 and UNCOMPARED and UNCOMPARED in output:
        return "other sums of matrix units", output
    if code == 0 and ("bit for bit" in output or arguments[1] == "build"):
        return "", output
    if code not in (0, 1, 3):
        return f"exit code {code}", output
    if TOO_LARGE.search(output):
        return "over the machine's memory", output
    found = re.search(r"\[(E\d{4})\]", output)
    return found.group(1) if found else f"exit code {code}", output


@dataclasses.dataclass
class Way:
    """One way to compile and run a file."""
    level: str
    cores: list
    target: list
    pipes: list
    is_exe: bool  # compile the program to C++, rather than execute it in `kernelc run`
    inputs: str  # how inputs are generated: random, or including special values; empty: only build


def ways(seed, is_program, target, only_build):
    """Returns two ways; if the file is a program, one of them is compiling it to C++. Sometimes, a third one only builds
    the file for another processor. For a given target, returns one way, because the target's driver chooses how to
    compile."""
    draw = random.Random(seed)
    cores = ["--core-num", str(draw.choice([1, 2, 3, 5, 1000]))]
    if target:
        pipes = draw.choice([[], ["--pipes", "buffered"]])
        inputs = "" if only_build else draw.choice(INPUTS)
        return [Way(f"-O{draw.choice([0, 1, 2, 2, 2, 3])}", cores, ["--target", target], pipes, False, inputs)]
    kinds = [[], [], [], ["--target", "debug"]]
    # Tensors that lie next to an inaccessible page, also with the vectors of old processors.
    kinds.append(["--target", f"debug?guard={draw.choice(['start', 'end'])}{draw.choice(['', '&isa=x86-64-v2'])}"])
    if not is_program:  # executables ignore this option
        kinds.append(["--target", "host?engines=split"])
    target = draw.choice(kinds)
    pipes = draw.choice([[], ["--pipes", "buffered"]])
    exe = draw.randrange(2) if is_program else None
    levels = draw.sample([0, 1, 2, 3], 2)
    inputs = draw.choice(INPUTS)
    runs = [Way(f"-O{level}", cores, target, pipes, number == exe, inputs) for number, level in enumerate(levels)]
    elsewhere = Way(f"-O{draw.choice([0, 1, 2, 3])}", [], ["--target", f"host?isa={draw.choice(BUILT_LEVELS)}"], pipes, False, "")
    return runs + [elsewhere] * (draw.randrange(BUILT) == 0)


def driver_lines(source, way):
    """Returns the number of lines of OpenCL C that the driver compiles."""
    folder = source.with_suffix(".cl")
    run(["kernelc", "build", str(source), *way.pipes, *way.target, "--emit", "ocl", "-o", str(folder)])
    lines = sum(len(text.read_text().splitlines()) for text in folder.glob("*.cl"))
    shutil.rmtree(folder, ignore_errors=True)
    return lines


def check(folder, seed, options):
    kernel = File(seed, options.kind)
    if options.holding and not kernel.shows[options.holding]:
        return None
    source = folder / f"k{seed}.kdl"
    source.write_text(str(kernel.tree))
    ops, edges = collections.Counter(), collections.Counter()
    target = options.target
    tried = ways(seed, bool(kernel.callees), target, options.build)
    if options.most_lines and driver_lines(source, tried[0]) > options.most_lines:
        source.unlink()
        return f"over {options.most_lines} lines", kernel.shows, ops, edges
    for way in tried:
        what, output = outcome(command(source, kernel, way))
        if what.startswith("over") and target:
            source.unlink()
            return what, kernel.shows, ops, edges
        if what:
            report(folder, options.out, kernel, seed, way, what, output, options.whole)
            source.unlink()
            return what, kernel.shows, ops, edges
    if seed % LISTED == 0:
        _, listing = run(["kernelc", "build", str(source), *way.pipes, "--emit", "obj", "-o", str(folder / f"o{seed}"),
                          *(f"--print-after={name}" for name in LISTED_AFTER)])
        ops.update(OP.findall(listing))
        edges.update(EDGE.findall(listing))
    source.unlink()
    shutil.rmtree(source.with_suffix(""), ignore_errors=True)
    return "", kernel.shows, ops, edges


def report(folder, out, kernel, seed, way, what, output, whole):
    """Reports a failing kernel, shrunk unless `whole`, with a command that reproduces it."""
    small = folder / f"small{seed}.kdl"

    def fails(tree):
        small.write_text(str(tree))
        return outcome(command(small, kernel, way))[0] == what

    before = str(kernel.tree)
    if "over" not in what and not whole:
        smaller(kernel.tree, fails)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"kernel{seed}.kdl"
    words = command(path, kernel, way)
    line = words[-1] if way.is_exe else " ".join(words)
    path.write_text(f"// {what}\n// {line}\n{kernel.tree}")
    (out / f"kernel{seed}.whole.kdl").write_text(before)
    print(f"kernel {seed}: {what}\n  {line}\n{output[:1500]}", flush=True)


def print_coverage(shows, ops, edges):
    """Prints a table of constructs by type. Then prints KIR's ops, including ops that no listed kernel
    contained."""
    rows = collections.defaultdict(list)
    for name, count in sorted(shows.items()):
        stem, of, type_ = name.partition(" of ")
        rows[stem if of else name.split(" ")[0] if name.startswith("cast") else name].append(
            f"{type_} {count}" if of else f"{name[5:].replace(' to ', '>')} {count}" if name.startswith("cast") else str(count))
    for name, counts in rows.items():
        print(f"  {name:28} {', '.join(counts)}")
    table = subprocess.run(["kernelc", "explain", "ops"], capture_output=True, text=True, check=True).stdout
    known = [line.split()[0] for line in table.splitlines()[2:] if line.strip()]
    print("KIR ops: " + ", ".join(f"{name} {ops[name]}" for name in known if ops[name]))
    print("KIR ops that none had: " + ", ".join(name for name in known if not ops[name]))
    print("edges: " + ", ".join(f"{name} {count}" for name, count in sorted(edges.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--seconds", type=float, help="instead of a number of kernels")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("found"), help="where failing kernels go")
    parser.add_argument("--whole", action="store_true", help="does not make failing kernels smaller, which takes minutes")
    parser.add_argument("--target", help="a device spec: all run there, and nowhere else")
    parser.add_argument("--build", action="store_true", help="with --target: builds them only, which needs no device")
    parser.add_argument("--most-lines", type=int, help="with --target opencl: kernels of more lines of OpenCL C are passed over")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how many run at once")
    parser.add_argument("--holding", help="passes over files without this construct, one of those that --coverage lists")
    parser.add_argument("--kind", default="", help="draws only kernels of this kind, which is the name of a function: imitations, packs …")
    parser.add_argument("--coverage", action="store_true", help="print what the kernels held")
    options = parser.parse_args()
    if options.most_lines and options.target != "opencl":
        parser.error("--most-lines is for --target opencl")
    if options.target and not options.build and re.search("there is no|not available", why := run(["kernelc", "devices", options.target])[1]):
        print(why.strip())
        return SKIPPED
    if options.build and not options.target:
        parser.error("--build is for a --target")
    results, shows, ops, edges = (collections.Counter() for _ in range(4))
    end = time.monotonic() + options.seconds if options.seconds else None
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        seed, last = options.first, options.first + options.kernels
        while (time.monotonic() < end) if end else seed < last:
            batch = range(seed, seed + 64 if end else min(seed + 64, last))
            for checked in pool.map(lambda s: check(pathlib.Path(folder), s, options), batch):
                if checked is None:
                    continue
                what, shown, some_ops, some_edges = checked
                results[what] += 1
                shows.update(shown)
                ops.update(some_ops)
                edges.update(some_edges)
            seed = batch.stop
    if options.coverage:
        print_coverage(shows, ops, edges)
    for what, count in results.items():
        if what:
            print(f"{what}: {count}")
    # It is not an error if a driver compiles for too long, or if a small machine has too little memory.
    late = sum(count for what, count in results.items() if what.startswith("over")) if options.target else 0
    failed = results.total() - results[""] - late
    print(f"{results['']} passed, {failed} failed" + (f", {late} skipped" if late else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
