#!/usr/bin/env python3
"""Checks what `kernelc bench --annotate` and `kernelc run --profile` say about where time goes."""

import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks

# Almost all of the time is in line 5. Line 4 is cheap.
COSTLY = """export kernel costly(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 1024 {
        let t = x[i];
        let u = t + 1.0;
        y[i] = log(exp(u) + 1.0) * sin(u) + cos(u) * tanh(u) + t;
    }
}
"""
# The access of line 3 has a remark.
REMARKED = """export kernel repeat(x: in f32[P], y: out f32[N]) where N == 3 * P {
    spmd for i in N by 1024 {
        y[i] = x[iota(i) / 3];
    }
}
"""
# Two stages, of which the second waits for the first.
STAGES = """kernel staged(x: in f32[N], y: out f32[N]) {
    domain blocks = (N by 64);
    pipe q: f32[64] @depth(2);
    stage first { spmd for i in blocks { q.push(exp(sin(x[i])), i); } }
    stage second { spmd for i in blocks { y[i] = q.pop(i) + 1.0; } }
}
export program run(x: in f32[N], y: out f32[N]) { spmd(core_num = 1) staged(x, y); }
"""


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    checks.expect(" ".join(map(str, words)), done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


def percentages(text):
    """Returns the percentage of samples in each line of an annotated source."""
    return {int(line): float(share) for share, line in re.findall(r"^ *([\d.]+) +(\d+)  ", text, re.M)}


def check_annotate(folder):
    file = folder / "costly.kdl"
    file.write_text(COSTLY)
    text = call("kernelc", "bench", file, "--annotate", "--set", "N=100000", "--threads", "1", "--trials", "3")
    shares = percentages(text)
    outside = re.search(r"^ *([\d.]+)  outside of these lines; (\d+) samples", text, re.M)
    checks.expect("line 5 has most samples", shares.get(5, 0) > 60, text)
    checks.expect("the source is shown", "y[i] = log(exp(u) + 1.0)" in text, text)
    total = sum(shares.values()) + float(outside[1]) if outside else 0
    checks.expect("the percentages add up to 100", 99 < total < 101, text)
    file = folder / "repeat.kdl"
    file.write_text(REMARKED)
    text = call("kernelc", "bench", file, "--annotate", "--set", "P=10000", "--threads", "1", "--trials", "3")
    checks.expect("the remark is below its line", re.search(r"^ *[\d.]+ +3  .*\n +16: 'x\[iota\(i\) / 3\]' is .*\[R1002\]$", text, re.M), text)


def check_profile(folder):
    file = folder / "stages.kdl"
    file.write_text(STAGES)
    text = call("kernelc", "run", file, "--profile", "--pipes", "buffered", "--set", "N=100000", "--arg", "x=1")
    checks.expect("the time line has the queue", re.search(r"^host queue 0 +\d+ %  \|[# ]+\|$", text, re.M), text)
    checks.expect("and the core", re.search(r"^host core 0 +\d+ %  \|[# ]+\|$", text, re.M), text)
    checks.expect("and the waits of a stage", re.search(r"^host core 0 stage \d +\d+ %  \|[~ ]+\|$", text, re.M), text)
    checks.expect("the table has the kernel", re.search(r"^ +1 +[\d.]+ [um]?s  # staged$", text, re.M), text)
    checks.expect("and what stages wait for", re.search(r"~ 'q\.p(ush|op).*' waits|~ q\.p(ush|op)", text), text)


def main():
    with tempfile.TemporaryDirectory(prefix="time-") as name:
        check_annotate(pathlib.Path(name))
        check_profile(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
