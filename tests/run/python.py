#!/usr/bin/env python3
"""Tests the Python package in the build tree: calls, errors, threads and forks. Each check runs in an interpreter of its
own that finds the package."""

import os
import subprocess
import sys

from shared import checks
from shared.python_package import BEGIN, PACKAGE, check_all, run

# Each check: what holds, and the Python text that shows it.
CHECKS = {
    "outputs are written in place": '''
x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
assert module.axpy(2.0, x, y) is None
assert (y == 2 * x + 1).all()
''',
    "omitted outputs are allocated, for each element type": '''
for kind in ("f4", "f8", "i4"):
    x = np.arange(12).reshape(3, 4).astype(kind)
    twice, row = module.both(x)
    assert twice.dtype == row.dtype == kind and (twice == 2 * x.T).all() and row.shape == (9,) and (row == 7).all()
    kept = np.empty(9, kind)
    assert (module.both(x, row=kept) == twice).all() and (kept == 7).all()
''',
    "kernels of the library are compiled by name, with their documentation": '''
import inspect
softmax = kernelc.compile("std.nn", kernel="softmax", defines={"T": "f32"}).softmax
norm = kernelc.compile("std.nn", kernel="layer_norm", defines={"T": "f32"}).layer_norm
assert np.allclose(softmax(np.zeros((2, 4), "f4")), 0.25) and norm.name == "layer_norm"
assert softmax.__doc__.startswith("y = the softmax of each row of x.") and softmax.__doc__.endswith("\\ny: out strided f32[R.., C]")
assert str(inspect.signature(softmax)) == "(x: 'in strided f32[R.., C]', y: 'out strided f32[R.., C]' = Ellipsis)"
again = kernelc.compile("std.nn", kernel="softmax", defines={"T": "f32"}).softmax  # from the cache
assert again.__doc__ == softmax.__doc__ and "equal" in again.verify(np.ones((2, 4), "f4"))
fails("the library has std.convert", kernelc.CompileError, lambda: kernelc.compile("std.nm"))
''',
    "arguments of other types are named, with what to write": '''
softmax = kernelc.compile("std.nn", kernel="softmax", defines={"T": ["f32", "f64"]}).softmax
fails("'x' has elements of type i32, but softmax takes f32 or f64", kernelc.ArgumentError, lambda: softmax(np.ones((2, 4), "i4")))
fails("'x': kernels do not know elements of format", TypeError, lambda: softmax(np.ones((2, 4), "c8")))
softmax = kernelc.compile("std.nn", kernel="softmax", defines={"T": "f32"}).softmax
fails("softmax takes f32; pass x.astype('float32')", kernelc.ArgumentError, lambda: softmax(np.ones((2, 4))))
x = np.ones((3, 4), "f4")
fails("not list; pass numpy.array(x, 'float32')", TypeError, lambda: softmax([[1, 2]]))
swapped = x.astype(">f4")
fails("pass a copy: x.astype(x.dtype.newbyteorder('='))", TypeError, lambda: softmax(swapped))
softmax(swapped.astype(swapped.dtype.newbyteorder("=")))
''',
    "arguments have names": '''
y = np.ones(5, "f4")
module.axpy(y=y, x=np.ones(5, "f4"), a=3)
assert (y == 4).all()
''',
    "views with gaps are not copied": '''
whole = np.zeros((10, 20), "f4")
module.both(np.ones((20, 10), "f4")[:, :7], whole[:7], np.empty(15, "f4"))
assert (whole[:7] == 2).all() and (whole[7:] == 0).all()
''',
    "views with gaps work on devices with their own memory, with futures and numbers of cores": '''
for device in ("debug", "host"):
    module = kernelc.compile(SOURCE, device=device)
    for call in (module.both, module.both[3], lambda *args: module.both.submit(*args).result()):
        whole = np.zeros((10, 20), "f4")
        call(np.ones((20, 10), "f4")[:, :7], whole[:7], np.empty(15, "f4"))
        assert (whole[:7] == 2).all() and (whole[7:] == 0).all()
''',
    "numbers are converted to the types of parameters": '''
source = """
export kernel f(a: u8, b: i64, c: u64, d: f16, e: bool, y: out f64[5]) {
    spmd for i in 1 by 1 { y[0] = a as f64; y[1] = b as f64; y[2] = c as f64; y[3] = d as f64; y[4] = if e then 1.0 else 0.0; }
}
"""
f = kernelc.compile(source).f
assert f(255, -2**63, 2**64 - 1, 0.1, True).tolist() == [255, -2.0**63, 2.0**64, float(np.float16(0.1)), 1]
assert f(np.uint8(3), np.int16(-4), True, 10**30, 0.0).tolist() == [3, -4, 1, float("inf"), 0]
for bad in ((256, 0, 0), (-1, 0, 0), (0, 2**63, 0), (0, 0, 2**64), (0, 0, -1), (0, 1.0, 0)):
    fails("'", kernelc.ArgumentError, lambda: f(*bad, 0.0, False))
''',
    "numbers of cores do not matter": '''
x = np.random.rand(50, 60).astype("f4")
assert all((module.both[cores](x)[0] == module.both(x)[0]).all() for cores in (1, 2, 7))
''',
    "arrays of DLPack": '''
x, y = np.arange(9, dtype="f4"), np.zeros(9, "f4")
module.axpy(1, OnlyDlpack(x), OnlyDlpack(y))
assert (y == x).all()
''',
    "overlapping arguments, on every device": '''
source = """export kernel copy(x: in f32[M, N], y: out f32[M, N], z: out f32[M, N]) {
    spmd for i in M by 8, j in N by 8 { y[i, j] = x[i, j]; z[i, j] = x[i, j]; }
}"""
def check(call):
    whole = np.zeros((8, 16), "f4")
    ones, y, z = np.ones((8, 4), "f4"), np.zeros((8, 4), "f4"), np.zeros((8, 4), "f4")
    call(whole[:, :4], whole[:, 4:8], whole[:, 8:12])
    fails("share memory", kernelc.ArgumentError, lambda: call(whole[:, :4], whole[:, 3:7], z))
    fails("share memory", kernelc.ArgumentError, lambda: call(whole[:, :4], whole[:, :4], z))
    fails("share memory", kernelc.ArgumentError, lambda: call(ones, whole[:, 5:9], whole[:, 8:12]))
    fails("share memory", kernelc.ArgumentError, lambda: call(ones, y, np.lib.stride_tricks.as_strided(z, (8, 4), (4, 4))))
    assert (whole == 0).all() and (y == 0).all()
for device in ("debug", "host"):
    copy = kernelc.compile(source, device=device).copy
    for call in (copy, copy[3], lambda *args: copy.submit(*args).result()): check(call)
with kernelc.interpret(): check(copy)
''',
    "arrays of ctypes, which state no strides": '''
import ctypes
y = ((ctypes.c_int32 * 3) * 2)((1, 2, 3), (4, 5, 6))
assert (module.both(y)[0] == [[2, 8], [4, 10], [6, 12]]).all()
twos = (ctypes.c_float * 3)()
module.axpy(2, (ctypes.c_float * 3)(1, 1, 1), twos)
assert list(twos) == [2, 2, 2] and module.at(ctypes.c_uint8 * 3 and (ctypes.c_uint8 * 3)(7, 8, 9), 1)[0] == 8
''',
    "a folder that is left": '''
import tempfile
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("moved.kdl").write_text(SOURCE)
    moved = kernelc.compile("moved.kdl")
    os.chdir("/")
    assert "axpy" in moved.axpy.asm()
    with kernelc.interpret(): assert (moved.both(np.ones((2, 2)))[0] == 2).all()
''',
    "wrong arguments": '''
x, y = np.ones(5, "f4"), np.ones(5, "f4")
locked = np.ones(5, "f4")
locked.flags.writeable = False
fails("axpy is called with x: f64[5]", TypeError, lambda: module.axpy(1, x.astype("f8"), y))
fails("needs an argument for 'y'", TypeError, lambda: module.axpy(1, x))
fails("no parameter 'z'", TypeError, lambda: module.axpy(1, x, z=y))
fails("two arguments for 'x'", TypeError, lambda: module.axpy(1, x, x=y))
fails("has 3 parameters, but is called with 4", TypeError, lambda: module.axpy(1, x, y, y))
fails("must be a number", TypeError, lambda: module.axpy("1", x, y))
fails("'x' must be an array", TypeError, lambda: module.axpy(1, 2, y))
fails("'y' is read-only", ValueError, lambda: module.axpy(1, x, locked))
fails("share memory", kernelc.ArgumentError, lambda: module.axpy(1, x, x))
fails("size N is 5", kernelc.ArgumentError, lambda: module.axpy(1, x, np.ones(4, "f4")))
fails("elements of format", TypeError, lambda: module.axpy(1, x.astype(">f4"), y))
fails("pass a copy", ValueError, lambda: module.axpy(1, np.zeros(5, [("a", "f4"), ("b", "u1")])["a"], y))
fails("i32 cannot represent", kernelc.ArgumentError, lambda: module.at(np.ones(3, "u1"), 2**31))
fails("is 18446744073709551616, which i32 cannot represent", kernelc.ArgumentError, lambda: module.at(np.ones(3, "u1"), 2**64))
fails("is an integer of more than 64 bits, which i32", kernelc.ArgumentError, lambda: module.at(np.ones(3, "u1"), -10**5000))
fails("is an integer of more than 64 bits, which f32", kernelc.ArgumentError, lambda: module.axpy(10**400, x, y))
fails("must be an integer (i32), not 0.1", TypeError, lambda: module.at(np.ones(3, "u1"), 0.1))
fails("must be an integer (i32), not 70000.0", TypeError, lambda: module.at(np.ones(3, "u1"), 70000.0))
fails("core_num is 0; a launch runs on 1 core or more", kernelc.ArgumentError, lambda: module.axpy[0](1, x, y))
fails("core_num is -9223372036854775808; a launch runs", kernelc.ArgumentError, lambda: module.axpy[-2**63](1, x, y))
fails("no kernel 'nothing'", AttributeError, lambda: module.nothing)
fails("axpy has 3 parameters, but is called with 0 arguments", TypeError, lambda: module.axpy.check(1, ()))
fails("axpy has 3 parameters, but is called with 4 arguments", TypeError, lambda: module.axpy.check(1, (1, y, y, y)))
assert (y == 1).all()
''',
    "a choice between constants": '''
source = "export kernel f<D: int>(x: in i32[N], y: out i32[N]) { spmd for i in N by 8 { y[i] = D * x[i]; } }"
both = kernelc.compile(source, defines={"D": [3, 5]}).f
fails("fit f with D=3 and f with D=5; compile only one", TypeError, lambda: both(np.ones(4, "i4")))
assert (kernelc.compile(source, defines={"D": 5}).f(np.ones(4, "i4")) == 5).all()
''',
    "parameters that are keywords of Python": '''
import inspect
f = kernelc.compile("export kernel f(lambda: f32, x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = lambda * x[i]; } }").f
assert list(inspect.signature(f).parameters) == ["lambda_", "x", "y"]
assert (f(lambda_=2, x=np.ones(4, "f4")) == 2).all() and (f(**{"lambda": 3, "x": np.ones(4, "f4")}) == 3).all()
fails("two arguments for 'lambda'", TypeError, lambda: f(1, x=np.ones(4, "f4"), lambda_=1))
''',
    "shapes of omitted outputs": '''
import array
source = """export kernel f(x: in f32[lambda], y: out f32[2 * lambda + 1]) { spmd for i in 2 * lambda + 1 by 8 { y[i] = 1; } }
export kernel g(x: in f32[M], y: in f32[K], z: out f32[M / K]) { spmd for i in M / K by 8 { z[i] = 1; } }"""
made = kernelc.compile(source)
assert made.f(np.ones(4, "f4")).shape == made.f(array.array("f", range(4))).shape == (9,)
assert made.f(OnlyDlpack(np.ones(4, "f4"))).shape == (9,)
names = kernelc.compile("""export kernel f(x: in f32[_N], z: in f32[N], y: out f32[_N]) { spmd for i in _N by 8 { y[i] = x[i]; } }
export kernel g(x: in f32[N], y: out f32[N * -1 + 8]) { spmd for i in N * -1 + 8 by 8 { y[i] = 1; } }""")
assert names.f(np.ones(4, "f4"), np.ones(7, "f4")).shape == (4,) and names.g(np.ones(3, "f4")).shape == (5,)
fails("sizes are 0 or more", kernelc.ArgumentError, lambda: names.g(np.ones(9, "f4")))
fails("divides by 0", kernelc.ArgumentError, lambda: made.g(np.ones(4, "f4"), np.ones(0, "f4")))
fails("'x' must be an array", TypeError, lambda: made.f(1.0))
''',
    "objects that only kernelc creates": '''
import copy
for kind in (kernelc.Kernel, type(module.axpy.submit(0, np.ones(1, "f4"), np.ones(1, "f4")))):
    fails("cannot create", TypeError, kind)
assert copy.copy(module).axpy is module.axpy
''',
    "exceptions outlast calls that end": '''
import contextlib, io
class Number:
    def __index__(self): raise KeyError("a number's own")
with contextlib.redirect_stdout(io.StringIO()):
    for _ in range(100):
        fails("division", ZeroDivisionError, lambda: (module.at.submit(np.ones(3, "u1"), 2), 1 // 0))
fails("a number's own", KeyError, lambda: module.at(np.ones(3, "u1"), Number()))
''',
    "calls end before the interpreter does": '''
import sys
source = 'export kernel f(x: in f32[N], y: out f32[N]) { spmd for i in N by 1 { y[i] = x[i]; print(x[i]); } }'
sys.kept = kernelc.compile(source).f.submit(np.ones(2000, "f4"))
''',
    "empty arrays": '''
module.axpy(1, np.zeros(0, "f4"), np.zeros(0, "f4"))
assert module.both(np.zeros((0, 4), "f4"))[0].shape == (4, 0)
''',
    "a trap is an exception with its line": '''
fails("source.kdl:10:", kernelc.Trap, lambda: module.at(np.ones(3, "u1"), 3))
assert module.at(np.array([4, 5], "u1"), 1)[0] == 5
''',
    "kernels print to sys.stdout": '''
import contextlib, io
text = io.StringIO()
with contextlib.redirect_stdout(text):
    module.at(np.ones(3, "u1"), 2)
assert text.getvalue() == "read 2\\n", text.getvalue()
''',
    "calls can be enqueued": '''
x = np.random.rand(300, 200).astype("f4")
pending = [module.both.submit(x) for _ in range(5)]
assert all((one.result()[0] == 2 * x.T).all() and one.done() for one in pending)
fails("index", kernelc.Trap, lambda: module.at.submit(np.ones(1, "u1"), 9).result())
module.both.submit(x)
''',
    "calls on one queue run in their order, and other queues have their own": '''
ones = np.ones(100000, "f4")
sums = [np.zeros(100000, "f4") for _ in range(3)]
pending = [module.axpy.queue(number).submit(1, ones, sums[number]) for _ in range(30) for number in range(3)]
for one in pending: one.result()
assert all((one == 30).all() for one in sums)
fails("queue 99 of host does not exist", kernelc.ArgumentError, lambda: module.axpy.queue(99).submit(1, ones, sums[0]))
with kernelc.interpret():
    few = np.zeros(4, "f4")
    assert module.axpy.queue(1).submit(2, ones[:4], few).done() and (few == 2).all()
''',
    "errors of the compiler": '''
try:
    kernelc.compile("export kernel f(x: out f32[N]) {\\n    spmd for i in N by 8 { x[i] = y; }\\n}")
except kernelc.CompileError as error:
    assert "source.kdl:2:35: error: unknown name 'y' [E0302]" in str(error), error
    assert [(one["id"], one["line"], one["column"]) for one in error.diagnostics] == [("E0302", 2, 35)]
else:
    raise AssertionError("no error")
fails("No such file", FileNotFoundError, lambda: kernelc.compile("missing.kdl"))
''',
    "options": '''
source = "export kernel f<D: int>(x: out i32[D]) { spmd for i in D by 8 { x[i] = D; } }"
made = kernelc.compile(source, defines={"D": 3}, opt_level=0, device="host?threads=1").f
assert (made(np.empty(3, "i4")) is None) and (made() == 3).all()
both = kernelc.compile(source, defines={"D": [3, 5]}).f
for size in (3, 5):
    x = np.zeros(size, "i4")
    both(x)
    assert (x == size).all()
fails("f is called with x: i32[4]", TypeError, lambda: both(np.zeros(4, "i4")))
assert (kernelc.compile(source, defines={"D": 5}, device="debug").f() == 5).all()
''',
    "tools": '''
y = np.zeros(5, "f4")
assert module.axpy.verify(0.1, np.ones(5, "f4"), y) == "verify: equal to the reference, bit for bit"
flag = kernelc.compile("export kernel f(b: bool, y: out i32[1]) { spmd for i in 1 by 1 { y[i] = if b then 1 else 2; } }").f
fails("'b' must be a bool, not 2", kernelc.ArgumentError, lambda: flag(2))
assert flag.verify(True) == flag.verify(np.bool_(False)) == "verify: equal to the reference, bit for bit"
assert "axpy" in module.axpy.asm() and 'after "check-bounds"' in module.axpy.ir(after="check-bounds")
assert "kernel axpy" in module.axpy.explain_tiles()
''',
    "threads": '''
def work(n):
    for _ in range(300):
        y = np.full(1000, n, "f4")
        module.axpy(2, np.ones(1000, "f4"), y)
        if not (y == n + 2).all(): wrong.append(n)
wrong = []
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for one in threads: one.start()
for one in threads: one.join()
assert not wrong
''',
    "other threads run while a kernel runs": '''
slow = kernelc.compile("""export kernel f(n: i64, y: out f64[1]) {
    spmd for i in 1 by 1 { var a: f64 = 0; for k in 0..n { a = a * 0.5 + 1; } y[i] = a; }
}""", device="host?threads=1").f
def work():
    begun.set()
    slow(200000000)
    ended.set()
begun, ended, turns = threading.Event(), threading.Event(), 0
thread = threading.Thread(target=work)
thread.start()
begun.wait()
while not ended.wait(0.001): turns += 1
thread.join()
assert turns > 10, turns
''',
    "threads at the end": '''
def work(call):
    while True: call()
x, y = np.ones(1000, "f4"), np.ones(1000, "f4")
for call in (lambda: module.axpy(2, x, y.copy()), lambda: module.axpy(a=2, x=x, y=y.copy()), lambda: module.axpy.submit(2, x, y.copy()).result(),
             lambda: module.at(np.ones(3, "u1"), 0)):
    threading.Thread(target=work, args=(call,), daemon=True).start()
time.sleep(0.2)  # the process ends while they run
''',
    "a forked process": '''
module.axpy(1, np.ones(9, "f4"), np.ones(9, "f4"))
child = os.fork()
if child == 0:
    y = np.ones(9, "f4")
    module.axpy(2, np.ones(9, "f4"), y)
    os._exit(0 if (y == 3).all() else 1)
assert os.waitpid(child, 0)[1] == 0
y = np.ones(9, "f4")
module.axpy(2, np.ones(9, "f4"), y)
assert (y == 3).all()
''',
    "forked workers, as those of PyTorch's DataLoader, while the parent calls kernels, too": '''
import multiprocessing
ones = np.ones(200000, "f4")
def batch(number):
    y = np.zeros(200000, "f4")
    module.axpy.submit(number, ones, y).result()
    module.axpy(1, ones, y)
    return y
batch(0)  # so the parent has threads before it forks
with multiprocessing.get_context("fork").Pool(2) as workers:
    for number, y in enumerate(workers.imap(batch, range(20))):
        assert (y == number + 1).all() and (batch(number) == y).all()
''',
    "nothing leaks": '''
import tracemalloc, resource
x, y = np.ones(16, "f4"), np.ones(16, "f4")
def many():
    for _ in range(50000): module.axpy(0, x, y)
    for _ in range(3000): module.both(np.ones((2, 2)))
    for _ in range(3000): fails("share", ValueError, lambda: module.axpy(0, x, x))
many()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(3): many()
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000
''',
}

DECORATED = BEGIN + '''
@kernelc.kernel(device="host?threads=1")
def twice(x, y):
    """export kernel twice(x: in f32[N], y: out f32[N]) {
        spmd for i in N by 64 { y[i] = 2.0 * x[i + 0]; }
    }"""

assert (twice(np.ones(3, "f4")) == 2).all()
try:
    @kernelc.kernel
    def wrong(x, y):
        """export kernel wrong(x: in f32[N], y: out f32[N]) {
            spmd for i in N by 64 { y[i] = 2.0 * z[i]; }
        }"""
except kernelc.CompileError as error:
    line = next(n for n, text in enumerate(open(__file__), 1) if "* z[i]" in text)
    assert f"decorated.py:{line}:50: error" in str(error), error
else:
    raise AssertionError("no error")

class Inside:
    try:
        @kernelc.kernel(opt_level=1)
        def apart(x, y):  # export kernel apart(x: in f32[N], y: out f32[N]) {
            r"""

            export kernel apart(x: in f32[N], y: out f32[N]) {
                spmd for i in N by 64 { y[i] = 2.0 * w[i]; }
            }"""
    except kernelc.CompileError as error:
        line = next(n for n, text in enumerate(open(__file__), 1) if "* w[i]" in text)
        assert f"decorated.py:{line}:54: error" in str(error), error
    else:
        raise AssertionError("no error")
'''


def check_types():
    """The annotations are right, as far as a strict type checker can tell."""
    run = subprocess.run(["/usr/bin/python3", "-m", "mypy", "--strict", "--cache-dir", os.devnull, "-p", "kernelc"], cwd=PACKAGE,
                         capture_output=True, text=True, timeout=300)
    checks.expect("types", run.returncode == 0, run.stdout + run.stderr)


def main():
    def more(folder):
        done = run(DECORATED, folder, "decorated.py")
        checks.expect("docstrings", done.returncode == 0, done.stdout + done.stderr)
        check_types()
    return check_all(CHECKS, more)


if __name__ == "__main__":
    sys.exit(main())
