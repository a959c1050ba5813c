#!/usr/bin/env python3
"""Checks what the processes of a program over ranks print, with Open MPI and MPICH, with `kernelc run` and executables.

An error that all have is printed once, and one of a single process with its rank. Only the first process prints the object of --json. If
the processes do not share their work, a warning says so.

tests/run/ranks_output.py
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np
from shared import checks
from shared.rank_runs import LAUNCHERS, run

SOURCE = pathlib.Path(__file__).with_name("ranks.kdl")
RANK_OF = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
NUMBER = re.compile(r"error: .*\[E\d{4}\]")
NOTE = "this is an error of the process with rank"
WARNING = "warning: each of the 3 processes computes all of "
ALONE = """
kernel doubled(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = x[i] + x[i]; } }
export program alone(x: in f32[N], y: out f32[N]) { spmd doubled(x, y); }
"""
# Words after those that start the program, and an error of all processes: while they run, before they join each other, and before
# the command begins.
SHARED = [(["--arg", "x=@negative.npy"], "no negative number", 1), (["--arg", "x=@missing.npy"], "there is no file 'missing.npy'", 1),
          (["--no-such-option"], "has no option '--no-such-option'", 2)]


def starts(folder, file, name):
    """Returns the words that start a program, with `kernelc run` and as an executable."""
    done = run(["kernelc", "build", str(file), "--emit", "exe", "-o", str(folder)], folder)
    checks.expect(f"{file} is not built: {done.stderr}", done.returncode == 0)
    return [["kernelc", "run", str(file), "--program", name], [str(folder / file.stem), "--program", name]]


def errors(library, launcher, words, folder):
    for more, message, code in SHARED:
        done = run([*launcher, "3", *words, *more], folder)
        checks.expect(f"{words} {more} with {library}: exit code {done.returncode}\n{done.stderr}",
                      done.returncode == code and message in done.stderr and len(NUMBER.findall(done.stderr)) == 1 and NOTE not in done.stderr)
    for rank, more in ((2, ["--arg", "x=@missing.npy"]), (0, ["--arg", "x=@missing.npy"]), (1, ["--no-such-option"])):
        script = f'if [ "{RANK_OF}" = {rank} ]; then exec "$@" {" ".join(more)}; else exec "$@" --arg x=@positive.npy; fi'
        done = run([*launcher, "3", "sh", "-c", script, "sh", *words], folder)
        checks.expect(f"{words} {more} of rank {rank} with {library}: exit code {done.returncode}\n{done.stderr}",
                      done.returncode != 0 and f"{NOTE} {rank}" in done.stderr and done.stderr.count(NOTE) == 1)


def objects(library, launcher, words, folder):
    """The object of --json on standard output, in a file, and of a failing run."""
    for more, code in ((["--arg", "x=@positive.npy"], 0), (["--arg", "x=@negative.npy"], 1)):
        done = run([*launcher, "3", *words, *more, "--json"], folder)
        try:
            printed = json.loads(done.stdout)
        except json.JSONDecodeError:
            printed = {}
        checks.expect(f"{words} {more} --json with {library}: {done.returncode}, {done.stdout}{done.stderr}",
                      done.returncode == code and printed.get("exit_code") == code and len(printed["diagnostics"]) == code)
    done = run([*launcher, "3", *words, "--arg", "x=@positive.npy", "--json=object.json"], folder)
    path = folder / "object.json"
    checks.expect(f"{words} --json=object.json with {library}: {done.returncode}, {done.stderr}",
                  done.returncode == 0 and path.exists() and json.loads(path.read_text())["exit_code"] == 0)
    path.unlink(missing_ok=True)


def warnings(library, launcher, words, shared, folder):
    done = run([*launcher, "3", *words, "--set", "N=20", "--arg", "x=ones"], folder)
    checks.expect(f"{words} with {library}: {done.returncode}, {done.stderr}", done.returncode == 0 and done.stderr.count(WARNING) == 1)
    done = run([*launcher, "1", *words, "--set", "N=20", "--arg", "x=ones"], folder)
    checks.expect(f"one process of {words} with {library}: {done.stderr}", done.returncode == 0 and not done.stderr)
    for more, count in (([], 0), (["--device", "grid=ranks?count=3"], 1)):
        done = run([*launcher, "3", *shared, "--arg", "x=@positive.npy", *more], folder)
        checks.expect(f"{shared} {more} with {library}: {done.returncode}, {done.stderr}",
                      done.returncode == 0 and done.stderr.count(WARNING) == count)


def main():
    for launcher in LAUNCHERS.values():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            return checks.end()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "positive.npy", np.arange(1, 31, dtype=np.float32))
        np.save(folder / "negative.npy", -np.arange(1, 31, dtype=np.float32))
        alone = folder / "alone.kdl"
        alone.write_text(ALONE)
        shared = starts(folder, SOURCE, "roots")
        for own, words in zip(starts(folder, alone, "alone"), shared):
            for library, launcher in LAUNCHERS.items():
                errors(library, launcher, words, folder)
                objects(library, launcher, words, folder)
                warnings(library, launcher, own, words, folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
