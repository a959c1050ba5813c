#!/usr/bin/env python3
"""Compiles programs with checkpoints to C++ and C, and calls them in MPI applications. They must write what `kernelc run` writes,
byte for byte, and each must continue at the files of the other. Files and arguments that do not fit must be refused.

A program is interrupted because it ends early, because it is killed at random moments, because the disk is full, or because one
of its processes is killed. It continues on another number of ranks, with Open MPI and MPICH. Executables of `--emit exe` continue with
`--resume`, like `kernelc run`, and a signal such as that of Ctrl-C leaves no temporary file of either.

tests/run/checkpoints_compiled.py
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
from checkpoints import LARGE, LIMIT, PROGRAMS, SIZES, SOURCE, STEPS, file_of, line_of, without_ranks, words_of
from shared import checks, seeds
from shared.rank_callers import BUILT, build_caller
from shared.rank_runs import LAUNCHERS, outputs, run

LONG = 300  # iterations, so that a run can be killed
KILLS = 20
MORE = 100  # bytes after the inputs, for a larger size


def write_inputs(folder, sizes):
    """Writes the arguments of the callers, which are those of words_of."""
    for name, seed in (("x", 1), ("y", 2)):
        source = folder / "inputs.kdl"
        source.write_text("kernel same(x: in f32[M, N], z: out f32[M, N]) {\n    spmd for i in M by 4, j in N by 8 { z[i, j] = x[i, j]; }\n}\n")
        run(["kernelc", "run", str(source), *sizes, "--arg", f"x=random:{seed}", "--out", "z=@z.npy"], folder)
        (folder / f"{name}.bin").write_bytes(np.load(folder / "z.npy").tobytes() + bytes(MORE))


def wanted_of(program, folder, steps=STEPS, sizes=SIZES):
    """Returns the results of `kernelc run`, as a caller writes them. It runs in a folder of its own, where it writes its checkpoints."""
    own = folder / "wanted"
    own.mkdir(exist_ok=True)
    got = outputs(words_of(program, without_ranks(folder), steps, sizes=sizes), own)
    checks.expect(f"{program} fails: {got}", isinstance(got, dict))
    return joined(program, own)


def joined(program, folder):
    """Returns the results that a run has written, as a caller writes them."""
    return b"".join(np.load(folder / f"{name}.npy").tobytes() for name in PROGRAMS[program][0])


class Caller:
    """An application that calls the programs."""

    def __init__(self, language, library, launcher, folder):
        self.name = f"{language} with {library}"
        self.launcher = launcher
        self.folder = folder
        built = build_caller(language, {"Open MPI": ".openmpi", "MPICH": ".mpich"}[library], folder, "checkpoints_caller", [SOURCE])
        self.path = folder / f"caller-{language}-{library.replace(' ', '-')}"
        if built:
            built.rename(self.path)

    def words(self, program, steps, processes=0, resume=None, sizes=(17, 9), cooling=0.75):
        """Without processes, the application does not use MPI for the program."""
        launch = [*self.launcher, str(processes)] if processes else []
        more = [resume] if resume else []
        return [*launch, str(self.path), "mpi" if processes else "alone", program, *map(str, sizes), str(cooling), str(steps), *more]

    def run(self, *args, **named):
        """Returns the exit code, what was printed to standard error, and the results."""
        results = self.folder / "results.bin"
        results.unlink(missing_ok=True)
        done = run(self.words(*args, **named), self.folder)
        return done.returncode, done.stderr, results.read_bytes() if results.exists() else b""

    def interrupt(self, program, **named):
        """Runs some of the iterations, which leaves a checkpoint. Returns the file."""
        file = self.folder / file_of(program)
        file.unlink(missing_ok=True)
        code, errors, _ = self.run(program, 7, **named)
        checks.expect(f"{self.name}: {program} writes no checkpoint: {errors}", code == 0 and file.exists())
        return file

    def expect(self, wanted, what, *args, **named):
        code, errors, got = self.run(*args, **named)
        checks.expect(f"{self.name}: {args[0]} {what}: {code}, {errors}", code == 0 and got == wanted)


def in_processes(caller, wanted):
    """A program writes what `kernelc run` writes, and continues with another number of processes."""
    for program, one in wanted.items():
        file = caller.folder / file_of(program)
        file.unlink(missing_ok=True)
        run(words_of(program, SOURCE, 7, False), caller.folder)
        walked = file.read_bytes()
        caller.expect(one, "continues at a file of kernelc run", program, STEPS, resume=file.name)
        caller.interrupt(program)
        continued(words_of(program, SOURCE, STEPS), program, one, f"kernelc run at a file of {caller.name}", caller.folder)
        for first, then in ((0, 0), (0, 3), (3, 2), (2, 0)):
            caller.interrupt(program, processes=first)
            checks.expect(f"{caller.name}: {program} with {first} processes writes something else", file.read_bytes() == walked)
            caller.expect(one, f"continues with {then} processes", program, STEPS, processes=then, resume=str(file))
        file.unlink()
        caller.expect(one, "without a file", program, STEPS, resume=file.name)


def continued(words, program, one, what, folder):
    """Continues at the checkpoint of the program, with its results."""
    got = outputs([*words, "--resume", file_of(program)], folder)
    checks.expect(f"{program}, continued by {what}, has other results: {got if isinstance(got, str) else ''}",
                  isinstance(got, dict) and joined(program, folder) == one)


def refused(caller, why, program, *args, **named):
    """The application must fail with an error at the checkpoint."""
    code, errors, _ = caller.run(program, *args, **named)
    line = line_of(program)
    found = re.search(rf"^checkpoints\.kdl:({line - 1}|{line}):\d+: error: .*{re.escape(why)}", errors, re.MULTILINE)
    checks.expect(f"{caller.name}: {program} does not say that {why}: {code}, {errors}", code != 0 and found)


def wrong(caller, program, draw):
    """Files and arguments that do not fit are refused."""
    file = caller.interrupt(program)
    whole = file.read_bytes()
    refused(caller, ", but the program has [18", program, STEPS, resume=file.name, sizes=(18, 9))
    data = whole.index(b"\n") + 1
    for at in (data, len(whole) - 2, draw.randrange(data, len(whole) - 1)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1:])
        for processes in (0, 2):
            refused(caller, "is damaged", program, STEPS, processes=processes, resume=file.name)
    texts = {whole[:-1]: "is damaged", b"": "exists, but is not a checkpoint", b"kdl checkpoint 1 {}\n": "another version",
             whole.replace(b'"numbers":[', b'"numbers":[3,'): "is not a checkpoint of this loop",
             b"important\n": "so it is not replaced"}
    for text, why in texts.items():
        file.write_bytes(text)
        refused(caller, why, program, STEPS, resume=file.name)
        checks.expect(f"{caller.name}: {program} replaces a file", file.read_bytes() == text)
    file.unlink()
    code, errors, _ = caller.run(program, STEPS, resume="other")
    checks.expect(f"{caller.name}: {program} continues at 'other': {errors}",
                  code != 0 and f"the program '{program}' has no checkpoint in 'other'" in errors and not file.exists())


def of_changed_program(caller):
    """A file that was written before a kernel was changed is refused."""
    changed = caller.folder / "changed.kdl"
    changed.write_text(SOURCE.read_text().replace("0.25 * (", "0.125 * ("))
    for program in PROGRAMS:
        file = caller.folder / file_of(program)
        file.unlink(missing_ok=True)
        run(words_of(program, changed, 7, False), caller.folder)
        refused(caller, "written by another program, or before the program was changed", program, STEPS, resume=file.name)
        file.unlink()


def other_arguments(caller):
    file = caller.interrupt("relaxed")
    refused(caller, "'cooling' is the same as when", "relaxed", STEPS, resume=file.name, cooling=0.5)
    caller.run("relaxed", STEPS)
    refused(caller, "is at least the iteration in which", "relaxed", 5, resume=file.name)
    file.unlink()


def on_full_disk(caller, program):
    """A checkpoint that does not fit is an error in each process, and the old one stays."""
    sizes = [int(word.split("=")[1]) for word in LARGE[1::2]]
    write_inputs(caller.folder, LARGE)
    wanted = wanted_of(program, caller.folder, sizes=LARGE)
    file = caller.interrupt(program, sizes=sizes)
    old = file.read_bytes()
    files = set(caller.folder.glob(".*")) | set(caller.folder.glob("*.checkpoint*"))
    for processes in (0, 3):
        done = subprocess.run(caller.words(program, STEPS, processes, sizes=sizes), cwd=caller.folder, capture_output=True, text=True,
                              timeout=300, env={**os.environ, "MOST_FILE_BYTES": str(LIMIT)})
        left = set(caller.folder.glob(".*")) | set(caller.folder.glob("*.checkpoint*"))
        checks.expect(f"{caller.name}: {program} on a full disk with {processes} processes: {done.returncode}, {done.stderr}",
                      done.returncode != 0 and f"cannot write '{file.name}'" in done.stderr and "checkpoints.kdl:" in done.stderr)
        checks.expect(f"{caller.name}: {program} on a full disk changes files: {files ^ left}", file.read_bytes() == old and left == files)
    caller.expect(wanted, "after a full disk", program, STEPS, processes=2, sizes=sizes, resume=file.name)
    write_inputs(caller.folder, SIZES)


def killed(caller, draw):
    """Kills runs at random moments. Each continues where the one before it was killed."""
    wanted = wanted_of("relaxed", caller.folder, LONG)
    file = caller.folder / file_of("relaxed")
    file.unlink(missing_ok=True)
    began = time.monotonic()
    caller.expect(wanted, "with many iterations", "relaxed", LONG)
    lasted = time.monotonic() - began
    file.unlink()
    kills = ends = 0
    while kills < KILLS:
        process = subprocess.Popen(caller.words("relaxed", LONG, resume=file.name), cwd=caller.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        try:
            _, errors = process.communicate(timeout=draw.uniform(0.1, 0.9) * lasted)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        got = (caller.folder / "results.bin").read_bytes()
        checks.expect(f"{caller.name}: killed {kills} times: {process.returncode}, {errors}", process.returncode == 0 and got == wanted)
        file.unlink()
        ends += 1
    caller.expect(wanted, "after the last kill", "relaxed", LONG, resume=file.name)
    print(f"{caller.name}: killed {kills} times, ended {ends} times")


def killed_process(caller, draw):
    """One process is killed: all end, and the program continues at the last checkpoint."""
    file = caller.folder / file_of("relaxed")
    file.unlink(missing_ok=True)
    script = f'if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = {draw.randrange(3)} ]; then echo $$ > pid; fi; exec "$@"'
    words = caller.words("relaxed", 100 * LONG)
    words = [*caller.launcher, "3", "sh", "-c", script, "sh", words[0], "mpi", *words[2:]]
    process = subprocess.Popen(words, cwd=caller.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends = time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.01)
    time.sleep(draw.uniform(0, 0.05))
    os.kill(int((caller.folder / "pid").read_text()), signal.SIGKILL)
    try:
        code = process.wait(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        code = 0
    checks.expect(f"{caller.name}: the others do not end after a process was killed", code != 0)
    reached = int(re.search(rb'"i64","bits":(\d+)', file.read_bytes())[1])
    steps = max(LONG, reached)
    caller.expect(wanted_of("relaxed", caller.folder, steps), "after a process was killed", "relaxed", steps, processes=2, resume=file.name)


def executables(wanted, folder):
    """Executables write what `kernelc run` writes, and each continues with --resume at the files of the other."""
    launchers = {"one process": [], **{f"2 processes of {library}": [*launcher, "2"] for library, launcher in LAUNCHERS.items()}}
    for source in (without_ranks(folder), SOURCE):
        built = run(["kernelc", "build", str(source), "--emit", "exe", "-o", str(folder)], folder)
        checks.expect(f"--emit exe: {built.stderr}", built.returncode == 0)
        for program, one in wanted.items():
            run(words_of(program, source, 7, False), folder)
            file = folder / file_of(program)
            walked = file.read_bytes()
            for name, launch in launchers.items() if source == SOURCE else [("one process", [])]:
                words = [*launch, str(folder / source.stem), *words_of(program, source, STEPS)[3:]]
                what = f"the executable of {source.name} in {name}"
                file.write_bytes(walked)
                continued(words, program, one, what, folder)
                file.unlink()
                run([word.replace(f"={STEPS}", "=7") for word in words], folder)
                checks.expect(f"{what} writes something else for {program}", file.exists() and file.read_bytes() == walked)
                continued(words_of(program, source, STEPS), program, one, f"kernelc run at a file of {what}", folder)
            done = run([str(folder / source.stem), *words_of(program, source, STEPS)[3:], "--resume", "other"], folder)
            checks.expect(f"the executable continues at 'other': {done.stderr}", done.returncode != 0 and "no checkpoint in 'other'" in done.stderr)
            file.unlink()


def signalled(folder):
    """A signal that ends a process while it writes a checkpoint leaves no temporary file."""
    words = words_of("relaxed", "one.kdl", 1000, False, ["--set", "M=1500", "--set", "N=1500"])
    for what, started in (("kernelc run", words), ("the executable", [str(folder / "one"), *words[3:]])):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # A caller may have chosen to ignore some of these signals.
            process = subprocess.Popen(started, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))
            ends = time.monotonic() + 120
            while not list(folder.glob(".checkpoint-*")) and process.poll() is None and time.monotonic() < ends:
                pass  # the file exists for a few milliseconds
            process.send_signal(number)
            code = process.wait(timeout=120)
            left = list(folder.glob(".checkpoint-*"))
            checks.expect(f"{what} ends with {code} after the signal {number}, and leaves {left}", code == -number and not left)
            for path in left:
                path.unlink()
    (folder / file_of("relaxed")).unlink(missing_ok=True)


def check_all(draw, folder):
    write_inputs(folder, SIZES)
    wanted = {program: wanted_of(program, folder) for program in PROGRAMS}
    executables(wanted, folder)
    signalled(folder)
    for library, launcher in LAUNCHERS.items():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            continue
        for language in BUILT:
            caller = Caller(language, library, launcher, folder)
            if not caller.path.exists():
                continue  # already reported
            in_processes(caller, wanted)
            if library == "MPICH":
                killed_process(caller, draw)
                continue
            for program in PROGRAMS:
                wrong(caller, program, draw)
                on_full_disk(caller, program)
            of_changed_program(caller)
            other_arguments(caller)
            killed(caller, draw)
            killed_process(caller, draw)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
