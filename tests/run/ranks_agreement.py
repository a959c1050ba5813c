#!/usr/bin/env python3
"""Starts the processes of a program over ranks with different arguments, with Open MPI and MPICH.

`kernelc run` and an executable must end with one error that says what differs, and write nothing. Calls of compiled programs in C++
and C must fail in all processes, which can then call programs with the same arguments (ranks_agreement_caller). Also checks what a transfer
that fails leaves behind.

tests/run/ranks_agreement.py
"""

import pathlib
import shutil
import sys
import tempfile

import numpy as np
from shared import checks
from shared.rank_callers import BUILT, build_caller
from shared.rank_runs import LAUNCHERS, run

SOURCE = pathlib.Path(__file__).with_name("ranks.kdl")
RANK_OF = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
SAME = "write the same arguments for all processes"
OTHER_PROGRAM = "the processes call different programs"
RELAXED = ["--program", "relaxed", "--arg", "x=@x.npy", "--out", "y=@y.npy"]
# Words of all processes, of all but the last one, and of the last one, and what the error says.
DIFFERENT = [
    ([*RELAXED, "--arg"], ["count=10"], ["count=20"], ["'count' is 10 in process 0 and 20 in process 2", SAME]),
    (["--program", "relaxed", "--arg", "count=3", "--out", "y=@y.npy", "--arg"], ["x=@x.npy"], ["x=@wide.npy"],
     ["size 1 of 'x' is 96 in process 0 and 700 in process 2", "size 1 of 'y' is 96 in process 0 and 700 in process 2", SAME]),
    (["--program", "settle", "--arg", "x=@x.npy", "--arg"], ["limit=0.25"], ["limit=-3"],
     ["'limit' is 0.25 in process 0 and -3.0 in process 2", SAME]),
    (["--set", "M=90", "--set", "N=96", "--arg", "x=@x.npy", "--program"], ["relaxed", "--arg", "count=3"], ["settle", "--arg", "limit=0.5"],
     [OTHER_PROGRAM]),
]
RESUMED = """
device grid = ranks();
kernel halve(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = 0.5 * x[i]; } }
export program halved(y: out f32[N], steps: i64) {
    let now: f32[N] on grid by (N) = 1.0;
    let next: f32[N] on grid by (N);
    for t in 0..steps {
        checkpoint(t, now, to = "halved.checkpoint", every = 2);
        spmd halve(now, next);
        swap(now, next);
    }
    copy(now, y);
}
"""


def expect_failure(what, started, launcher, messages, folder):
    """Starts three processes, the last one with other words. `started` contains the words of all but the last one, and of the last one."""
    script = 'if [ "%s" = 2 ]; then exec %s; else exec %s; fi' % (RANK_OF, *(" ".join(map(str, words)) for words in reversed(started)))
    done = run([*launcher, "3", "sh", "-c", script], folder)
    checks.expect(f"{what}: exit code {done.returncode}\n{done.stdout}{done.stderr}",
                  done.returncode == 1 and all(message in done.stderr for message in messages)
                  and done.stderr.count(SAME) == messages.count(SAME))
    checks.expect(f"{what}: a file is written", not (folder / "y.npy").exists())


def different_processes(folder):
    """Different numbers, sizes and programs, and a file that is another one on the host of one process."""
    draw = np.random.default_rng(1)
    np.save(folder / "x.npy", draw.standard_normal((90, 96), np.float32))
    np.save(folder / "wide.npy", draw.standard_normal((90, 700), np.float32))
    changed = folder / "changed.kdl"
    changed.write_text(SOURCE.read_text().replace("y[i, j] = 0.25 *", "y[i, j] = 0.5 *"))
    done = run(["kernelc", "build", str(SOURCE), "--emit", "exe", "-o", str(folder)], folder)
    checks.expect(f"{SOURCE} is not built: {done.stderr}", done.returncode == 0)
    for library, launcher in LAUNCHERS.items():
        for words, most, last, messages in DIFFERENT:
            for start in (["kernelc", "run", SOURCE], [folder / "ranks"]):
                expect_failure(f"{start[0]} {last} of {library}", [[*start, *words, *own] for own in (most, last)], launcher, messages, folder)
        words = [["kernelc", "run", file, *RELAXED, "--arg", "count=3"] for file in (SOURCE, changed)]
        expect_failure(f"another file with {library}", words, launcher, [OTHER_PROGRAM], folder)


def different_checkpoints(folder):
    """Only one process resumes, or the file is not the same for all of them."""
    (folder / "resumed.kdl").write_text(RESUMED)
    words = ["kernelc", "run", folder / "resumed.kdl", "--set", "N=40", "--arg", "steps=5"]
    done = run(words, folder)
    checks.expect(f"a program with a checkpoint: {done.stderr}", done.returncode == 0)
    resumed = [*words, "--resume", "halved.checkpoint"]
    for library, launcher in LAUNCHERS.items():
        expect_failure(f"one process resumes with {library}", [words, resumed], launcher,
                       ["process 2 continues at a checkpoint, but process 0 starts from the beginning"], folder)
        other = folder / library.replace(" ", "")
        other.mkdir()
        script = f'[ {RANK_OF} != 1 ] || cd {other.name}; exec {" ".join(map(str, resumed))}'
        shutil.copy(folder / "halved.checkpoint", other)
        done = run([*launcher, "3", "sh", "-c", script], folder)
        checks.expect(f"a copy of the file with {library}: {done.stderr}", done.returncode == 0)
        run([*words[:-1], "steps=9"], other)
        done = run([*launcher, "3", "sh", "-c", script], folder)
        checks.expect(f"the file of another iteration with {library}: {done.returncode}\n{done.stderr}",
                      done.returncode != 0 and "the processes see different files 'halved.checkpoint'" in done.stderr)
        (other / "halved.checkpoint").unlink()
        done = run([*launcher, "3", "sh", "-c", script], folder)
        checks.expect(f"no file for one process with {library}: {done.returncode}\n{done.stderr}",
                      done.returncode != 0 and "damaged" not in done.stderr)


def different_calls(folder):
    for library, (name, launcher) in zip((".openmpi", ".mpich"), LAUNCHERS.items()):
        for language in BUILT:
            caller = build_caller(language, library, folder, "ranks_agreement_caller", [SOURCE])
            if not caller:
                continue
            done = run([*launcher, "3", str(caller)], folder)
            checks.expect(f"{language} with {name}: {done.returncode}\n{done.stdout}{done.stderr}",
                          done.returncode == 0 and done.stdout.count("all calls are right") == 3)


def failing_receive(folder):
    """A wait that fails leaves nothing behind that writes to memory."""
    words = ["mpicc.openmpi", "-std=c11", "-O1", "-Wall", "-Wextra", "-I", str(SOURCE.parents[2] / "include"),
             str(SOURCE.with_name("ranks_transfers.c")), "-o", "transfers"]
    built = run(words, folder)
    checks.expect(f"ranks_transfers.c: {built.stderr}", built.returncode == 0 and not built.stderr)
    done = run([*LAUNCHERS["Open MPI"], "2", "./transfers"], folder)
    checks.expect(f"a failing receive: {done.returncode}, {done.stdout}{done.stderr}", done.returncode == 0)


def main():
    for launcher in LAUNCHERS.values():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            return checks.end()
    with tempfile.TemporaryDirectory() as name:
        different_processes(pathlib.Path(name))
        different_checkpoints(pathlib.Path(name))
        different_calls(pathlib.Path(name))
        failing_receive(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
