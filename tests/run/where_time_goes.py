#!/usr/bin/env python3
"""Checks what `kernelc bench --annotate`, `kernelc run --profile` and `kernelc explain --asm` say about where time goes."""

import json
import os
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
# The root is in line 8, and an inlined fn of the library in line 7.
ROOTS = """fn half(v: f32) -> f32 {
    return 0.5 * v;
}

export kernel roots(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 64 {
        let a = exp(x[i]);
        let b = sqrt(a);
        y[i] = half(b);
    }
}

export kernel copies(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 64 { y[i] = x[i]; }
}
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


def blocks_of(trace):
    """Returns the kernel's core and number of each block in a trace, and checks that blocks are in the core's time."""
    events = json.loads(trace.read_text())
    rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    blocks = [event for event in spans if event["name"] == "block of 'costly'"]
    for block in blocks:
        around = [span for span in spans if span["tid"] == block["tid"] and span["name"] == "costly"]
        inside = any(span["ts"] <= block["ts"] + 0.002 and block["ts"] + block["dur"] <= span["ts"] + span["dur"] + 0.002 for span in around)
        checks.expect("a block runs while its core does", inside and re.fullmatch(r"host core \d+", rows[block["tid"]]), str(block))
    return sorted((block["args"]["core"], block["args"]["block"]) for block in blocks)


def check_blocks(folder):
    """Each block of an `spmd` has a span, and the time line has a line for each block or, if there are many, for each core."""
    file = folder / "costly.kdl"
    file.write_text(COSTLY)
    trace = folder / "trace.json"
    words = ["kernelc", "run", file, "--arg", "x=1", "--core-num", "3", "-D", "B=64"]
    file.write_text(COSTLY.replace("costly(", "costly<B: int = 64>(").replace("by 1024", "by B"))
    os.environ["KDL_TRACE"] = str(trace)
    text = call(*words, "--set", "N=640", "--profile=blocks")
    found = blocks_of(trace)
    checks.expect("each block is recorded once", [number for _, number in found] == list(range(len(found))) and len(found) >= 3, str(found))
    checks.expect("and its core", {core for core, _ in found} == {0, 1, 2}, str(found))
    lines = re.findall(r"^'costly' core (\d+) block (\d+) +[\d.]+ [um]s  \|[# ]+\|$", text, re.M)
    checks.expect("the time line has each block", sorted((int(core), int(block)) for core, block in lines) == found, text)
    call(*words, "--set", "N=640", "--profile")
    checks.expect("without =blocks, no block is recorded", blocks_of(trace) == [])
    text = call(*words, "--set", "N=8000000", "--profile=blocks", "-D", "B=64")
    found = blocks_of(trace)
    merged = re.search(r"^(\d+) blocks, more than 300: those of a core are in one line$", text, re.M)
    lines = re.findall(r"^'costly' core (\d) +[\d.]+ [um]?s  \|[# ]+\|  (\d+) blocks, the longest [\d.]+ [um]?s$", text, re.M)
    checks.expect("many blocks are merged by core", merged and int(merged[1]) == len(found) and len(lines) == 3
                  and sum(int(count) for _, count in lines) == len(found), text[:3000])
    file = folder / "stages.kdl"
    file.write_text(STAGES)
    text = call("kernelc", "run", file, "--profile=blocks", "--pipes", "buffered", "--set", "N=640", "--arg", "x=1")
    lines = re.findall(r"^'staged' host core 0 stage (\d) core 0 block (\d) ", text, re.M)
    checks.expect("blocks of stages", sorted(lines) == [(stage, str(block)) for stage in "01" for block in range(10)], text)
    del os.environ["KDL_TRACE"]


def lines_of_code(text):
    """Returns the line of the source for each instruction in the output of `explain --asm`."""
    line, found = None, []
    for row in text.split("\n"):
        if shown := re.match(r" *(\d+)  (.*)$", row):
            line = int(shown[1])
            checks.expect(f"line {line} is shown as it is", shown[2] == ROOTS.split("\n")[line - 1], row)
        elif row.startswith(" " * 12):
            found.append((row.strip(), line))
    return found


def check_assembly(folder):
    file = folder / "roots.kdl"
    file.write_text(ROOTS)
    words = ["kernelc", "explain", "--asm", file, "--target", "host?isa=x86-64-v3"]
    code = lines_of_code(call(*words, "--kernel", "roots"))
    checks.expect("all instructions have lines of the kernel or of its fn", {line for _, line in code} <= {2, 5, 6, 7, 8, 9}, str(code[:9]))
    checks.expect("the root is in line 8", {line for one, line in code if one.startswith("vsqrtps")} == {8})
    products = {line for one, line in code if re.match(r"vmulps|vfn?m(add|sub)", one)}
    checks.expect("products are in line 7, which calls exp, and in half", products == {2, 7}, str(products))
    text = call(*words)
    checks.expect("without --kernel, both kernels are shown",
                  re.findall(r"^kernel (\w+) on (.*)$", text, re.M) == [("roots", "x86-64-v3"), ("copies", "x86-64-v3")], text[:200])
    plain = call(*words, "--kernel", "roots", "-O0")
    checks.expect("-O0 shows other code", lines_of_code(plain) != code)
    arm = call(*words[:-1], "host?isa=armv8-a", "--kernel", "roots")
    checks.expect("other processors have code, too", {line for one, line in lines_of_code(arm) if one.startswith("fsqrt")} == {8}, arm[:500])
    check_page(folder, words)


def check_page(folder, words):
    call(*words, "--kernel", "roots", "--html", folder / "roots.html")
    page = (folder / "roots.html").read_text()
    source, instructions = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    lines = [set(re.findall(r'data-line="(\d+)"', side)) for side in (source, instructions)]
    checks.expect("each instruction of the page has its line on the other side", lines[0] == lines[1] and "8" in lines[0], str(lines))
    checks.expect("the page has the source", "let b = sqrt(a);" in source and "vsqrtps" in instructions)
    checks.expect("the page needs no network", not re.search(r"https?:|src=", page))
    ran = subprocess.run(["kernelc", "explain", "--asm", words[3], "--target", "cuda?isa=sm_90a"], capture_output=True, text=True, timeout=300)
    checks.expect("only processors have assembly", ran.returncode == 1 and "name a processor" in ran.stderr, ran.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="time-") as name:
        check_annotate(pathlib.Path(name))
        check_profile(pathlib.Path(name))
        check_blocks(pathlib.Path(name))
        check_assembly(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
