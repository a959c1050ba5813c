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
export kernel scaled(a: f32, b: i32, c: u8, d: f64, e: bool, x: in f32[M, N], y: out f32[M, N]) {
    spmd for i in M by 8, j in N by 64 { y[i, j] = if e then a * x[i, j] + b as f32 else (c as f64 + d) as f32; }
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
        ("argument 0 must be a number or a tensor, not a string", "ValueError", ("axpy", Any(STRING), tensor(x), tensor(y))),
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


def repeated_calls(folder):
    """A call is not checked if its arguments are those of the call before. So here one argument after another changes."""
    library = ctypes.CDLL(str(folder / "ops.so"))

    def call(*values):
        given = [any_of(value) for value in values]
        return library.__tvm_ffi_scaled(None, (Any * len(given))(*given), len(given), ctypes.byref(Any()))

    def expected(a, b, c, d, e, x):
        return [(a * one + b) if e else c + d for one in x]

    first, second = ((ctypes.c_float * 7)(*range(k, k + 7)) for k in (1, 11))
    results = [(ctypes.c_float * 7)() for _ in range(2)]
    usual = [2.0, 3, 4, 0.5, True]
    cases = [("the same", usual, first, {}), ("a float", [3.0, *usual[1:]], first, {}), ("an integer", [2.0, -3, *usual[2:]], first, {}),
             ("an integer for a float", [2, *usual[1:]], first, {}), ("a bool", [*usual[:4], False], first, {}),
             ("an unsigned integer", [2.0, 3, 5, 0.5, False], first, {}), ("a float of 64 bits", [2.0, 3, 5, 0.25, False], first, {}),
             ("a pointer", usual, second, {}), ("an offset", usual, first, {"offset": 4}), ("sizes", usual, first, {"sizes": [3, 2]}),
             ("strides", usual, first, {"strides": [3, 1]}), ("strides that matter", usual, first, {"strides": [4, 1]}),
             ("strides of one element", usual, first, {"sizes": [1, 6], "strides": [1, 1]})]
    for what, numbers, x, changes in cases:
        wrong = []
        for result in results:
            for numbers_now, x_now, now in [(usual, first, {}), (usual, first, {}), (usual, first, {}), (numbers, x, changes), (usual, first, {})]:
                sizes = now.get("sizes", [2, 3])
                result[:] = [-1.0] * 7
                code = call(*numbers_now, tensor(x_now, **{"sizes": sizes, **now}), tensor(result, sizes))
                row = now.get("strides", [sizes[1]])[0]
                read = [x_now[now.get("offset", 0) // 4 + i * row + j] for i in range(sizes[0]) for j in range(sizes[1])]
                if code != 0 or list(result) != expected(*numbers_now, read) + [-1.0]:
                    wrong.append((code, numbers_now, list(result)))
        checks.expect(f"a call that changes {what}", wrong == [], str(wrong))
    x = tensor(first, [2, 3])
    refused = [(2.0, 2**31, 4, 0.5, True, x, tensor(results[0], [2, 3])), (2.0, 3, -4, 0.5, True, x, tensor(results[0], [2, 3])),
               (*usual, tensor(first, [2, 3], device=2), tensor(results[0], [2, 3])), (*usual, x, tensor((ctypes.c_double * 6)(), [2, 3])),
               (*usual, x, x), (*usual, x, tensor(results[0], [3, 2])), (*usual, x)]
    for number, values in enumerate(refused):
        codes = [call(*usual, x, tensor(results[0], [2, 3])) for _ in range(3)] + [call(*values)]
        checks.expect(f"wrong arguments {number} after right ones are refused", codes == [0, 0, 0, -1], str(codes))
    libm = ctypes.CDLL("libm.so.6")
    upward = 0x800
    libm.fesetround(upward)
    code = call(0.1, 3, 4, 0.5, True, x, tensor(results[0], [2, 3]))  # as a float, 0.1 is rounded to the nearest
    codes = [call(*usual, x, tensor(results[1], [2, 3])) for _ in range(3)] + [code]
    after = libm.fegetround()
    libm.fesetround(0)
    checks.expect("the caller's rounding is kept", after == upward and codes == [0] * 4, f"{after} {codes}")
    code = call(0.1, 3, 4, 0.5, True, x, tensor(results[1], [2, 3]))
    checks.expect("and does not matter", code == 0 and list(results[0]) == list(results[1]), f"{list(results[0])} {list(results[1])}")


def calls_of_threads(folder):
    """Threads that call one kernel at once, each with arguments of its own."""
    library = ctypes.CDLL(str(folder / "ops.so"))
    wrong = []

    def repeat(number):
        x, y = (ctypes.c_float * 4)(*[number] * 4), (ctypes.c_float * 4)()
        tensors = tensor(x), tensor(y)  # `given` does not keep them alive
        given = (Any * 3)(*map(any_of, (1.0, *tensors)))
        for _ in range(2000):
            if library.__tvm_ffi_axpy(None, given, 3, ctypes.byref(Any())) != 0:
                wrong.append(number)
        if list(y) != [2000.0 * number] * 4:
            wrong.append(list(y))

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    checks.expect("threads that call one kernel", wrong == [], str(wrong[:3]))


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
    repeated_calls(pathlib.Path(folder))
    calls_of_threads(pathlib.Path(folder))
    fork_while_opening(pathlib.Path(folder))
sys.exit(checks.end())
