#!/usr/bin/env python3
"""Tests suites (`--suite`). A sample of the problems of each suite in tests/suites, drawn by the day, must be right. Kernels that are
wrong on purpose must be found. A problem that fails, crashes or does not end must be a row and not the end of the run.

    tests/run/suites.py [--all]      # --all: all problems
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from shared import checks, seeds

SUITES = pathlib.Path(__file__).resolve().parents[1] / "suites"
SHARDS = {"npbench": 9, "kernelbench": 14, "kernelbench_level2": 10, "kernelbench_level3": 3}

PEERS = """
import os, time
import numpy as np

def gemm(alpha, beta, c, a, b):
    return alpha * (a @ b) + beta * c

def crashes(alpha, beta, c, a, b):
    os.abort()

def sleeps(alpha, beta, c, a, b):
    time.sleep(60)

def raises(alpha, beta, c, a, b):
    raise ValueError("no result")

def ends(alpha, beta, c, a, b):
    os._exit(0)

def nothing(alpha, beta, c, a, b):
    return []

def unknown(alpha, beta, gamma):
    return alpha

def chaotic(alpha, beta, c, a, b):
    return np.sin(1e20 * (alpha * (a @ b) + beta * c))

def careless(alpha, beta, c, a, b):
    return gemm(alpha, beta, c, a, b) * (c.dtype != np.float64)

def complex_numbers(alpha, beta, c, a, b):
    return gemm(alpha, beta, c, a, b) + 5j

def texts(alpha, beta, c, a, b):
    return gemm(alpha, beta, c, a, b).astype(str)

def objects(alpha, beta, c, a, b):
    return gemm(alpha, beta, c, a, b).astype(object)

def two_lines(alpha, beta, c, a, b):
    raise ValueError("first\\n  second")

def gemm_numba(alpha, beta, c, a, b):
    raise ValueError("not with Numba")
"""

KERNEL = """
export kernel gemm(alpha: f64, beta: f64, c: inout f64[M, N], a: in f64[M, K], b: in f64[K, N]) {
    spmd for i in M by 16, j in N by 16 {
        var acc: f64[i, j] = 0;
        for k in K by 16 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = alpha * acc + beta * c[i, j];
    }
}
"""

PROBLEM = """
  - name: NAME
    file: NAME.kdl
    kernel: gemm
    peer: PEER
    scaled: {M: 37, N: 41, K: 43}
    arguments:
      alpha: in f64 1.5
      beta: in f64 1.25
      c: inout f64[M, N] uniform(0, 1)
      a: in f64[M, K] uniform(0, 1)
      b: in f64[K, N] uniform(0, 1)
"""

# What is wrong, and the change to the kernel.
WRONG = {
    "zeros": ("alpha * acc + beta * c[i, j]", "0.0"),
    "a_constant": ("alpha * acc + beta * c[i, j]", "16.5"),
    "an_input": ("c[i, j] = alpha * acc + beta * c[i, j];", "c[i, j] = c[i, j] * 1.0;"),
    "a_missing_block": ("for k in K by 16 {", "for k in 0..max(0, K - 1) by 16 {"),
    "a_part_unwritten": ("spmd for i in M by 16,", "spmd for i in 0..max(0, M - 1) by 16,"),
    "few_digits": ("acc += dot(a[i, k], b[k, j] over k);",
                   "acc += dot(a[i, k] as f32, b[k, j] as f32 over k) as f64;"),
    "another_factor": ("beta * c[i, j]", "1.25000001 * c[i, j]"),
    "neighbours": ("b[k, j] over k", "b[k, j + 1 else 0.0] over k"),
}
# Which verdict a peer or a change leads to, and a part of the note.
ENDS = {
    "crashes": ("CRASHED", "signal"),
    "sleeps": ("LATE", "did not end"),
    "raises": ("FAILED", "no result"),
    "ends": ("FAILED", "without an answer"),
    "nothing": ("FAILED", "nothing returns 0 results, but the problem has 1: c"),
    "unknown": ("FAILED", "the parameter 'gamma' of unknown is neither an argument nor a size"),
    "missing": ("FAILED", "has no function 'missing'"),
    "chaotic": ("WEAK", "would also accept"),
    "careless": ("WEAK", "would also accept zeros of c"),
    "complex_numbers": ("FAILED", "the peer's 'c' is complex128"),
    "texts": ("FAILED", "the peer's 'c' is <U"),
    "objects": ("FAILED", "the peer's 'c' is object"),
    "two_lines": ("FAILED", "ValueError: first second ("),
}
# Problems whose note begins with a line of the suite, and the text of this line.
LINES = {name: "    peer: {}" for name in ("raises", "nothing", "unknown", "missing", "complex_numbers", "texts", "objects", "two_lines")}


def kernelc(*words, timeout=600):
    return subprocess.run(["kernelc", *map(str, words)], capture_output=True, text=True, timeout=timeout)


def rows(path):
    return {row["problem"]: row for row in json.loads(path.read_text())["rows"]}


def check_samples(everything):
    draw = random.Random(seeds.of_today())
    for name, of in SHARDS.items():
        shard = [] if everything else ["--shard", f"{draw.randint(1, of)}/{of}"]
        ran = kernelc("test", "--suite", SUITES / f"{name}.yaml", *shard, "--seed", draw.randint(1, 999), timeout=7200)
        found = re.search(r"^(\d+) of (\d+) are right$", ran.stdout, re.MULTILINE)
        good = ran.returncode == 0 and found and found[1] == found[2] and int(found[1]) > 0
        checks.expect(f"{name} {shard}: all problems are right", good, ran.stdout + ran.stderr)


def write_suite(folder, name, problems):
    """Writes a suite of gemm problems: {name: (kernel, peer)}."""
    text = f"suite: {name}\npeers: peers.py\nbaselines: [numpy, numba, nonsense]\nlimit: 60\nproblems:\n"
    for problem, (kernel, peer) in problems.items():
        (folder / f"{problem}.kdl").write_text(kernel)
        entry = PROBLEM.replace("NAME", problem).replace("PEER", peer)
        text += entry.replace("    scaled:", "    limit: 5\n    scaled:") if peer == "sleeps" else entry
    (folder / f"{name}.yaml").write_text(text)
    (folder / "peers.py").write_text(PEERS)
    return folder / f"{name}.yaml"


def check_wrong(folder):
    problems = {"right": (KERNEL, "gemm")}
    for what, (before, after) in WRONG.items():
        checks.expect(f"{what}: the kernel has the text to change", KERNEL.count(before) == 1)
        problems[what] = (KERNEL.replace(before, after), "gemm")
    suite = write_suite(folder, "wrong", problems)
    ran = kernelc("test", "--suite", suite, f"--json={folder}/wrong.json")
    checks.expect("wrong kernels: the exit code is 1", ran.returncode == 1, ran.stdout + ran.stderr)
    found = rows(folder / "wrong.json")
    for what in problems:
        verdict = "right" if what == "right" else "WRONG"
        checks.expect(f"{what}: the verdict is {verdict}", found[what]["verdict"] == verdict, found[what])


def check_ends(folder):
    problems = {peer: (KERNEL, peer) for peer in ENDS}
    problems["does_not_compile"] = (KERNEL.replace("K by 16", "K by nonsense"), "gemm")
    problems["traps"] = (KERNEL.replace("spmd for", "assert(M < 3, \"too many rows\");\n    spmd for"), "gemm")
    problems["right"] = (KERNEL, "gemm")
    suite = write_suite(folder, "ends", problems)
    whole = folder / "whole.yaml"
    whole.write_text(suite.read_text().replace("in f64 1.5", "in i64 1.5"))
    ran = kernelc("test", "--suite", whole, "--filter", "right")
    checks.expect("an integer is whole", "'alpha' is 1.5, which i64 cannot represent" in ran.stdout, ran.stdout + ran.stderr)
    whole.write_text(suite.read_text().replace("{M: 37, N: 41, K: 43}", "{M: 37, N: 0, K: 43}"))
    ran = kernelc("test", "--suite", whole, "--filter", "right")
    checks.expect("no elements", ran.returncode == 1 and "WEAK" in ran.stdout and "no result is wrong: c without elements" in ran.stdout,
                  ran.stdout + ran.stderr)
    kernelc("test", "--suite", suite, f"--json={folder}/ends.json")
    found = rows(folder / "ends.json")
    expected = ENDS | {"does_not_compile": ("FAILED", "nonsense"), "traps": ("FAILED", "too many rows"), "right": ("right", "")}
    for name, (verdict, note) in expected.items():
        row = found[name]
        good = row["verdict"] == verdict and note in row["note"]
        if name in LINES:
            line = 1 + next(number for number, text in enumerate(suite.read_text().splitlines()) if text == LINES[name].format(name))
            good = good and f"{suite}:{line}: " in row["note"]
        checks.expect(f"{name}: the verdict is {verdict}, and the note has '{note}'", good, row)


def python_children(pid):
    """Returns the ids of the Python processes that a process has started."""
    names = {child: pathlib.Path(f"/proc/{child}/cmdline") for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
             for child in task.read_text().split()}
    return [child for child, name in names.items() if name.exists() and b"peer.py" in name.read_bytes()]


def ends_soon(pid):
    deadline = time.monotonic() + 30
    stat = pathlib.Path(f"/proc/{pid}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def check_killed(folder):
    suite = write_suite(folder, "killed", {"sleeps": (KERNEL, "sleeps")})
    begun = subprocess.Popen(["kernelc", "test", "--suite", suite], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peers = []
    while begun.poll() is None and not peers:
        time.sleep(0.05)
        peers = python_children(begun.pid)
    time.sleep(1)
    begun.kill()
    begun.wait()
    checks.expect("a peer ends when kernelc is killed", peers and all(map(ends_soon, peers)), peers)


def check_bench(folder):
    suite = write_suite(folder, "speed", {"one": (KERNEL, "gemm"), "two": (KERNEL, "gemm")})
    words = ["bench", "--suite", suite, "--trials", 3, "--seconds", 1, "--threads", 1, "--resume", folder / "log"]
    first = kernelc(*words, "--shard", "1/2")
    checks.expect("a part of the suite runs", first.returncode == 0 and "\ntwo " not in first.stdout, first.stdout + first.stderr)
    log = (folder / "log").read_text()
    ran = kernelc(*words, f"--json={folder}/speed.json", "--plot", folder / "speed.svg")
    checks.expect("the rest runs", ran.returncode == 0 and "2 of 2 are right" in ran.stdout, ran.stdout + ran.stderr)
    again = kernelc(*words, "--json")
    checks.expect("known rows are not measured again", (folder / "log").read_text().count("\n") == 2 and again.returncode == 0)
    kernelc(*words, "-O0")
    checks.expect("other options are another row", (folder / "log").read_text().count("\n") == 4)
    wrong = write_suite(folder, "wrong_log", {"doubled": (KERNEL.replace("c[i, j] = ", "c[i, j] = 2 * "), "gemm")})
    for _ in range(2):
        kernelc("test", "--suite", wrong, "--resume", folder / "wrong.log")
    checks.expect("a wrong row is not repeated", (folder / "wrong.log").read_text().count("\n") == 1)
    checks.expect("the log keeps its rows", (folder / "log").read_text().startswith(log) and log.count("\n") == 1)
    found = rows(folder / "speed.json")
    baselines = {one["name"]: one for one in found["one"]["baselines"]}
    checks.expect("NumPy is measured", baselines["numpy"]["seconds"] > 0, baselines)
    for name in ("numba", "nonsense"):
        checks.expect(f"{name}: a note, not an error", baselines[name]["note"] and baselines[name]["seconds"] is None, baselines)
    times = found["two"]["times"]
    checks.expect("operations are counted", times["operations"] == 2 * 37 * 41 * 43 + 3 * 37 * 41, times)
    checks.expect("the picture has both problems", all(f">{name}<" in (folder / "speed.svg").read_text() for name in ("one", "two")))


def main():
    if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode != 0:
        print("Python has no NumPy")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # kernelc runs peers with the Python that runs this script.
        (folder / "bin").mkdir()
        (folder / "bin/python3").symlink_to(sys.executable)
        os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
        check_wrong(folder)
        check_ends(folder)
        check_killed(folder)
        check_bench(folder)
        check_samples("--all" in sys.argv)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
