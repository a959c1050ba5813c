#!/usr/bin/env python3
"""Tests the Python package with arrays of any strides, with large arrays, which must not be copied, and with paths that are not UTF-8."""

import os
import sys

from shared import checks
from shared.python_package import check_all, run

# Each check: what holds, and the Python text that shows it.
CHECKS = {
    "strides of axes with a single element, and of empty arrays, can be anything": '''
source = """export kernel merge(x: in f32[A, B, C], y: out f32[A, B, C]) {
    view v: f32[A * B, C] = x;
    view w: f32[A * B, C] = y;
    spmd for i in A * B by 2, j in C by 4 { w[i, j] = v[i, j] + 1.0; }
}"""
whole = np.arange(60, dtype="f4").reshape(3, 4, 5)
reached = np.lib.stride_tricks.as_strided(whole, (3, 1, 4), (80, 1, 4))
shown = [whole[:, 1:2], whole[:, 1:2][:, ::-1, :4], whole[1:2], whole[1:2][::-1], whole[1:2, :, :3], whole[:, :1, 1:2], whole[:0, ::-1, :3], reached]
for device in ("host", "debug"):
    merge = kernelc.compile(source, device=device).merge
    for x in shown:
        y, made = np.zeros(x.shape, "f4"), np.zeros_like(whole)
        merge(x, y)
        part = made[:x.shape[0], :x.shape[1], :x.shape[2]]
        merge(np.ascontiguousarray(x), part)
        assert (y == x + 1).all() and (part == y).all() and np.count_nonzero(made) == x.size, (device, x.shape, x.strides)
    fails("not contiguous", kernelc.Trap, lambda: merge(whole[:, :2], np.zeros((3, 2, 5), "f4"))) if device == "host" else None
''',
    "arguments that may be an optional input or an output are refused": '''
late = kernelc.compile("""export kernel late(x: in f32[N], y: out f32[N], bias: in f32[N]?) {
    spmd for i in N by 64 { if bias { y[i] = x[i] + bias[i]; } else { y[i] = x[i]; } }
}""").late
x, y = np.ones(3, "f4"), np.zeros(3, "f4")
fails("late: the 2 arguments may be for x, bias or for x, y; pass 'bias' and the outputs by name", TypeError, lambda: late(x, y))
assert (late(x) == 1).all() and (late(x, bias=x) == 2).all() and not y.any()
late(x, y=y)
assert (y == 1).all()
late(x, y, x)
assert (y == 2).all()
''',
    "arrays with other layouts and masked arrays are refused, with what to write": '''
softmax = kernelc.compile("std.nn", kernel="softmax", defines={"T": "f32"}).softmax
x = np.ones((3, 4), "f4")
fails("'x' is a masked array, and kernels know no masks; pass x.filled(VALUE)", TypeError, lambda: softmax(np.ma.masked_array(x, x > 0)))
unaligned = np.frombuffer(bytes(17), "f4", 4, 1).reshape(2, 2)
plain = kernelc.compile("export kernel plain(x: in f32[R, C], y: out f32[R, C]) { spmd for r in R by 8, c in C by 8 { y[r, c] = x[r, c]; } }").plain
fails("not a multiple of 4, the size of f32", kernelc.ArgumentError, lambda: plain(unaligned))
plain(unaligned.copy())
for wrong in (x.T, x[:, ::2], x[::-1]):
    fails("pass a row-major copy", kernelc.ArgumentError, lambda: plain(wrong))
    plain(wrong.copy())
fails("pass a row-major copy", kernelc.ArgumentError, lambda: plain(x, np.empty((3, 4), "f4", order="F")))
assert (softmax(x.T) == softmax(x.T.copy())).all() and (softmax(x[:, ::2]) == softmax(x[:, ::2].copy())).all()
''',
    "counted outputs have the size of what was appended": '''
source = """export kernel positive<T: f32 | i64>(x: in T[N], y: out T[n <= N], index: out i64[n <= N], twice: out T[N]) {
    spmd for i in N by 4 {
        append y, index += x[i], iota(i) where x[i] > 0;
        twice[i] = 2 * x[i];
    }
}"""
for device in ("host", "debug"):
    positive = kernelc.compile(source, device=device).positive
    for kind in ("f4", "i8"):
        for size in (0, 1, 12, 43):
            x = (np.arange(size) % 5 - 2).astype(kind)
            want, places = x[x > 0], np.flatnonzero(x > 0)
            for y, index, twice in (positive(x), positive[3](x), positive.submit(x).result()):
                assert (y == want).all() and y.shape == want.shape and (index == places).all() and (twice == 2 * x).all(), (device, size)
            y, n = np.ones(x.size + 3, kind), np.zeros((), "i8")
            fails("size N", kernelc.ArgumentError, lambda: positive(x, y=y))
            y = y[3:]
            index, twice = positive(x, y=y, n=n)
            assert n == want.size and (y[:n] == want).all() and not y[n:].any() and index.shape == want.shape
            n, twice = positive(x, y=y, index=np.zeros(x.size, "i8"))
            assert n == want.size
    with kernelc.interpret():
        y, index, _ = positive(np.array([-1, 2, 3], "f4"))
        assert (y == [2, 3]).all() and (index == [1, 2]).all()
''',
    "optional parameters that are omitted or None are absent": '''
source = """types Float = f32 | f64;
export kernel add<T: Float>(x: in T[M, N], bias: in T[N]?, y: out T[M, N], total: out T[M]?) {
    spmd for i in M by 4 {
        var s: T[i] = 0;
        for j in N by 64 {
            let t = x[i, j] + (if bias then bias[j] else 0.0);
            y[i, j] = t;
            s += sum(t over j);
        }
        if total { total[i] = s; }
    }
}"""
for device in ("host", "debug"):
    add = kernelc.compile(source, device=device).add
    for kind in ("f4", "f8"):
        x, bias = np.arange(6, dtype=kind).reshape(2, 3), np.array([10, 20, 30], kind)
        for given in (bias, None):
            want = x if given is None else x + given
            y, total = np.zeros_like(x), np.zeros(2, kind)
            add(x, given, y, total)
            assert (y == want).all() and (total == want.sum(1)).all(), (device, kind)
            total[:] = -1
            add(x, given, y, None)
            assert (add(x, given) == want).all() and (add(x, bias=given) == want).all() and (total == -1).all()
        assert (add(x) == x).all() and add(x[:, :0], np.zeros(0, kind)).shape == (2, 0)
        fails("must be an array", TypeError, lambda: add(None, bias, y, total))
        fails("takes", (TypeError, kernelc.ArgumentError), lambda: add(x, bias.astype("i4"), y, total))
        fails("size N is 3", kernelc.ArgumentError, lambda: add(x, bias[:2], y, total))
    assert "equal to the reference" in add.verify(x) and "equal to the reference" in add.verify(x, bias, y, total)
    with kernelc.interpret():
        assert (add(x) == x).all() and (add(x, bias) == x + bias).all()
''',
    "packs accept any number of dimensions": '''
source = """export kernel sums(x: in f32[A.., C, B..], y: out f32[A.., B..]) {
    spmd for a in A.. by 4, b in B.. by 64 {
        var s: f32[a, b] = 0;
        for c in C by 64 { s += sum(x[a, c, b] over c); }
        y[a, b] = s;
    }
}
export kernel twice(x: in f32[N..], w: in f32[N..]?, y: out f32[N..]) {
    spmd for n in N.. by 64 { y[n] = if w then x[n] * w[n] else 2.0 * x[n]; }
}
export kernel rows(x: in f32[R.., C], y: out f32[R..]) {
    spmd for r in R.. by 8 { var s: f32[r] = 0; for c in C by 32 { s += sum(x[r, c] over c); } y[r] = s; }
}"""
whole = np.arange(360, dtype="f4").reshape(2, 3, 4, 3, 5)
for device in ("host", "debug"):
    module = kernelc.compile(source, device=device)
    for x in (whole, whole[0], whole[0, 0], whole[0, 0, 0], whole[1, 1, 1, 1, 2], whole[:1, 1:2], whole[1:, :, None], whole[:0]):
        y = np.zeros(x.shape, "f4")
        module.twice(x, None, y)
        assert (y == 2 * x).all() and (module.twice(x) == 2 * x).all() and module.twice(x).shape == x.shape, (device, x.shape)
        assert (module.twice(x, x) == x * x).all()
        if x.ndim:
            assert (module.rows(x) == x.sum(-1)).all() and module.rows(x).shape == x.shape[:-1], (device, x.shape)
    part = whole[:, :, :, :, 1:4]  # gaps are only before a dimension that is not in the pack
    assert (module.rows(part) == part.sum(-1)).all()
    y = np.zeros((4, 5), "f4")
    module.sums(whole[0, 0], y)
    assert (y == whole[0, 0].sum(1)).all()
    fails("pass a copy without gaps", kernelc.ArgumentError, lambda: module.twice(whole[:, :2], None, np.zeros((2, 2, 4, 3, 5), "f4")))
    fails("the dimensions N..", kernelc.ArgumentError, lambda: module.twice(whole[0, 0], None, np.zeros((3, 4, 5), "f4")))
    fails("", kernelc.ArgumentError, lambda: module.rows(whole[0, 0, 0, 0, 0], np.zeros((), "f4")))
    assert "equal to the reference" in module.twice.verify(whole, whole) and "equal" in module.sums.verify(whole[0, 0], y)
    with kernelc.interpret():
        assert (module.twice(whole, None) == 2 * whole).all() and (module.rows(whole[0, 0]) == whole[0, 0].sum(-1)).all()
    for from_shape, to_shape in (((2, 3), (6,)), ((6,), (2, 3)), ((), (1,)), ((2, 0), (0,))):  # as many elements
        x, y = np.ones(from_shape, "f4"), np.zeros(to_shape, "f4")
        fails("which does not fit the number of dimensions of its packs", kernelc.ArgumentError, lambda: module.twice(x, None, y))
''',
    "a call says how many dimensions a pack has where the arrays do not": '''
source = """export kernel sums<T: i32 | f32>(x: in T[A.., C, B..], w: in T[C]?, y: out T[A.., B..]) {
    spmd for a in A.. by 4, b in B.. by 64 {
        var s: T[a, b] = 0;
        for c in C by 64 { s += sum(x[a, c, b] * (if w then w[c] else 1) over c); }
        y[a, b] = s;
    }
}"""
whole = np.arange(360).reshape(2, 3, 4, 3, 5)
for device in ("host", "debug"):
    sums = kernelc.compile(source, device=device).sums
    for dtype in ("i4", "f4"):
        for x in (whole, whole[0], whole[0, 0], whole[0, 0, 0], whole[:, :0]):
            x = x.astype(dtype)
            for axis in range(x.ndim):
                y, w = np.zeros(x.sum(axis).shape, dtype), np.arange(x.shape[axis], dtype=dtype)
                sums(x, None, y, rank_A=axis)
                made = sums(x, rank_A=np.int64(axis))
                assert (y == x.sum(axis)).all() and (made == y).all() and made.shape == y.shape, (device, x.shape, axis)
                assert (sums(x, rank_B=x.ndim - 1 - axis) == y).all()
                assert (sums(x, w, rank_A=axis) == np.tensordot(x, w, (axis, 0))).all()
                assert (sums[3](x, rank_A=axis) == y).all() and (sums.submit(x, rank_A=axis).result() == y).all()
    x = whole[0, 0].astype("f4")
    assert (sums(x, None, np.zeros((4, 5), "f4")) is None) and "equal to the reference" in sums.verify(x, rank_A=0)
    with kernelc.interpret():
        assert (sums(x, rank_A=0) == x.sum(0)).all() and (sums(x, rank_A=2) == x.sum(2)).all()
    fails("has rank 3, which does not fit the number of dimensions of its packs: A.. has 3", kernelc.ArgumentError,
          lambda: sums(x, None, np.zeros((4, 3), "f4"), rank_A=3))
    fails("rank_A is 9; a pack has 0 to 8 dimensions", kernelc.ArgumentError, lambda: sums(x, None, np.zeros((4, 3), "f4"), rank_A=9))
    fails("say how many dimensions a pack has, such as rank_A=1, or pass an array", TypeError, lambda: sums(whole.astype("f4")))
    fails("the other arguments and rank_A=7 do not determine the shape", TypeError, lambda: sums(x, rank_A=7))
    try:  # the types fit, so the signature for the other type is of no use
        sums(np.ones((), "f4"), None, np.ones((2, 2, 2), "f4"))
    except kernelc.ArgumentError as error:
        assert "it takes (x: f32[A.., C, B..]" in str(error) and "i32" not in str(error), error
    else:
        raise AssertionError("a tensor without the dimension C was accepted")
    fails("has no parameter 'rank_C'", TypeError, lambda: sums(x, rank_C=1))
    fails("", TypeError, lambda: sums(x, rank_A="1"))
    assert "rank_A" in str(__import__("inspect").signature(sums))
    both = kernelc.compile("""export kernel more(x: in f32[A.., B..], y: out f32[A.., B..]) {
    spmd for a in A.. by 4, b in B.. by 8 { y[a, b] = x[a, b] + 1.0; }
}""", device=device).more
    for y in (both(np.ones((), "f4")), np.zeros((), "f4")):  # both packs are empty
        both(np.ones((), "f4"), y)
        assert y.shape == () and y == 2
''',
    "large arrays are not copied": '''
import resource
whole, y = np.ones((4, 5000000), "f4"), np.ones((2, 5000000), "f4")
kernel = kernelc.compile("export kernel f(x: in f32[M, N], y: out f32[M, N]) { spmd for i in M by 1, j in N by 4096 { y[i, j] = 2 * x[i, j]; } }").f
kernel(whole[:1, :9], np.zeros((1, 9), "f4"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for x in (whole[:2], whole[::2], OnlyDlpack(whole[::2]), memoryview(whole)[:2]):
    kernel(x, y)
    kernel.submit(x, y).result()
assert y.min() == y.max() == 2
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10000, "kilobytes"
''',
    "tensors of PyTorch that have the other sign than their memory": '''
class Negated(OnlyDlpack):
    def is_neg(self): return True
y = np.zeros(3, "f4")
fails("'x' has the other sign than its memory; pass x.resolve_neg()", ValueError, lambda: module.axpy(1, Negated(np.ones(3, "f4")), y))
module.axpy(1, OnlyDlpack(np.ones(3, "f4")), y)
assert (y == 1).all()
''',
    "strides of several elements must be positive multiples of an element": '''
records = np.ones(3, [("a", "f4"), ("b", "u1")])["a"]
module.axpy(1, records[:1], np.zeros(1, "f4"))
fails("pass a copy", ValueError, lambda: module.axpy(1, records, np.zeros(3, "f4")))
module.axpy(1, np.ones(1, "f4")[::-1], np.ones(1, "f4")[::-1])
fails("stride -1 in dimension 0", kernelc.ArgumentError, lambda: module.axpy(1, np.ones(2, "f4")[::-1], np.ones(2, "f4")))
''',
}


def check_bytes(folder):
    """Names of folders need not be UTF-8."""
    name = os.fsdecode(b"caf\xe9")
    (folder / name).mkdir()
    (folder / name / "main.kdl").write_text("export kernel f(x: out i32[1]) { spmd for i in 1 by 1 { x[i] = 1; } }\n")
    text = f"""import kernelc
f = kernelc.compile({str(folder / name / 'main.kdl')!r}).f
with kernelc.interpret(): print(f()[0])
print(f()[0])
"""
    done = run(text, folder)
    checks.expect("a folder that is not UTF-8", done.stdout == "1\n1\n", done.stderr)


if __name__ == "__main__":
    sys.exit(check_all(CHECKS, check_bytes))
