#!/usr/bin/env python3
"""Checks the debug information of `kernelc build -g` with gdb.

Stops at each line of ten kernels and counts the variables in scope that gdb can show: without optimization at least 97 %,
with optimization at least 60 %. `debugger.py --list` also prints which ones are missing. Then runs a session of
commands as a user would type them, and checks that the code is the same with and without -g.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = "host?isa=x86-64-v3"
# The least shares of variables that gdb must show, for each level of optimization.
LEAST = {0: 0.97, 2: 0.6}
# Each kernel, with the program that launches it and its arguments.
OWN = HERE / "debugger.kdl"
SAMPLES = ROOT / "samples"
KERNELS = [
    (SAMPLES / "matmul/matmul.kdl", "matmul", "chain", ["--set", "M=70", "--set", "K=300", "--set", "L=40", "--set", "N=50"]),
    (SAMPLES / "softmax/softmax.kdl", "softmax", "rows", ["--set", "R=9", "--set", "C=300"]),
    (SAMPLES / "matmul_residual/matmul_residual.kdl", "matmul_residual", "residual",
     ["--set", "M=70", "--set", "K=300", "--set", "N=90", "--arg", "cores=2"]),
    (OWN, "shade", "run_shade", ["--set", "N=200", "--arg", "gain=2", "--arg", "bias=1"]),
    (OWN, "normalize", "run_normalize", ["--set", "R=20", "--set", "D=150", "--arg", "eps=1e-5"]),
    (OWN, "gather_rows", "run_gather", ["--set", "V=8", "--set", "N=40", "--set", "D=50", "--arg", "at=3"]),
    (OWN, "smooth", "run_smooth", ["--set", "N=200"]),
    (OWN, "polynomial", "run_polynomial", ["--set", "N=100", "--arg", "steps=7"]),
    (OWN, "count_above", "run_count", ["--set", "N=100", "--set", "C=3", "--arg", "limit=0.2"]),
    (OWN, "cumulate", "run_cumulate", ["--set", "R=20", "--set", "C=50"]),
]


def call(*words, cwd=None, env=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def scopes(source, kernel):
    """Returns the variables in scope at each line of the kernel's body, read from the text: parameters, sizes, and
    everything that `let`, `var`, `range` and loops declare. A declaration is in scope from the next line on."""
    text = re.sub(r"//[^\n]*", "", source)
    start = re.search(rf"\bkernel {kernel}\b", text).start()
    body = text.index("{", text.index(")", start))
    signature = text[start:body]
    generics, parameters = re.match(rf"kernel {kernel}(?:<(.*?)>)?\((.*)\)", signature, re.S).groups()
    known = set(re.findall(r"(\w+): (?:in|out|inout) ", parameters)) | set(re.findall(r"(\w+): \w+\s*(?:,|$)", parameters))
    known |= set(re.findall(r"(\w+): int", generics or ""))
    for sizes in re.findall(r"\[(.*?)\]", parameters):
        known |= set(re.findall(r"\b[A-Z]\w*\b", sizes))
    around, at, line = [], {}, text[:body].count("\n") + 1
    for row in text[body:].split("\n"):
        if row.strip(" }"):
            at[line] = set(known)
        binders = set()
        for loop in re.findall(r"\bfor (.*?) \{", row):
            binders |= set(re.findall(r"(?:^|, )(\w+)(?= in |,)", loop))
        declared = set(re.findall(r"\b(?:let|var|range) (\w+)", row))
        closed_here = row.rstrip().endswith("}") and row.count("{") == row.count("}") and "{" in row
        for sign in re.findall(r"[{}]", row):
            if sign == "{":
                around.append(set(known))
                known = known | binders
            else:
                known = around.pop()
        if not closed_here:
            known = known | declared
        line += 1
        if not around:
            return at
    raise RuntimeError(f"kernel {kernel} has no end")


def build(file, level, folder, *options):
    out = folder / f"{file.stem}-O{level}"
    if not out.exists():
        call("kernelc", "build", "-g", f"-O{level}", "--emit", "exe,obj", "--target", TARGET, "-o", out, *options, file)
    return out / file.stem


def probe(program, file, kernel, name, arguments, folder):
    """Returns which variables gdb cannot show at each line that it reaches."""
    wanted = folder / "probe.json"
    lines = {line: sorted(names) for line, names in scopes(file.read_text(), kernel).items()}
    wanted.write_text(json.dumps({"file": file.name, "lines": lines}))
    call("gdb", "-nx", "--batch", "-x", HERE / "shared/gdb_probe.py", "--args", program, "--program", name, *arguments,
         env={**os.environ, "KDL_PROBE": str(wanted), "KDL_THREADS": "1"})
    return json.loads(wanted.read_text())


def shares(level, folder, lists):
    """Returns how many variables are in scope at all lines, and how many of them gdb shows."""
    wanted, shown = 0, 0
    for file, kernel, program, arguments in KERNELS:
        found = probe(build(file, level, folder), file, kernel, program, arguments, folder)
        if not found:
            raise RuntimeError(f"gdb does not stop in {kernel} at -O{level}")
        names = [(line, name, why) for line, problems in found.items() for name, why in problems.items()]
        wanted += len(names)
        shown += sum(why is None for _, _, why in names)
        for line, name, why in names:
            if why and lists:
                print(f"-O{level} {file.name}:{line} {kernel}: {name}: {why}")
    return wanted, shown


def session(program, arguments, commands):
    """Returns what gdb prints for the commands."""
    root = pathlib.Path(call("readlink", "-f", call("which", "kernelc").strip()).strip()).parent.parent
    words = ["gdb", "-nx", "--batch", "-iex", f"add-auto-load-safe-path {root}"]
    for command in ["set pagination off", "set print thread-events off", "set breakpoint pending off", "set max-value-size unlimited", *commands]:
        words += ["-ex", command]
    return call(*words, "--args", program, *arguments)


def expect_all(what, output, *parts):
    """Checks that the output contains all parts, in this order."""
    at = 0
    for part in parts:
        found = re.compile(part).search(output, at)
        checks.expect(f"{what}: {part}", found, output)
        at = found.end() if found else at


def check_sessions(folder):
    """Types what a user would type, in kernels without optimization."""
    file, _, program, arguments = KERNELS[0]
    output = session(build(file, 0, folder), ["--program", program, *arguments, "--arg", "a=iota", "--arg", "b=1", "--arg", "c=1"], [
        "break matmul.kdl:10", "run", "info args", "print BK", "print i", "print i.start",
        "backtrace 1", "delete", "next"])
    expect_all("matmul", output, r"hit Breakpoint 1\.\d+, matmul \(", r"M = 70", r"= 256", r"= \d+ \.\. \d+", r"= \d+\n",
               r"#0  matmul \(a=", r"\n\d+\t")
    file, _, program, arguments = KERNELS[1]
    output = session(build(file, 0, folder), ["--program", program, *arguments, "--arg", "x=1"], [
        "break softmax.kdl:9", "run", "print r", "print c.size", "print m2[0]", "print z[0]", "print t[0][3]", "tbreak softmax.kdl:12",
        "delete 1", "continue", "print s[0]"])
    expect_all("softmax", output, r"hit Breakpoint 1, softmax \(", r"= 0 \.\. \d", r"= 300\n", r"= 1\n", r"= 1\n", r"= 1\n", r"= 300\n")
    file, _, program, arguments = KERNELS[2]
    output = session(build(file, 0, folder), ["--program", program, *arguments, "--arg", "a=1", "--arg", "b=1", "--arg", "res=2"], [
        "break matmul_residual.kdl:13", "run", "print M", "backtrace 1"])
    expect_all("matmul_residual", output, r"hit Breakpoint 1", r"= 70\n", r"#0  matmul_residual")
    output = session(build(OWN, 0, folder), ["--program", "run_gather", *KERNELS[5][3][:-1], "at=9"], [
        "tbreak gather_rows", "run", "break kdl_trapped", "continue", "backtrace 2", "up", "print n.start"])
    expect_all("gather_rows", output, r"hit Breakpoint 2", r"#0 .* kdl_trapped", r"#1 .* gather_rows \(.*debugger\.kdl:43", r"= \d+\n")


def code_of(object_file):
    return call("llvm-objdump-19", "-s", "--section=.text", object_file).split("\n", 2)[2]


def check_same_code(folder):
    """Checks that -g does not change the code."""
    for file in sorted({file for file, *_ in KERNELS}):
        for level in range(4):
            codes = []
            for options in ([], ["-g"]):
                out = folder / f"{file.stem}-O{level}{''.join(options)}"
                call("kernelc", "build", *options, f"-O{level}", "--emit", "obj", "--target", TARGET, "-o", out, file)
                codes.append(code_of(out / f"{file.stem}.x86-64.o"))
            checks.expect(f"{file.name} at -O{level}: the code is the same with -g", codes[0] == codes[1])


def main():
    with tempfile.TemporaryDirectory(prefix="debugger-") as name:
        folder = pathlib.Path(name)
        for level, least in LEAST.items():
            wanted, shown = shares(level, folder, "--list" in sys.argv)
            print(f"-O{level}: gdb shows {shown} of {wanted} variables, {100 * shown / wanted:.1f} %")
            checks.expect(f"-O{level}: gdb shows at least {100 * least:.0f} % of the variables", shown >= least * wanted)
        check_sessions(folder)
        check_same_code(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
