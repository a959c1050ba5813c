#!/usr/bin/env python3
"""Tests `--emit ffi`: functions of the TVM FFI. A small caller with the same binary interface takes the place of that library, which
need not be installed: structs of ctypes, and the function that receives errors."""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from shared import checks

BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]

KERNELS = """
export kernel axpy<T: f32 | i16>(a: T, x: in T[N], y: inout T[N]) {
    spmd for i in N by 64 { y[i] += a * x[i]; }
}
export kernel at(x: in u8[N], i: i32, yes: bool, y: out f64[1]) {
    spmd for k in 1 by 1 { y[k] = if yes then x[i + k] as f64 else 0.5; }
}
export kernel nothing() { spmd for i in 1 by 1 { } }
"""
# The function of the TVM FFI that receives errors.
RECEIVER = """
#include <stdio.h>
char raised[1000];
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) { snprintf(raised, sizeof raised, "%s: %s", kind, message); }
"""


class Value(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("number", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class Any(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("reserved", ctypes.c_uint32), ("value", Value)]


class Tensor(ctypes.Structure):
    """A DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Object(ctypes.Structure):
    """A tensor object: a header, then the tensor."""
    _fields_ = [("header", ctypes.c_uint64 * 3), ("tensor", Tensor)]


INTEGER, BOOL, FLOAT, STRING, POINTER, OBJECT = 1, 2, 3, 8, 7, 70
CODES = {ctypes.c_float: (2, 32), ctypes.c_double: (2, 64), ctypes.c_int16: (0, 16), ctypes.c_uint8: (1, 8)}


def tensor(array, sizes=None, strides=None, offset=0, device=1):
    """Returns a DLTensor of a ctypes array. It keeps everything alive that it points to."""
    sizes = [len(array)] if sizes is None else sizes
    made = Tensor(ctypes.addressof(array), (device, 0), len(sizes), *CODES[array._type_], 1, (ctypes.c_int64 * len(sizes))(*sizes),
                  None if strides is None else (ctypes.c_int64 * len(strides))(*strides), offset)
    made.array = array
    return made


def any_of(value):
    if isinstance(value, (Any, Object)):
        return value if isinstance(value, Any) else Any(OBJECT, 0, Value(pointer=ctypes.addressof(value)))
    if isinstance(value, Tensor):
        return Any(POINTER, 0, Value(pointer=ctypes.addressof(value)))
    if isinstance(value, bool):
        return Any(BOOL, 0, Value(integer=value))
    return Any(INTEGER, 0, Value(integer=value)) if isinstance(value, int) else Any(FLOAT, 0, Value(number=value))


def build(folder):
    (folder / "ops.kdl").write_text(KERNELS)
    (folder / "receiver.c").write_text(RECEIVER)
    run = lambda *words: subprocess.run(words, cwd=folder, check=True)
    run("kernelc", "build", "ops.kdl", "--emit", "header,ffi,obj", "-o", ".")
    run("gcc", "-shared", "-fPIC", "receiver.c", "-o", "receiver.so")
    compile_with = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I", ROOT / "include"]
    objects = [*folder.glob("*.o"), f"-L{BUILD}/lib", "-lkdl", f"-Wl,-rpath,{BUILD}/lib"]
    run("gcc", "-std=c11", *compile_with, "ops.ffi.c", *objects, "-o", "ops.so")
    run("g++", "-std=c++20", "-x", "c++", *compile_with, "ops.ffi.c", "-x", "none", *objects, "-o", "ops_cpp.so")


def test(folder, name):
    receiver = ctypes.CDLL(str(folder / "receiver.so"), ctypes.RTLD_GLOBAL)
    raised = (ctypes.c_char * 1000).in_dll(receiver, "raised")
    library = ctypes.CDLL(str(folder / name))

    def call(kernel, *values):
        """Returns the text of the error, or an empty text."""
        given = [any_of(value) for value in values]
        result = Any(FLOAT, 0, Value(number=1.0))
        code = getattr(library, f"__tvm_ffi_{kernel}")(None, (Any * max(len(given), 1))(*given), len(given), ctypes.byref(result))
        checks.expect(f"{name}: {kernel} returns none or -1", code == (0 if result.type == 0 else -1), f"{code} {result.type}")
        return "" if code == 0 else raised.value.decode()

    x, y = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_float * 4)(1, 1, 1, 1)
    checks.expect(f"{name}: tensors by pointer", call("axpy", 2.0, tensor(x), tensor(y)) == "" and list(y) == [3, 5, 7, 9])
    checks.expect(f"{name}: tensor objects", call("axpy", 1, Object(tensor=tensor(x)), Object(tensor=tensor(y))) == "" and list(y) == [4, 7, 10, 13])
    small = (ctypes.c_int16 * 3)(5, 6, 7)
    checks.expect(f"{name}: the instance fits the types", call("axpy", -1, tensor((ctypes.c_int16 * 3)(1, 1, 1)), tensor(small)) == "" and
                  list(small) == [4, 5, 6])
    checks.expect(f"{name}: offsets", call("axpy", 1.0, tensor(x, [2], offset=8), tensor(y, [2], offset=4)) == "" and list(y) == [4, 10, 14, 13])
    one = (ctypes.c_double * 1)()
    bytes_ = (ctypes.c_uint8 * 3)(7, 8, 9)
    checks.expect(f"{name}: numbers", call("at", tensor(bytes_), 2, True, tensor(one)) == "" and one[0] == 9)
    checks.expect(f"{name}: bools", call("at", tensor(bytes_), 2, False, tensor(one)) == "" and one[0] == 0.5)
    checks.expect(f"{name}: no arguments", call("nothing") == "")
    for what, kind, values in [
        ("ops.kdl:6:", "RuntimeError", ("at", tensor(bytes_), 3, True, tensor(one))),
        ("axpy has 3 parameters, but is called with 2", "ValueError", ("axpy", 1.0, tensor(x))),
        ("axpy is called with x: f64[1], y: f64[1]; it takes", "ValueError", ("axpy", 1.0, tensor(one), tensor(one))),
        ("share memory", "ValueError", ("axpy", 1.0, tensor(y), tensor(y))),
        ("'i' must be an integer (i32), not 0.5", "ValueError", ("at", tensor(bytes_), 0.5, True, tensor(one))),
        ("which i32 cannot represent", "ValueError", ("at", tensor(bytes_), 2**31, True, tensor(one))),
        ("'x' must be a tensor, not a number", "ValueError", ("axpy", 1.0, 1.0, tensor(y))),
        ("'a' must be a number (f32), not a tensor", "ValueError", ("axpy", tensor(x), tensor(x), tensor(y))),
        ("argument 0 must be a number or a tensor", "ValueError", ("axpy", Any(STRING), tensor(x), tensor(y))),
        ("'argument 1' is in the memory of another device", "ValueError", ("axpy", 1.0, tensor(x, device=2), tensor(y))),
        ("has 9 dimensions", "ValueError", ("axpy", 1.0, tensor(x, [1] * 9), tensor(y))),
    ]:
        text = call(*values)
        checks.expect(f"{name}: {what}", what in text and text.startswith(kind), text)
    checks.expect(f"{name}: a failed call changes nothing", list(y) == [4, 10, 14, 13])
    child = os.fork()
    if child == 0:
        os._exit(0 if call("axpy", 1.0, tensor(x), tensor(y)) == "" and list(y) == [5, 12, 17, 17] else 1)
    checks.expect(f"{name}: a forked child opens the kernels again", os.waitpid(child, 0)[1] == 0)


def fork_while_opening(folder):
    """A child works although another thread of its parent was opening the kernels."""
    for n in range(5):
        library = ctypes.CDLL(str(shutil.copy(folder / "ops.so", folder / f"ops{n}.so")))
        call = lambda: getattr(library, "__tvm_ffi_nothing")(None, (Any * 1)(), 0, ctypes.byref(Any()))
        codes = []
        threads = [threading.Thread(target=lambda: codes.append(call())) for _ in range(3)]
        for thread in threads:
            thread.start()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(-call())
        ended = os.waitpid(child, 0)[1]
        for thread in threads:
            thread.join()
        checks.expect("a child of a process that opens kernels", ended == 0 and codes == [0, 0, 0], f"{ended} {codes}")


with tempfile.TemporaryDirectory() as folder:
    build(pathlib.Path(folder))
    test(pathlib.Path(folder), "ops.so")
    test(pathlib.Path(folder), "ops_cpp.so")
    fork_while_opening(pathlib.Path(folder))
sys.exit(checks.end())
