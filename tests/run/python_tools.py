#!/usr/bin/env python3
"""Tests what the Python package offers besides calls: the interpreter, remarks, pictures, tuning, and cells of notebooks."""

import sys

from shared.python_package import check_all

# Each check: what holds, and the Python text that shows it.
CHECKS = {
    "kernels have names, and are pickled as what they were compiled from": '''
import copy, pickle, re, subprocess, sys, tempfile
assert module.axpy.__name__ == "axpy" and repr(module) == "<kernels of source.kdl: axpy, both, at>", repr(module)
assert copy.deepcopy([module])[0] is module and copy.deepcopy(module.axpy) is module.axpy
assert re.fullmatch(r"\\d+\\.\\d+\\.\\d+", kernelc.__version__), kernelc.__version__
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
pathlib.Path("one.kdl").write_text("export kernel one<A: int>(y: out i32[N]) { spmd for i in N by 8 { y[i] = A; } }")
one = kernelc.compile("one.kdl", device="debug", defines={"A": 5})
os.mkdir("elsewhere")
os.chdir("elsewhere")
for kernel in (pickle.loads(pickle.dumps(one.one)), pickle.loads(pickle.dumps(one)).one):
    kernel(y := np.zeros(3, "i4"))
    assert (y == 5).all() and kernel.device == "debug"
there = "import pickle, sys; kernel, x = pickle.load(sys.stdin.buffer); pickle.dump(kernel(x), sys.stdout.buffer)"
done = subprocess.run([sys.executable, "-c", there], input=pickle.dumps((module.both, np.ones((2, 3), "i4"))), capture_output=True)
twice, row = pickle.loads(done.stdout)
assert (twice == 2).all() and twice.shape == (3, 2), done.stderr
os.chdir("/")
''',
    "a file that has changed since it was compiled": '''
import pickle, tempfile
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
text = "import part;\\nexport kernel f(y: out i32[N]) { spmd for i in N by 8 { y[i] = part.one(); } }"
pathlib.Path("part.kdl").write_text("export fn one() -> i32 { return 1; }")
pathlib.Path("whole.kdl").write_text(text)
f = kernelc.load("whole.kdl").f
kept = pickle.dumps(f)
pathlib.Path("part.kdl").write_text("export fn one() -> i32 { return 2; }")
y = np.zeros(3, "i4")
f(y)
assert (y == 1).all()
for use in (lambda: f.verify(y), lambda: pickle.loads(kept), f.asm, f.perf):
    fails("part.kdl has changed since it was compiled; compile it again", kernelc.Error, use)
with kernelc.interpret():
    fails("part.kdl has changed since", kernelc.Error, lambda: f(y))
f = kernelc.load("whole.kdl").f
f(y)
assert (y == 2).all() and "equal" in f.verify(y)
os.chdir("/")
''',
    "calls on a number of cores and on a queue": '''
import pickle
x, y = np.ones(5, "f4"), np.zeros(5, "f4")
for one in (module.axpy[2], module.axpy.queue(1), module.axpy[2].queue(1), module.axpy.queue(1)[2], pickle.loads(pickle.dumps(module.axpy[3]))):
    y[:] = 0
    one(2, x, y)
    one.submit(2, x, y).result(timeout=60)
    assert (y == 4).all() and "equal" in one.verify(2, x, y) and one.name == "axpy" and repr(one).startswith("<kernel axpy("), repr(one)
with kernelc.interpret():
    fails("core_num is 0", kernelc.ArgumentError, lambda: module.axpy[0].submit(2, x, y))
''',
    "arrays are not kept after the result": '''
import weakref
class Array(np.ndarray): pass
x = np.ones((2, 3)).view(Array)
gone = weakref.ref(x)
pending = module.both.submit(x)
del x
twice, row = pending.result()
assert gone() is None and (pending.result()[0] == twice).all()
''',
    "strided arrays whose elements alternate": '''
swap = kernelc.compile("""export kernel scale(x: in strided f32[A..], y: out strided f32[A..]) { spmd for i in A by 8 { y[i] = 2 * x[i]; } }""").scale
both = np.arange(6, dtype="f4")
assert "equal" in swap.verify(both[::2], both[1::2])
with kernelc.interpret():
    swap(both[::2], both[1::2])
    assert both.tolist() == [0, 0, 2, 4, 4, 8], both
    fails("share memory", kernelc.ArgumentError, lambda: swap(both[:4:2], both[2::2]))
''',
    "wrong uses are errors of one sentence": '''
text = "export kernel f<T: f32 | i32>(x: in T[N], y: in T[N], z: out T[N]) { spmd for i in N by 8 { z[i] = x[i] + y[i]; } }"
assert dir(kernelc) == sorted(kernelc.__all__), dir(kernelc)
fails("device must be a text", TypeError, lambda: kernelc.compile(text, device=None))
fails("the source is empty; pass the path of a file", ValueError, lambda: kernelc.compile(""))
fails("the interpreter is not a device", kernelc.Error, lambda: kernelc.compile(text, device="reference"))
fails("defines must be a dictionary", TypeError, lambda: kernelc.compile(text, defines="B=3"))
fails("write @kernelc.kernel(device='cuda')", TypeError, lambda: kernelc.kernel("cuda"))
f = kernelc.compile(text).f
assert repr(f) == "<kernel f(x: in f32|i32[N], y: in f32|i32[N], z: out f32|i32[N])>", repr(f)
assert f.verify(np.ones(2, "i4"), np.ones(2, "i4"))
fails("not float; pass numpy.array(y, 'int32')", TypeError, lambda: f(np.ones(2, "i4"), 3.0))
fails("'y' has elements of type i32, but 'x' of type f32, for which f takes f32; pass y.astype('float32')", kernelc.ArgumentError,
      lambda: f(np.ones(2, "f4"), np.ones(2, "i4")))
fails("'y' has elements of type u8, but f takes f32 or i32", kernelc.ArgumentError, lambda: f.verify(np.ones(2, "f4"), np.ones(2, "u1")))
fails("must be an array, not None", TypeError, lambda: f(np.ones(2, "f4"), np.ones(2, "f4"), None))
for kind in (np.float32, "float32", np.dtype("float32"), "f32"):
    assert repr(kernelc.compile(text, defines={"T": kind}).f).startswith("<kernel f(x: in f32[N],")
fails("there is no kernel 'f'; the kernels are: g; Python calls kernels, not programs", AttributeError, lambda: kernelc.compile("kernel g(x: inout f32[N]) { spmd for i in N by 8 { x[i] = 1; } }\\nexport program f(x: inout f32[N]) { spmd g(x); }").f)
def f(x, other):
    "export kernel f(x: inout f32[N]) { spmd for i in N by 8 { x[i] = 1; } }"
fails("must be those of the kernel: x", TypeError, lambda: kernelc.kernel(f))
def g(x):
    "export kernel h(x: inout f32[N]) { spmd for i in N by 8 { x[i] = 1; } }"
fails("must contain a kernel with the name of the function, export kernel g(…): there is no kernel 'g'; the kernels are: h", kernelc.Error, lambda: kernelc.kernel(g))
h = kernelc.compile(g.__doc__).h
right = {"data": (4096, False), "shape": (3,), "typestr": "<f4", "version": 3}
for field, value in {"shape": [3], "typestr": 5, "strides": "x", "data": 4096, "stream": "x"}.items():
    array = type("Array", (), {"__cuda_array_interface__": right | {field: value}})()
    fails(f"the field '{field}' of __cuda_array_interface__ must be", TypeError, lambda: h(array))
for fields in ({"shape": (3, "x")}, {"strides": (4, 4)}, {"data": ("x", False)}):
    array = type("Array", (), {"__cuda_array_interface__": right | fields})()
    fails(f"the field '{[*fields][0]}' of __cuda_array_interface__ must be", TypeError, lambda: h(array))
fails("whose name ends in .html", ValueError, lambda: module.axpy.perf().save("picture.svg"))
''',
    "errors of the compiler can be copied and pickled": '''
import copy, pickle
try:
    kernelc.compile("export kernel f(x: out f32[N]) {}}")
except kernelc.CompileError as error:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert str(again) == str(error) and again.diagnostics == error.diagnostics
else:
    raise AssertionError("no error")
''',
    "warnings also come from the cache": '''
import warnings
for _ in range(2):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernelc.compile("export kernel f(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { let unused = 1; y[i] = x[i]; } }")
    assert len(told) == 1 and told[0].category is kernelc.CompileWarning and "unused" in str(told[0].message), told
    assert told[0].filename == __file__, told[0].filename
''',
    "calls in the interpreter": '''
import contextlib, io
x, y = np.array([1, -0.0, np.nan, np.inf], "f4"), np.ones(4, "f4")
locked = np.ones(4, "f4")
locked.flags.writeable = False
scalars = kernelc.compile("""export kernel root(x: in f32[], y: out f32[]) { spmd for i in 0..1 { y[] = sqrt(x[]); } }
export kernel axpy<T: f32 | i32>(a: T, x: in T[N], y: inout T[N]) { spmd for i in N by 8 { y[i] += a * x[i]; } }""")
assert scalars.root.verify(np.array(9, "f4")) == scalars.axpy.verify(3, np.ones(2, "i4"), np.ones(2, "i4"))
with kernelc.interpret():
    assert module.axpy(2.0, x, OnlyDlpack(y)) is None
    assert np.array_equal(y, np.array([3, 1, np.nan, np.inf], "f4"), equal_nan=True), y
    for kind in ("f8", "i4"):
        twice, row = module.both(np.arange(6).reshape(2, 3).astype(kind))
        assert twice.dtype == row.dtype == kind and (twice == [[0, 6], [2, 8], [4, 10]]).all() and (row == 7).all()
    assert (module.both[2](np.ones((2, 2)))[0] == 2).all()
    pending = module.both.submit(np.ones((2, 2)))
    assert pending.done() and (pending.result()[0] == 2).all()
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert module.at(np.ones(3, "u1"), 2)[0] == 1
    assert text.getvalue() == "read 2\\n", text.getvalue()
    fails("source.kdl:10:", kernelc.Trap, lambda: module.at(np.ones(3, "u1"), 3))
    assert scalars.root(np.array(9, "f4")) == 3 and scalars.axpy(3, np.ones(2, "i4"), np.ones(2, "i4")) is None
    fails("'x' has 1 dimension", kernelc.ArgumentError, lambda: scalars.root(np.ones(3)))
    fails("i32 cannot represent", kernelc.ArgumentError, lambda: module.at(np.ones(3, "u1"), 2**31))
    fails("read-only", kernelc.ArgumentError, lambda: module.axpy(1, x, locked))
    fails("core_num is 0", kernelc.ArgumentError, lambda: module.both[0](np.ones((2, 2))))
    fails("size N", kernelc.ArgumentError, lambda: module.axpy(1, np.ones(3, "f4"), y))
    other = []
    thread = threading.Thread(target=lambda: other.append(module.at.signatures and kernelc.interpreter.is_active()))
    thread.start()
    thread.join()
    assert other == [False]
fails("index", kernelc.Trap, lambda: module.at(np.ones(3, "u1"), 3))
assert not kernelc.interpreter.is_active()
required = kernelc.compile("""export kernel root(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = sqrt(x[i]); } }
requires { x[i] >= 0.0; }""").root
with kernelc.interpret():
    assert (required(np.full(3, 4, "f4")) == 2).all()
''',
    "the interpreter is told what only outputs determine": '''
source = """export kernel count<T: f32 | f64 | i32>(n: i64, y: out T[N]) { spmd for i in N by 8 { y[i] = (iota(i) + n) as T; } }
export kernel other<T: u8>(x: in T[N], y: out T[N]) { spmd for i in N by 8 { y[i] = x[i]; } }
export kernel times<D: int>(x: in i32[N], y: out i32[D, N]) { spmd for d in 0..D, i in N by 8 { y[d, i] = x[i] * D; } }"""
made = kernelc.compile(source, defines={"D": [2, 3]})
some = kernelc.compile(source, defines={"T": ["f64", "i32", "u8"], "D": 2})
for kind in ("f8", "i4"):
    for one in (made, some):
        y = np.zeros(3, kind)
        with kernelc.interpret(): one.count(5, y)
        assert (y == [5, 6, 7]).all()
        assert one.count.verify(5, y) == "verify: equal to the reference, bit for bit"
for size in (2, 3):
    y = np.zeros((size, 4), "i4")
    with kernelc.interpret(): made.times(np.ones(4, "i4"), y)
    assert (y == size).all()
''',
    "the interpreter refuses the sizes that a device refuses": '''
source = """export kernel square(x: in f32[M, N], y: out f32[M * N]) { spmd for i in M * N by 8 { y[i] = 1; } }
export kernel half(x: in f32[N], y: out f32[H]) where N == 2 * H { spmd for i in H by 8 { y[i] = x[2 * i]; } }"""
made = kernelc.compile(source)
for kernel, given, kind in ((made.square, ((1, 1), (5,)), kernelc.Trap), (made.square, ((2, 3), (5,)), kernelc.Trap),
                            (made.half, ((5,), (2,)), kernelc.Trap), (module.axpy, ((2,), (3,)), kernelc.ArgumentError)):
    arrays = [np.zeros(shape, "f4") for shape in given]
    if kernel is module.axpy: arrays.insert(0, 1.0)
    fails("", kind, lambda: kernel(*arrays))
    with kernelc.interpret(): fails("", kind, lambda: kernel(*arrays))
    fails("", kind, lambda: kernel.verify(*arrays))
''',
    "tuning with the values of arrays, which may be indices": '''
gather = kernelc.compile("""export kernel gather<T: f32 | f64, B: int = auto>(x: in T[N], i: in i64[K], s: T, y: out T[K]) {
    spmd for k in K by B { y[k] = s * x[i[k]]; }
}""").gather
x, i = np.arange(7.0), np.arange(5000) % 7
tuned = gather.tune(x, i, 2, trials=3, seconds=1)
assert (tuned(x, i, 2) == 2 * x[i]).all() and (tuned(x.astype("f4"), i, 2) == 2 * x[i]).all()
''',
    "one kernel of a file has the tools of a whole file": '''
one = kernelc.compile("""export kernel first<B: int = auto>(x: in f32[R, C], y: out f32[R, C]) { spmd for r in R by 4, c in C by B { y[r, c] = x[r, c]; } }
export kernel second(x: in f32[N], y: out f32[N]) { spmd for n in N by 8 { y[n] = x[n]; } }""", kernel="first").first
x = np.ones((2, 3), "f4")
assert one.verify(x) == "verify: equal to the reference, bit for bit"
assert one.tune(x, trials=1, seconds=1)(x).shape == (2, 3)
with kernelc.interpret(): assert (one(x) == 1).all()
fails("'x' has 1 dimension, but its shape must be [R, C]", kernelc.ArgumentError, lambda: one(np.ones(3, "f4")))
''',
    "numbers for the interpreter are rounded as those for a device": '''
for kind in ("f16", "bf16", "f32", "f8e4m3"):
    same = kernelc.compile(f"export kernel f(a: {kind}, y: out f64[1]) {{ spmd for i in 1 by 1 {{ y[i] = a as f64; }} }}").f
    for number in (1e300, -65520.0, 449, 2.0**128 - 2.0**103, 2.0**128 - 2.0**119):
        with kernelc.interpret(): found = same(number)
        assert found == same(number), (kind, number, found)
''',
    "remarks, and tiles that are measured": '''
slow = kernelc.compile("export kernel rare(x: in f32[P], y: out f32[N]) where N == 3 * P { spmd for i in N by 1024 { y[i] = x[iota(i) / 3]; } }",
                       opt_level=1).rare
assert "R1002" in slow.perf() and "kernel rare" in slow.explain_tiles(), slow.perf()
source = """export kernel product<BM: int = auto, BN: int = auto>(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by 32 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}"""
product = kernelc.compile(source, device="host?threads=1").product
a, b = np.random.rand(20, 33).astype("f4"), np.random.rand(33, 47).astype("f4")
tuned = product.tune(a, b, trials=3, seconds=1)
assert (tuned(a, b) == product(a, b)).all()
(option,) = [word for word in tuned.source.options if word.startswith("--tuned=")]
assert "product" in pathlib.Path(option.partition("=")[2]).read_text() and "product" in tuned.asm() and tuned.perf()
again = tuned.tune(a, b, trials=3, seconds=1)
assert (again(a, b) == product(a, b)).all()
''',
    "tiles in a file that later compilations read": '''
import tempfile
source = """export kernel copy<B: int = auto>(x: in f32[N], y: out f32[N]) { spmd for i in N by B { y[i] = x[i]; } }"""
x = np.random.rand(5000).astype("f4")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("copy.kdl").write_text(source)
    tuned = kernelc.load("copy.kdl").copy.tune(x, trials=3, seconds=1, file="copy.yaml")
    assert (tuned(x) == x).all() and "copy" in pathlib.Path("copy.yaml").read_text()
    again = kernelc.load("copy.kdl", tuned=pathlib.Path("copy.yaml")).copy
    assert (again(x) == x).all() and again.explain_tiles() and again.source.options == tuned.source.options
    assert (again.tune(x, trials=3, seconds=1)(x) == x).all()
    fails("No such file", FileNotFoundError, lambda: kernelc.load("copy.kdl", tuned="missing.yaml"))
    pathlib.Path("wrong.yaml").write_text("nonsense\\n")
    fails("wrong.yaml:1:1: error: expected a mapping with the key 'schedules'", kernelc.CompileError, lambda: kernelc.load("copy.kdl", tuned="wrong.yaml"))
    os.chdir("/")
fails("No such file", FileNotFoundError, lambda: kernelc.load("a { b"))
''',
    "pictures": '''
import tempfile
made = kernelc.compile("""export kernel twice(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 2 * x[i]; } }
export program fourfold(x: in f32[N], y: out f32[N]) {
    let h: f32[N];
    spmd twice(x, h);
    spmd twice(h, y);
}""")
roof, places, remarks = made.twice.roofline(np.ones(10000, "f4"), trials=3, seconds=1), made.placement(), made.twice.perf()
assert roof.startswith("kernel ") and "N=10000" in roof and roof.picture.startswith("<svg") and "twice" in roof.picture
assert roof._repr_mimebundle_() == {"text/plain": str(roof), "image/svg+xml": roof.picture}
assert "program fourfold" in places and places.picture.startswith("<!DOCTYPE html>")
shown = places._repr_mimebundle_(include=None, exclude=None)["text/html"]
assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;') and "fourfold" in shown
assert "kernel twice" in remarks and "twice" in remarks.picture
with tempfile.TemporaryDirectory() as folder:
    roof.save(folder + "/roof.svg")
    assert pathlib.Path(folder, "roof.svg").read_text() == roof.picture
''',
    "messages in colours": '''
from kernelc.errors import coloured
try:
    kernelc.compile("export kernel f(x: out f32[N]) {\\n    spmd for i in N by 8 { x[i] = note: y; }\\n}")
except kernelc.CompileError as error:
    first, *others = error._render_traceback_()
    assert first.startswith("source.kdl:2:") and ": \\033[1;31merror\\033[0m: " in first, first
    assert others[0] == "      spmd for i in N by 8 { x[i] = note: y; }" and others[1].startswith("\\033[32m") and others[1].endswith("^\\033[0m")
else:
    raise AssertionError("no error")
assert coloured("a.kdl:1:2: note: help: error: x\\nhelp: note: y\\n") == "a.kdl:1:2: \\033[1;36mnote\\033[0m: help: error: x\\n\\033[1;32mhelp\\033[0m: note: y\\n"
''',
    "cells of notebooks": '''
class Shell:
    def __init__(self): self.user_ns, self.magics = {}, {}
    def register_magic_function(self, function, kind, name): self.magics[kind, name] = function
shell = Shell()
kernelc.load_ipython_extension(shell)
cell = shell.magics["cell", "kernelc"]
assert "-D NAME=VALUE" in cell.__doc__
cell("-D D=3 -O 1", "export kernel f<D: int>(x: out i32[D]) { spmd for i in D by 8 { x[i] = D; } }\\n")
assert (shell.user_ns["f"]() == 3).all()
cell("--module many --device 'host?threads=1'", "export kernel g(x: out i32[1]) { spmd for i in 1 by 8 { x[i] = 4; } }\\n")
assert shell.user_ns["many"].g() == 4 and "g" not in shell.user_ns
for line, text, told in [("", "export kernel g(x: out i32[1]) { spmd for i in 1 by 8 { x[i] = z; } }\\n", ":2:64: error: unknown name"),
                         ("--wrong", "", "unrecognized arguments: --wrong"), ("--module 1x", "", "'1x' is not a name of Python"),
                         ("'", "", "No closing quotation")]:
    try:
        cell(line, text)
    except (kernelc.CompileError, kernelc.ArgumentError) as error:
        assert told in str(error), error
    else:
        raise AssertionError(line)
''',
}


if __name__ == "__main__":
    sys.exit(check_all(CHECKS))
