#!/usr/bin/env python3
"""Checks how compile time grows with the file: four hundred kernels take at most 44 times the time of ten,
and the passes of a block with 4,000 statements take at most 10 times those of a block with 500.
Machine code of 8,000 statements takes at most 13 times that of 1,000, and of 200 reductions in a block at most 6 times
that of 50. PTX of rows of a million elements takes at
most 4 times that of rows of 4,096, because the elements of a thread are a loop. `kernelc check` takes at most three times
as long for library files with hard proofs, or with many instances of each kernel, as for one with simple proofs.

Sixty values in a row, each used twice by the next value, must compile in seconds, and so must indices nested
two hundred deep. A pass that revisited every use would never end. Chains of files that import each other may
be longer than the stack allows for recursion.

Measures processor time, both user and system. For the small file, the median of several runs before and after
the large file counts, because other load slows both."""

import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

SMALL, LARGE = 10, 400
MOST = 44
TRIES = 3  # other load on the machine shares its caches, so a slow result is repeated
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
# Each file has the same number of each kernel.
KERNELS = ["""
export kernel scale{n}(a: f32, x: in f32[N], y: out f32[N]) {{
    spmd for i in N by 256 {{ y[i] = a * x[i] + {n}.0; }}
}}
""", """
export kernel shift{n}(x: in f32[N], y: out f32[N]) {{
    spmd for i in N by 128 {{ y[i] = if x[i] > {n}.0 then x[i] - {n}.0 else x[i] * 0.5; }}
}}
""", """
export kernel add{n}(x: in f32[M, N], y: in f32[M, N], z: out f32[M, N]) {{
    spmd for i in M by 16, j in N by 64 {{ z[i, j] = max(x[i, j] + y[i, j], 0.0); }}
}}
""", """
export kernel total{n}(x: in f32[R, C], y: out f32[R]) {{
    spmd for r in R by 8 {{
        var s: f32[r] = 0;
        for c in C by 128 {{ s += sum(x[r, c] over c); }}
        y[r] = s;
    }}
}}
""", """
export kernel product{n}(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {{
    spmd for i in M by 8, j in N by 32 {{
        var acc: f32[i, j] = 0;
        for k in K by 64 {{ acc += dot(a[i, k], b[k, j] over k); }}
        c[i, j] = acc;
    }}
}}
"""]


HOST = "host?isa=" + ("x86-64-v3" if platform.machine() == "x86_64" else "armv8-a")


def seconds(source, level, emit="obj", *words, target=HOST):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["kernelc", "build", source, "--emit", emit, *words, "-O", level, "--target", target,
                    "-o", source.parent], check=True, timeout=600, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# Blocks of many statements, compiled up to LLVM. Each statement loads the same element, or uses the previous
# statement's value.
STATEMENTS = {
    "values that follow from each other": ("let t0 = x[i];", "let t{n} = t{before} * 0.5 + {n}.0;", "y[i] = t{last};"),
    "loads": ("var v: f32[i] = 0;", "v += x[i] * {n}.0;", "y[i] = v;"),
    "values of no use": ("var v: f32[i] = 0;", "let t{n} = x[i] * {n}.0;", "y[i] = x[i];"),
}
FEW, MANY = 500, 4000
MOST_OF_STATEMENTS = 10
# A block of many statements, compiled by LLVM, whose basic block is split.
MOST_OF_CODE = 13  # without splitting it was 23
IN_CODE = ("let t0 = x[i];", "let t{n} = t{before} * 1.5 + x[i];", "y[i] = t{last};")

# Reductions, each with loops of its own. LLVM compiles parts of a long body as functions.
MOST_OF_REDUCTIONS = 6  # in one function it was 14
FEW_REDUCTIONS, MANY_REDUCTIONS = 50, 200


def takes_at_most(limit, what, seconds_of, few, many, runs=5):
    """Whether `many` takes at most `limit` times the time of `few`, in one of several tries."""
    for _ in range(TRIES):
        base = statistics.median(seconds_of(few) for _ in range(runs))
        time = seconds_of(many)
        print(f"{what}: {many} take {time / base:.1f} times the {base:.3f} s of {few}")
        if time <= limit * base:
            return True
    return False


def statements_grow_linearly(folder, name, statements, few_count, most, *words):
    def seconds_of(count):
        first, each, last = statements
        body = [first, *(each.format(n=n, before=n - 1) for n in range(1, count)), last.format(last=count - 1)]
        source = folder / f"statements{count}.kdl"
        source.write_text("export kernel f(x: in f32[N], y: out f32[N]) {\nspmd for i in N by 64 {\n" + "\n".join(body) + "\n}\n}\n")
        return seconds(source, *words)

    return takes_at_most(most, f"statements, {name}", seconds_of, few_count, MANY // FEW * few_count)


def reductions_grow_linearly(folder):
    def seconds_of(count):
        source = folder / f"reductions{count}.kdl"
        sums = "".join(f"s += sum(x[i, j] * {n}.0 over j);\n" for n in range(count))
        source.write_text("export kernel f(x: in f32[N, M], y: out f32[N]) {\nspmd for i in N by 16 {\n"
                          f"range j in M max 512;\nvar s: f32[i] = 0;\n{sums}y[i] = s;\n}}\n}}\n")
        return seconds(source, "2")

    return takes_at_most(MOST_OF_REDUCTIONS, "machine code, reductions", seconds_of, FEW_REDUCTIONS, MANY_REDUCTIONS, runs=3)


# A row that stays in a block, stored by the threads of a workgroup. A thread has 8 groups of elements of a short row.
SHORT_ROW, LONG_ROW = 4096, 1 << 20
MOST_OF_ROWS = 4  # with separate code for each group it was 200


def rows_take_constant_time(folder):
    def seconds_of(most):
        source = folder / f"row{most}.kdl"
        source.write_text("export kernel f(x: in f32[R, C], y: out f32[R, C]) {\nspmd for i in R by 1 {\n"
                          f"range c in C max {most};\nlet m = max(x[i, c] over c);\ny[i, c] = exp(x[i, c] - m);\n}}\n}}\n")
        return seconds(source, "2", "ptx", target="cuda")

    return takes_at_most(MOST_OF_ROWS, "elements of a row, PTX", seconds_of, SHORT_ROW, LONG_ROW)


SIMPLE_PROOFS = "std.elementwise"  # about 200 lines
# How often its time `kernelc check` may take. The comment says how often it was when isl handled all sets, and each
# instance was proven by itself.
HARD_PROOFS = {"std.windows": 2, "std.index": 3, "std.sort": 3}  # 3.0, 8.5, 4.9


def proofs_are_fast():
    def seconds_of(library):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["kernelc", "check", library], check=True, timeout=600, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return all([takes_at_most(most, "proofs", seconds_of, SIMPLE_PROOFS, library) for library, most in HARD_PROOFS.items()])


# How each value of a chain is computed from two uses of the previous value.
TWICE = ["{p} + {p}", "{p} * 3 - {p}", "({p} + 7) / ({p} * {p} + 1)", "({p} + 5) % ({p} * {p} + 3)", "min({p} + 1, {p} * 2)", "-{p} - {p}",
         "if {p} > 3 then {p} + 1 else {p} * 2"]
TWICE_BOOLS = ["{p} && !{p}", "{p} || {p}", "{p} == ({p} || a > 7)"]
INDICES = ["at[{p} else 0] + 1", "at[{p} else 0] * 3 / 7", "at[{p} % 5 else 0] - 1"]
CHAIN, NEST, MOST_S = 60, 200, 20
FILES = 8000


def ends(folder, name, body):
    source = folder / "deep.kdl"
    source.write_text("export kernel f(a: i64, at: in u8[N], x: in f32[N], y: inout f32[N]) {\n" + body + "\n}\n")
    try:
        done = subprocess.run(["kernelc", "build", source, "-O", "0", "-o", folder], timeout=MOST_S, stderr=subprocess.PIPE, text=True)
    except subprocess.TimeoutExpired:
        print(f"{name}: more than {MOST_S} s")
        return False
    wrong = done.returncode != 0 and "cannot prove" not in done.stderr
    print(f"{name}: {done.stderr}" if wrong else f"{name}: ends")
    return not wrong


def uses_are_shared(folder):
    def chain(first, step, use):
        return "\n".join([f"let t0 = {first};", *(f"let t{n} = {step.format(p=f't{n - 1}')};" for n in range(1, CHAIN + 1)), use])

    rows = [(step, chain("a", step, f"spmd for i in N by 64 {{ y[i] = x[t{CHAIN}]; }}")) for step in TWICE]
    rows += [(step + " of an index", "spmd for i in 0..N {" + chain("i", step, f"if t{CHAIN} == i {{ y[t{CHAIN}] = x[i]; }}") + "}")
             for step in TWICE]
    rows += [(step, chain("a > 3", step, f"if t{CHAIN} {{ spmd for i in N by 64 {{ y[i] = x[i]; }} }}")) for step in TWICE_BOOLS]
    pairs = " && ".join(f"(i > {n * 7} || i == {n * 7 - 3})" for n in range(CHAIN))
    rows.append(("pairs of conditions", f"spmd for i in 0..N {{ if {pairs} {{ y[i] = x[i]; }} }}"))
    for index in INDICES:
        nest = "i"
        for _ in range(NEST):
            nest = index.format(p=nest)
        rows.append((f"{NEST} of {index}", f"spmd for i in N by 64 {{ y[i] = x[{nest} else 0.0]; }}"))
    return all([ends(folder, *row) for row in rows])


def grows_linearly(folder, level):
    small, large = (folder / f"kernels{count}.kdl" for count in (SMALL, LARGE))
    for source, count in ((small, SMALL), (large, LARGE)):
        source.write_text("".join(KERNELS[n % len(KERNELS)].format(n=n) for n in range(count)))
    for _ in range(TRIES):
        times = [seconds(small, level) for _ in range(4)]
        large_time = seconds(large, level)
        usual = statistics.median(times + [seconds(small, level) for _ in range(4)])
        ratio = large_time / usual
        print(f"-O{level}: {LARGE} kernels take {ratio:.0f} times the {usual:.3f} s of {SMALL}")
        if ratio <= MOST:
            return True
    return False


def imports_take_no_stack(folder):
    for n in range(FILES):
        next_one = f"import f{n + 1};\n" if n + 1 < FILES else ""
        (folder / f"f{n}.kdl").write_text(f"{next_one}export fn g(x: f32) -> f32 {{ return x; }}\n")
    source = folder / "row.kdl"
    source.write_text("import f0;\nexport kernel k(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = f0.g(x[i]); } }\n")
    done = subprocess.run(["kernelc", "build", source, "--emit", "header", "-o", folder], timeout=120)
    print(f"{FILES} files that import each other in a row: exit code {done.returncode}")
    return done.returncode == 0


def main():
    if re.search(r"^KDL_SANITIZE:\w+=.+$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE):
        print("times of a sanitizer build say nothing")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="compile-time-") as name:
        linear = [uses_are_shared(pathlib.Path(name))]
        linear += [imports_take_no_stack(pathlib.Path(name))]
        linear += [proofs_are_fast()]
        linear += [statements_grow_linearly(pathlib.Path(name), kind, statements, FEW, MOST_OF_STATEMENTS, "1", "ir", "--stop-after=expand-tiles")
                   for kind, statements in STATEMENTS.items()]
        linear += [statements_grow_linearly(pathlib.Path(name), "machine code", IN_CODE, 2 * FEW, MOST_OF_CODE, "2")]
        linear += [reductions_grow_linearly(pathlib.Path(name))]
        linear += [rows_take_constant_time(pathlib.Path(name))]
        linear += [grows_linearly(pathlib.Path(name), level) for level in "01"]
    sys.exit(0 if all(linear) else 1)


if __name__ == "__main__":
    main()
