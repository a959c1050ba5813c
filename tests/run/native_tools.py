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


def check_lldb(folder):
    out = folder / "unoptimized"
    call("kernelc", "build", "-g", "-O0", "--emit", "exe", "--target", TARGET, "-o", out, SOFTMAX)
    found = call("lldb-19", "--no-lldbinit", "--batch", "-o", "breakpoint set --file softmax.kdl --line 9", "-o", "run",
                 "-o", "frame variable r c m2 R", "-o", "bt 1", "--", out / "softmax", *SIZES[SOFTMAX],
                 "--arg", "x=1", "--core-num", "1", code=None)
    if "cannot launch" in found or "personality set failed" in found:
        return checks.skip("lldb", "it cannot run programs here")
    for part in (r"stop reason = breakpoint 1", r"softmax\.kdl:9", r"\(range\) r = \(start = 0, size = \d+\)", r"m2 = ", r"R = 40",
                 r"frame #0: .*softmax"):
        checks.expect(f"lldb: {part}", re.search(part, found), found)
    return None


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
