#!/usr/bin/env python3
"""Tests that `kernelc tune` tries and records the right schedules, that it can be stopped and resumed, that
builds use its file, that a changed kernel is an error, and that no schedule changes a bit of any result. Times
are not checked, because they depend on the machine's load.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from shared import checks

SOURCE = """
export kernel product<BM: int = auto, BN: int in {64, 128, 256} = auto, BK: int = auto>(
    a: in f32[M, K], b: in f32[K, N], c: out f32[M, N])
{
    static_assert(BM <= 400, "blocks are low");
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""
# With AVX2 and with AVX-512, the selector chooses less than this, and twice its choice is more.
HIGHEST = 400
SIZES = ["--set", "M=37", "--set", "N=101", "--set", "K=53"]
QUICK = ["--trials", "3", "--seconds", "1"]
# A bf16 product uses pairs of terms.
PAIRS = SOURCE.replace("in f32", "in bf16").replace("kernel product", "kernel pairs")


def kernelc(*words):
    return subprocess.run(["kernelc", *map(str, words)], capture_output=True, text=True, timeout=300)


def tune(source, kernel, *more):
    """Tunes a kernel with a log. Returns the completed process and the lines of the log for the kernel."""
    log = source.with_suffix(".log")
    run = kernelc("tune", source, "--kernel", kernel, *SIZES, *QUICK, "--resume", log, *more)
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return run, [line for line in lines if line["kernel"] == kernel]


def schedule_of(text, kernel):
    """Returns the lines of a kernel's schedule."""
    found = re.search(rf"^  - kernel: {re.escape(kernel)}\n(?:    .*\n)*", text, re.MULTILINE)
    return found[0] if found else ""


def key_of(text, kernel, key):
    return re.search(rf"^    {key}: (.*)$", schedule_of(text, kernel), re.MULTILINE)[1]


def check_search(source, tuned, kernel):
    run, trials = tune(source, kernel)
    checks.expect(f"{kernel} is tuned", run.returncode == 0 and tuned.exists() and trials, run.stdout + run.stderr)
    start = trials[0]["start"]
    constants, options = {"BM", "BN", "BK"}, {"distribute-blocks.order", "pack-late.blocks", "unroll-windows.points"}
    checks.expect("tiles and options are varied, but not cores on one thread",
                  constants | options <= set(start) and "distribute-blocks.cores" not in start, start)
    changed = {name for trial in trials for name in trial["choice"] if trial["choice"][name] != start[name]}
    checks.expect("each of them is tried", changed == set(start), changed)
    choices = [json.dumps(trial["choice"]) for trial in trials]
    checks.expect("none twice, nor the start", len({*choices, json.dumps(start)}) == len(trials) + 1, choices)
    checks.expect("lists are kept to", all(trial["choice"]["BN"] in (64, 128, 256) for trial in trials), choices)
    if kernel == "pairs":
        checks.expect("pairs are kept", all(trial["choice"]["BK"] % 2 == 0 for trial in trials), choices)
    high = [trial for trial in trials if trial["choice"]["BM"] > HIGHEST]
    checks.expect("failures have their reason", high and all("blocks are low" in trial.get("failure", "") for trial in high), high)
    checks.expect("and are the only ones", sum("failure" in trial for trial in trials) == len(high), trials)
    same = {name for trial in trials if trial.get("same_code") for name in start if trial["choice"][name] != start[name]}
    checks.expect("windows change nothing in a product", "unroll-windows.points" in same, same)
    alone = [trial for trial in trials if trial["choice"] == start | {"BM": trial["choice"]["BM"]}]
    checks.expect("tiles change its code", alone and not any(trial.get("same_code") for trial in alone), alone)
    text = schedule_of(tuned.read_text(), kernel)
    best = max((trial["gain"] for trial in trials), default=1)
    checks.expect("the file has what is best", f"gain: {best if best >= 1.02 else 1:.3f}" in text, text)
    checks.expect("and its tiles", re.search(r"tiles: \{BK: \d+, BM: \d+, BN: \d+\}", text), text)
    return trials


def check_resumed(source, tuned, kernel):
    log = source.with_suffix(".log")
    whole, schedules = log.read_text(), tuned.read_text()
    again, _ = tune(source, kernel)
    checks.expect("what is known is not measured again", again.returncode == 0 and log.read_text() == whole, again.stderr)
    checks.expect("and leads to the same file", tuned.read_text() == schedules, tuned.read_text())
    # The process ended while it wrote the last trial of this kernel.
    lines = sorted(whole.splitlines(keepends=True), key=lambda line: json.loads(line)["kernel"] == kernel)
    log.write_text("".join(lines[:-1]) + lines[-1][:20])
    again, _ = tune(source, kernel)
    checks.expect("a stopped search goes on", again.returncode == 0 and log.read_text().startswith("".join(lines[:-1])), again.stderr)


def check_limit(folder):
    source = folder / "limited.kdl"
    source.write_text(SOURCE)
    begin = time.monotonic()
    run = kernelc("tune", source, *SIZES, "--trials", "1000000", "--seconds", "3", "--time-limit", "1")
    checks.expect("a search ends at its limit", run.returncode == 0 and "stopped after 1 s" in run.stdout, run.stdout + run.stderr)
    checks.expect("soon", time.monotonic() - begin < 60)
    checks.expect("the best so far is in a file", "kernel: product" in source.with_suffix(".tuned.yaml").read_text())


def written(kernel, level, source, tiles="", passes=""):
    return (f"schedules:\n  - kernel: {kernel}\n    source: {source}\n    target: {level}\n    threads: 1\n    sizes: {{K: 53}}\n"
            f"    tiles: {{{tiles}}}\n    passes:\n{passes}")


def check_taken(source, folder, kernel, trials):
    """Checks that builds with schedules give the same bits as builds without."""
    text = (folder / "p.tuned.yaml").read_text()
    level, hashed = key_of(text, kernel, "target"), key_of(text, kernel, "source")
    outputs = []
    other = folder / "other.yaml"
    working = [trial["choice"] for trial in trials if "failure" not in trial]
    passes = "".join(f"      - {line}\n" for line in ("distribute-blocks: {order: 2, cores: 2}", "pack-late: {blocks: 1000}"))
    for number, choice in enumerate([None, working[0], working[-1]]):
        out = folder / f"c{number}.npy"
        words = []
        if choice:
            tiles = {name: value for name, value in choice.items() if "." not in name}
            other.write_text(written(kernel, level, hashed, ", ".join(f"{name}: {value}" for name, value in tiles.items()), passes))
            words = ["--tuned", other]
            shown = kernelc("build", source, "--emit", "ir", "--stop-after=select-tiles", "--target", f"host?isa={level}", *words)
            heads = [line for line in shown.stdout.splitlines() if line.startswith(f"kernel @{kernel} ")]
            checks.expect("build takes the tiles",
                          heads and all(re.search(rf"\b{name}( in {{[^}}]*}})? = auto\({value}\)", heads[0])
                                        for name, value in tiles.items()),
                          shown.stdout + shown.stderr)
            shown = kernelc("explain", "--schedule", source, "--kernel", kernel, "--target", f"host?isa={level}", *words)
            line = other.read_text().splitlines().index("      - distribute-blocks: {order: 2, cores: 2}") + 1
            checks.expect("explain says where options come from",
                          re.search(rf"distribute-blocks\.cores +2  {other}:{line}\n", shown.stdout), shown.stdout + shown.stderr)
            checks.expect("and tiles", re.search(rf"BK +{tiles['BK']}  {other}:7\n", shown.stdout), shown.stdout)
        for threads in (1, 4):
            run = kernelc("run", source, "--kernel", kernel, *SIZES, "--arg", "a=random:1", "--arg", "b=random:2", "--target",
                          f"host?threads={threads}", "--out", f"c=@{out}", "--verify", *words)
            checks.expect("it runs, equal to the reference", run.returncode == 0 and "bit for bit" in run.stdout, run.stdout + run.stderr)
            outputs.append(out.read_bytes() if out.exists() else None)
    checks.expect("no bit depends on the choice", outputs[0] is not None and len(set(outputs)) == 1)


def check_stale(folder, tuned):
    """Checks that comments and spaces keep a schedule, that another kernel is an error, and that tuning again replaces it."""
    changed = folder / "changed.kdl"
    words = ["build", changed, "--kernel", "product", "--emit", "asm", "-o", folder / "out", "--tuned", tuned]
    changed.write_text("// A comment.\n" + SOURCE.replace("acc += dot", "acc   += dot"))
    run = kernelc(*words)
    checks.expect("comments and spaces are not a change", run.returncode == 0 and not run.stderr, run.stderr)
    changed.write_text(SOURCE.replace("c[i, j] = acc", "c[i, j] = 2 * acc"))
    run = kernelc(*words)
    checks.expect("a changed kernel is an error with a line", run.returncode == 1 and re.search(
        rf"{tuned}:\d+:\d+: error: kernel 'product' has changed since it was tuned \[E0992\]", run.stderr), run.stderr)
    run = kernelc("tune", changed, "--kernel", "product", *SIZES, *QUICK, "--tuned", tuned)
    checks.expect("tuning again replaces the schedule",
                  run.returncode == 0 and tuned.read_text().count("kernel: product\n") == 1 and kernelc(*words).returncode == 0,
                  run.stderr + tuned.read_text())


PIPELINE = """family: cpu
parameters: {few: 4}
loops:
"""


def check_pipeline(folder):
    """Checks that parameters of a pipeline file are varied, and become options in the schedule."""
    source, passes = folder / "piped.kdl", folder / "passes.yaml"
    source.write_text(SOURCE)
    shown = kernelc("targets", "--device", "host", "--dump-pipeline").stdout
    loops = shown[shown.index("\nloops:\n") + 8:]
    passes.write_text(PIPELINE + re.sub(r"blocks: \d+", "blocks: $few", loops))
    run, trials = tune(source, "product", "--pipeline", passes)
    tried = {trial["choice"]["$few"]: trial for trial in trials if trial["choice"]["$few"] != 4}
    checks.expect("parameters are varied", run.returncode == 0 and {2, 8} <= set(tried), run.stdout + run.stderr)
    checks.expect("from their values", trials[0]["start"]["pack-late.blocks"] == 4, trials[0])


WORKGROUPS = """
export kernel product<BM: int in {16, 32, 64} = auto, BN: int in {16, 32} = auto>(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N])
{
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by 16 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""


def check_workgroups(folder):
    """Checks that tiles of a device whose cores are workgroups are searched, too, and change no bit."""
    if kernelc("targets", "--device", "opencl").returncode != 0:
        return checks.skip("tiles of workgroups", "there is no OpenCL device")
    source, results = folder / "workgroups.kdl", []
    source.write_text(WORKGROUPS)
    run, trials = tune(source, "product", "--target", "opencl")
    checks.expect("tiles of workgroups are tuned", run.returncode == 0 and trials, run.stdout + run.stderr)
    tiles = {(trial["choice"]["BM"], trial["choice"]["BN"]) for trial in trials if not trial.get("same_code")}
    start = trials[0]["start"]["BM"], trials[0]["start"]["BN"]
    checks.expect("other sizes of both are tried", all(len({one[side] for one in {*tiles, start}}) > 1 for side in (0, 1)), trials)
    checks.expect("and works", not any("failure" in trial for trial in trials), trials)
    for target in (["opencl", "--tuned", source.with_suffix(".tuned.yaml")], ["opencl"], ["reference"]):
        out = folder / f"{len(results)}.npy"
        run = kernelc("run", source, "--kernel", "product", *SIZES, "--arg", "a=random:1", "--arg", "b=random:2", "--target", *target,
                      "--out", f"c=@{out}")
        results.append(out.read_bytes() if run.returncode == 0 else run.stderr)
    checks.expect("and changes no bit", results[0] == results[1] == results[2], results[0][:200])
    checks.expect("their schedule names the target", key_of(source.with_suffix(".tuned.yaml").read_text(), "product", "target") == "opencl")


THREADED = """
export kernel scale<B: int = auto>(a: f32, x: in f32[R, C], y: out f32[R, C]) {
    spmd for r in R by 4, c in C by B { y[r, c] = a * x[r, c]; }
}
"""


def check_threads(folder):
    source = folder / "threads.kdl"
    source.write_text(THREADED)
    if len(os.sched_getaffinity(0)) < 2:
        return
    run = kernelc("tune", source, "--set", "R=16", "--set", "C=4000", *QUICK, "--threads", "2", f"--json={folder}/threads.json")
    row = json.loads((folder / "threads.json").read_text())["kernels"][0]
    checks.expect("cores are varied", run.returncode == 0 and row["start"]["distribute-blocks.cores"] == 2 and
                  any(trial["choice"]["distribute-blocks.cores"] == 1 for trial in row["trials"]), row)


SEVERAL = """
export kernel plain(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = x[i]; } }
export kernel scale<B: int = auto>(a: f32, x: in f32[M], y: out f32[M]) { spmd for i in M by B { y[i] = a * x[i]; } }
"""


def check_several(folder):
    """Checks a file with several kernels. Each uses its own sizes, and a kernel without anything to tune does
    not stop the other kernels."""
    source = folder / "several.kdl"
    source.write_text(SEVERAL)
    run = kernelc("tune", source, "--set", "N=100", "--set", "M=1000", *QUICK)
    checks.expect("all kernels are tuned", run.returncode == 0 and "plain has nothing to tune" in run.stdout
                  and "\nscale on " in run.stdout, run.stdout + run.stderr)


def check_together(folder):
    """Checks that two searches at the same time keep what the other one writes to their file."""
    source = folder / "together.kdl"
    source.write_text(SOURCE + PAIRS)
    words = ["kernelc", "tune", source, *SIZES, *QUICK, "--kernel"]
    searches = [subprocess.Popen([*words, kernel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for kernel in ("product", "pairs")]
    said = [search.communicate(timeout=300)[0] for search in searches]
    text = source.with_suffix(".tuned.yaml").read_text()
    checks.expect("one file has what two searches at the same time found", text.count("- kernel: ") == 2 and "kernel: pairs" in text, said)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, tuned = folder / "p.kdl", folder / "p.tuned.yaml"
        source.write_text(SOURCE + PAIRS)
        for kernel in ("product", "pairs"):
            trials = check_search(source, tuned, kernel)
            check_taken(source, folder, kernel, trials)
        check_resumed(source, tuned, "product")
        checks.expect("one file has both", tuned.read_text().count("- kernel: ") == 2)
        check_stale(folder, tuned)
        check_limit(folder)
        check_pipeline(folder)
        check_threads(folder)
        check_several(folder)
        check_workgroups(folder)
        check_together(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
