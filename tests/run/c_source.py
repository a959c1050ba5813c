#!/usr/bin/env python3
"""Tests `--emit c-source`: kernels as C11 without a runtime. Each exported kernel of the samples and families is compiled by gcc,
by gcc without GNU vectors, and by clang, without warnings, and called on drawn shapes and inputs; without arguments, a sample of
the files by one compiler each. The results must be those of the compiled objects, bit for bit, on one and on three cores, in
whatever floating-point state the caller is. Both must also refuse or trap together. clang also checks the code for Windows, where it has no GNU vectors.

    tests/run/c_source.py [--all] [FILE...]     # --all: all files, and more shapes for each kernel
    tests/run/c_source.py --drawn 100 --first 1 # random kernels of tests/fuzz instead
"""

import argparse
import ctypes
import itertools
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import numpy as np

from shared import checks, seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"))
import kernelc  # noqa: E402

TARGET = "host?isa=x86-64-v3"
FLAGS = ["-std=c11", "-march=x86-64-v3", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-psabi"]
COMPILERS = {"gcc": ["gcc", "-O3"], "gcc, plain C": ["gcc", "-O1", "-DKDL_PLAIN"], "clang": ["clang-19", "-O3", "-Wconversion"]}
WINDOWS = ["clang-19", "--target=x86_64-pc-windows-msvc", "-std=c11", "-ffreestanding", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
# What generated code uses of the C library, since the headers of Windows are not here.
HEADERS = {"stdlib.h": "#include <stddef.h>\nvoid* malloc(size_t);\nvoid* calloc(size_t, size_t);\nvoid free(void*);\n",
           "string.h": "#include <stddef.h>\nvoid* memcpy(void*, const void*, size_t);\nvoid* memchr(const void*, int, size_t);\n",
           "math.h": "#undef NAN\n#undef INFINITY\n#define NAN __builtin_nanf(\"\")\n#define INFINITY __builtin_inff()\n#define signbit(x) __builtin_signbit(x)\n" +
                     "".join(f"double {name}({', '.join(['double'] * count)});\nfloat {name}f({', '.join(['float'] * count)});\n"
                             for name, count in (("fma", 3), ("fabs", 1), ("floor", 1), ("ceil", 1), ("rint", 1), ("sqrt", 1), ("copysign", 2),
                                                 ("fmin", 2), ("nearbyint", 1))) +
                     "double ldexp(double, int);\nfloat ldexpf(float, int);\nint ilogb(double);\n"}
TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
         "u32": "u4", "u64": "u8"}
# Floating-point states of callers (MXCSR): the default; subnormal numbers are zeros; rounding up; division by 0 and others end in
# a signal.
STATES = [0x1F80, 0x9FC0, 0x5F80, 0x1D00]
STATE_FLAGS = 0x3F
STATE_SOURCE = """unsigned get_state(void) { return __builtin_ia32_stmxcsr(); }
void set_state(unsigned state) { __builtin_ia32_ldmxcsr(state); }
"""
LAUNCHED = [0, 1, 2, 3, 7, 8, 100, 1 << 21, 1 << 31, (1 << 43) - 1, 1 << 43, 1 << 62]
SIZES = [0, 1, 2, 5, 8, 31, 64, 70, 133]
FUNCTION = re.compile(r"((?:^///   .*\n)*)^const char\* (\w+)\(([^;]*)\);", re.MULTILINE)
PARAMETER = re.compile(r"///   (\w+): (?:(in|out|inout) )?(\w+)(?:\[(.*)\])?$")
SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 65504.0, 1e30, -1e30]


def draw(rng, element, shape, special):
    """Returns an array of random numbers. Integers are mostly small, because they may be indices."""
    kind = np.dtype(TYPES[element])
    if kind.kind == "f":
        values = rng.standard_normal(shape)
        if special:
            values = np.where(rng.random(shape) < 0.2, rng.choice(SPECIALS, shape), values)
        with np.errstate(all="ignore"):
            return values.astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    info = np.iinfo(kind)
    if special:
        return rng.integers(info.min, info.max, shape, kind, endpoint=True)
    return rng.integers(0, 4, shape).astype(kind)


class States:
    """Sets the floating-point state of this thread to one of STATES after the other."""

    def __init__(self, folder):
        (folder / "state.c").write_text(STATE_SOURCE)
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", folder / "state.c", "-o", folder / "state.so"], check=True)
        self.library = ctypes.CDLL(str(folder / "state.so"))
        self.states = itertools.cycle(STATES)

    def call(self, function, arguments):
        """Calls a function in the next state, which it must leave as it is."""
        state = next(self.states)
        self.library.set_state(state)
        result = function(*arguments)
        after = self.library.get_state() & ~STATE_FLAGS
        self.library.set_state(STATES[0])
        checks.expect(f"{function.__name__} keeps the floating-point state", after == state, f"{state:#x}, then {after:#x}")
        return result


states = None  # made by main


class Function:
    """A function of the header, and of a library unless that is None."""

    def __init__(self, library, docs, name, arguments):
        self.name = name
        self.params = [PARAMETER.fullmatch(line).groups() for line in docs.splitlines() if PARAMETER.fullmatch(line)]
        self.sizes = [argument.split()[1] for argument in arguments.replace("\n", " ").split(",") if argument.strip().startswith("int64_t ")
                      and "*" not in argument][:len(arguments.split(",")) - len(self.params)]
        if library is not None:
            self.call = getattr(library, name)
            self.call.restype = ctypes.c_char_p

    def supported(self):
        return all(element in TYPES for _, _, element, _ in self.params)

    def shape(self, text, sizes):
        """Returns the dimensions of a tensor, of one with as many elements as a kernel counts those of its memory (`n <= N`)."""
        known = {name.rstrip("_"): size for name, size in sizes.items()}
        dims = [dim.rpartition("<=")[2].replace("..", "").replace("/", "//") for dim in text.split(",")] if text else []
        return [int(eval(dim, {"min": min}, known)) for dim in dims]

    def run(self, sizes, values):
        arguments = [ctypes.c_int64(sizes[name]) for name in self.sizes]
        for (_, _, element, shape), value in zip(self.params, values):
            if shape is not None:
                arguments.append(ctypes.c_void_p(value.ctypes.data))
            elif element == "f32":
                arguments.append(ctypes.c_float(value))
            elif element == "f64":
                arguments.append(ctypes.c_double(value))
            elif element == "f16":
                arguments.append(ctypes.c_uint16(int(np.float16(value).view("u2"))))
            else:
                arguments.append(ctypes.c_int64(int(value)))
        return states.call(self.call, arguments)


def same(a, b):
    """Whether two arrays have the same bits, where all NaNs are equal."""
    if a.dtype.kind != "f":
        return (a == b).all()
    bits = f"u{a.itemsize}"
    return ((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))).all()


HOOK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


def parallel_for(count, body, context):
    threads = [threading.Thread(target=BODY(body), args=(context, core)) for core in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


hook = HOOK(parallel_for)


def compare(function, kernel, rng, libraries, tries, choices=SIZES):
    """Calls the kernel and the C functions on the same data. Returns how often both ran."""
    ran = 0
    for attempt in range(tries):
        sizes = {name: int(rng.choice(choices)) for name in function.sizes}
        special = attempt % 2 == 1
        try:
            values = [draw(rng, element, function.shape(shape, sizes), special) if shape is not None
                      else draw(rng, element, (), False).item() for _, _, element, shape in function.params]
        except (ZeroDivisionError, ValueError, MemoryError):
            continue
        expected = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
        why = ""
        try:
            kernel(*expected)
        except (kernelc.Trap, kernelc.ArgumentError) as error:
            why = str(error)
        for label, library in libraries:
            own = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
            text = Function.run(library, sizes, own)
            what = f"{label}: {function.name} {sizes}"
            checks.expect(f"{what} fails as the compiled kernel does", (text is not None) == bool(why), f"C: {text}, compiled: {why}")
            if why or text:
                continue
            ran += 1
            for (name, direction, _, shape), mine, theirs in zip(function.params, own, expected):
                if direction in ("out", "inout"):
                    checks.expect(f"{what}: {name}", same(mine, theirs), f"{mine}\n{theirs}")
    return ran


def build(path, folder, compilers):
    """Returns the header and the libraries of a file, or None if C cannot contain it."""
    built = subprocess.run(["kernelc", "build", path, "--target", TARGET, "--emit", "c-source", "-o", folder], capture_output=True, text=True)
    if built.returncode != 0:
        checks.expect(f"{path.name} becomes C", re.search(r"\[E0401\]|\[E0990\]", built.stderr) is not None, built.stderr)
        return None
    source = folder / f"{path.stem}.source.c"
    header = source.with_suffix(".h").read_text()
    libraries = []
    for number, compiler in enumerate(compilers):
        library = folder / f"{path.stem}.{number}.so"
        made = subprocess.run([*COMPILERS[compiler], *FLAGS, "-shared", "-fPIC", source, "-lm", "-o", library], capture_output=True, text=True)
        checks.expect(f"{compiler} compiles {source.name} without warnings", made.returncode == 0 and not made.stderr, made.stderr)
        if made.returncode == 0:
            libraries.append((compiler, ctypes.CDLL(str(library))))
    made = subprocess.run([*WINDOWS, "-I", folder.parent / "headers", source], capture_output=True, text=True)
    checks.expect(f"{source.name} is C for Windows", made.returncode == 0 and not made.stderr, made.stderr)
    return header, libraries


def test(path, folder, compilers, tries, choices=SIZES):
    """Returns the numbers of functions that were called and of those that were not."""
    built = build(path, folder, compilers)
    if built is None or not built[1]:
        return 0, 1
    header, libraries = built
    module = kernelc.compile(path, device=TARGET)
    called = left = 0
    for docs, name, arguments in FUNCTION.findall(header):
        rng = np.random.default_rng([*f"{seeds.of_today()} {name}".encode()])
        kernel = next((getattr(module, part) for part in sorted(dir(module), key=len, reverse=True)
                       if name[len(path.stem) + 1:].startswith(part)), None)
        function = Function(libraries[0][1], docs, name, arguments)
        if kernel is None or not function.supported():
            left += 1
            continue
        variants = []
        for compiler, library in libraries:
            variants.append((compiler, Function(library, docs, name, arguments)))
        called += 1 if compare(function, kernel, rng, variants, tries, choices) else 0
        for compiler, library in libraries[:1]:
            ctypes.c_void_p.in_dll(library, f"{path.stem}_parallel_for").value = ctypes.cast(hook, ctypes.c_void_p).value
            ctypes.c_int64.in_dll(library, f"{path.stem}_cores").value = 3
            compare(function, kernel, rng, [(f"{compiler}, 3 cores", Function(library, docs, name, arguments))], 2, choices)
            ctypes.c_void_p.in_dll(library, f"{path.stem}_parallel_for").value = None
    return called, left


def launch_checks(folder, rng, tries):
    """Compares the launch checks of C functions with those of the runtime: both must report the same error. The message of
    the runtime also tells the sizes."""
    path = ROOT / "tests/run/c_launches.kdl"
    header, libraries = build(path, folder, ["gcc"])
    module = kernelc.compile(path, device=TARGET)
    for docs, name, arguments in FUNCTION.findall(header):
        function = Function(libraries[0][1], docs, name, arguments)
        kernel = getattr(module, name[len("c_launches_"):])
        fitting = 0
        for _ in range(tries):
            sizes = {size: int(rng.choice(LAUNCHED)) for size in function.sizes}
            sizes["Z"] = 0
            if "E" in sizes and rng.random() < 0.7 and sizes["B"]:
                sizes["E"] = sizes["A"] // sizes["B"]
            try:
                values = [np.empty(function.shape(shape, sizes), "f4") for _, _, _, shape in function.params]
            except (ValueError, ZeroDivisionError):  # NumPy has no such array
                continue
            why = ""
            try:
                kernel(*values)
            except (kernelc.Trap, kernelc.ArgumentError) as error:
                why = str(error).replace(": error: ", ": ")
            text = (function.run(sizes, values) or b"").decode()
            # Texts of C are constant, so they do not state which size was passed.
            expected = re.sub(r"(: size \w+ is) \d+(; the maximum is \d+)", r"\1 too large\2", why)
            checks.expect(f"{name} {sizes} has the runtime's error", bool(text) == bool(why) and expected.startswith(text), f"C: {text}\nruntime: {why}")
            fitting += not why
        checks.expect(f"{name} runs", fitting > 0)
        for size in function.sizes:
            sizes = {other: 8 if other != size else -1 for other in function.sizes}
            text = (function.run(sizes, [np.empty(0, "f4") for _ in function.params]) or b"").decode()
            checks.expect(f"{name}: {size} is negative", text.endswith(f": the size {size} is negative"), text)


REFUSED = {"-ffast-math": "compile this file without it", "-x c++": "compile this file as C"}
if platform.machine() == "x86_64":
    REFUSED["-m32 -mfpmath=387"] = "floats have excess precision"


def refusals(folder):
    """Options that would change results are errors, and so is a hook that skips a core."""
    path = ROOT / "samples/softmax/softmax.kdl"
    header, libraries = build(path, folder, ["gcc"])
    for options, why in REFUSED.items():
        made = subprocess.run(["gcc", *options.split(), "-ffreestanding", "-fsyntax-only", "-I", folder.parent / "headers", folder / "softmax.source.c"],
                              capture_output=True, text=True)
        checks.expect(f"{options} is refused", made.returncode != 0 and why in made.stderr, made.stderr)
    library = libraries[0][1]
    function = Function(library, *next(found for found in FUNCTION.findall(header) if found[1] == "softmax_softmax"))
    skipping = HOOK(lambda count, body, context: parallel_for(count - 1, body, context))
    ctypes.c_void_p.in_dll(library, "softmax_parallel_for").value = ctypes.cast(skipping, ctypes.c_void_p).value
    ctypes.c_int64.in_dll(library, "softmax_cores").value = 3
    text = function.run({"R": 2, "C": 4}, [np.zeros((2, 4), "f4"), np.empty((2, 4), "f4")])
    checks.expect("a skipped core is an error", text == b"launch of 'softmax': parallel_for has not called body for every core", str(text))


def drawn(folder, first, count):
    """Tests random kernels. Returns what `test` does."""
    sys.path.insert(0, str(ROOT / "tests/fuzz"))
    from files import File

    called = left = 0
    for seed in range(first, first + count):
        kernel = File(seed)
        if kernel.callees:
            continue
        place = folder / f"drawn{seed}"
        place.mkdir()
        path = place / f"d{seed}.kdl"
        path.write_text(str(kernel.tree))
        ran, kept = test(path, place, [["gcc", "gcc, plain C", "clang"][seed % 3]], 4, [*kernel.sizes.values()])
        called, left = called + ran, left + kept
    return called, left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--drawn", type=int, default=0, metavar="COUNT")
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    files = given.files or seeds.one_in(16, sorted([*(ROOT / "samples").glob("*/*.kdl"), *(ROOT / "tests/run/families").glob("*.kdl"),
                                                 ROOT / "tests/golden/run/counts_of_few.kdl"]))
    called = left = 0
    with tempfile.TemporaryDirectory() as folder:
        global states
        states = States(pathlib.Path(folder))
        headers = pathlib.Path(folder) / "headers"
        headers.mkdir()
        for name, text in HEADERS.items():
            (headers / name).write_text(text)
        if given.drawn:
            files = []
            called, left = drawn(headers.parent, given.first, given.drawn)
        (headers.parent / "launches").mkdir()
        (headers.parent / "refused").mkdir()
        refusals(headers.parent / "refused")
        launch_checks(headers.parent / "launches", np.random.default_rng([*seeds.of_today().encode()]), 200)
        for number, path in enumerate(files):
            place = pathlib.Path(folder) / str(number)
            place.mkdir()
            compilers = COMPILERS if given.all or given.files else [[*COMPILERS][number % len(COMPILERS)]]
            ran, kept = test(path, place, compilers, 8 if given.all else 4)
            called, left = called + ran, left + kept
    print(f"{called} functions were called, {left} were not")
    checks.expect("functions were called", called > 0)
    sys.exit(checks.end())


if __name__ == "__main__":
    main()
