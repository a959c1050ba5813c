"""Launches kernels as written by `kernelc build --emit ptx,header`, using only NVIDIA's driver.

The kernel's arguments are described in include/kdl/workgroup_abi.h. The runtime passes the same arguments,
with more checks.
"""

import ctypes
import dataclasses
import re
import struct

ERROR_LOG, ERROR_LOG_BYTES = 5, 6  # options of cuModuleLoadDataEx
DYNAMIC_SHARED_BYTES = 8           # an attribute of a function
UNSIGNED_OF_BYTES = {1: 0, 2: 1, 4: 2}  # unsigned element types of a tensor map, by size in bytes
SWIZZLE_128, PROMOTE_L2_256 = 3, 3
MAP_BYTES, MAP_ALIGNMENT = 128, 64
MOST_RANK = 8
RECORD_NUMBERS = 7
HEADER_NUMBERS = 4
TENSOR_NUMBERS = 1 + MOST_RANK
PARAM = re.compile(r"///   (\w+): (?:(?:in|out|inout) )?(\w+)(?:\[(.*)\])?")


class Driver:
    """The driver's library; each call's status is checked."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            status = function(*arguments)
            if status:
                raise RuntimeError(f"{name}: {self.text_of(status)}")
        return call

    def status(self, name, *arguments):
        """Returns the status of a call that may fail."""
        return getattr(self.library, name)(*arguments)

    def text_of(self, status):
        text = ctypes.c_char_p()
        self.library.cuGetErrorString(status, ctypes.byref(text))
        return f"status {status}, {(text.value or b'').decode(errors='replace')}"


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig: the extents of the grid and of its blocks, dynamic shared memory, a stream, and no attributes."""
    _fields_ = [(name, ctypes.c_uint) for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes")] + [
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("attribute_count", ctypes.c_uint)]


@dataclasses.dataclass
class Param:
    """A parameter of the kernel; `dims` is None for a scalar."""
    name: str
    type: str
    dims: list


def read_params(header, kernel):
    """Reads a kernel's parameters from the comment above its declaration in the C header."""
    found = re.search(rf"((?:^///.*\n)+)kdl_error\* \w*_{kernel}\(", header, re.MULTILINE)
    if not found:
        raise ValueError(f"the header declares no kernel '{kernel}'")
    return [Param(name, type_, dims.split(", ") if dims else None) for name, type_, dims in PARAM.findall(found[1])]


def size_names(params):
    """Returns the names of sizes in the order in which a launch passes them."""
    names = [dim for param in params for dim in param.dims or [] if not dim.isdigit()]
    return list(dict.fromkeys(names))


@dataclasses.dataclass
class MapNeed:
    """A tensor map that a launch needs: the tensor, the dimension along which a tile has its rows, the number
    of rows, and the elements of a row."""
    tensor: int
    row_dimension: int
    rows: int
    columns: int
    swizzle: int


@dataclasses.dataclass
class SharedNeed:
    """The bytes of shared memory that a launch needs if each (index of a size, least, most) applies to it."""
    bytes: int
    ranges: list

    def applies(self, sizes):
        return all(least <= sizes[index] <= most for index, least, most in self.ranges)


def read_needs(text, entry):
    """Returns (needs of shared memory, maps, bytes of global memory for each core) that a launch must
    provide. The first need applies to all launches."""
    found = re.search(rf"{entry}_launch\[(\d+)\] = \{{([\d, ]+)\}}", text)
    if not found:
        return [SharedNeed(0, [])], [], 0
    raw = bytes(map(int, found[2].split(","))).ljust(int(found[1]), b"\0")
    shared, count, *numbers = struct.unpack(f"<{len(raw) // 8}q", raw)
    maps = [MapNeed(*numbers[at:at + 5]) for at in range(0, 5 * count, 5)]
    needs, (core_bytes, *rest) = [SharedNeed(shared, [])], numbers[5 * count:]
    while rest:
        size, count, *rest = rest
        needs.append(SharedNeed(size, [tuple(rest[at:at + 3]) for at in range(0, 3 * count, 3)]))
        rest = rest[3 * count:]
    return needs, maps, core_bytes


class Kernel:
    """A kernel of FOLDER/MODULE.LEVEL.ptx in the current context."""

    def __init__(self, driver, folder, module, name, entry=None):
        self.driver = driver
        (path,) = folder.glob(f"{module}.sm_*.ptx")
        text = path.read_text()
        self.params = read_params((folder / f"{module}.h").read_text(), name)
        (self.entry,) = [e for e in re.findall(r"\.entry (\w+)\(", text) if re.fullmatch(rf"kdl_{entry or name}_\d+", e)]
        body = re.search(rf"\.entry {self.entry}\(.*?^\}}", text, re.DOTALL | re.MULTILINE)[0]
        self.threads = int(re.search(r"\.maxntid (\d+)", body)[1])
        self.shared_needs, self.maps, self.core_bytes = read_needs(text, self.entry)
        self.check_body(body)
        self.function = self.load(path, text)

    def check_body(self, body):
        """Checks that the kernel does not need anything that this launcher cannot provide: memory that cores
        share, memory for prints, or numbers that `bind` does not pass."""
        for number, what in [(2, "memory that cores share"), (4, "room for prints")]:
            if re.search(rf"ld\.param\.u64\s+%rd\d+, \[{self.entry}_param_{number}\]", body):
                raise ValueError(f"{self.entry} needs {what}, which only the runtime gives")
        numbers = int(re.search(rf"{self.entry}_param_0\[(\d+)\]", body)[1]) // 8
        scalars = sum(param.dims is None for param in self.params)
        tensors = len(self.params) - scalars
        expected = HEADER_NUMBERS + len(size_names(self.params)) + scalars + TENSOR_NUMBERS * tensors + len(self.maps)
        if numbers != expected:
            raise ValueError(f"{self.entry} takes {numbers} numbers, not {expected}")

    def load(self, path, text):
        log = ctypes.create_string_buffer(1 << 14)
        module = ctypes.c_void_p()
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        status = self.driver.status("cuModuleLoadDataEx", ctypes.byref(module), text.encode() + b"\0", 2, options, values)
        if status:
            raise RuntimeError(f"{path}: {self.driver.text_of(status)}: {log.value.decode(errors='replace')}")
        function = ctypes.c_void_p()
        self.driver.cuModuleGetFunction(ctypes.byref(function), module, self.entry.encode())
        if most := max(need.bytes for need in self.shared_needs):
            self.driver.cuFuncSetAttribute(function, DYNAMIC_SHARED_BYTES, ctypes.c_int(most))
        return function

    def bind(self, sizes, given, workspace, record, cores):
        """Prepares launches. `sizes` maps names to sizes. `given` maps each name to a number, or to the
        (address, bytes of an element) of a dense tensor. `workspace` is the address of `core_bytes` for each
        core, and `record` the address of RECORD_NUMBERS zeros. Returns how many tensor maps could be made."""
        extents = [sizes[name] for name in size_names(self.params)]
        self.shared_bytes = max(need.bytes for need in self.shared_needs if need.applies(extents))
        numbers = [cores, 0, 0, 0] + extents
        memories, tensors = [workspace, record, record, record], []
        for param in self.params:
            if param.dims is None:
                raw = struct.pack("<f4x" if param.type == "f32" else "<q", given[param.name])
                numbers += struct.unpack("<q", raw)
                continue
            shape = [int(dim) if dim.isdigit() else sizes[dim] for dim in param.dims]
            strides = dense_strides(shape)
            address, element_bytes = given[param.name]
            numbers += [0, *strides, *[0] * (MOST_RANK - len(strides))]
            memories.append(address)
            tensors.append((address, element_bytes, shape, strides))
        maps = [self.make_map(need, *tensors[need.tensor]) for need in self.maps]
        numbers += [int(made) for _, _, made in maps]
        self.keep_arguments(numbers, memories, maps)
        self.cores = cores
        return sum(made for _, _, made in maps)

    def make_map(self, need, address, element_bytes, shape, strides):
        """Returns (memory, address of the map in it, whether the driver could make the map). The driver
        refuses unaligned memory."""
        rank = len(shape)
        tile = [need.rows if d == need.row_dimension else 1 for d in range(rank)]
        tile[-1] = need.columns
        buffer = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
        at = -(-ctypes.addressof(buffer) // MAP_ALIGNMENT) * MAP_ALIGNMENT
        status = self.driver.status(
            "cuTensorMapEncodeTiled", ctypes.c_void_p(at), UNSIGNED_OF_BYTES[element_bytes], rank, ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*reversed(shape)),
            (ctypes.c_uint64 * rank)(*[stride * element_bytes for stride in reversed(strides[:-1])]),
            (ctypes.c_uint32 * rank)(*reversed(tile)), (ctypes.c_uint32 * rank)(*[1] * rank), 0, SWIZZLE_128, PROMOTE_L2_256, 0)
        return buffer, at, status == 0

    def keep_arguments(self, numbers, memories, maps):
        self.kept = [(ctypes.c_int64 * len(numbers))(*numbers), *[ctypes.c_uint64(memory) for memory in memories],
                     *[buffer for buffer, _, _ in maps]]
        at = [ctypes.addressof(each) for each in self.kept[:1 + len(memories)]] + [at for _, at, _ in maps]
        self.arguments = (ctypes.c_void_p * len(at))(*at)

    def launch(self, stream):
        config = LaunchConfig(self.cores, 1, 1, self.threads, 1, 1, self.shared_bytes, stream, None, 0)
        self.driver.cuLaunchKernelEx(ctypes.byref(config), self.function, self.arguments, None)


def dense_strides(shape):
    """Returns the strides, in elements, of a dense tensor."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return strides
