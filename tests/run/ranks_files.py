#!/usr/bin/env python3
"""Runs programs with distributed parameters, of which each process reads and writes its part of a file.

The files must be those of a program without ranks, byte for byte, in one process and with Open MPI and MPICH, for sizes that
change every day. No process may have a whole tensor in its memory. If one process cannot write its part, the file must not
change, and nothing may be left behind. Compiled programs must not touch the parts of other processes.

tests/run/ranks_files.py
"""

import math
import pathlib
import re
import shutil
import sys

import numpy as np
from shared import checks, seeds
from shared.rank_callers import BUILT, build_caller
from shared.rank_runs import LAUNCHERS, on_shape, outputs, run
from shared.rank_traffic import compare_traffic

SOURCE = pathlib.Path(__file__).resolve().parent / "ranks_files.kdl"
OUTPUTS = {"relaxed": ["total", "y"], "kinds": ["b", "c", "w"], "called": ["y"]}
INPUTS = {"relaxed": ["x", "total"], "kinds": ["a"], "called": ["x"]}
SHAPES = [(1, 1), (1, 2), (3, 1), (2, 2), (5, 1), (2, 4), (13, 1)]
RANK_OF = {"Open MPI": "OMPI_COMM_WORLD_RANK", "MPICH": "PMI_RANK"}


def write_inputs(draw, folder):
    """Draws sizes, writes the inputs in a folder of their own, and returns the arguments that name them."""
    m, n = draw.randint(1, 20), draw.randint(1, 20)
    numbers = np.random.default_rng(draw.randint(0, 1000))
    inputs = folder / "inputs"
    inputs.mkdir(exist_ok=True)
    for name in ("x", "total"):
        np.save(inputs / f"{name}.npy", numbers.standard_normal((m, n), np.float32))
    # Any byte of a bool that is not 0 is true.
    np.save(inputs / "a.npy", numbers.integers(0, 3, m, np.uint8).view(np.bool_))
    print(f"M = {m}, N = {n}")
    return {"relaxed": ["--arg", f"count={draw.randint(0, 3)}"], "kinds": ["--arg", "s=7", "--set", f"N={n}"], "called": []}


def words_of(program, arguments, file, folder):
    words = ["kernelc", "run", str(file), "--program", program, *arguments[program]]
    for name in INPUTS[program]:
        words += ["--arg", f"{name}=@{folder}/inputs/{name}.npy"]
    for name in OUTPUTS[program]:
        words += ["--out", f"{name}=@{name}.npy"]
    return words


def without_ranks(folder):
    file = folder / "one.kdl"
    file.write_text(re.sub(r" on grid by \([^)]*\)|^device grid.*", "", SOURCE.read_text(), flags=re.MULTILINE))
    return file


def on_grid(shape, folder):
    file = folder / "grid.kdl"
    file.write_text(on_shape(SOURCE, shape))
    return file


def results_of_one(program, arguments, folder):
    one = outputs(words_of(program, arguments, without_ranks(folder), folder), folder)
    checks.expect(f"{program} fails without ranks: {one}", isinstance(one, dict) and len(one) == len(OUTPUTS[program]))
    return one


def in_one_process(arguments, folder):
    for program in OUTPUTS:
        one = results_of_one(program, arguments, folder)
        for shape in SHAPES:
            file = on_grid(shape, folder)
            words = [*words_of(program, arguments, file, folder), "--device", f"grid=ranks?count={math.prod(shape)}"]
            got = outputs(words, folder)
            checks.expect(f"{program} differs on a grid of {shape}: {got if isinstance(got, str) else ''}", got == one)
            if program == "relaxed" and math.prod(shape) > 1:
                compare_traffic(file, [*words[3:words.index("--out")]], math.prod(shape), folder, True)


def in_processes(draw, arguments, folder):
    for library, launcher in LAUNCHERS.items():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            continue
        for program in OUTPUTS:
            one = results_of_one(program, arguments, folder)
            for shape in ((1, 3), (2, 1)):
                words = words_of(program, arguments, on_grid(shape, folder), folder)
                checked = ["--verify"] if draw.random() < 0.5 else []
                got = outputs([*launcher, str(math.prod(shape)), *words, *checked], folder)
                checks.expect(f"{program} differs on a grid of {shape} in processes of {library} {checked}: "
                              f"{got if isinstance(got, str) else ''}", got == one)
        failing(library, launcher, arguments, folder)


def failing(library, launcher, arguments, folder):
    """If a process cannot read or write its part, all end, the old file stays, and no other file is left."""
    old = b"an older result"
    words = words_of("called", arguments, on_grid((3, 1), folder), folder)
    (folder / "y.npy").write_bytes(old)
    files = set(folder.iterdir())
    # This process is in another folder, as if its machine did not have the one of the file.
    script = f'if [ "${RANK_OF[library]}" = 1 ]; then cd inputs; fi; exec "$@"'
    done = run([*launcher, "3", "sh", "-c", script, "sh", *words], folder)
    checks.expect(f"a process of {library} that cannot write: {done.returncode}, {done.stdout}{done.stderr}",
                  done.returncode != 0 and "cannot write 'y.npy'" in done.stderr and "y: " not in done.stdout)
    checks.expect(f"a process of {library} that cannot write changes files: {files ^ set(folder.iterdir())}",
                  (folder / "y.npy").read_bytes() == old and set(folder.iterdir()) == files)
    to_device = [word.replace("@y.npy", "@/dev/null") for word in words]
    done = run([*launcher, "3", *to_device], folder)
    checks.expect(f"a part of a device with {library}: {done.returncode}, {done.stderr}",
                  done.returncode != 0 and "several processes can only write a file" in done.stderr)
    data = (folder / "inputs" / "x.npy").read_bytes()
    (folder / "inputs" / "short.npy").write_bytes(data[:-1])
    done = run([*launcher, "3", *[word.replace("/x.npy", "/short.npy") for word in words]], folder)
    checks.expect(f"a truncated input with {library}: {done.returncode}, {done.stderr}",
                  done.returncode != 0 and "is truncated" in done.stderr)
    (folder / "y.npy").unlink()
    # This process fails before it knows that the others wait for it.
    for old, new, message in ((f"x=@{folder}/inputs/x.npy", "x=@inputs/x.npy", "there is no file 'inputs/x.npy'"),
                              (str(folder / "grid.kdl"), "grid.kdl", "there is no file 'grid.kdl'"),
                              ("--out", "--json=inputs/rows.json --out", "there is no folder 'inputs'")):
        at = words.index(old)
        done = run([*launcher, "3", "sh", "-c", script, "sh", *words[:at], *new.split(), *words[at + 1:]], folder)
        checks.expect(f"one process of {library} with {new}: {done.returncode}, {done.stderr}",
                      done.returncode != 0 and message in done.stderr)
    (folder / "y.npy").unlink(missing_ok=True)


MEMORY = """
device grid = ranks();
kernel half(x: in f32[M, N], y: out f32[M, N]) { spmd for i in M by 16, j in N by 64 { y[i, j] = 0.5 * x[i, j]; } }
export program halved(x: in f32[M, N] on grid by (M, _), y: out f32[M, N] on grid by (M, _)) { spmd half(x, y); }
"""


def peak_of(words, folder):
    """Returns the most memory that a process of the command has had, and its exit code."""
    script = ("import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, code)")
    done = run([sys.executable, "-c", script, *words], folder)
    return [int(word) for word in done.stdout.split()]


def memory(folder):
    """With eight times as many elements, a process of eight has as much memory as one alone has had."""
    file = folder / "memory.kdl"
    file.write_text(MEMORY)
    library, launcher = next(((name, words) for name, words in LAUNCHERS.items() if shutil.which(words[0])), (None, None))
    if not library:
        return
    rows, columns = 4096, 8192
    x = np.lib.format.open_memmap(folder / "large.npy", "w+", np.float32, (rows, columns))
    x[:, 0] = np.arange(rows)
    x.flush()
    del x
    words = ["kernelc", "run", str(file), "--arg", "x=@large.npy", "--out", "y=@half.npy"]
    size = rows * columns * 4
    idle, code = peak_of([*launcher, "4", "kernelc", "run", str(file), "--set", "M=4", "--set", "N=8"], folder)
    checks.expect(f"a small program in four processes: {code}", code == 0)
    peak, code = peak_of([*launcher, "4", *words], folder)
    # A rank has its part of both parameters, the same of the caller's tensors, and what is written: five quarters.
    checks.expect(f"four processes of {library} need {peak - idle} bytes each for two tensors of {size}: {code}",
                  code == 0 and peak - idle < size * 3 // 2)
    y = np.load(folder / "half.npy", mmap_mode="r")
    checks.expect("the halves of a large tensor", np.array_equal(y[:, :2], np.stack([np.arange(rows) * 0.5, np.zeros(rows)], 1)))


def built(folder):
    """Applications in which each process only knows its own elements have the results of one host."""
    numbers = np.random.default_rng(1)
    inputs = {name: numbers.standard_normal((17, 10), np.float32) for name in ("x", "total")}
    words = ["kernelc", "run", str(without_ranks(folder)), "--program", "relaxed", "--arg", "count=2"]
    for name, values in inputs.items():
        values.tofile(folder / f"{name}.bin")
        np.save(folder / "inputs" / f"built_{name}.npy", values)
        words += ["--arg", f"{name}=@{folder}/inputs/built_{name}.npy"]
    done = run([*words, "--out", "total=@total.npy", "--out", "y=@y.npy"], folder)
    checks.expect(f"the built program without ranks: {done.stderr}", done.returncode == 0)
    wanted = [np.load(folder / f"{name}.npy").view(np.uint32) for name in ("total", "y")]
    grid = folder / "built"
    grid.mkdir()
    file = grid / "ranks_files.kdl"
    file.write_text(SOURCE.read_text().replace("ranks(2, 3)", "ranks(2, 2)"))
    for library, (name, launcher) in zip((".openmpi", ".mpich"), LAUNCHERS.items()):
        if not shutil.which(launcher[0]):
            continue  # already reported
        for language in BUILT:
            caller = build_caller(language, library, folder, "ranks_files_caller", [file])
            if not caller:
                continue
            done = run([*launcher, "4", str(caller)], folder)
            checks.expect(f"{language} with {name}: {done.returncode}, {done.stderr}", done.returncode == 0)
            parts = [np.fromfile(folder / f"part{rank}.bin", np.uint32).reshape(2, 17, 10) for rank in range(4)]
            # Ranks that own the same elements have the same bits.
            checks.expect(f"{language} with {name} differs from one host", np.array_equal(np.bitwise_or.reduce(parts), wanted))


def check_all(draw, folder):
    arguments = write_inputs(draw, folder)
    in_one_process(arguments, folder)
    in_processes(draw, arguments, folder)
    built(folder)
    memory(folder)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
