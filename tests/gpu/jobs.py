#!/usr/bin/env python3
"""Tests the runtime and the compiled kernels on a GPU. Runs in the folder of a kit that pack.sh has built.

Conformance runs first, alone; then contracts, checks, sanitizers and random kernels run several at a time.
Writes a line of JSON for each job, to the output and to jobs.jsonl.

python3 jobs.py 230                      # ends after 230 seconds; JOBS=4 sets how many run at once
python3 jobs.py 60 --only 'devices|groups'

More concurrent jobs need more memory than a GPU has: of 22 concurrent jobs, none could create a context.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE / "tools"
SOURCES = TOOLS / "sources"
LEVELS = ["sm_90a", "sm_80"]
PARTS = ["devices", "interpreter", "programs", "groups"]  # parts of tests/run/cuda.py
SANITIZERS = ["memcheck", "racecheck", "synccheck"]
RANDOM_JOBS, RANDOM_S = 10, 60
LAST_S = 6     # seconds before the end at which running jobs are killed
LEAST_S = 8    # with less time left, no job is started
KEPT_GOOD, KEPT_BAD = 500, 3000  # how many characters of a job's output are kept
SKIPPED = 77


@dataclasses.dataclass
class Job:
    what: str
    limit: float
    command: list
    needs: str = ""  # a program that is not in the kit; without it the job is skipped


def kernelc_test(file, level):
    return Job(f"contracts of {file.as_posix()}, {level}", 100, ["kernelc", "test", file, "--target", f"cuda?isa={level}"])


def sanitizers(tool):
    run = ["compute-sanitizer", "--tool", tool, TOOLS / "bin/kernelc", "run"]
    softmax = ["samples/softmax/softmax.kdl", "--target", "cuda", "--set", "R=37", "--set", "C=1003", "--arg", "x=random:1"]
    product = ["tests/run/byte_products.kdl", "--kernel", "signed", "--target", "cuda?isa=sm_90a", "--set", "M=300", "--set", "N=200",
               "--set", "K=528", "--arg", "a=random:1", "--arg", "b=random:2"]
    for what, words in [("softmax", softmax), ("a product", product)]:
        yield Job(f"{tool} of {what}", 90, [*run, *words], needs="compute-sanitizer")


def jobs():
    """Yields jobs in the order in which they start. The first job runs alone, because it briefly uses all of
    the memory."""
    yield Job("conformance", 100, ["gpu_conformance_cuda"])
    yield Job("devices", 30, ["sh", "-c", "kernelc devices cuda && kernelc targets --device cuda"])
    for part in PARTS:
        yield Job(f"checks of {part}", 140, ["python3", "tests/run/cuda.py", "--part", part])
    files = [*SOURCES.glob("samples/*/*.kdl"), *SOURCES.glob("tests/run/families/*.kdl"), *SOURCES.glob("stdlib/*.kdl")]
    with_contracts = sorted(file.relative_to(SOURCES) for file in files if re.search(r'\bensures\b|^test "', file.read_text(), re.M))
    for level in LEVELS:
        for file in with_contracts:
            yield kernelc_test(file, level)
    for tool in SANITIZERS:
        yield from sanitizers(tool)
    for number in range(RANDOM_JOBS):
        level = LEVELS[number % 2]
        yield Job(f"random kernels {number}, {level}", RANDOM_S + 60,
                  ["python3", "tests/fuzz/programs.py", "--whole", "--jobs", "1", "--first", str(100000 * (number + 7)),
                   "--out", HERE / "found", "--target", f"cuda?isa={level}", "--seconds"])


def unpack():
    """Unpacks the tools once, into a temporary folder that is then renamed, so that an incomplete attempt is
    not mistaken for a complete one."""
    if TOOLS.exists():
        return
    part = HERE / "tools.part"
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(HERE / "tools.tar.xz") as archive:
        archive.extractall(part)
    part.rename(TOOLS)


def environment():
    def before(path, name):
        return os.pathsep.join([str(path), *filter(None, [os.environ.get(name)])])

    return os.environ | {"PATH": before(TOOLS / "bin", "PATH"), "LD_LIBRARY_PATH": before(TOOLS / "lib", "LD_LIBRARY_PATH"),
                         "CUDA_CACHE_PATH": str(HERE / "cache"), "KDL_CUDA": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def outcome(job, end):
    """Returns (code, output). The code is a word if the job was not completed."""
    left = end - LAST_S - time.monotonic()
    if left < LEAST_S:
        return "not begun", ""
    if job.needs and not shutil.which(job.needs):
        return SKIPPED, f"there is no {job.needs} here"
    command = [str(word) for word in job.command]
    if command[-1] == "--seconds":
        command.append(str(int(max(5, min(RANDOM_S, left - 15)))))
    process = subprocess.Popen(command, cwd=SOURCES, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        said, _ = process.communicate(timeout=min(job.limit, left))
        return process.returncode, said
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"over {min(job.limit, left):.0f} s", process.communicate()[0]


def run(job, end, log):
    """Runs a job, writes its line and returns the line."""
    begin = time.monotonic()
    code, said = outcome(job, end)
    good = code == 0
    line = {"what": job.what, "code": code, "good": good, "seconds": round(time.monotonic() - begin, 1),
            "said": said.strip()[-(KEPT_GOOD if good else KEPT_BAD):]}
    if not good:
        line["command"] = shlex.join(map(str, job.command))
    text = json.dumps(line)
    print(text, flush=True)
    with log.open("a") as file:
        file.write(text + "\n")
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, help="nothing runs after them")
    parser.add_argument("--only", default="", help="the jobs that this expression finds")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    log = pathlib.Path(os.environ.get("OUT", ".")).resolve() / "jobs.jsonl"
    unpack()
    chosen = [job for job in jobs() if re.search(options.only, job.what)]
    done = [run(job, end, log) for job in chosen if job.what == "conformance"]
    rest = [job for job in chosen if job.what != "conformance"]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "4"))) as pool:
        done += pool.map(lambda job: run(job, end, log), rest)
    skipped = sum(line["code"] == SKIPPED for line in done)
    good = sum(line["good"] for line in done)
    print(f"{good} passed, {len(done) - good - skipped} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if good + skipped == len(done) else 1


if __name__ == "__main__":
    sys.exit(main())
