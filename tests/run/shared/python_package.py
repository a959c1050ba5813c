"""Runs Python texts that use the package `kernelc` of the build."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks

PACKAGE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"

BEGIN = '''
import gc, os, pathlib, threading, time
import numpy as np
import kernelc

SOURCE = """
export kernel axpy(a: f32, x: in f32[N], y: inout f32[N]) {
    spmd for i in N by 64 { y[i] += a * x[i]; }
}
export kernel both<T: f32 | f64 | i32>(x: in T[M, N], twice: out T[N, M], row: out T[2 * N + 1]) {
    spmd for i in M by 8, j in N by 8 { twice[j, i] = x[i, j] + x[i, j]; }
    spmd for k in 2 * N + 1 by 8 { row[k] = 7; }
}
export kernel at(x: in u8[N], i: i32, y: out u8[1]) {
    spmd for k in 1 by 1 { y[k] = x[i + k]; print("read", i); }
}
"""

def fails(what, kind, call):
    try:
        call()
    except kind as error:
        assert what in str(error), f"{kind.__name__}: {error}"
    else:
        raise AssertionError(f"no {kind.__name__} with {what}")

class OnlyDlpack:
    """An array without the buffer protocol."""
    def __init__(self, array): self.array = array
    def __dlpack__(self, **keywords): return self.array.__dlpack__()
    def __dlpack_device__(self): return self.array.__dlpack_device__()

module = kernelc.compile(SOURCE)
'''


def run(text, folder, name="check.py"):
    file = folder / name
    file.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KDL_CACHE_DIR": str(folder / "cache")}
    return subprocess.run([sys.executable, "-W", "error", file], capture_output=True, text=True, timeout=120, env=environment)


def check_all(texts, more=lambda folder: None):
    """Runs these Python texts, {what holds: text}, and then `more`, in a folder. Returns the exit code of the test."""
    if not list(PACKAGE.glob("kernelc/_core*.so")):
        print("the build has no Python package, because Python's headers are missing")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, text in texts.items():
            done = run(BEGIN + text, folder)
            checks.expect(what, done.returncode == 0, done.stdout + done.stderr)
        more(folder)
    return checks.end()
