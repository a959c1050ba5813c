#!/usr/bin/env python3
"""Tests that `kernelc tune` tries and records the right tiles, that it can be stopped and resumed, that
builds use its file, and that the file changes no bit of any result. Times are not checked, because they
depend on the machine's load.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

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
TRIAL = re.compile(r"^  (?:tried [\d.]+ (?P<tried>.*)|failed (?P<failed>.*?): (?P<why>.*))$")


# A bf16 product uses pairs of terms.
PAIRS = SOURCE.replace("in f32", "in bf16").replace("kernel product", "kernel pairs")


def kernelc(*words):
    return subprocess.run(["kernelc", *map(str, words)], capture_output=True, text=True, timeout=300)


def tiles_of(words):
    return {name: int(value) for name, value in (word.split("=") for word in words.split())}


def trials_of(text):
    """Returns (tiles, reason of failure or None) for each line."""
    found = [TRIAL.match(line) for line in text.splitlines() if line.startswith(("  tried", "  failed"))]
    return [(tiles_of(one["tried"] or one["failed"]), one["why"]) for one in found]


def check_search(source, tuned, kernel):
    run = kernelc("tune", source, "--kernel", kernel, *SIZES, *QUICK)
    checks.expect(f"{kernel} is tuned", run.returncode == 0 and tuned.exists(), run.stderr)
    text = tuned.read_text()
    entry = text[text.index(f"kernel {kernel} on "):]
    selector = tiles_of(re.search(r"^  selector (.*)$", entry, re.MULTILINE)[1])
    trials = trials_of(entry)
    checks.expect("it knows what the selector chooses", set(selector) == {"BM", "BN", "BK"}, entry)
    checks.expect("it tries each constant",
                  all(any(tiles[name] != selector[name] for tiles, _ in trials) for name in selector), entry)
    checks.expect("none twice, nor the selector's choice",
                  len({tuple(sorted(tiles.items())) for tiles, _ in trials} | {tuple(sorted(selector.items()))})
                  == len(trials) + 1, entry)
    checks.expect("lists are kept to", all(tiles["BN"] in (64, 128, 256) for tiles, _ in trials), entry)
    if kernel == "pairs":
        checks.expect("pairs are kept", all(tiles["BK"] % 2 == 0 for tiles, _ in trials), entry)
    failed = [(tiles, why) for tiles, why in trials if tiles["BM"] > HIGHEST]
    checks.expect("failures stand there, with the reason", failed and all(why and "blocks are low" in why for _, why in failed), entry)
    checks.expect("and are the only ones", sum(why is not None for _, why in trials) == len(failed), entry)
    return trials


def check_resumed(source, tuned, kernel):
    whole = tuned.read_text()
    again = kernelc("tune", source, "--kernel", kernel, *SIZES, *QUICK)
    checks.expect("what is known is not measured again", again.returncode == 0 and tuned.read_text() == whole, again.stderr)
    lines = whole.splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith("  tried"))
    kept = [line for i, line in enumerate(lines) if i != last]
    tuned.write_text("\n".join(kept) + "\n")
    again = kernelc("tune", source, "--kernel", kernel, *SIZES, *QUICK)
    checks.expect("a stopped search goes on",
                  again.returncode == 0 and set(kept) <= set(tuned.read_text().splitlines()), again.stderr)


def check_taken(source, folder, kernel, trials):
    """Checks that builds with the file, and with each of two other choices, give the same bits as builds with
    the selector's choice."""
    outputs = []
    worst = folder / "worst.tuned"
    level = re.search(rf"^kernel {re.escape(kernel)} on (\S+)", (folder / "p.tuned").read_text(), re.MULTILINE)[1]
    tiles = [tiles for tiles, why in trials if why is None]
    for number, choice in enumerate([None, tiles[0], tiles[-1]]):
        out = folder / f"c{number}.npy"
        words = []
        if choice:
            text = " ".join(f"{name}={value}" for name, value in choice.items())
            worst.write_text(f"kernel {kernel} on {level} threads=1 at K=53\n  selector BM=1\n  tried 2.0 {text}\n")
            words = ["--tuned", worst]
            shown = kernelc("build", source, "--emit", "ir", "--stop-after=select-tiles", "--target", f"host?isa={level}", *words)
            heads = [line for line in shown.stdout.splitlines() if line.startswith(f"kernel @{kernel} ")]
            checks.expect("build takes the choice",
                          heads and all(re.search(rf"\b{name}( in {{[^}}]*}})? = auto\({value}\)", heads[0])
                                    for name, value in choice.items()),
                          shown.stdout + shown.stderr)
        run = kernelc("run", source, "--kernel", kernel, *SIZES, "--arg", "a=random:1", "--arg", "b=random:2",
                      "--out", f"c=@{out}", "--verify", *words)
        checks.expect("it runs, equal to the reference", run.returncode == 0 and "bit for bit" in run.stdout, run.stdout + run.stderr)
        outputs.append(out.read_bytes() if out.exists() else None)
    checks.expect("no bit depends on the choice", outputs[0] is not None and len(set(outputs)) == 1)


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
    checks.expect("all kernels are tuned", run.returncode == 0 and "plain has no integer parameter to tune" in run.stdout
                  and "\nscale on " in run.stdout, run.stdout + run.stderr)


def check_together(folder):
    """Checks that two searches at the same time keep what the other one writes to their file."""
    source = folder / "together.kdl"
    source.write_text(SOURCE + PAIRS)
    words = ["kernelc", "tune", source, *SIZES, *QUICK, "--kernel"]
    searches = [subprocess.Popen([*words, kernel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for kernel in ("product", "pairs")]
    said = [search.communicate(timeout=300)[0] for search in searches]
    text = source.with_suffix(".tuned").read_text()
    checks.expect("one file has what two searches at the same time found", text.count("\nkernel ") == 2 and "kernel pairs" in text, said)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, tuned = folder / "p.kdl", folder / "p.tuned"
        source.write_text(SOURCE + PAIRS)
        for kernel in ("product", "pairs"):
            trials = check_search(source, tuned, kernel)
            check_taken(source, folder, kernel, trials)
        check_resumed(source, tuned, "product")
        check_several(folder)
        check_together(folder)
        checks.expect("one file has both", tuned.read_text().count("\nkernel ") == 2)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
