#!/usr/bin/env python3
"""Tests the Python package with arrays in the memory of a GPU: they are used where they are, after the work of their streams.

The driver is that of the tests (tests/drivers/fake_cuda.h). It interprets kernels, aborts the process if an address of the host is used as
one of the device, and does the work of a stream only when somebody waits for it, or for a stream that waits for it. So a call that does not
wait reads old elements."""

import os
import pathlib
import shutil
import sys

from shared import checks
from shared.python_package import check_all

FAKE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"

# A small library of arrays, as CuPy is one.
BEGIN = '''
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
for name in ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD32Async", "cuStreamCreate",
             "cuStreamSynchronize", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuDevicePrimaryCtxRetain", "fake_cuda_calls"):
    getattr(driver, name).argtypes = None
driver.fake_cuda_calls.restype = ctypes.c_char_p
word = ctypes.c_uint64
ok = lambda status: None if status == 0 else (_ for _ in ()).throw(AssertionError(status))
DEFAULT = 1
contexts = [word(), word()]
for number, context in enumerate(contexts):
    ok(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), number))

class on:
    """Makes the context of a GPU the current one."""
    def __init__(self, gpu): self.gpu = gpu
    def __enter__(self): ok(driver.cuCtxPushCurrent_v2(contexts[self.gpu]))
    def __exit__(self, *_): ok(driver.cuCtxPopCurrent_v2(ctypes.byref(word())))

def synchronize(stream, gpu=0):
    with on(gpu): ok(driver.cuStreamSynchronize(word(stream)))

def new_stream(gpu=0):
    made = word()
    with on(gpu): ok(driver.cuStreamCreate(ctypes.byref(made), 1))
    return made.value

class Array:
    """A tensor in the memory of a GPU, with the strides of a NumPy array."""
    def __init__(self, values, gpu=0, read_only=False):
        self.values, self.gpu, self.read_only = np.array(values, copy=False), gpu, read_only
        whole = self.values.base if self.values.base is not None else self.values
        self.whole, self.asked = whole, []
        self.offset = self.values.ctypes.data - whole.ctypes.data if whole.size else 0
        self.memory = word()
        with on(gpu):
            ok(driver.cuMemAlloc_v2(ctypes.byref(self.memory), word(max(whole.nbytes, 4))))
            ok(driver.cuMemcpyHtoDAsync_v2(self.memory, word(whole.ctypes.data), word(whole.nbytes), word(DEFAULT)))
            ok(driver.cuStreamSynchronize(word(DEFAULT)))
    @property
    def shape(self): return self.values.shape
    @property
    def address(self): return self.memory.value + self.offset
    def get(self):
        with on(self.gpu):
            ok(driver.cuMemcpyDtoHAsync_v2(word(self.whole.ctypes.data), self.memory, word(self.whole.nbytes), word(DEFAULT)))
            ok(driver.cuStreamSynchronize(word(DEFAULT)))
        return self.values
    def set_later(self, value, stream):
        """Sets all elements of f32 when the stream is asked to work."""
        bits = np.array([value], "f4").view("u4")[0]
        with on(self.gpu): ok(driver.cuMemsetD32Async(self.memory, int(bits), word(self.whole.size), word(stream)))
    def __del__(self):
        with on(self.gpu): driver.cuMemFree_v2(self.memory)

class Dlpack(Array):
    def __dlpack_device__(self): return (2, self.gpu)
    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(stream)
        self.keep = keep_dlpack(self)
        return self.keep
    def __array_namespace__(self): return Namespace
class Interface(Array):
    stream = None
    @property
    def __cuda_array_interface__(self):
        return {"shape": self.values.shape, "typestr": self.values.dtype.str, "data": (self.address, self.read_only), "version": 3,
                "strides": None if self.values.flags.c_contiguous else self.values.strides, "stream": self.stream}
class Namespace:
    float32, float64, int32 = "f4", "f8", "i4"
    empty = staticmethod(lambda shape, dtype: Dlpack(np.full(shape, 99, dtype)))

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]
class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]
make_capsule = ctypes.pythonapi.PyCapsule_New
make_capsule.restype, make_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
kept = []
def keep_dlpack(array):
    values = array.values
    code = {"f": 2, "i": 0, "u": 1, "b": 6}[values.dtype.kind]
    sizes = (ctypes.c_int64 * max(values.ndim, 1))(*values.shape)
    strides = (ctypes.c_int64 * max(values.ndim, 1))(*(stride // values.itemsize for stride in values.strides))
    made = Versioned(1, 0, None, None, int(array.read_only), Tensor(array.memory.value, (2, array.gpu), values.ndim, code, 8 * values.itemsize,
                                                                   1, sizes, strides, array.offset))
    kept.append((made, sizes, strides))
    return make_capsule(ctypes.addressof(made), b"dltensor_versioned", None)

gpu = kernelc.compile(SOURCE, device="cuda")
'''
CHECKS = {
    "arrays of DLPack are used where they are": '''
x, y = Dlpack(np.arange(100, dtype="f4")), Dlpack(np.ones(100, "f4"))
gpu.axpy(2.0, x, y)  # the first call loads the kernel
driver.fake_cuda_calls()
gpu.axpy(2.0, x, y)
calls = driver.fake_cuda_calls().decode()
assert (y.get() == 1 + 4 * np.arange(100)).all(), y.get()
assert "cuLaunchKernelEx" in calls and "Memcpy" not in calls and "Alloc" not in calls, calls
assert x.asked[-1] == DEFAULT, x.asked
''',
    "arrays of the CUDA array interface are, too": '''
x, y = Interface(np.arange(100, dtype="f4")), Interface(np.ones(100, "f4"))
gpu.axpy(2.0, x, y)
assert (y.get() == 1 + 2 * np.arange(100)).all()
x = Interface(np.arange(6, dtype="i4").reshape(2, 3))
twice, row = Interface(np.zeros((3, 2), "i4")), Interface(np.zeros(7, "i4"))
gpu.both(x, twice, row)
assert (twice.get() == 2 * x.values.T).all() and (row.get() == 7).all()
''',
    "axes may have gaps": '''
for kind in (Dlpack, Interface):
    whole = np.arange(60, dtype="f4").reshape(6, 10)
    x = kind(whole[1::2, 2:7])
    twice, row = kind(np.zeros((5, 3), "f4")), kind(np.zeros(11, "f4"))
    gpu.both(x, twice, row)
    assert (twice.get() == 2 * whole[1::2, 2:7].T).all(), twice.get()
    fails("stride 10 in its last dimension", kernelc.ArgumentError, lambda: gpu.axpy(1.0, kind(whole[:, 0]), kind(np.zeros(6, "f4"))))
''',
    "outputs that a caller omits are arrays of the caller's library": '''
x = Dlpack(np.arange(6, dtype="f4").reshape(2, 3))
twice, row = gpu.both(x)
assert type(twice) is Dlpack and (twice.get() == 2 * x.values.T).all() and (row.get() == 7).all()
fails("pass an array of PyTorch or CuPy for it", kernelc.ArgumentError, lambda: gpu.both(Interface(x.values)))
''',
    "a call follows the work of the arrays' streams": '''
for _ in range(3):
    x, y = Interface(np.zeros(100, "f4")), Interface(np.zeros(100, "f4"))
    x.stream = new_stream()
    x.set_later(3.0, x.stream)
    gpu.axpy(2.0, x, y)
    assert (y.get() == 6).all(), y.get()
x, y = Dlpack(np.zeros(100, "f4")), Dlpack(np.zeros(100, "f4"))
x.set_later(3.0, DEFAULT)
gpu.axpy(2.0, x, y)
assert (y.get() == 6).all(), y.get()
# It does not follow a stream that the array does not name.
x, y = Interface(np.zeros(100, "f4")), Interface(np.zeros(100, "f4"))
x.set_later(3.0, another := new_stream())
gpu.axpy(2.0, x, y)
assert (y.get() == 0).all(), y.get()
with on(0): ok(driver.cuStreamSynchronize(word(another)))
''',
    "stream= is the stream that a call follows": '''
class Stream:
    def __init__(self, name, handle): setattr(self, name, handle)
handle = new_stream()
class Standard:
    def __cuda_stream__(self): return (0, handle)
for stream in (handle, Stream("cuda_stream", handle), Stream("ptr", handle), Standard(), None, 0):
    x, y = Dlpack(np.zeros(100, "f4")), Dlpack(np.zeros(100, "f4"))
    x.set_later(3.0, handle if stream else DEFAULT)
    gpu.axpy(2.0, x, y, stream=stream)
    synchronize(handle)
    assert (y.get() == 6).all() and x.asked == [handle if stream else DEFAULT], (x.asked, y.get())
    x, y = Interface(np.zeros(100, "f4")), Interface(np.zeros(100, "f4"))
    x.set_later(3.0, handle if stream else DEFAULT)
    if stream is not None:
        gpu.axpy(a=2.0, x=x, y=y, stream=stream)
        synchronize(handle)
        assert (y.get() == 6).all(), y.get()
fails("stream must be the number of a CUDA stream", TypeError, lambda: gpu.axpy(2.0, x, y, stream="s"))
fails("host has no streams", kernelc.DeviceError, lambda: module.axpy(2.0, np.zeros(3, "f4"), np.zeros(3, "f4"), stream=handle))
named = kernelc.compile("export kernel f(stream: f32, y: out f32[N]) { spmd for i in N by 64 { y[i] = stream; } }", device="cuda").f
y = Dlpack(np.zeros(5, "f4"))
named(stream=2.5, y=y)
assert (y.get() == 2.5).all()
''',
    "a call with stream= returns before the kernel runs, and the stream waits for it": '''
handle = new_stream()
x, y, copy = (Dlpack(np.zeros(100, "f4")) for _ in range(3))
gpu.axpy(0.0, x, y)  # loads the kernel
driver.cuMemcpyDtoDAsync_v2.argtypes = None
for round in range(1, 4):
    x.set_later(3.0, handle)
    driver.fake_cuda_calls()
    gpu.axpy(1.0, x, y, stream=handle)
    calls = driver.fake_cuda_calls().decode()
    assert "cuLaunchKernelEx" in calls and "Synchronize" not in calls, calls
    assert (y.get() == 6 * (round - 1)).all(), y.get()  # the default stream does not wait for it
    with on(0): ok(driver.cuMemcpyDtoDAsync_v2(copy.memory, y.memory, word(400), word(handle)))
    gpu.axpy[2](1.0, x, y, stream=handle)
    x.set_later(0.0, handle)
    synchronize(handle)
    assert (copy.get() == 6 * round - 3).all() and (y.get() == 6 * round).all() and (x.get() == 0).all(), (copy.get(), y.get())
z = gpu.axpy.submit(1.0, x, y, stream=handle)
z.result()
''',
    "calls in different streams do not wait for one another": '''
streams = [new_stream() for _ in range(40)]
pairs = [(Dlpack(np.zeros(9, "f4")), Dlpack(np.zeros(9, "f4"))) for _ in streams]
for stream, (x, y) in zip(streams[:32], pairs):
    x.set_later(2.0, stream)
    gpu.axpy(1.0, x, y, stream=stream)
synchronize(streams[31])
assert [bool((y.get() == 2).all()) for _, y in pairs[:32]] == [False] * 31 + [True]
for stream, (x, y) in zip(streams, pairs):
    x.set_later(3.0, stream)
    gpu.axpy(1.0, x, y, stream=stream)
for stream in streams: synchronize(stream)
assert all((y.get() == (5 if number < 32 else 3)).all() for number, (_, y) in enumerate(pairs))
''',
    "a call with stream= waits if it may fail, or copies": '''
handle = new_stream()
x, y = Dlpack(np.zeros(3, "u1")), Dlpack(np.ones(1, "u1"))
gpu.at(x, 0, y, stream=handle)
assert y.get()[0] == 0, y.get()
fails("index 3 is outside dimension 0 of size 3", kernelc.Trap, lambda: gpu.at(x, 3, y, stream=handle))
here = np.ones(3, "f4")
gpu.axpy(1.0, np.full(3, 2, "f4"), here, stream=handle)
assert (here == 3).all(), here
driver.fake_cuda_fail(b"cuLaunchKernelEx", 999)
x, y = Dlpack(np.zeros(3, "f4")), Dlpack(np.zeros(3, "f4"))
fails("launching axpy failed", kernelc.DeviceError, lambda: gpu.axpy(1.0, x, y, stream=handle))
gpu.axpy(1.0, x, y, stream=handle)
''',
    "submitted calls follow streams, and one another": '''
handle = new_stream()
x, y = Dlpack(np.zeros(100, "f4")), Dlpack(np.zeros(100, "f4"))
x.set_later(3.0, handle)
calls = [gpu.axpy.submit(1.0, x, y, stream=handle) for _ in range(4)]
calls.append(gpu.axpy.queue(0).submit(1.0, x, y))
calls[-1].result()
assert (y.get() == 15).all() and all(call.done() for call in calls)
x.set_later(4.0, handle)
gpu.axpy.queue(3).submit(1.0, x, y, stream=handle).result()
assert (y.get() == 19).all()
''',
    "kernels that print and kernels that trap follow streams, too": '''
x, y = Dlpack(np.zeros(3, "u1")), Dlpack(np.zeros(1, "u1"))
handle = new_stream()
with on(0): ok(driver.cuMemcpyHtoDAsync_v2(x.memory, word((five := np.full(3, 5, "u1")).ctypes.data), word(3), word(handle)))
gpu.at(x, 2, y, stream=handle)
assert y.get()[0] == 5, y.get()
fails("index 3 is outside dimension 0 of size 3", kernelc.Trap, lambda: gpu.at(x, 3, y))
gpu.at(x, 0, y)
''',
    "an array in the wrong memory": '''
x, y, there = Dlpack(np.zeros(3, "f4")), Dlpack(np.zeros(3, "f4")), Dlpack(np.zeros(3, "f4"), gpu=1)
host = np.zeros(3, "f4")
wrong = kernelc.ArgumentError
fails("'x' is in the memory of cuda:0, but the kernel runs on host; compile it with device='cuda', or pass a copy in the host's memory", wrong,
      lambda: module.axpy(1.0, x, y))
fails("'x' is in the memory of cuda:0, but the kernel runs on host", wrong, lambda: module.axpy(1.0, Interface(host), host))
fails("'y' is in the memory of cuda:1, but the kernel runs on cuda; compile it with device='cuda[1]', or copy 'y' to cuda:0", wrong,
      lambda: gpu.axpy(1.0, x, there))
fails("'y' is in the memory of cuda, but 'x' is in the host's memory; copy one of them", wrong, lambda: gpu.axpy(1.0, host, y))
fails("is in the memory of cuda[1]; copy the data to cuda[0]", wrong, lambda: gpu.axpy(1.0, Interface(host, gpu=1), y))
second = kernelc.compile(SOURCE, device="cuda[1]")
second.axpy(1.0, there, other := Dlpack(np.ones(3, "f4"), gpu=1))
assert (other.get() == 1).all()
gpu.axpy(1.0, host, host.copy())  # copied there and back
''',
    "an array that cannot be used": '''
x, y = Dlpack(np.zeros(3, "f4")), Dlpack(np.zeros(3, "f4"))
fails("'y' is read-only, but the kernel writes it", kernelc.ArgumentError, lambda: gpu.axpy(1.0, x, Dlpack(np.zeros(3, "f4"), read_only=True)))
fails("'y' is read-only", kernelc.ArgumentError, lambda: gpu.axpy(1.0, x, Interface(np.zeros(3, "f4"), read_only=True)))
gpu.axpy(1.0, Dlpack(np.zeros(3, "f4"), read_only=True), y)
fails("f64", kernelc.ArgumentError, lambda: gpu.axpy(1.0, Dlpack(np.zeros(3)), y))
fails("share memory", kernelc.ArgumentError, lambda: gpu.axpy(1.0, x, x))
fails("N", kernelc.ArgumentError, lambda: gpu.axpy(1.0, Dlpack(np.zeros(4, "f4")), y))
gpu.axpy(1.0, Dlpack(np.zeros(0, "f4")), Dlpack(np.zeros(0, "f4")))
gpu.axpy(1.0, Interface(np.zeros(0, "f4")), Interface(np.zeros(0, "f4")))
''',
}

if __name__ == "__main__":
    if not FAKE.exists():
        print("the build has no driver that replaces CUDA's")
        sys.exit(77)
    os.environ["LD_LIBRARY_PATH"] = f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    sys.exit(check_all({what: BEGIN + text for what, text in CHECKS.items()}))
