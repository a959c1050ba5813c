#!/usr/bin/env python3
"""Runs the stages of tests/run.sh: builds, then every test, with a time for each stage and a closing line.

A command counts as one test that its exit code decides (77: skipped), unless its output has the summary of
doctest or a closing line `N passed, N failed[, N skipped]`.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/run"))
from shared import seeds  # noqa: E402

JOBS = len(os.sched_getaffinity(0))
LIMIT_S = 900
BUILD_LIMIT_S = 3600
SLOW_S = 20
# An allocation that is too large fails, as it does without sanitizers. Leaks are only checked when a process
# exits normally.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:allocator_may_return_null=1:malloc_context_size=5",
    "TSAN_OPTIONS": "allocator_may_return_null=1",
}
NO_LEAKS = {"ASAN_OPTIONS": SANITIZER_OPTIONS["ASAN_OPTIONS"] + ":detect_leaks=0"}
# Builds with sanitizers check the memory and threads of the runtime. They also check the compiler with all
# kinds of input, including wrong input. Contracts of the samples and the library, random kernels, guard pages
# and calls from C++ run in the plain build, which takes a tenth of the time: compiled kernels contain no
# sanitizer checks.
ADDRESS_TARGETS = ["kernelc", "fuzz_source", "fuzz_kir", "unit_runtime", "unit_conformance", "unit_reference", "unit_driver"]
ADDRESS_TESTS = ["wrong_input.py", "wrong_files.py"]
# These take minutes with sanitizers; the first only ends at its limit of steps.
ENDLESS = ["contract_endless.kdl", "test_set_draws_others.kdl", "library_by_name.kdl"]
# The device that runs the interpreter is not built: it has no threads and no locks, and building it would
# take half of this build's time.
THREAD_TARGETS = ["unit_runtime", "unit_conformance", "unit_conformance_cuda"]
SKIPPED = 77
# These start first, slowest first, so that none of them is the only one left at the end of a stage. A quarter of the scripts run
# each day, or all with --all: each takes minutes.
SLOW_SCRIPTS = ["orchestration.py", "aarch64.py", "contracts.py", "generated_names.py", "passes_equal.py", "frameworks.py",
                "cmake_project.py", "onnx_nodes.py", "single_files.py", "c_source.py", "math_accuracy.py", "compile_time.py",
                "versions.py", "packages.py", "kernels.py", "cuda.py", "dynamic.py", "folds.py", "levels.py", "cmake_shared.py",
                "guard_pages.py", "pipes.py", "pipelines.py"]
SLOW = ["unit_codegen", "unit_targets", *SLOW_SCRIPTS]
MOST_NAMED = 12  # of the slow commands of a stage

SUMMARIES = [
    re.compile(r"^(?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$",
               re.MULTILINE),
    re.compile(r"^\[doctest\] test cases: +\d+ \| +(?P<passed>\d+) passed \| +(?P<failed>\d+) failed"
               r" \| +(?P<skipped>\d+) skipped$", re.MULTILINE),
]


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def count(code, output):
    """Returns the counts that a finished command reports; a bad exit code is at least one failure."""
    for summary in SUMMARIES:
        found = list(summary.finditer(output))
        if found:
            counts = Counts(*(int(found[-1][name] or 0) for name in ("passed", "failed", "skipped")))
            if code != 0 and counts.failed == 0:
                counts.failed = 1
            return counts
    if code == SKIPPED:
        return Counts(skipped=1)
    return Counts(passed=1) if code == 0 else Counts(failed=1)


def run(command, env, limit=LIMIT_S):
    """Runs one command in the repository's root and returns (counts, output, seconds)."""
    begin = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, env=os.environ | env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
                              text=True, errors="replace")
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code, output = -1, (late.stdout or b"").decode(errors="replace") + f"\nover {limit} s\n"
    except OSError as error:
        code, output = -1, f"{error}\n"
    return count(code, output), output, time.monotonic() - begin


def stage(name, commands, env=None, jobs=JOBS, total=None, limit=LIMIT_S):
    """Runs commands in parallel. Prints the commands that failed or were skipped, and a summary line. Returns
    whether no command failed."""
    begin = time.monotonic()
    counts = Counts()
    slow = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = [(c, pool.submit(run, c, env or {}, limit)) for c in commands]
        for command, result in results:
            outcome, output, seconds = result.result()
            counts.add(outcome)
            if seconds > SLOW_S and len(commands) > 1:
                slow.append((seconds, pathlib.Path(command[command[0] == "python3"]).name))
            if outcome.failed:
                settings = "".join(f"{k}={v} " for k, v in (env or {}).items())
                print(f"FAILED: {settings}{' '.join(map(str, command))}\n{output.rstrip()}\n")
            elif outcome.skipped:
                print(f"skipped: {' '.join(map(str, command))}: {output.strip().splitlines()[-1:]}")
    most = "".join(f", {seconds:.0f} s of it {what}" for seconds, what in sorted(slow, reverse=True)[:MOST_NAMED])
    print(f"{name}: {counts}, {time.monotonic() - begin:.0f} s{most}", flush=True)
    if total is not None:
        total.add(counts)
    return counts.failed == 0


def slowest_first(commands):
    """Sorts the commands in SLOW first; the others keep their order."""
    return sorted(commands, key=lambda command: (SLOW + [name := pathlib.Path(command[-1]).name]).index(name))


def build(preset, targets=()):
    """Configures and builds a preset and returns whether it was built. The build only counts as a test if it
    fails."""
    only = ["--target", *targets] if targets else []
    return (stage(f"configure {preset}", [["cmake", "--preset", preset]], jobs=1) and
            stage(f"build {preset}", [["cmake", "--build", "--preset", preset, *only]], jobs=1,
                  limit=BUILD_LIMIT_S))


def unit_tests(folder):
    return slowest_first([str(p)] for p in sorted((ROOT / folder / "bin").glob("unit_*")))


def run_tests():
    """Returns the commands for tests/run/*.py, and one command for each page whose commands are run."""
    left_out = {*SLOW_SCRIPTS} - {*seeds.one_in(4, SLOW_SCRIPTS)}
    tests = [["python3", str(p)] for p in sorted((ROOT / "tests/run").glob("*.py")) if p.name not in left_out]
    pages = [ROOT / "README.md", ROOT / "src/ONE_KERNEL.md", ROOT / "src/ADDING.md", *sorted((ROOT / "samples/guide").glob("[a-z]*.md")),
             *sorted((ROOT / "samples").glob("*/README.md"))]
    return slowest_first(tests + [["python3", "tests/readme.py", str(p)] for p in pages])


def texts_fuzzed():
    """Returns short runs of both fuzzers; tests/fuzz/run.sh --long runs them longer."""
    return [["python3", "tests/fuzz/texts.py", kind, "--seconds", "10", "--seeds", "40"] for kind in ("source", "kir")]


def kernels_fuzzed(folder):
    # This folder contains a CUDA driver library that interprets PTX.
    no_gpu = ["env", f"LD_LIBRARY_PATH={ROOT / folder / 'lib/fake'}"]
    programs = ["python3", "tests/fuzz/programs.py", "--kernels", "20", "--out", f"{folder}/found"]
    return [programs, [*no_gpu, *programs, "--target", "cuda"], [*programs, "--target", "cluster-riscv64"],
            [str(ROOT / folder / "bin/fuzz_cluster_mailbox"), "20"],
            ["python3", "tests/fuzz/lowered.py", "--kernels", "20"],
            ["python3", "tests/fuzz/devices.py", "--kernels", "300"], ["python3", "tests/fuzz/devices.py", "--kernels", "50", "--c"],
            ["python3", "tests/fuzz/calls.py", "--calls", "60"]]


def proofs_fuzzed(folder):
    """Returns the commands that run random kernels that the proofs accept, first with checks for races and
    then compiled, and the commands that plant bugs in the proofs."""
    fuzz = str(ROOT / folder / "bin/fuzz_proofs")
    compiled = [word for spec in ("host", "host?isa=x86-64-v2", "cluster-riscv64") for word in ("--target", spec)]
    return [[fuzz, "--kernels", "200000", "--seconds", "15"],
            [fuzz, "--kernels", "200000", "--seconds", "15", "--seed", "1000001", *compiled], [fuzz, "--faults", "--kernels", "4000"]]


def golden_files(kernelc):
    """Returns the command for the golden files. The other contracts are checked by tests/run/contracts.py."""
    return [[str(kernelc), "test", "tests/golden"]]


def some_golden_files(kernelc):
    """Returns the command for a selection of golden files that changes every day. The plain build runs all of
    them, and each takes a sixth of the time there."""
    files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests/golden").rglob("*.k*")
                   if b"//! args" in p.read_bytes() and p.name not in ENDLESS)
    return [[str(kernelc), "test", *seeds.one_in(24, files)]]


def with_path(folder):
    kernelc = ROOT / folder / "bin/kernelc"
    return kernelc, {"PATH": f"{kernelc.parent}:{os.environ['PATH']}"}


def plain(total):
    if not build("tests"):
        total.failed += 1
        return
    kernelc, env = with_path("build-tests")
    stage("unit tests", unit_tests("build-tests"), env, total=total)
    stage("golden files", golden_files(kernelc), env, total=total)
    stage("run tests", run_tests(), env, total=total)
    stage("random kernels and their proofs", proofs_fuzzed("build-tests") + kernels_fuzzed("build-tests"), env, total=total)


def sanitized(total):
    if build("asan", ADDRESS_TARGETS):
        kernelc, env = with_path("build-asan")
        stage("unit tests (asan, ubsan)", unit_tests("build-asan"), env | SANITIZER_OPTIONS, total=total)
        stage("golden files (asan, ubsan)", some_golden_files(kernelc), env | NO_LEAKS, total=total)
        stage("run tests (asan, ubsan)", [["python3", f"tests/run/{name}"] for name in ADDRESS_TESTS],
              env | NO_LEAKS, total=total)
        stage("changed texts (libFuzzer, asan, ubsan)", texts_fuzzed(), total=total)
    else:
        total.failed += 1
    if build("tsan", THREAD_TARGETS):
        stage("runtime (tsan)", unit_tests("build-tsan"), SANITIZER_OPTIONS, total=total)
        _, env = with_path("build-tests")
        stage("programs over devices (tsan)", [["python3", "tests/fuzz/devices.py", "--kernels", "100", "--tsan",
                                                "build-tsan/lib"]], env | SANITIZER_OPTIONS, total=total)
    else:
        total.failed += 1


def main():
    parser = argparse.ArgumentParser(prog="tests/run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the sanitizer builds")
    parser.add_argument("--all", action="store_true", help="with all slow scripts, of which otherwise a quarter run each day")
    options = parser.parse_args()
    total = Counts()
    stage("lint", [["python3", str(p)] for p in sorted((ROOT / "tests/lint").glob("*.py"))],
          total=total)
    plain(total)
    if not options.quick:
        sanitized(total)
    print(total)
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
