#!/usr/bin/env python3
"""Interrupts programs with checkpoints, and lets them continue: the results must be those of an uninterrupted run, bit for bit.

A program is interrupted because it ends early, because it is killed at random moments, because the disk is full, or because one
of its processes is killed. It continues on another number of ranks, in one process and with Open MPI and MPICH. A failed
write must leave the old checkpoint. Other arguments, other programs and damaged files must be noticed, and other files kept.

tests/run/checkpoints.py
"""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from shared import checks, seeds
from shared.rank_runs import LAUNCHERS, outputs, results, run

SOURCE = pathlib.Path(__file__).resolve().with_suffix(".kdl")
# The outputs of a program, and the argument that limits its iterations.
PROGRAMS = {"relaxed": (["y", "total", "weight"], "steps"), "settled": (["y", "count"], "most")}
SIZES = ["--set", "M=17", "--set", "N=9"]
STEPS = 11
LONG = 1500  # iterations, so that a run can be killed
LONG_IN_PROCESSES = 200
LIMIT = 1 << 20  # bytes; larger than the files of the compiler
LARGE = ["--set", "M=700", "--set", "N=500"]


def file_of(program):
    return f"{program}.checkpoint"


def words_of(program, file, steps, outs=True, sizes=SIZES):
    names, most = PROGRAMS[program]
    words = ["kernelc", "run", str(file), "--program", program, *sizes, "--arg", "x=random:1", "--arg", f"{most}={steps}"]
    words += ["--arg", "y=random:2"] if program == "settled" else ["--arg", "cooling=0.75"]
    return words + [word for name in names if outs for word in ("--out", f"{name}=@{name}.npy")]


def on_ranks(count):
    return ["--device", f"grid=ranks?count={count}"]


def without_ranks(folder):
    file = folder / "one.kdl"
    file.write_text(re.sub(r" on grid by \([^)]*\)|^device grid.*", "", SOURCE.read_text(), flags=re.MULTILINE))
    return file


def interrupted(program, first, then, wanted, folder, what):
    """Runs some of the iterations with the words `first`, which leaves a checkpoint, and continues with the words `then`."""
    (folder / file_of(program)).unlink(missing_ok=True)
    done = run(first, folder)
    kept = (folder / file_of(program)).exists()
    checks.expect(f"{program} {what} writes no checkpoint: {done.stdout}{done.stderr}", done.returncode == 0 and kept)
    got = outputs([*then, "--resume", file_of(program)], folder)
    checks.expect(f"{program} {what} continues with other results: {got if isinstance(got, str) else ''}", got == wanted)


def in_one_process(program, wanted, folder):
    plain = without_ranks(folder)
    for ranks in (1, 2, 3, 5):
        for then in (1, 3, 8):
            interrupted(program, words_of(program, SOURCE, 7, False) + on_ranks(ranks), words_of(program, SOURCE, STEPS) + on_ranks(then),
                        wanted, folder, f"on {ranks} ranks, then {then},")
    interrupted(program, words_of(program, plain, 7, False), [*words_of(program, plain, STEPS), "--verify"], wanted, folder,
                "without ranks")
    # Nothing is left to do after the last checkpoint of a complete run but what follows it.
    interrupted(program, words_of(program, plain, STEPS, False), words_of(program, plain, STEPS), wanted, folder, "at its end")


def without_file(program, wanted, folder):
    """Without a file, the program starts from the beginning. A file of other sizes or numbers, or a damaged one, is an error."""
    (folder / file_of(program)).unlink(missing_ok=True)
    words = words_of(program, SOURCE, STEPS)
    got = outputs([*words, "--resume", file_of(program)], folder)
    checks.expect(f"{program} without a file: {got if isinstance(got, str) else ''}", got == wanted)
    other = [word.replace("M=17", "M=18") for word in words]
    texts = {None: ", but the program has [18", b"": "exists, but is not a checkpoint",
             b"kdl checkpoint 3 {}\n": "is not a checkpoint of this loop", b"kdl checkpoint 1 {}\n": "another version",
             b"kdl checkpoint 3 {\"numbers\": [1, 2, 3]}\n": "is not a checkpoint of this loop"}
    for text, why in texts.items():
        if text is not None:
            (folder / file_of(program)).write_bytes(text)
        done = run([*(other if text is None else words), "--resume", file_of(program)], folder)
        checks.expect(f"{program} continues with another file: {done.returncode} {done.stderr}",
                      done.returncode == 1 and why in done.stderr)
    (folder / file_of(program)).unlink()


def line_of(program):
    return next(n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if file_of(program) in text)


def refused(program, words, why, folder, what):
    done = run([*words, "--resume", file_of(program)], folder)
    checks.expect(f"{program} continues {what}: {done.returncode}, {done.stdout}{done.stderr}",
                  done.returncode == 1 and why in done.stderr and re.search(rf"checkpoints.kdl:({line_of(program) - 1}|{line_of(program)}):.*\[E\d+\]", done.stderr))


def with_other_numbers(folder):
    """Only the number from which the iterations are counted may be another one."""
    words = words_of("relaxed", SOURCE, STEPS)
    run(words_of("relaxed", SOURCE, 7, False), folder)
    refused("relaxed", [word.replace("cooling=0.75", "cooling=0.5") for word in words], "'cooling' is the same as when", folder,
            "with another number")


def of_another_program(wanted, folder):
    """A changed kernel makes another program. Fewer iterations than before the checkpoint are an error, equally many are not."""
    words, file = words_of("relaxed", SOURCE, STEPS), folder / file_of("relaxed")
    run(words_of("relaxed", SOURCE, 7, False), folder)
    changed = folder / "checkpoints.kdl"
    changed.write_text(SOURCE.read_text().replace("0.25 * (", "0.125 * ("))
    refused("relaxed", words_of("relaxed", changed, STEPS), "before the program was changed", folder, "with another kernel")
    changed.write_text("// a comment\n" + SOURCE.read_text().replace("export program relaxed", "/// Documentation.\nexport program relaxed"))
    for name in (file_of("relaxed"), f"./{file_of('relaxed')}", str(file)):
        got = outputs([*words_of("relaxed", changed, STEPS), "--resume", name], folder)
        checks.expect(f"{name} continues with other results: {got if isinstance(got, str) else ''}", got == wanted)
    run(words_of("relaxed", SOURCE, STEPS, False), folder)
    refused("relaxed", words_of("relaxed", SOURCE, 5), "is at least the iteration in which", folder, "with fewer iterations")
    got = outputs([*words, "--resume", file.name], folder)
    checks.expect(f"equally many iterations: {got if isinstance(got, str) else ''}", got == wanted)


def of_another_kind(program, folder):
    """A file that is not a checkpoint is not replaced, and a missing folder is noticed before the loop."""
    file = folder / file_of(program)
    file.write_text("important\n")
    done = run(words_of(program, SOURCE, STEPS), folder)
    kept = file.read_text() == "important\n"
    checks.expect(f"{program} replaces a file: {done.stderr}", kept and done.returncode == 1 and "so it is not replaced" in done.stderr)
    file.unlink()
    elsewhere = folder / "elsewhere.kdl"
    elsewhere.write_text(SOURCE.read_text().replace(f'"{file.name}"', f'"missing/{file.name}"'))
    done = run(words_of(program, elsewhere, 1), folder)
    checks.expect(f"{program} writes into a missing folder: {done.stderr}",
                  done.returncode == 1 and "there is no folder 'missing'" in done.stderr)


def damaged(program, draw, folder):
    """A byte of the file is changed, in the numbers, among the elements or in the checksum."""
    run(words_of(program, SOURCE, 7, False), folder)
    whole = (folder / file_of(program)).read_bytes()
    data = whole.index(b"\n") + 1
    for at in (data, len(whole) - 2, *(draw.randrange(data, len(whole) - 1) for _ in range(8))):
        (folder / file_of(program)).write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1:])
        for ranks in (1, 3):
            refused(program, words_of(program, SOURCE, STEPS) + on_ranks(ranks), "is damaged", folder, f"although byte {at} is damaged")
    other = re.sub(rb'("i64","bits":)(\d)', lambda found: found[1] + b"%d" % ((int(found[2]) + 1) % 10), whole, count=1)
    (folder / file_of(program)).write_bytes(other)
    refused(program, words_of(program, SOURCE, STEPS), "is damaged", folder, "although a number is damaged")
    (folder / file_of(program)).write_bytes(whole[:-1])
    refused(program, words_of(program, SOURCE, STEPS), "is damaged", folder, "although the file is too short")


def no_space():
    """Limits the size of files, as a full disk would."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def on_full_disk(program, folder):
    """A checkpoint that does not fit is an error, and the old one stays."""
    (folder / file_of(program)).unlink(missing_ok=True)
    wanted = outputs(words_of(program, SOURCE, STEPS, sizes=LARGE), folder)
    run(words_of(program, SOURCE, 7, False, LARGE), folder)
    old = (folder / file_of(program)).read_bytes()
    files = set(folder.iterdir())
    done = subprocess.run([*words_of(program, SOURCE, STEPS, False, LARGE), *on_ranks(3)], cwd=folder, capture_output=True, text=True,
                          timeout=300, preexec_fn=no_space)
    line = line_of(program)
    checks.expect(f"{program} on a full disk: {done.returncode}, {done.stderr}",
                  done.returncode != 0 and f"cannot write '{file_of(program)}'" in done.stderr and f"checkpoints.kdl:{line}:" in done.stderr)
    checks.expect(f"{program} on a full disk changes files: {files ^ set(folder.iterdir())}",
                  (folder / file_of(program)).read_bytes() == old and set(folder.iterdir()) == files)
    got = outputs([*words_of(program, SOURCE, STEPS, sizes=LARGE), "--resume", file_of(program)], folder)
    checks.expect(f"{program} after a full disk: {got if isinstance(got, str) else ''}", got == wanted)


def killed(draw, folder):
    """Kills runs at 20 random moments. Each continues where the one before it was killed."""
    words = words_of("relaxed", without_ranks(folder), LONG)
    wanted = outputs(words, folder)
    checks.expect(f"a long run fails: {wanted}", isinstance(wanted, dict))
    began = time.monotonic()
    run(words, folder)
    lasted = time.monotonic() - began
    (folder / file_of("relaxed")).unlink()
    kills = ends = 0
    while kills < 20:
        process = subprocess.Popen([*words, "--resume", file_of("relaxed")], cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        try:
            _, errors = process.communicate(timeout=draw.uniform(0.1, 0.8) * lasted)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        checks.expect(f"a run that was killed {kills} times: {process.returncode}, {errors}",
                      process.returncode == 0 and results(folder) == wanted)
        (folder / file_of("relaxed")).unlink()
        ends += 1
    got = outputs([*words, "--resume", file_of("relaxed")], folder)
    checks.expect(f"a killed run ends with other results: {got if isinstance(got, str) else ''}", got == wanted)
    print(f"killed {kills} times, ended {ends} times")


def in_processes(library, launcher, wanted, folder):
    for program, one in wanted.items():
        for first, then in ((3, 2), (1, 3), (2, 1)):
            start = [*launcher, str(first)] if first > 1 else []
            follow = [*launcher, str(then)] if then > 1 else []
            interrupted(program, start + words_of(program, SOURCE, 7, False), follow + words_of(program, SOURCE, STEPS), one, folder,
                        f"in {first} processes of {library}, then {then},")


def killed_process(library, launcher, draw, folder):
    """One process is killed: all end, and the program continues at the last checkpoint."""
    words = words_of("relaxed", SOURCE, LONG_IN_PROCESSES)
    wanted = outputs(words, folder)
    (folder / file_of("relaxed")).unlink(missing_ok=True)
    script = f'if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = {draw.randrange(3)} ]; then echo $$ > pid; fi; exec "$@"'
    process = subprocess.Popen([*launcher, "3", "sh", "-c", script, "sh", *words], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    ends = time.monotonic() + 120
    while not (folder / file_of("relaxed")).exists() and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.01)
    time.sleep(draw.uniform(0, 0.05))
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    try:
        code = process.wait(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        code = 0
    checks.expect(f"{library}: the others do not end after a process was killed", code != 0)
    got = outputs([*launcher, "2", *words, "--resume", file_of("relaxed")], folder)
    checks.expect(f"{library}: other results after a process was killed: {got if isinstance(got, str) else ''}", got == wanted)


def check_all(draw, folder):
    wanted = {program: outputs(words_of(program, without_ranks(folder), STEPS), folder) for program in PROGRAMS}
    for program, one in wanted.items():
        checks.expect(f"{program} fails: {one}", isinstance(one, dict) and len(one) == len(PROGRAMS[program][0]))
        in_one_process(program, one, folder)
        without_file(program, one, folder)
        on_full_disk(program, folder)
        damaged(program, draw, folder)
        of_another_kind(program, folder)
    with_other_numbers(folder)
    of_another_program(wanted["relaxed"], folder)
    killed(draw, folder)
    for library, launcher in LAUNCHERS.items():
        if not shutil.which(launcher[0]):
            checks.expect(f"{launcher[0]} is missing: tests/install.sh tests", False)
            continue
        in_processes(library, launcher, wanted, folder)
        killed_process(library, launcher, draw, folder)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
