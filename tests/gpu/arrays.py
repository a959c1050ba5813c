"""Tensors on the GPU. TorchArrays uses torch, which provides memory and reference kernels. NumpyArrays uses
only NumPy and the driver.

Both classes have the same methods. `wide` returns f64 arrays, on which references are computed with functions
that torch and NumPy both have.
"""

import ctypes
import dataclasses
import math

import numpy

SEED = 1


class TorchArrays:
    """Arrays of torch; `xp` is the torch module."""

    def __init__(self, driver):
        import torch  # only needed with a GPU
        self.xp = torch
        self.types = {"bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8, "i32": torch.int32,
                      "f8e4m3": torch.float8_e4m3fn}
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(SEED)
        torch.zeros(1, device="cuda")  # creates the context in which kernels are loaded
        self.stream = torch.cuda.current_stream().cuda_stream
        self.card = torch.cuda.get_device_name()

    def draw(self, type_, *shape):
        if type_ == "i8":
            return self.integers(type_, -128, 128, *shape)
        return self.xp.randn(*shape, device="cuda").to(self.types[type_])

    def integers(self, type_, low, high, *shape):
        return self.xp.randint(low, high, shape, device="cuda", dtype=self.types[type_])

    def poisoned(self, type_, *shape):
        """Returns a tensor filled with a value that no kernel writes, so that missing stores are noticed."""
        value = 77 if type_ in ("i8", "i32") else math.nan
        return self.xp.full(shape, value, device="cuda", dtype=self.types[type_])

    def zeros(self, count):
        """Returns zeroed bytes."""
        return self.xp.zeros(count, dtype=self.xp.uint8, device="cuda")

    def one(self):
        """Returns the scale of f8e4m3 factors."""
        return self.xp.ones((), device="cuda")

    def cross(self):
        """Returns the weights of a convolution that computes the mean of four neighbours."""
        return self.xp.tensor([[[[0, .25, 0], [.25, 0, .25], [0, .25, 0]]]], device="cuda")

    def place(self, tensor):
        """Returns (address, size of an element in bytes)."""
        return tensor.data_ptr(), tensor.element_size()

    def wide(self, tensor):
        return tensor.double()

    def indices(self, tensor):
        return tensor.long()

    def erf(self, wide):
        return self.xp.erf(wide)

    def wait(self):
        self.xp.cuda.synchronize()


@dataclasses.dataclass
class DeviceTensor:
    """An element type, a device address, and the bytes that were copied there."""
    type: str
    address: int
    values: numpy.ndarray


class NumpyArrays:
    """Arrays whose memory, copies and stream come from the driver; `xp` is NumPy."""

    xp = numpy
    STORED = {"bf16": numpy.uint16, "f32": numpy.float32, "i8": numpy.int8, "i32": numpy.int32, "f8e4m3": numpy.uint8,
              "u8": numpy.uint8}

    def __init__(self, driver):
        self.driver = driver
        self.random = numpy.random.default_rng(SEED)
        driver.cuInit(0)
        context, self.stream_handle = ctypes.c_void_p(), ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxPushCurrent_v2(context)
        driver.cuStreamCreate(ctypes.byref(self.stream_handle), 0)
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, len(name), 0)
        self.card = name.value.decode()
        self.stream = self.stream_handle.value

    def upload(self, type_, values):
        address = ctypes.c_uint64()
        self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, values.nbytes)))
        self.driver.cuMemcpyHtoDAsync_v2(address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes),
                                         self.stream_handle)
        return DeviceTensor(type_, address.value, values)

    def download(self, tensor):
        values = numpy.empty_like(tensor.values)
        self.driver.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(tensor.address),
                                         ctypes.c_size_t(values.nbytes), self.stream_handle)
        self.wait()
        return values

    def draw(self, type_, *shape):
        if type_ == "i8":
            return self.integers(type_, -128, 128, *shape)
        return self.upload(type_, self.narrow(type_, self.random.standard_normal(shape)))

    def integers(self, type_, low, high, *shape):
        return self.upload(type_, self.random.integers(low, high, shape).astype(self.STORED[type_]))

    def poisoned(self, type_, *shape):
        value = 77 if type_ in ("i8", "i32") else math.nan
        return self.upload(type_, self.narrow(type_, numpy.full(shape, value)))

    def zeros(self, count):
        return self.upload("u8", numpy.zeros(count, numpy.uint8))

    def one(self):
        """Not needed: this method and `cross` are only for torch's own functions."""

    def cross(self):
        pass

    def narrow(self, type_, values):
        """Returns the values rounded to the nearest element of the type."""
        if type_ == "bf16":
            bits = values.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
            return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
        if type_ == "f8e4m3":
            finite = E4M3[:0x7F]
            nearest = numpy.abs(numpy.abs(values)[..., None] - finite).argmin(-1).astype(numpy.uint8)
            return nearest | (numpy.signbit(values).astype(numpy.uint8) << 7)
        return values.astype(self.STORED[type_])

    def place(self, tensor):
        return tensor.address, tensor.values.itemsize

    def wide(self, tensor):
        values = self.download(tensor)
        if tensor.type == "bf16":
            return (values.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
        if tensor.type == "f8e4m3":
            return E4M3[values & 0x7F] * numpy.where(values & 0x80, -1.0, 1.0)
        return values.astype(numpy.float64)

    def indices(self, tensor):
        return self.download(tensor).astype(numpy.int64)

    def erf(self, wide):
        return numpy.vectorize(math.erf)(wide)

    def wait(self):
        self.driver.cuStreamSynchronize(self.stream_handle)


# The values of f8e4m3 without sign. The last value is NaN.
E4M3 = numpy.array([math.nan if bits == 0x7F
                    else (bits & 7) * 2.0 ** -9 if bits < 8
                    else (8 + (bits & 7)) * 2.0 ** ((bits >> 3) - 10) for bits in range(0x80)])
