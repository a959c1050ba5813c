#!/usr/bin/env python3
"""Tests calls of kernels with strided and broadcast parameters from Python, with random shapes and views of NumPy arrays. Results equal
those of NumPy, or those of copies without gaps, bit for bit, on several devices and numbers of cores."""

import sys

from shared.python_package import check_all

SETUP = '''
SOURCE = """
export kernel plus<T: u8 | i32 | f32 | f64, B: int = auto>(
    x: in broadcast T[N..], y: in broadcast T[N..], z: out strided T[N..])
{
    spmd for n in N.. by B { z[n] = x[n] + y[n]; }
}
ensures { z[n] ~ x[n] + y[n]; }

export kernel rows(x: in strided f32[A.., C], first: in broadcast f32[A..], y: out f32[A..], n: out i64[A..]) {
    spmd for a in A.. by 16 {
        var s: f32[a] = first[a];
        for c in C by 64 { s += sum(x[a, c] over c); }
        y[a] = s;
        n[a] = iota(a);
    }
}

export kernel sum_axis(x: in strided f32[A.., C, B..], w: in broadcast f32[B..], n: in f32[B..], y: out f32[A.., B..]) {
    spmd for a in A.. by 4, b in B.. by 8 {
        var s: f32[a, b] = 0;
        for c in C by 4 { s += sum(w[b] * x[a, c, b] + n[b] over c); }
        y[a, b] = s;
    }
}

export kernel sums(x: in strided i32[A.., C, B..], y: out strided i32[A.., B..]) {
    spmd for a in A.. by 4, b in B.. by 8 {
        var s: i32[a, b] = 0;
        for c in C by 4 { s += sum(x[a, c, b] over c); }
        y[a, b] = s;
    }
}

export kernel matrix(x: in strided f32[M, N], y: in f32[N, K], z: out f32[M, K]) {
    spmd for i in M by 16, j in K by 16 {
        var s: f32[i, j] = 0;
        for k in N by 16 { s += dot(x[i, k], y[k, j] over k); }
        z[i, j] = s;
    }
}

export kernel optional(x: in strided f32[A..], b: in broadcast f32[A..]?, n: in f32[A..]?, y: out f32[A..]) {
    spmd for a in A.. by 8 { y[a] = x[a] + (if b then b[a] else 0.0) + (if n then n[a] else 0.0); }
}

export kernel most<BB: int = auto>(x: in strided i32[A.., C, B..], y: out i32[A.., B..], m: out i32[A.., B..]?) {
    spmd for a in A.. by 4, b in B.. by BB {
        var t: i32[a, b] = -1;
        for c in C by 64 { if m { t = max(t, max(x[a, c, b] over c)); } }
        y[a, b] = 3;
        if m { m[a, b] = t; }
    }
}

export kernel numbers(x: in strided f32[A..], y: out f32[A..]) {
    spmd for a in 0..A { y[a] = x[a] + (a as f32); }
}

export kernel columns(x: in strided f32[A.., C], y: inout strided f32[A.., C]) {
    spmd for c in C by 8 { for a in A.. by 16 { y[a, c] += x[a, c]; } }
}
"""
rng = np.random.default_rng(list(os.environ.get("KDL_SEED", "0").encode()))

def view(shape, dtype="f4"):
    """A view with this shape, whose elements are anywhere in memory."""
    order = rng.permutation(len(shape))
    steps = [int(rng.integers(1, 3)) if rng.random() < 0.4 else 1 for _ in shape]
    more = [int(rng.integers(0, 3)) if rng.random() < 0.4 else 0 for _ in shape]
    whole = rng.integers(0, 100, [shape[i] * steps[i] + more[i] for i in order]).astype(dtype)
    moved = whole.transpose(np.argsort(order))
    return moved[(*(slice(m, m + n * s, s) for m, n, s in zip(more, shape, steps)), ...)]

def shape_of(rank, most=3000):
    """A shape with this rank and at most as many elements."""
    shape = []
    for _ in range(rank):
        size = int(rng.choice([0, 1, 2, 3, 5, 17, 33], p=[.04, .16, .2, .2, .2, .1, .1]))
        shape.append(size if size * max(np.prod(shape, dtype="i8"), 1) <= most else 1)
    return shape

def shrunk(shape):
    """A shape that is repeated to the given one."""
    left = [size if rng.random() < 0.6 else 1 for size in shape]
    return left[int(rng.integers(0, len(left) + 1)):] if rng.random() < 0.5 else left

def dense_copy(x):
    return np.array(x, order="C")

def outcome(call, groups):
    """The result of a call, or None if it fails because more groups of dimensions have gaps between them than there can be."""
    try:
        return call()
    except kernelc.ArgumentError as error:
        assert groups and "groups of its dimensions" in str(error), error
        return None
'''

TRIALS = '''
module = kernelc.compile(SOURCE, device={device!r})
refused = 0
for trial in range({trials}):
    cores = int(rng.integers(1, 5))
    shape = shape_of(int(rng.integers(0, 7)))
    dtype = str(rng.choice(["u1", "i4", "f4", "f8"]))
    x, y = view(shrunk(shape), dtype), view(shrunk(shape), dtype)
    expected = x + y
    z = view(expected.shape, dtype)
    places = (trial, x.shape, x.strides, y.shape, y.strides, z.strides)
    many = len(shape) > 6
    if outcome(lambda: module.plus[cores](x, y, z) or True, many):
        assert (z == expected).all(), places
    result = outcome(lambda: module.plus(x, y), many)
    refused += result is None
    assert result is None or (result.shape == expected.shape and (result == expected).all()), places

    a, b, c = shape_of(int(rng.integers(0, 5))), shape_of(int(rng.integers(0, 3)), 20), int(rng.integers(0, 70))
    x, first = view([*a, c]), view(shrunk(a))
    sums, numbers = np.empty(a, "f4"), np.empty(a, "i8")
    module.rows[cores](x, first, sums, numbers)
    dense = np.empty(a, "f4"), np.empty(a, "i8")
    module.rows(dense_copy(x), dense_copy(np.broadcast_to(first, a)), *dense)
    assert (sums == dense[0]).all() and (numbers == np.arange(numbers.size).reshape(a)).all(), (trial, x.shape, x.strides)

    x, w, y = view([*a, c, *b]), view(shrunk(b)), np.empty([*a, *b], "f4")
    numbers, dense = np.ones(b, "f4"), np.empty([*a, *b], "f4")
    module.sum_axis(dense_copy(x), dense_copy(np.broadcast_to(w, b)), numbers, dense)
    if outcome(lambda: module.sum_axis[cores](x, w, numbers, y) or True, len(a) > 3 or len(b) > 3):
        assert (y == dense).all(), (trial, x.shape, x.strides, w.shape)

    x, y = view([*a, c, *b], "i4"), view([*a, *b], "i4")
    if outcome(lambda: module.sums[cores](x, y, rank_A=len(a)) or True, len(a) > 3 or len(b) > 3):
        assert (y == x.sum(len(a))).all(), (trial, x.shape, x.strides, y.strides)

    x, y = view([*a, c, *b], "i4"), np.empty([*a, *b], "i4")
    most = np.empty([*a, *b], "i4") if rng.random() < 0.5 else None
    if outcome(lambda: module.most[cores](x, y, most, rank_A=len(a)) or True, len(a) > 3 or len(b) > 3):
        assert (y == 3).all() and (most is None or (most == x.max(len(a), initial=-1)).all()), (trial, x.shape, x.strides, most is None)

    m, n, k = (int(size) for size in rng.integers(0, 40, 3))
    x, y = view([m, n]), rng.random([n, k], "f4")
    assert (module.matrix[cores](x, y) == module.matrix(dense_copy(x), y)).all(), (trial, x.shape, x.strides)

    x, y = view(a), np.empty(a, "f4")
    b = view(shrunk(a)) if rng.random() < 0.5 else None
    n = dense_copy(view(a)) if rng.random() < 0.5 else None
    module.optional[cores](x, b, n, y)
    assert (y == x + (0 if b is None else b) + (0 if n is None else n)).all(), (trial, x.strides, b is None, n is None)
    assert (module.numbers[cores](x) == x + np.arange(x.size, dtype="f4").reshape(a)).all(), (trial, x.strides)

    x, y = view([*a, c]), view([*a, c])
    expected = x + y
    module.columns[cores](x, y)
    assert (y == expected).all(), (trial, x.strides, y.strides)
assert refused < {trials} // 3
'''

ERRORS = SETUP + '''
module = kernelc.compile(SOURCE)
x = np.zeros((4, 5), "f4")
fails("the dimensions N.. of the tensor for x[N..] are [4], which cannot be repeated to [4, 5], those of the tensor for z[N..]", kernelc.ArgumentError,
      lambda: module.plus(np.zeros(4, "f4"), x, x.copy()))
fails("cannot be repeated to common dimensions N..", kernelc.ArgumentError, lambda: module.plus(np.zeros(4, "f4"), x))
fails("", kernelc.ArgumentError, lambda: module.plus(x[None], x, x.copy()))  # z has fewer dimensions than x
fails("the tensor for x[N..] has the negative stride -5 in dimension 0", kernelc.ArgumentError, lambda: module.plus(x[::-1], x))
fails("with x: f32[4, 5], y: i32[4, 5], z: f32[4, 5]; it takes (x: u8[N..]", kernelc.ArgumentError,
      lambda: module.plus(x, np.zeros((5, 4), "i4").T, np.zeros((4, 5), "f4")))
fails("the tensor for z[N..], which is written, has elements that share memory", kernelc.ArgumentError,
      lambda: module.plus(x, x, np.lib.stride_tricks.as_strided(x, (4, 5), (0, 4))))
even = kernelc.compile("""export kernel even(x: in strided f32[N.., C], w: in f32[N_1], y: out f32[N.., 2 * C]) where N % 2 == 0 {
    spmd for n in N.. by 8, c in 2 * C by 8 { y[n, c] = 1.0; }
    spmd for i in N_1 by 8 { assert(w[i] == 1.0, "w"); }
}""").even
wide = np.zeros((3, 10, 8), "f4")
for one in (wide[:, ::2], wide[:, :5].copy()):
    fails("'N % 2 == 0' does not hold: (N % 2) is 1 (N is dimension 0 of x)", kernelc.Trap, lambda: even(one, np.ones(2, "f4"), np.zeros((3, 5, 16), "f4")))
for one in (wide[:, ::5], wide[:, :2].copy()):
    fails("'dimension 1 of y = (2*C)' does not hold: 7 against 16", kernelc.Trap, lambda: even(one, np.ones(2, "f4"), np.zeros((3, 2, 7), "f4")))
fails("the parameter is not `strided`", kernelc.ArgumentError, lambda: module.rows(x[None], x[0, 0], np.zeros((4, 1), "f4").T, np.zeros((1, 8), "i8")[:, ::2]))
'''

TEXTS = {f"views on {device}": SETUP + TRIALS.format(device=device, trials=trials)
         for device, trials in (("host", 200), ("host?isa=x86-64-v2", 40), ("host?threads=1", 40), ("debug", 40), ("opencl", 30))}
TEXTS["errors"] = ERRORS
TEXTS["the interpreter"] = SETUP + '''
module = kernelc.compile(SOURCE)
for trial in range(4):
    shape = shape_of(3)
    x, y = view(shrunk(shape)), view(shrunk(shape))
    assert "equal to the reference" in module.plus.verify(x, y)
    with kernelc.interpret():
        assert (module.plus(x, y) == x + y).all(), (x.shape, y.shape)
'''

if __name__ == "__main__":
    sys.exit(check_all(TEXTS))
