#!/usr/bin/env python3
"""Tests kernels on a CUDA device.

The kernels of the samples and of tests/run/families are compared with their contracts and the interpreter,
in a random order, until the time limit is reached. Also tests traps with their locations, and a barrier
across the whole launch in a loop.

Without a GPU, the tests' own driver (tests/drivers/fake_cuda.h) interprets the PTX thread by thread. This
only tests the PTX text, not what NVIDIA's compiler and GPUs make of it, but it detects the removal of any
barrier. KDL_CUDA=1 uses the machine's own driver, whose matrix instructions add in another order. Results
that depend on this order are compared with the reference device within a tolerance.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile

import numpy

from shared import checks, teams

OWN_DRIVER = bool(os.environ.get("KDL_CUDA"))


def is_missing(said):
    return "CUDA is not available" in said or "cuda[0]: it would be the 1st, 0 match" in said


# Writes rows that do not begin at multiples of 16 bytes, unlike those of x.
SHIFTED = """
export program shifted(x: in f32[R, C], y: out f32[R, C]) {
    let wide: f32[R, C + 4];
    spmd(core_num = 1) softmax(x, wide[0..R, 1..C + 1]);
    copy(wide[0..R, 1..C + 1], y);
}
"""


def barriers():
    """Checks softmax with each of its barriers removed in turn: a race is reported, or the bits differ. The barriers of
    long rows, which are kept in workgroup memory, differ from those of short ones."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "softmax.kdl"
        source.write_text((teams.ROOT / "samples/softmax/softmax.kdl").read_text() + SHIFTED)
        teams.kernelc("build", source, "--target", "cuda", "--emit", "ptx", "-o", folder)
        (text,) = pathlib.Path(folder).glob("*.ptx")
        count = text.read_text().count("bar.sync")
        checks.expect("softmax has barriers", count > 1, "")
        run = ["run", source, "--target", "cuda", "--verify", "--arg", "x=random:1"]
        short, long = ["--set", "R=37", "--set", "C=1003"], ["--set", "R=3", "--set", "C=5000"]
        # Threads read other elements of a kept row than they have loaded only if x and y are not aligned alike.
        one_core = ["--kernel", "softmax", "--core-num", "1"]
        launches = [[*one_core, *short], [*one_core, *long], ["--program", "shifted", *long]]
        for launch in launches:
            done = teams.kernelc(*run, *launch)
            checks.expect(f"softmax {' '.join(launch)}", done.returncode == 0, done.stdout + done.stderr)
        for number in range(count):
            os.environ["FAKE_CUDA_DROP"] = str(number)
            said = ""
            for launch in launches:
                done = teams.kernelc(*run, *launch)
                said += done.stdout + done.stderr
                if done.returncode != 0:
                    break
            checks.expect(f"softmax without barrier {number} is wrong", done.returncode != 0, said)
        del os.environ["FAKE_CUDA_DROP"]


# How the tests' driver describes its device.
DESCRIBED = """\
cuda, as the runtime sees it:
  cores of a launch                           32
  bytes of memory                             1073741824
  same bits as the reference                  yes
  name                                        no GPU 0
  level                                       9.0
  multiprocessors                             4
  clock in kHz                                1980000
  threads of a warp                           32
  threads of a block                          1024
  threads of a multiprocessor                 2048
  registers of a block                        65536
  registers of a multiprocessor               65536
  bytes of shared memory of a block           232448
  bytes of it that the driver uses            1024
  bytes of shared memory of a multiprocessor  233472
  bytes of second-level cache                 52428800
  bytes of constants                          65536
  memory pools                                1
  runs code for                               sm_90a sm_90 sm_80
cuda?isa=sm_90a, which is compiled for:
  threads of a workgroup                      128
"""


def described():
    """Checks the driver's description of a device and the levels that it runs, and the message if there is no
    driver."""
    done = teams.kernelc("targets", "--device", "cuda")
    checks.expect("the device is described", done.stdout.startswith(DESCRIBED), done.stdout + done.stderr)
    levels = [line for line in done.stdout.splitlines() if not line.startswith(" ")][1:]
    expected = [f"cuda?isa={level}, which is compiled for:" for level in ["sm_90a", "sm_90", "sm_80"]]
    checks.expect("all levels are there", levels == expected, done.stdout)
    done = teams.kernelc("targets", "--device", "cuda?isa=sm_80")
    levels = [line for line in done.stdout.splitlines() if not line.startswith(" ")][1:]
    checks.expect("the one that is asked for is there alone", levels == expected[2:], done.stdout)


EQUAL = "equal to the reference, bit for bit\n"  # also for matrix instructions: the driver has the interpreter's order
OPEN = re.compile(r"bit for bit, but for ['\w, ]+: the device's matrix instructions add in an order of their own\n")
MOST_ERROR = 1e-5  # limit on the error of f32 sums, measured by the norm
# Error limits where sums have fewer bits: for products of f8, and for factors that are rounded sums.
MOST_ERROR_OF_F8 = 1e-3
MOST_ERROR_OF_TURNS = 4e-3


def expect_equal(what, words, out, most_error=MOST_ERROR):
    """Checks that `kernelc run WORDS` gives the interpreter's results. `out` is the tensor that may depend on
    the order in which matrix instructions add."""
    with tempfile.TemporaryDirectory() as folder:
        got, wanted = (pathlib.Path(folder) / name for name in ["got.npy", "wanted.npy"])
        done = teams.kernelc("run", *words, "--verify", "--out", f"{out}=@{got}")
        equal = EQUAL in done.stdout
        if not equal and OWN_DRIVER and OPEN.search(done.stdout):
            at = words.index("--target")
            teams.kernelc("run", *words[:at], "--target", "reference", *words[at + 2:], "--out", f"{out}=@{wanted}")
            exact, device = (numpy.load(path).astype(numpy.float64) for path in [wanted, got])
            equal = bool(numpy.linalg.norm(device - exact) <= most_error * numpy.linalg.norm(exact))
    checks.expect(f"{what} equals the interpreter", equal, done.stdout + done.stderr)


# c = a * b, one product for each layer.
LAYERS = """
export kernel layers(a: in bf16[L, M, K], b: in bf16[L, N, K], c: out f32[L, M, N]) {
    spmd for l in 0..L, i in M by 64, j in N by 64 {
        var acc: f32[i, j] = 0;
        for k in K by 64 { acc += dot(a[l, i, k], b[l, j, k] over k); }
        c[l, i, j] = acc;
    }
}
"""


def groups():
    """Checks products that warpgroups compute, both with tile copies of their factors (if possible) and
    without them. Also checks that the removal of a wait is noticed."""
    target = ["--target", "cuda?isa=sm_90a"]
    given = ["--arg", "a=random:1", "--arg", "b=random:2", "--core-num", "1"]
    with tempfile.TemporaryDirectory() as folder:
        layers = pathlib.Path(folder) / "layers.kdl"
        layers.write_text(LAYERS)
        run = [layers, *target, *given]
        fits = ["--set", "L=2", "--set", "M=70", "--set", "N=9", "--set", "K=328"]
        odd = ["--set", "L=2", "--set", "M=3", "--set", "N=5", "--set", "K=331"]
        empty = ["--set", "L=1", "--set", "M=3", "--set", "N=5", "--set", "K=0"]
        for sizes in [fits, odd, empty]:
            expect_equal(f"layers {sizes}", [*run, *sizes], "c")
        if not OWN_DRIVER:
            # With these sizes, each block has only one iteration, so one of the first two fences
            # precedes it.
            turn = ["--set", "L=1", "--set", "M=3", "--set", "N=5", "--set", "K=31"]
            for sizes, text, count in [(fits, "wgmma.wait_group.sync.aligned 0", 1), (fits, "bar.sync", 1),
                                       (turn, "fence.proxy.async", 2)]:
                said = [teams.kernelc("run", *run, "--verify", *sizes,
                                      environment={"FAKE_CUDA_DROPPED": text, "FAKE_CUDA_DROP": str(number)}).stdout
                        for number in range(count)]
                checks.expect(f"layers without {text} are wrong", not all(EQUAL in stdout for stdout in said), "\n".join(said))
    byte_groups([*target, *given])
    tf32_products(given)
    short_rows()
    shared_blocks()
    long_rows()
    quotients()
    kept_products([*target, *given])
    turn_groups(target)
    wide_pipes(target)


def byte_groups(target):
    """Checks products of bytes that warpgroups compute. Rows of 331 bytes cannot be copied as tensor
    tiles."""
    floats = [["floats", "-D", f"A={a}", "-D", f"B={b}"] for a in ["f8e4m3", "f8e5m2"] for b in ["f8e4m3", "f8e5m2"]]
    for kernel in [["signed"], ["unsigned"], ["mixed"], *floats]:
        for sizes in [["M=70", "N=9", "K=336"], ["M=3", "N=261", "K=331"]]:
            given = [word for size in sizes for word in ["--set", size]]
            expect_equal(f"{kernel} {sizes}", ["tests/run/byte_products.kdl", "--kernel", *kernel, *target, *given], "c",
                         MOST_ERROR_OF_F8)


LEAST = """
export kernel least(x: in u8[R, C], y: out u8[R]) {
    spmd for r in R by 32 {
        range c in C max 100;
        y[r] = min(x[r, c] over c);
    }
}
"""


def short_rows():
    """Checks a reduction of rows of 100 bytes: groups of 16 elements would not be aligned in each row."""
    with tempfile.TemporaryDirectory() as folder:
        least = pathlib.Path(folder) / "least.kdl"
        least.write_text(LEAST)
        expect_equal("least of short rows", [least, "--target", "cuda", "--set", "R=3", "--set", "C=64", "--arg", "x=random:1"], "y")


# The second loop reads what its core has written in the first one, without a `sync`.
SHARED_BLOCKS = """
export kernel means(x: in f32[R, C], y: out f32[R], z: out f32[R]) {
    domain d = (R by 8);
    spmd for r in d {
        var m: f32[r] = -inf;
        for c in C by 1024 { m = max(m, max(x[r, c] over c)); }
        var s: f32[r] = 0.0;
        for c in C by 1024 { s += sum(x[r, c] - m over c); }
        y[r] = s;
    }
    spmd for r in d { z[r] = y[r] / (C as f32); }
}
"""


def shared_blocks():
    """Checks two loops over one domain, of which the first one keeps long rows in workgroup memory."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "means.kdl"
        file.write_text(SHARED_BLOCKS)
        for level, columns in [("sm_80", "C=1000"), ("sm_80", "C=5000"), ("sm_90a", "C=9000")]:
            expect_equal(f"means of {columns}, {level}", [file, "--target", f"cuda?isa={level}", "--core-num", "3", "--set", "R=37",
                                                          "--set", columns, "--arg", "x=random:1"], "z")


def long_rows():
    """Checks rows that a launch keeps in workgroup memory, with as much of it as they need, and longer ones."""
    for columns in [4095, 4096, 8192, 8193, 16384, 16385]:
        expect_equal(f"softmax of {columns} columns", ["samples/softmax/softmax.kdl", "--kernel", "softmax", "--target",
                                                       "cuda?isa=sm_90a", "--core-num", "2", "--set", "R=3", "--set", f"C={columns}",
                                                       "--arg", "x=random:1"], "y")


# The elements of a vector have the same divisor.
QUOTIENTS = """
export kernel quotients(x: in f32[R, C], d: in f32[R], y: out f32[R, C]) {
    spmd for r in R by 4, c in C by 512 { y[r, c] = x[r, c] / d[r]; }
}
"""


def quotients():
    """Checks f32 divisions that share a reciprocal, with operands at the ends of the range in which they do, and beyond."""
    ends = [edge for power in (-149, -127, -126, -61, -60, 0, 59, 60, 127) for edge in (2.0 ** power, 2.0 ** power * (1 + 2 ** -23))]
    ends = numpy.array([0.0, 3.4028235e38, numpy.inf, numpy.nan, *ends, numpy.nextafter(numpy.float32(2.0 ** 60), 0)])
    drawn = numpy.random.default_rng(1)
    divisors = numpy.concatenate([ends, -ends, drawn.uniform(1, 2, 16)]).astype(numpy.float32)
    rows, columns = len(divisors), 1000
    common = drawn.uniform(1, 2, (rows, columns)) * 2.0 ** drawn.integers(-62, 62, (rows, columns))
    x = numpy.where(drawn.random((rows, columns)) < 0.1, drawn.choice(numpy.concatenate([ends, -ends]), (rows, columns)), common)
    x[:, 500:] = common[:, 500:]
    with tempfile.TemporaryDirectory() as folder:
        file, *arrays = (pathlib.Path(folder) / name for name in ["quotients.kdl", "x.npy", "d.npy"])
        file.write_text(QUOTIENTS)
        for array, path in zip([x.astype(numpy.float32), divisors], arrays):
            numpy.save(path, array)
        expect_equal("quotients", [file, "--target", "cuda", "--arg", f"x=@{arrays[0]}", "--arg", f"d=@{arrays[1]}"], "y")
        text = pathlib.Path(folder) / "text"
        done = teams.kernelc("build", file, "--emit", "ptx", "--target", "cuda", "-o", text)
        ptx = "".join(path.read_text() for path in text.glob("*.ptx"))
        checks.expect("quotients share a reciprocal", "rcp.approx.ftz.f32" in ptx, done.stdout + done.stderr)


def tf32_products(drawn):
    """Checks products whose factors are converted by threads. They are computed by warpgroups and by single
    warps, with several blocks of terms and with fewer terms than one instruction multiplies."""
    for kernel in ["rows", "columns"]:
        for level in ["sm_90a", "sm_80"]:
            for sizes in [["M=70", "N=9", "K=76"], ["M=3", "N=261", "K=131"], ["M=3", "N=133", "K=5"]]:
                given = [word for size in sizes for word in ["--set", size]]
                expect_equal(f"{kernel} of tf32 {sizes}, {level}", ["tests/run/tf32_products.kdl", "--kernel", kernel, "--target",
                                                                    f"cuda?isa={level}", *drawn, *given], "c")


def kept_products(target):
    """Checks products whose sums are also needed outside the registers of the warpgroups."""
    for kernel in ["through", "started", "bytes", "far", "seen"]:
        more = ["--arg", "z=zeros"] if kernel == "seen" else []
        expect_equal(f"kept product '{kernel}'", ["tests/run/kept_products.kdl", "--kernel", kernel, *target, *more, "--set", "M=70",
                                                  "--set", "N=72", "--set", "K=136"], "y", MOST_ERROR_OF_TURNS)


def turn_groups(target):
    """Checks products in loops that do more than multiply. With 3 columns, no tensor tile can be copied."""
    runs = [
        ["attention", ["-D", "T=f16", "-D", "D=64"], "q k v", "o", ["B=1", "H=2", "L=130", "S=70"], ["--arg", "scale=0.125"]],
        ["causal", ["-D", "D=128"], "q kv", "o", ["L=70", "S=72"], []],
        ["weighed", [], "x w g", "c", ["M=70", "K=72", "N=8"], []],
        ["weighed", [], "x w g", "c", ["M=3", "K=131", "N=3"], []],
        ["of_layers", [], "a b", "c", ["K=136", "N=8"], []],
        ["handed_on", [], "x w", "c", ["M=64", "K=70"], []],
    ]
    for kernel, defines, tensors, out, sizes, more in runs:
        drawn = [word for number, name in enumerate(tensors.split()) for word in ["--arg", f"{name}=random:{number}"]]
        given = [word for size in sizes for word in ["--set", size]]
        expect_equal(f"{kernel} {sizes}", ["tests/run/turn_products.kdl", "--kernel", kernel, *defines, *target, *drawn, *given, *more,
                                           "--core-num", "2"], out, MOST_ERROR_OF_TURNS)


def wide_pipes(target):
    """Checks pipes whose slots, each of which contains a tile, are written and read as vectors. With 61
    columns, some slots are accessed element by element."""
    for kernel in ["even", "odd"]:
        for columns in ["M=144", "M=61"]:
            expect_equal(f"pipes of {kernel} rows, {columns}", [
                "tests/run/wide_pipes.kdl", "--kernel", kernel, *target, "--arg", "x=random:1", "--set", "N=130", "--set", columns,
                "--pipes", "buffered", "--core-num", "3"], "y")


# A kernel with little data per thread, a product, and a kernel whose result depends on the number of cores.
GRIDS = """
export kernel twice(x: in f32[N], y: out f32[N]) { spmd for i in N by 512 { y[i] = 2.0 * x[i]; } }
export kernel product(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N]) {
    spmd for i in M by 128, j in N by 256 {
        var acc: f32[i, j] = 0;
        for k in K by 64 { acc += dot(a[i, k], b[j, k] over k); }
        c[i, j] = acc;
    }
}
export kernel counted(x: in f32[N], y: out f32[N], cores: out i64[1]) {
    spmd for i in N by 512 { y[i] = x[i]; }
    if core_id == 0 { cores[0] = core_num; }
}
export kernel scaled(x: in f32[N], y: out f32[N]) {
    let cores = core_num as f32;
    spmd for i in N by 512 { y[i] = cores * x[i]; }
}
"""


# Launches a product, whose factors TMA copies, three times on the same tensors.
AGAIN = """
kernel product(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N]) {
    spmd for i in M by 64, j in N by 64 {
        var acc: f32[i, j] = 0;
        for k in K by 64 { acc += dot(a[i, k], b[j, k] over k); }
        c[i, j] = acc;
    }
}
export program again(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N]) {
    for t in 0..3 { spmd product(a, b, c); }
}
"""


def launches():
    """Checks the driver's calls for launches: one for each launch, without waiting for the one before. The first
    launch also makes the tensor maps."""
    with tempfile.TemporaryDirectory() as folder:
        file, calls = (pathlib.Path(folder) / name for name in ["again.kdl", "calls"])
        file.write_text(AGAIN)
        given = ["--set", "M=64", "--set", "N=64", "--set", "K=64", "--arg", "a=random:1", "--arg", "b=random:2"]
        done = teams.kernelc("run", file, "--target", "cuda?isa=sm_90a", "--verify", *given, environment={"FAKE_CUDA_CALLS": str(calls)})
        checks.expect("three launches are right", EQUAL in done.stdout, done.stdout + done.stderr)
        lines = [line.split()[0] for line in calls.read_text().splitlines()]
        first = lines.index("cuTensorMapEncodeTiled")
        last = len(lines) - lines[::-1].index("cuLaunchKernelEx")
        turn = ["cuLaunchKernelEx", "cuCtxPopCurrent_v2", "cuCtxPushCurrent_v2"]
        expected = ["cuTensorMapEncodeTiled"] * 2 + turn * 2 + ["cuLaunchKernelEx"]
        checks.expect("a launch is one call", lines[first:last] == expected, "\n".join(lines[first:last]))


def grids():
    """Checks the number of blocks of launches that state none: as many as the driver's 4 multiprocessors run
    at once, but a fixed number if results depend on it."""
    long = ["--set", "N=100000", "--arg", "x=random:1"]
    large = ["--set", "M=900", "--set", "N=1000", "--set", "K=64", "--arg", "a=random:1", "--arg", "b=random:2"]
    rows = [("twice", long, 4 * 16), ("product", large, 4), ("counted", long, 32), ("scaled", long, 32),
            ("twice", [*long, "--core-num", "100"], 100), ("twice", ["--set", "N=1025", "--arg", "x=random:1"], 3)]
    with tempfile.TemporaryDirectory() as folder:
        file, calls = (pathlib.Path(folder) / name for name in ["grids.kdl", "calls"])
        file.write_text(GRIDS)
        for kernel, given, expected in rows:
            calls.unlink(missing_ok=True)
            done = teams.kernelc("run", file, "--kernel", kernel, "--target", "cuda?isa=sm_90a", "--verify", *given,
                                 environment={"FAKE_CUDA_CALLS": str(calls)})
            checks.expect(f"{kernel} is right on {expected} blocks", EQUAL in done.stdout, done.stdout + done.stderr)
            launches = [line for line in calls.read_text().splitlines() if line.startswith("cuLaunchKernel")]
            checks.expect(f"{kernel} has {expected} blocks", [line.split()[1:] for line in launches] == [[str(expected)]], str(launches))


if __name__ == "__main__":
    parts = {"groups": groups}
    if not OWN_DRIVER:
        parts |= {"barriers": barriers, "described": described, "grids": grids, "launches": launches}
        fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
        os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    sys.exit(teams.run(__doc__.splitlines()[0], "cuda", is_missing, parts))
