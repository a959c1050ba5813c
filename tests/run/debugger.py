#!/usr/bin/env python3
"""Checks the debug information of `kernelc build -g` with gdb.

Stops at each line of some kernels, and of the fns that they call, and counts the variables in scope that gdb can show:
without optimization all of them, with optimization at least 60 %. Compares values with what the kernels compute from known
inputs. `debugger.py --list` also prints which ones are missing. Then runs a session of commands as a user would type them,
and checks that the code is the same with and without -g.
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
LEAST = {0: 1.0, 2: 0.6}
# Each kernel, with the program that launches it, its arguments, and values that it has for them: for the text of a line, the
# values of expressions when gdb first stops there without optimization. They are the same in all blocks. The line is in the
# kernel, or in the fn that is named before its text.
OWN = HERE / "debugger.kdl"
SAMPLES = ROOT / "samples"
KERNELS = [
    (SAMPLES / "matmul/matmul.kdl", "matmul", "chain",
     ["--set", "M=70", "--set", "K=300", "--set", "L=40", "--set", "N=50", "--arg", "a=1", "--arg", "b=2", "--arg", "c=3"],
     {"for k in K": {"acc[0][0]": 0}, "c[i, j] = acc": {"acc[0][0]": 600, "acc[3][5]": 600}}),
    (SAMPLES / "softmax/softmax.kdl", "softmax", "rows", ["--set", "R=9", "--set", "C=300", "--arg", "x=1"],
     {"let z": {"m2[0]": 1, "t[0][3]": 1}, "y[r, c]": {"s[0]": 300, "m[0]": 1}}),
    (SAMPLES / "matmul_residual/matmul_residual.kdl", "matmul_residual", "residual",
     ["--set", "M=70", "--set", "K=300", "--set", "N=90", "--arg", "cores=2", "--arg", "a=1", "--arg", "b=1", "--arg", "res=2"],
     {"for k in K by BK": {"acc[0][0]": 0}}),
    (OWN, "shade", "run_shade", ["--set", "N=200", "--arg", "gain=2", "--arg", "bias=1", "--arg", "x=3"],
     {"let v = x[i] * scale": {"scale": 4}, "y[i] = c + v": {"v[0]": 13, "w[2]": 169, "c[1]": 1},
      ("clamp01", "let low"): {"x": 169}, ("clamp01", "let high"): {"x": 169, "low": 169}}),
    (OWN, "normalize", "run_normalize", ["--set", "R=20", "--set", "D=150", "--arg", "eps=1e-5", "--arg", "x=2"],
     {"let mean": {"total[3]": 300, "squares[0]": 600}, "y[r, d] = (t": {"mean[3]": 2, "variance[0]": 0, "t[1][2]": 2}}),
    (OWN, "gather_rows", "run_gather", ["--set", "V=8", "--set", "N=40", "--set", "D=50", "--arg", "at=3", "--arg", "table=iota"],
     {"y[n, d] = picked": {"row[2]": 3, "picked[0][5]": 155, "d.start": 0, "d.size": 50}}),
    (OWN, "smooth", "run_smooth", ["--set", "N=200", "--arg", "x=1"],
     {"y[i] = mixed": {"left[1]": 1, "here[4]": 1, "mixed[1]": 4}}),
    (OWN, "polynomial", "run_polynomial", ["--set", "N=100", "--arg", "steps=7", "--arg", "x=1"],
     {"power *= x[i]": {"s": 0, "divisor": 1, "power[0]": 1}, "y[i] = value": {"value[0]": 2.7182539, "power[3]": 1 / 5040}}),
    (OWN, "count_above", "run_count", ["--set", "N=100", "--set", "C=3", "--arg", "limit=0.2", "--arg", "x=1"],
     {"counts[c] = found": {"found[0]": 100, "c.start": 0}, "found += sum": {"bound[0]": 0.2, "found[0]": 0}}),
    (OWN, "cumulate", "run_cumulate", ["--set", "R=20", "--set", "C=50", "--arg", "x=1"],
     {"y[r, c] = sums": {"sums[3][0]": 4, "most[3]": 50, "t[49][2]": 1, "c.size": 50}}),
    (OWN, "blend", "run_blend", ["--set", "N=100", "--arg", "weight=0.5", "--arg", "x=1"],
     {("ease", "let squared"): {"v": 2, "strength": 0.5}, ("mix", "let d"): {"a": 2, "b": 4, "t": 0.5},
      ("mix", "return"): {"a": 2, "b": 4, "t": 0.5, "d": 2}, "y[i] = eased": {"eased[0]": 3, "mixed[1]": 3.25}}),
    (OWN, "extrema", "run_extrema", ["--set", "R=20", "--set", "C=3", "--arg", "x=iota"],
     {"let e = x": {"k": 0}, "y[r] = ends": {"ends._0[0]": 0, "ends._1[0]": 2},
      ("ordered", "let both"): {"p._0": 1, "p._1": 2, "shift": 4, "low": 1},
      "z[1] = sorted": {"pair._0": 1, "pair._1": 2, "sorted._0": 1, "sorted._1": 6}}),
    (OWN, "center", "run_center", ["--set", "R=20", "--set", "C=4", "--arg", "x=iota"],
     {("centered", "return"): {"t[1][2]": 6, "middle[1]": 5.5, "c.size": 4, "r.start": 0}}),
]


def call(*words, cwd=None, env=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def called(source, kernel):
    """Returns the names of the fns of the file that the kernel calls, also through other fns."""
    bodies = {name: body for name, body in re.findall(r"\b(?:fn|kernel) (\w+)(.*?)\n}", source, re.S)}
    found, reached = [], [kernel]
    while reached:
        for name in re.findall(r"\b(\w+)(?:<[^()]*>)?\(", bodies[reached.pop()]):
            if name in bodies and name != kernel and name not in found:
                found.append(name)
                reached.append(name)
    return found


def scopes(source, function):
    """Returns the variables in scope at each line of the body of a kernel or fn, read from the text: parameters, sizes, ranges,
    and everything that `let`, `var`, `range` and loops declare. A declaration is in scope from the next line on."""
    text = re.sub(r"//[^\n]*", "", source)
    start = re.search(rf"\b(?:kernel|fn) {function}\b", text).start()
    body = text.index("{", text.index(")", start))
    signature = text[start:body].split("->")[0]
    generics, parameters = re.match(rf"\w+ {function}(?:<(.*?)>)?\((.*)\)", signature, re.S).groups()
    known = set(re.findall(r"(\w+): ", parameters)) | set(re.findall(r"(\w+): int", generics or ""))
    for sizes in re.findall(r"\[(.*?)\]", parameters):
        known |= set(re.findall(r"\b[a-zA-Z]\w*\b", sizes))
    around, at, line = [], {}, text[:body].count("\n") + 1
    for row in text[body:].split("\n"):
        # At the first line of an inlined fn, gdb is still in the caller.
        is_entry = not at and not around and text[start:].startswith("fn")
        if row.strip(" }") and not is_entry:
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
    raise RuntimeError(f"{function} has no end")


def build(file, level, folder, *options):
    out = folder / f"{file.stem}-O{level}"
    if not out.exists():
        call("kernelc", "build", "-g", f"-O{level}", "--emit", "exe,obj", "--target", TARGET, "-o", out, *options, file)
    return out / file.stem


def line_of(file, kernel, text):
    """Returns the number of the first line in the kernel, or in a fn, that contains the text."""
    source = file.read_text()
    function, text = text if isinstance(text, tuple) else (kernel, text)
    at = source.index(text, re.search(rf"\b(?:kernel|fn) {function}\b", source).start())
    return source.count("\n", 0, at) + 1


def probe(program, file, kernel, name, arguments, values, folder):
    """Returns, for each line that gdb reaches, which variables it cannot show, and the values of expressions."""
    wanted = folder / "probe.json"
    source = file.read_text()
    lines = {line: sorted(names) for function in [kernel, *called(source, kernel)]
             for line, names in scopes(source, function).items()}
    expressions = {line_of(file, kernel, text): sorted(wanted) for text, wanted in values.items()}
    wanted.write_text(json.dumps({"file": file.name, "lines": lines, "expressions": expressions}))
    call("gdb", "-nx", "--batch", "-x", HERE / "shared/gdb_probe.py", "--args", program, "--program", name, *arguments,
         env={**os.environ, "KDL_PROBE": str(wanted), "KDL_THREADS": "1"})
    return json.loads(wanted.read_text())


def compare(file, kernel, values, shown):
    """Compares the values that gdb shows with those that the kernel has."""
    for text, wanted in values.items():
        line = str(line_of(file, kernel, text))
        for expression, value in wanted.items():
            found = shown.get(line, {}).get(expression)
            is_same = isinstance(found, float) and abs(found - value) <= 1e-6 * max(abs(value), 1e-3)
            checks.expect(f"{kernel}: {expression} is {value} at '{text}'", is_same, str(found))


def shares(level, folder, lists):
    """Returns how many variables are in scope at all lines, and how many of them gdb shows."""
    wanted, shown = 0, 0
    for file, kernel, program, arguments, values in KERNELS:
        found, shown_values = probe(build(file, level, folder), file, kernel, program, arguments, values, folder)
        if not found:
            raise RuntimeError(f"gdb does not stop in {kernel} at -O{level}")
        if level == 0:
            compare(file, kernel, values, shown_values)
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
    file, _, program, arguments, _ = KERNELS[0]
    output = session(build(file, 0, folder), ["--program", program, *arguments], [
        "break matmul.kdl:10", "run", "info args", "print BK", "print i", "print i.start", "print acc[2][3]",
        "backtrace 1", "delete", "next"])
    expect_all("matmul", output, r"hit Breakpoint 1\.\d+, matmul \(", r"M = 70", r"= 256", r"= \d+ \.\. \d+", r"= \d+\n", r"= 600\n",
               r"#0  matmul \(a=", r"\n\d+\t")
    file, _, program, arguments, _ = KERNELS[1]
    output = session(build(file, 0, folder), ["--program", program, *arguments], [
        "break softmax.kdl:9", "run", "print r", "print c.size", "print m2[0]", "print z[0]", "print t[0][3]", "tbreak softmax.kdl:12",
        "delete 1", "continue", "print s[0]"])
    expect_all("softmax", output, r"hit Breakpoint 1, softmax \(", r"= \d \.\. \d", r"= 300\n", r"= 1\n", r"= 1\n", r"= 1\n", r"= 300\n")
    # Stepping over the inner loop ends at the line after it.
    output = session(build(file, 0, folder), ["--program", program, *arguments], [
        "tbreak softmax.kdl:5", "run", "until softmax.kdl:12", "print s[0]"])
    expect_all("softmax, over a loop", output, r"\n5\t", r"\n12\t", r"= 300\n")
    file, _, program, arguments, _ = KERNELS[2]
    output = session(build(file, 0, folder), ["--program", program, *arguments], [
        "break matmul_residual.kdl:12", "run", "print M", "print acc[1][1]", "backtrace 1", "tbreak matmul_residual.kdl:17", "delete 1",
        "continue", "print N", "backtrace 1"])
    expect_all("matmul_residual", output, r"hit Breakpoint 1", r"= 70\n", r"= 0\n", r"#0  matmul_residual",
               r"hit Temporary breakpoint 2", r"= 90\n", r"#0  matmul_residual")
    # In an inlined fn, variables are those of the current element.
    output = session(build(OWN, 0, folder), ["--program", "run_shade", *KERNELS[3][3]], [
        "break debugger.kdl:5", "run", "print low", "info args", "backtrace 2", "up", "print w[0]"])
    expect_all("clamp01", output, r"hit Breakpoint 1", r"= 169\n", r"x = 169\n", r"#0  clamp01 \(x=169\)", r"#1  shade \(", r"= 169\n")
    output = session(build(OWN, 0, folder), ["--program", "run_extrema", "--set", "R=20", "--set", "C=3", "--arg", "x=iota"], [
        f"break debugger.kdl:{line_of(OWN, 'extrema', ('ordered', 'let both'))}", "run", "info args", "backtrace 2"])
    expect_all("ordered", output, r"hit Breakpoint 1", r"p = {_0 = 1, _1 = 2}\n", r"shift = 4\n", r"#0  ordered \(p=\.\.\., shift=4\)",
               r"#1  extrema \(")
    output = session(build(OWN, 0, folder), ["--program", "run_gather", *(word.replace("at=3", "at=9") for word in KERNELS[5][3])], [
        "tbreak gather_rows", "run", "break kdl_trapped", "continue", "backtrace 2", "up", "print n.start"])
    expect_all("gather_rows", output, r"hit Breakpoint 2", r"#0 .* kdl_trapped", r"#1 .* gather_rows \(.*debugger\.kdl:44", r"= \d+\n")


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
