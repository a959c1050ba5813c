#!/usr/bin/env python3
"""Runs programs whose tensors are distributed over ranks: in one process, and with Open MPI and MPICH.

The results must have the same bits as with one rank, for numbers of ranks that do not divide the sizes and for more ranks
than rows. Compiled programs in MPI applications in C++ and C must have these bits, too. If a fetch is removed from a program, its results must change. If one process fails, all must end. What is sent
must be what `kernelc explain --communication` says, and no less than what the interpreter counts. Half of the shapes are drawn.

tests/run/ranks.py
tests/run/ranks.py --all   # all shapes
"""

import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np
from shared import checks, seeds
from shared.rank_callers import BUILT, build_caller
from shared.rank_removals import without_fetches
from shared.rank_runs import LAUNCHERS, in_blocks, on_shape, outputs, run
from shared.rank_traffic import compare_traffic, explained

SOURCE = pathlib.Path(__file__).resolve().parent / "ranks.kdl"
RUNS = {
    "settle": ["--set", "M=17", "--set", "N=9", "--arg", "x=random:1", "--arg", "limit=0.01", "--out", "y=@y.npy",
               "--out", "steps=@steps.npy"],
    "products": ["--set", "M=33", "--set", "K=17", "--set", "N=9", "--arg", "a=random:1", "--arg", "b=random:2",
                 "--out", "c=@c.npy", "--out", "d=@d.npy", "--out", "t=@t.npy"],
}
GRID = SOURCE.with_name("ranks_grid.kdl")
GRID_RUNS = {
    "relaxed": ["--set", "M=17", "--set", "N=13", "--arg", "x=random:1", "--arg", "count=4"],
    "cornered": ["--set", "M=17", "--set", "N=13", "--arg", "x=random:1", "--arg", "count=3"],
    "products": ["--set", "M=19", "--set", "K=11", "--set", "N=14", "--arg", "a=random:1", "--arg", "b=random:2"],
    "transposed": ["--set", "M=17", "--set", "N=10", "--arg", "x=random:1"],
    "summed": ["--set", "M=17", "--set", "N=10", "--arg", "x=random:1"],
}
GRID_OUTPUTS = {"products": "cde", "transposed": "yz", "summed": "s"}
SHAPES = [(1, 2), (3, 1), (2, 2), (5, 1), (2, 4), (13, 1), (3, 5)]
REDUCE = SOURCE.with_name("ranks_reduce.kdl")
REDUCE_RUNS = {
    "histogram": ["--set", "N=300", "--set", "Bins=7", "--arg", "x=random:1"],
    "sums": ["--set", "M=37", "--set", "N=45", "--arg", "x=random:1"],
    "kmeans": ["--set", "N=5000", "--set", "D=3", "--set", "K=5", "--arg", "x=random:1", "--arg", "start=random:2",
               "--arg", "size=zeros", "--arg", "steps=3"],
}
REDUCE_OUTPUTS = {"histogram": ["h", "g"], "kmeans": ["means", "size"],
                  "sums": ["rows", "top", "columns", "others", "all", "small"]}
REDUCE_SHAPES = [(1, 1), (2, 1), (1, 3), (5, 1), (2, 4), (13, 1)]


def check(fine, what):
    checks.expect(what, fine)


def program_words(file, program, ranks):
    return ["kernelc", "run", str(file), "--program", program, *RUNS[program], "--device", f"grid=ranks?count={ranks}"]


def in_one_process(folder):
    for program in RUNS:
        one = outputs(program_words(SOURCE, program, 1), folder)
        check(isinstance(one, dict) and one, f"{program} fails with one rank: {one}")
        for ranks in seeds.half(program, [2, 3, 5, 8, 13, 40]):
            check(outputs(program_words(SOURCE, program, ranks), folder) == one, f"{program} differs with {ranks} ranks")


def grid_words(program, shape, folder):
    """Writes the programs with this shape of the grid, and returns the file and the words that run one of them."""
    file = folder / "grid.kdl"
    file.write_text(on_shape(GRID, shape))
    outs = [word for name in GRID_OUTPUTS.get(program, "y") for word in ("--out", f"{name}=@{name}.npy")]
    return file, ["kernelc", "run", str(file), "--program", program, *GRID_RUNS[program], *outs]


def on_grids(folder):
    """Several axes: results for all shapes, and exactly the bytes that the ranks read."""
    for program, arguments in GRID_RUNS.items():
        one = outputs(grid_words(program, (1, 1), folder)[1], folder)
        check(isinstance(one, dict) and one, f"{program} fails with one rank: {one}")
        for shape in seeds.half(program, SHAPES):
            file, words = grid_words(program, shape, folder)
            got = outputs([*words, "--device", f"grid=ranks?count={shape[0] * shape[1]}"], folder)
            check(got == one, f"{program} differs on a grid of {shape}: {got if isinstance(got, str) else ''}")
            compare_traffic(file, ["--program", program, *arguments], shape[0] * shape[1], folder, True)


def reduce_words(file, program):
    outs = [word for name in REDUCE_OUTPUTS[program] for word in ("--out", f"{name}=@{name}.npy")]
    return ["kernelc", "run", str(file), "--program", program, *REDUCE_RUNS[program], *outs]


def of_one_host(program, folder):
    """Returns the results of a program of `reduce` without ranks: the same text without `by`."""
    file = folder / "one.kdl"
    file.write_text(re.sub(r" on grid by \([^)]*\)|^device grid.*", "", REDUCE.read_text(), flags=re.MULTILINE))
    return outputs(reduce_words(file, program), folder)


def reduced(folder):
    """`reduce` over the blocks of all ranks: the bits are those of one host, and a rank does not get what it never reads."""
    for program in REDUCE_RUNS:
        one = of_one_host(program, folder)
        check(isinstance(one, dict) and len(one) == len(REDUCE_OUTPUTS[program]), f"{program} fails without ranks: {one}")
        for shape in seeds.half(program, REDUCE_SHAPES):
            file = folder / "reduce.kdl"
            file.write_text(on_shape(REDUCE, shape))
            count = shape[0] * shape[1]
            got = outputs([*reduce_words(file, program), "--device", f"grid=ranks?count={count}"], folder)
            check(got == one, f"{program} differs on a grid of {shape}: {got if isinstance(got, str) else ''}")
            if count == 1:
                continue
            compare_traffic(file, ["--program", program, *REDUCE_RUNS[program]], count, folder, False)
            if program == "histogram":
                check_histogram_traffic(file, count, folder)


def check_histogram_traffic(file, ranks, folder):
    """Of the numbers, a rank gets at most those of one block that it shares with its neighbor; the rest are partial results."""
    sent = explained(file, ["--program", "histogram", *REDUCE_RUNS["histogram"]], ranks, folder)
    size = sum(row[1] for key, row in sent.items() if key == ("a", "count reads it"))
    check(size <= ranks * 2 * 8 * 4 or ranks > 5, f"{ranks} ranks of the histogram send {size} bytes of its input")
    check(sent[("h_parts", "count combines it")][1] > 0, "no partial results are sent")


def in_processes(folder):
    for library, launcher in LAUNCHERS.items():
        if not shutil.which(launcher[0]):
            check(False, f"{launcher[0]} is missing: tests/install.sh tests")
            continue
        for program, arguments in RUNS.items():
            one = outputs(program_words(SOURCE, program, 1), folder)
            for ranks in (2, 3):  # processes that wait use a core each
                words = [*launcher, str(ranks), "kernelc", "run", str(SOURCE), "--program", program, *arguments]
                got = outputs(words, folder)
                check(got == one, f"{program} differs in {ranks} processes of {library}: {got}")
        for program in GRID_RUNS:
            one = outputs(grid_words(program, (1, 1), folder)[1], folder)
            for shape in ((1, 2), (3, 1)):
                words = [*launcher, str(shape[0] * shape[1]), *grid_words(program, shape, folder)[1]]
                got = outputs(words, folder)
                check(got == one, f"{program} differs on a grid of {shape} in processes of {library}: {got}")
        for program in REDUCE_RUNS:
            one = of_one_host(program, folder)
            file = folder / "reduce.kdl"
            file.write_text(on_shape(REDUCE, (3, 1)))
            got = outputs([*launcher, "3", *reduce_words(file, program)], folder)
            check(got == one, f"{program} differs in processes of {library}: {got}")
        np.save(folder / "x.npy", np.array([1, 4, 9, 16, -1], np.float32))
        words = [*launcher, "3", "kernelc", "run", str(SOURCE), "--program", "roots", "--arg", "x=@x.npy"]
        done = run(words, folder)
        check(done.returncode != 0 and "no negative number" in done.stderr,
              f"a failing rank of {library}: exit code {done.returncode}, {done.stderr}")
        (folder / "x.npy").unlink()


def files_of(language, folder):
    """Returns the programs that the application in this language calls."""
    if language == "cc":
        blocked = folder / "ranks.kdl"
        blocked.write_text(in_blocks(SOURCE.read_text(), 2))
        return [blocked]
    reduce = folder / "ranks_reduce.kdl"
    reduce.write_text(on_shape(REDUCE, (3, 1)))
    return [SOURCE, reduce]


def built(folder):
    """Applications that call compiled programs have the results of one host."""
    draw = np.random.default_rng(1)
    x = draw.standard_normal((17, 9), np.float32)
    numbers = draw.random(300, np.float32)
    for name, values in (("x", x), ("numbers", numbers)):
        values.tofile(folder / f"{name}.bin")
        np.save(folder / f"{name}_in.npy", values)
    (folder / "one").mkdir(exist_ok=True)
    plain = re.compile(r" on grid by \([^)]*\)|^device grid.*", re.MULTILINE)
    wanted = {}
    for source, words in ((SOURCE, ["settle", "--arg", f"x=@{folder}/x_in.npy", "--arg", "limit=0.01", "--out", "y=@y.npy",
                                    "--out", "steps=@steps.npy"]),
                          (REDUCE, ["histogram", "--set", "Bins=7", "--arg", f"x=@{folder}/numbers_in.npy", "--out", "h=@h.npy",
                                    "--out", "g=@g.npy"])):
        (folder / "one" / source.name).write_text(plain.sub("", source.read_text()))
        done = run(["kernelc", "run", str(folder / "one" / source.name), "--program", *words], folder / "one")
        check(done.returncode == 0, f"{source.name} without ranks: {done.stderr}")
    for name in ("y", "steps", "h", "g"):
        wanted[name] = np.load(folder / "one" / f"{name}.npy").tobytes()
    for library, (name, launcher) in zip((".openmpi", ".mpich"), LAUNCHERS.items()):
        if not shutil.which(launcher[0]):
            continue  # already reported
        for language in BUILT:
            caller = build_caller(language, library, folder, "ranks_caller", files_of(language, folder))
            if not caller:
                continue
            done = run([*launcher, "3", str(caller)], folder)
            check(done.returncode == 0, f"{language} with {name}: {done.returncode}, {done.stderr}")
            results = folder / "results.bin"
            got = results.read_bytes() if results.exists() else b""
            names = ("y", "steps", "h", "g") if language == "c++" else ("y", "steps")
            check(got == b"".join(wanted[one] for one in names), f"{language} with {name} differs from one host")
            results.unlink(missing_ok=True)


def traffic(folder):
    for ranks in (2, 3, 5, 13):
        words = ["--program", "relaxed", "--set", "M=33", "--set", "N=9", "--arg", "count=5"]
        compare_traffic(SOURCE, words, ranks, folder, True)
        # The product by columns reads a part of each row of a factor.
        words = ["--program", "products", "--set", "M=33", "--set", "K=17", "--set", "N=9"]
        compare_traffic(SOURCE, words, ranks, folder, True)


MEASURE = '''
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print("KiB:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
'''


def memory(folder):
    """A process with a quarter of a factor of 64 MiB needs a quarter more for a panel, and as much to send or receive it."""
    launcher = LAUNCHERS["Open MPI"]
    if not shutil.which(launcher[0]):
        return  # already reported
    (folder / "measure.py").write_text(MEASURE)

    def most(columns, rows):
        words = [*launcher, "4", sys.executable, "measure.py", "kernelc", "run", str(SOURCE), "--program", "large",
                 "--set", "M=8", "--set", f"K={rows}", "--set", f"N={columns}"]
        done = run(words, folder)
        check(done.returncode == 0, f"a large product fails: {done.stderr}")
        return max(map(int, re.findall(r"KiB: (\d+)", done.stdout)), default=0)

    more = most(2048, 8192) - most(16, 64)
    check(0 < more < 96 * 1024, f"a process needs {more} KiB more for a factor of 64 MiB")


def long_loop(folder):
    """A loop that would take hours to explain is an error at its first line."""
    words = ["--program", "relaxed", "--set", "M=33", "--set", "N=9", "--arg", "count=100000000000", "--ranks", "2"]
    done = run(["kernelc", "explain", "--communication", str(SOURCE), *words], folder)
    line = next(n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if "0..count" in text)
    check(done.returncode == 1 and f"ranks.kdl:{line}:" in done.stderr and "this loop has not ended" in done.stderr,
          f"explaining a long loop: {done.returncode}, {done.stdout}{done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        in_one_process(folder)
        on_grids(folder)
        reduced(folder)
        for program, arguments in RUNS.items():
            removed = without_fetches(SOURCE, program, [*arguments, "--device", "grid=ranks?count=3"], folder)
            check(removed, f"{program} has no fetch")
        traffic(folder)
        long_loop(folder)
        in_processes(folder)
        memory(folder)
        built(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
