#!/usr/bin/env python3
"""Runs programs over ranks as executables of `--emit exe`: in one process, and with Open MPI and MPICH.

Their files and what they print must be those of `kernelc run`, for 1, 2, 3 and 5 ranks, in which each process reads and writes
its rows. If one process fails, at a launch on the last rank or before it joins the others, or if it is killed, all must end with
an exit code other than 0, and leave no files.

tests/run/ranks_exe.py
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import ranks
import ranks_files
from shared import checks, seeds
from shared.rank_runs import LAUNCHERS, on_shape, outputs, results, run

COUNTS = (1, 2, 3, 5)
RANK_OF = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"


def build(file, folder):
    """Builds the executable of a file, and returns its path."""
    done = run(["kernelc", "build", str(file), "--emit", "exe", "-o", str(folder)], folder)
    checks.expect(f"{file} is not built: {done.stderr}", done.returncode == 0)
    return folder / pathlib.Path(file).stem


def as_executable(words, folder):
    """Returns the words that start the executable instead of `kernelc run FILE`."""
    return [str(folder / pathlib.Path(words[2]).stem), *words[3:]]


class Runs:
    """Runs of one program, with the output and the files that `kernelc run` has written without MPI."""

    def __init__(self, name, words, folder):
        self.name = name
        self.folder = folder
        self.words = as_executable(words, folder)
        self.wanted = outputs(words, folder)
        self.printed = run(words, folder).stdout
        checks.expect(f"{name} fails with kernelc run: {self.wanted}", isinstance(self.wanted, dict) and self.wanted)

    def expect(self, what, launch=(), more=(), printed=None):
        """Compares a run with that of `kernelc run`. It must print the same, or a text that contains `printed`."""
        for path in self.folder.glob("*.npy"):
            path.unlink()
        done = run([*launch, *self.words, *more], self.folder)
        same = results(self.folder) == self.wanted
        checks.expect(f"{self.name} {what}: {done.returncode}, {done.stdout}{done.stderr}", done.returncode == 0 and same)
        is_right = printed in done.stdout if printed else done.stdout == self.printed
        checks.expect(f"{self.name} {what} prints {done.stdout}, not {printed or self.printed}", is_right)


def whole_tensors(folder):
    """Parameters without `by`: the first process prints the results and writes the files."""
    build(ranks.SOURCE, folder)
    for program in ranks.RUNS:
        one = Runs(program, ranks.program_words(ranks.SOURCE, program, 1)[:-2], folder)
        one.expect("without options")
        for count in COUNTS:
            one.expect(f"with {count} ranks in one process", more=["--device", f"grid=ranks?count={count}"])
            for library, launcher in LAUNCHERS.items():
                one.expect(f"in {count} processes of {library}", [*launcher, str(count)])


def reductions(folder):
    file = folder / "ranks_reduce.kdl"
    file.write_text(on_shape(ranks.REDUCE, (3, 1)))
    build(file, folder)
    for program in ranks.REDUCE_RUNS:
        one = Runs(program, ranks.reduce_words(file, program), folder)
        for library, launcher in LAUNCHERS.items():
            one.expect(f"in 3 processes of {library}", [*launcher, "3"])


def parts_of_files(draw, folder):
    """Distributed parameters: each process reads and writes its part, also of dimensions that are distributed in blocks."""
    arguments = ranks_files.write_inputs(draw, folder)
    for shape in ((5, 1), (1, 3), (2, 1)):
        file = ranks_files.on_grid(shape, folder)
        build(file, folder)
        for program in ranks_files.OUTPUTS:
            one = Runs(program, ranks_files.words_of(program, arguments, file, folder), folder)
            one.expect("without options")
            count = shape[0] * shape[1]
            one.expect(f"with {count} ranks in one process", more=["--device", f"grid=ranks?count={count}"])
            for library, launcher in LAUNCHERS.items():
                checked = ["--verify"] if draw.random() < 0.5 else []
                one.expect(f"in {count} processes of {library} {checked}", [*launcher, str(count)], checked, "distributed -> ")
    failing_writes(arguments, folder)


def failing_writes(arguments, folder):
    """If a process cannot write its part, or does not find its input, all end, the old file stays, and no other file is left."""
    file = ranks_files.on_grid((3, 1), folder)
    build(file, folder)
    words = as_executable(ranks_files.words_of("called", arguments, file, folder), folder)
    old = b"an older result"
    (folder / "y.npy").write_bytes(old)
    files = set(folder.iterdir())
    # This process is in another folder, as if its machine did not have the one of the file.
    script = f'if [ "{RANK_OF}" = 1 ]; then cd inputs; fi; exec "$@"'
    for library, launcher in LAUNCHERS.items():
        relative = [word.replace(f"@{folder}/inputs/", "@inputs/") for word in words]
        for started, message in ((words, "cannot write 'y.npy'"), (relative, "there is no file 'inputs/x.npy'")):
            done = run([*launcher, "3", "sh", "-c", script, "sh", *started], folder)
            checks.expect(f"a process of {library} that ends with {message}: {done.returncode}, {done.stdout}{done.stderr}",
                          done.returncode != 0 and message in done.stderr and "y: " not in done.stdout)
            checks.expect(f"a process of {library} changes files: {files ^ set(folder.iterdir())}",
                          (folder / "y.npy").read_bytes() == old and set(folder.iterdir()) == files)
    (folder / "y.npy").unlink()


def traps(folder):
    """A trap on the last rank, while others wait for its elements, and errors of all processes have the exit codes of `kernelc run`."""
    np.save(folder / "x.npy", np.array([1, 4, 9, 16, -1], np.float32))
    program = [str(folder / "ranks"), "--program", "roots"]
    ends = [(["--arg", "x=@x.npy"], 1, "no negative number"), (["--arg", "x=@no.npy"], 1, "there is no file 'no.npy'"),
            (["--arg", "x=random:1", "--emit", "ir"], 2, "has no option '--emit'")]
    for library, launcher in LAUNCHERS.items():
        for words, code, message in ends:
            done = run([*launcher, "3", *program, *words], folder)
            checks.expect(f"{words} with {library}: exit code {done.returncode}, {done.stderr}",
                          done.returncode == code and message in done.stderr)
    (folder / "x.npy").unlink()


def without_compiler(folder):
    """The executable compiles the calls to MPI, and says so if it cannot."""
    tools = folder / "tools"
    tools.mkdir()
    for library, launcher in LAUNCHERS.items():
        script = f"PATH={tools}; exec \"$@\""
        words = [*launcher, "2", "/bin/sh", "-c", script, "sh", str(folder / "ranks"), *"--program roots --set N=9 --arg x=ones".split()]
        done = run(words, folder)
        checks.expect(f"{library} without mpicc: {done.returncode}, {done.stderr}",
                      done.returncode != 0 and "is not on PATH, but programs with several ranks need it" in done.stderr)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def killed(draw, folder):
    """One process is killed: all end, with an exit code that is not 0."""
    script = f'echo $$ > pid.{RANK_OF}; exec "$@"'
    words = [str(folder / "ranks"), *"--program relaxed --set M=64 --set N=64 --arg count=1000000000".split()]
    for library, launcher in LAUNCHERS.items():
        for path in folder.glob("pid.*"):
            path.unlink()
        process = subprocess.Popen([*launcher, "3", "sh", "-c", script, "sh", *words], cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        ends = time.monotonic() + 60
        while len(list(folder.glob("pid.*"))) < 3 and time.monotonic() < ends:
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 6))  # before, while and after they compile the calls to MPI
        pids = [int(path.read_text()) for path in sorted(folder.glob("pid.*"))]
        victim = draw.randrange(3)
        os.kill(pids[victim], signal.SIGKILL)
        try:
            code = process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            code = 0
        checks.expect(f"{library}: exit code {code} after process {victim} was killed", code != 0)
        ends = time.monotonic() + 10
        while any(map(is_running, pids)) and time.monotonic() < ends:
            time.sleep(0.1)
        left = [pid for pid in pids if is_running(pid)]
        checks.expect(f"{library}: the processes {left} are still running after process {victim} was killed", not left)
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def check_all(draw, folder):
    for library, launcher in LAUNCHERS.items():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            return
    whole_tensors(folder)
    reductions(folder)
    parts_of_files(draw, folder)
    traps(folder)
    without_compiler(folder)
    killed(draw, folder)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
