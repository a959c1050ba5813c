#!/usr/bin/env python3
"""Tests `--emit shared`: a library with the functions of NAME.h, called by ctypes. It must need only libc, and export only these
functions and those of the runtime."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
KERNELS = """
export kernel scale(a: f32, x: in f32[N], y: out f32[N]) {
    spmd for i in N by 64 { y[i] = a * x[i]; }
}
export kernel halves(seen: in u8[N], x: in f16[2 * N / 3], flag: bool, n: i8, y: out f16[2 * N / 3], kept: out i64[N % 4 + 1]) {
    spmd for i in 2 * N / 3 by 64 { y[i] = if flag then x[i] else -x[i]; }
    spmd for k in N % 4 + 1 by 8 { kept[k] = n as i64; }
}
export kernel at(x: in f32[N], i: i64, y: out f32[1]) {
    spmd for k in 1 by 1 { y[k] = x[i + k]; }
}
"""
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
F4, I8 = ctypes.POINTER(ctypes.c_float), ctypes.c_int64


def call(*words, folder="."):
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=120)


class Library:
    """The functions of numbers.h."""

    def __init__(self, path, device=b"host?threads=1"):
        self.own = ctypes.CDLL(str(path))
        for name in ("open", "scale", "scale_bind", "scale_call", "scale_async", "halves", "at"):
            getattr(self.own, f"numbers_{name}").restype = ctypes.c_void_p
        self.own.kdl_error_message.restype = ctypes.c_char_p
        self.own.kdl_error_message.argtypes = self.own.kdl_error_free.argtypes = [ctypes.c_void_p]
        self.own.kdl_event_wait.restype = ctypes.c_void_p
        self.kernels = ctypes.c_void_p()
        self.error = self.message(self.own.numbers_open(None, device, ctypes.byref(self.kernels)))

    def message(self, error):
        """Returns the text of an error, which is freed; "" for none."""
        text = (self.own.kdl_error_message(error) or b"").decode()
        self.own.kdl_error_free(error)
        return text

    def call(self, name, *args):
        return self.message(getattr(self.own, f"numbers_{name}")(self.kernels, *args))


def calls(library):
    expect = checks.expect
    expect("opened", library.error == "", library.error)
    x, y = (ctypes.c_float * 5)(1, 2, 3, 4, 5), (ctypes.c_float * 5)()
    expect("called", library.call("scale", I8(5), ctypes.c_float(3), x, y) == "" and list(y) == [3, 6, 9, 12, 15], list(y))
    refused = library.call("scale", I8(5), ctypes.c_float(3), x, x)
    expect("refused", "share memory" in refused, refused)
    h, g, kept = (ctypes.c_uint16 * 6)(*range(6)), (ctypes.c_uint16 * 6)(), (I8 * 3)()
    args = [I8(10), (ctypes.c_uint8 * 10)(), h, ctypes.c_bool(False), ctypes.c_int8(-7), g, kept]
    told = library.call("halves", *args)
    expect("derived sizes and narrow numbers", told == "" and list(g) == [n | 0x8000 for n in range(6)] and list(kept) == [-7] * 3,
           f"{told} {list(g)} {list(kept)}")
    for size in (-1, 2**62, -2**63):
        told = library.call("halves", I8(size), *args[1:])
        expect(f"size {size}", told != "", told)
    told = library.call("at", I8(5), x, I8(7), y)
    expect("a trap", "index 7 is outside dimension 0 of size 5" in told, told)
    bound, x[0] = ctypes.c_void_p(), 10
    expect("bound", library.call("scale_bind", I8(5), ctypes.c_float(2), x, y, ctypes.byref(bound)) == "")
    x[0] = 20
    error = library.own.numbers_scale_call(ctypes.byref(bound))
    library.own.numbers_scale_unbind(ctypes.byref(bound))
    expect("a bound call", error is None and y[0] == 40 and not bound.value, list(y))
    done = ctypes.c_void_p()
    told = library.call("scale_async", I8(5), ctypes.c_float(4), x, y, None, ctypes.c_int32(0), ctypes.byref(done))
    library.own.kdl_event_wait(done, I8(-1))
    expect("queued", told == "" and y[1] == 8, f"{told} {list(y)}")
    library.own.kdl_event_free(done)
    library.own.numbers_close(library.kernels)


UNLOADED = """
import _ctypes, ctypes, sys
class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "used", "free", "keep")]
heap = ctypes.CDLL(None).mallinfo2
heap.restype = Heap
used = []
for _ in range(60):
    own = ctypes.CDLL(sys.argv[1])
    own.numbers_open.restype = own.numbers_scale.restype = ctypes.c_void_p
    kernels, x, y = ctypes.c_void_p(), (ctypes.c_float * 9000)(1), (ctypes.c_float * 9000)()
    assert not own.numbers_open(None, b"host?threads=2", ctypes.byref(kernels))
    assert not own.numbers_scale(kernels, ctypes.c_int64(9000), ctypes.c_float(3), x, y) and y[0] == 3
    own.numbers_close(kernels)
    _ctypes.dlclose(own._handle)
    used.append(heap().used)
assert used[-1] - used[9] < 50 * 10000, used
assert sys.argv[1] not in open("/proc/self/maps").read()
"""


def unloads(path):
    """A library that has been unloaded must leave no memory, and nothing that its process would call at its end."""
    ended = call(sys.executable, "-c", UNLOADED, path)
    checks.expect("unloaded", ended.returncode == 0, f"{ended.returncode}: {ended.stderr}")


def exported(path):
    lines = call("nm", "-D", "--defined-only", path).stdout.splitlines()
    return {line.split()[-1] for line in lines if line.split()[-2] != "A"}


def main():
    if not (BUILD / "lib/kdl_inside.o").exists():
        print("this build has no runtime for --emit shared")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "numbers.kdl").write_text(KERNELS)
        built = call("kernelc", "build", "numbers.kdl", "--emit", "shared,images,header", folder=folder)
        checks.expect("built", built.returncode == 0, built.stderr)
        if built.returncode != 0:
            return checks.end()
        library = folder / "numbers.so"
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-dW", library).stdout))
        checks.expect("needs only libc", needed and needed <= SYSTEM, needed)
        names = exported(library)
        declared = set(re.findall(r"\b(numbers_\w+)\(", (folder / "numbers.h").read_text()))
        versions = {re.sub(r"\w+@@", "", name) for name in names}
        checks.expect("versions", versions == {"numbers_0", "KDL_0"}, versions)
        found = {name.partition("@@")[0] for name in names if name.endswith("@@numbers_0")}
        found = {re.sub(r"_[0-9a-f]{8}$", "", one) for one in found}
        checks.expect("exports what the header declares", found == declared | {"kdl_images_numbers", "kdl_module_images"},
                      sorted(found ^ declared))
        for device in (b"host?threads=1", b"host", b"debug"):
            calls(Library(library, device))
        unloads(folder / "numbers.so")
        checks.expect("no such device", "nodevice" in Library(library, b"nodevice").error)
        images = call("nm", "-D", "--defined-only", folder / "numbers.images.so").stdout
        checks.expect("images contain no functions", "numbers_open" not in images and "kdl_module_images" in images, images)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
