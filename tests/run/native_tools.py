#!/usr/bin/env python3
"""Checks that the tools for native programs show lines of .kdl files: valgrind, perf, lldb and AddressSanitizer.

valgrind must find no error in kernels. A tool that is not installed, or that this machine does not let run, is skipped.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
TARGET = "host?isa=x86-64-v3"
SOFTMAX = ROOT / "samples/softmax/softmax.kdl"
MATMUL = ROOT / "samples/matmul_residual/matmul_residual.kdl"
SIZES = {SOFTMAX: ["--program", "rows", "--set", "R=40", "--set", "C=3000"],
         MATMUL: ["--program", "residual", "--set", "M=70", "--set", "K=300", "--set", "N=90", "--arg", "cores=1"]}
# A caller whose output has one element less than the kernel writes.
CALLER = r"""
#include <stdlib.h>
#include "short.h"
int main(void) {
  enum { N = 100 };
  float* x = calloc(N, sizeof *x);
  float* y = malloc((N - 1) * sizeof *y);
  short_kernels* kernels = NULL;
  if (short_open(NULL, "host", &kernels) != NULL) return 3;
  return short_scale(kernels, N, x, y) == NULL ? 0 : 4;
}
"""
SHORT = """export kernel scale(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 1024 {
        y[i] = 2.0 * x[i];
    }
}
"""
# Types that lldb does not know, or shows as letters, and a size that is an expression.
SHAPES = """kernel shapes(w: bf16, x: in bf16[N], n: in u8[4], z: in f32[(N + 15) / 16], y: out f32[N]) {
    spmd for i in N by 16 {
        let a = x[i];
        let b = a as i8;
        let c = b - 2;
        let d = a as f32;
        y[i] = d + (c as f32) + (w as f32) + (n[0] as f32) + z[0];
    }
}
export program run(x: in bf16[N], n: in u8[4], z: in f32[(N + 15) / 16], y: out f32[N]) { spmd(core_num = 1) shapes(1.5, x, n, z, y); }
"""


def call(*words, cwd=None, code=0):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=300)
    if code is not None and done.returncode != code:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def build(file, folder):
    call("kernelc", "build", "-g", "--emit", "exe", "--target", TARGET, "-o", folder, file)
    return folder / file.stem


def has(tool):
    if shutil.which(tool):
        return True
    checks.skip(tool, "it is not installed")
    return False


def check_valgrind(folder):
    for file, arguments in SIZES.items():
        program = build(file, folder)
        found = call("valgrind", "--error-exitcode=9", "--quiet", program, *arguments, "--core-num", "1", code=None)
        checks.expect(f"valgrind: {file.stem} has no errors", "==" not in found, found)
    profile = folder / "callgrind.out"
    call("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", folder / SOFTMAX.stem, *SIZES[SOFTMAX])
    text = call("callgrind_annotate", "--auto=yes", "--threshold=100", profile)
    checks.expect("callgrind shows the instructions of a line", re.search(r"[\d,]+ \([ \d.]+%\).*exp\(t - z\)", text), text[-3000:])


def check_perf(folder):
    program, data = build(SOFTMAX, folder), folder / "perf.data"
    recorded = call("perf", "record", "-e", "cpu-clock:u", "-F", "4000", "-o", data, program, "--program", "rows", "--set", "R=2000",
                    "--set", "C=3000", "--core-num", "1", code=None)
    if not data.exists() or data.stat().st_size == 0:
        return checks.skip("perf", f"it cannot record here: {recorded.splitlines()[0] if recorded else ''}")
    text = call("perf", "annotate", "--stdio", "-l", "-i", data, code=None)
    lines = call("perf", "report", "--stdio", "-i", data, "-s", "srcline", code=None)
    checks.expect("perf annotate shows lines", "softmax.kdl:" in text, text[:3000])
    checks.expect("perf report shows lines", re.search(r"[\d.]+%.*softmax\.kdl:\d+", lines), lines[:3000])
    return None


def lldb(program, line, arguments, *commands):
    """Returns what lldb prints for the commands when the program stops at a line of its source, or None if it cannot run here."""
    words = ["lldb-19", "--no-lldbinit", "--batch", "-o", f"command script import {BUILD}/share/lldb/kernelc/kdl_formatters.py"]
    for command in (f"breakpoint set --file {program.name}.kdl --line {line}", "run", *commands):
        words += ["-o", command]
    found = call(*words, "--", program, *arguments, "--core-num", "1", code=None)
    return None if "cannot launch" in found or "personality set failed" in found else found


def check_lldb(folder):
    out = folder / "unoptimized"
    (folder / "shapes.kdl").write_text(SHAPES)
    for file in (SOFTMAX, folder / "shapes.kdl"):
        call("kernelc", "build", "-g", "-O0", "--emit", "exe", "--target", TARGET, "-o", out, file)
    # A block has room for 4 rows, of which only 3 exist.
    found = lldb(out / "softmax", 9, [*SIZES[SOFTMAX][:3], "R=3", "--set", "C=2", "--arg", "x=1"],
                 "frame variable r c m2 R t x", "frame variable t[1][1]", "bt 1")
    if found is None:
        return checks.skip("lldb", "it cannot run programs here")
    rows = "{{1, 1}, {1, 1}, {1, 1}}"
    expect_parts("softmax in lldb", found, "stop reason = breakpoint 1", "softmax.kdl:9", "(range) r = 0 .. 3", "(range) c = 0 .. 2",
                 "(f32[r]) m2 = [r = 0 .. 3] {1, 1, 1}", "R = 3", f"(f32[r, c]) t = [r = 0 .. 3, c = 0 .. 2] {rows}",
                 f"(f32[R, C]) x = [R = 3, C = 2] {rows}", "t[1][1] = 1", "frame #0: ", f"`softmax(x=[R = 3, C = 2] {rows}")
    found = lldb(out / "shapes", 7, ["--program", "run", "--set", "N=40", "--arg", "x=iota", "--arg", "n=iota", "--arg", "z=0.5"],
                 "frame variable a c w n z", "frame variable x[39]")
    # The blocks of an elementwise kernel are executed as one, and 32 elements are shown.
    expect_parts("shapes in lldb", found, f"(bf16[i]) a = [i = 0 .. 40] {{{', '.join(map(str, range(32)))}, ...}}",
                 f"(i8[i]) c = [i = 0 .. 40] {{{', '.join(map(str, range(-2, 30)))}, ...}}",
                 "w = 1.5", "(u8[4]) n = [4] {0, 1, 2, 3}", "z = [((N + 15) / 16) = 3] {0.5, 0.5, 0.5}", "x[39] = 39")
    return None


def expect_parts(what, text, *parts):
    """Checks that the text contains all parts, in this order."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        checks.expect(f"{what}: {part}", found >= 0, text)
        at = max(found, at)


def check_address_sanitizer(folder):
    for level in ("-O0", "-O2"):
        out = folder / f"short{level}"
        out.mkdir()
        (out / "short.kdl").write_text(SHORT)
        (out / "caller.c").write_text(CALLER)
        call("kernelc", "build", "-g", level, "--sanitize=address", "--target", TARGET, "--emit", "header,c,obj", "-o", ".", "short.kdl", cwd=out)
        call("gcc", "-g", "-fsanitize=address", "-I", ROOT / "include", "-c", "caller.c", "short.c", cwd=out)
        call("g++", "-fsanitize=address", *out.glob("*.o"), BUILD / "lib/libkdl_runtime.a", "-ldl", "-pthread", "-o", "caller", cwd=out)
        found = call("./caller", cwd=out, code=None)
        checks.expect(f"AddressSanitizer finds the write at {level}", "heap-buffer-overflow" in found, found)
        checks.expect(f"AddressSanitizer shows the line at {level}", re.search(r"#0 .*short\.kdl:3", found), found)


def main():
    with tempfile.TemporaryDirectory(prefix="native-tools-") as name:
        folder = pathlib.Path(name)
        if has("valgrind"):
            check_valgrind(folder)
        if has("perf"):
            check_perf(folder)
        if has("lldb-19"):
            check_lldb(folder)
        check_address_sanitizer(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
