"""Launches for the simulator: the constant bank that a kernel reads, its tensors, and the tiles that it copies.

`ptx_kernel.Kernel` computes the arguments, as for a GPU, with a driver that only notes tensor maps.
"""

import ctypes
import dataclasses
import pathlib
import re
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/gpu")]
import ptxas  # noqa: E402
from model import binary  # noqa: E402
from model.asynchronous import Tile  # noqa: E402
from model.machine_code import read_code  # noqa: E402
from model.memory import PLACE_BITS, Tensor  # noqa: E402
from ptx_kernel import Kernel  # noqa: E402

BANK_WORDS = 2048
BLOCK_SIZE, GRID_SIZE, STACK, BANK_ADDRESS = 0x0, 0xC, 0x28, 0x198
USED = re.compile(r"Function properties for (\w+)\n\s+\d+ bytes stack frame, (\d+) bytes spill stores.*\n"
                  r"ptxas info\s+: Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
BYTES = {"f32": 4, "i32": 4, "bf16": 2, "i8": 1, "f8e4m3": 1}
WORKSPACE = 1  # the first place in memory, also for the record of traps


class NotingDriver:
    """Accepts everything, and notes the bytes of each tensor map's tile."""

    def __init__(self):
        self.tiles = []

    def __getattr__(self, name):
        return lambda *arguments: None

    def status(self, name, *arguments):
        if name != "cuTensorMapEncodeTiled":
            return 0
        _, kind, rank, address, _, strides, box = arguments[:7]
        if any(stride % 16 for stride in strides):
            return 1
        elements = int(numpy.prod(list(box)))
        self.tiles.append(Tile((address.value >> PLACE_BITS) - 1, elements << (0, 1, 2).index(kind)))
        return 0


@dataclasses.dataclass
class Launch:
    constants: numpy.ndarray
    tensors: list
    tiles: dict          # by the address of the tensor map
    shared_bytes: int
    threads: int
    cores: int


@dataclasses.dataclass
class Program:
    """A kernel's machine code and what a multiprocessor needs for a block of it."""
    kernel: Kernel
    code: object
    registers: int
    spilled: int
    static_bytes: int
    parameters: tuple
    driver: NotingDriver


class Arrays:
    """Shapes instead of arrays, for rows.makers."""

    class xp:
        pass

    def draw(self, type_, *shape):
        return type_, shape, None

    def integers(self, type_, low, high, *shape):
        drawn = numpy.random.default_rng(2).integers(low, high, shape) if type_ == "i32" else None
        return type_, shape, drawn

    def poisoned(self, type_, *shape):
        return type_, shape, None

    def place(self, tensor):
        return None, BYTES[tensor[0]]

    def one(self):
        return None

    cross = one


def assemble(folder, module, level):
    """Writes FOLDER/LEVEL/MODULE.LEVEL.cubin and its text once; code for sm_80 is assembled for the H200 as
    drivers do. Returns (text of the machine code, what ptxas says, the file)."""
    (text,) = (folder / level).glob(f"{module}.sm_*.ptx")
    cubin = text.with_suffix(".cubin")
    said, listing = text.with_suffix(".said"), text.with_suffix(".sass")
    if not listing.exists() or listing.stat().st_mtime < text.stat().st_mtime:
        done = subprocess.run([ptxas.path(), "-arch=sm_90a", "-v", "-o", cubin, text], check=True, capture_output=True, text=True)
        said.write_text(done.stdout + done.stderr)
        listing.write_text(subprocess.run([ptxas.disassembler(), "-hex", "-c", cubin], check=True, capture_output=True, text=True).stdout)
    return listing.read_text(), said.read_text(), cubin


def load(folder, row):
    """Returns the program of a row of rows.py."""
    listing, said, cubin = assemble(folder, row.module, row.level)
    driver = NotingDriver()
    kernel = Kernel(driver, folder / row.level, row.module, row.kernel, row.entry)
    used = {name: (int(registers), int(spilled), int(near or 0)) for name, spilled, registers, near in USED.findall(said)}
    return Program(kernel, read_code(listing, kernel.entry), *used[kernel.entry], binary.parameter_places(cubin, kernel.entry), driver)


def launch(program, row, cores):
    """Returns the launch of a row with a number of blocks."""
    kernel, given = program.kernel, {}
    tensors = [Tensor("workspace", 1 << 32, numpy.zeros(1, numpy.uint32))]
    for name, value in row.tensors.items():
        type_, shape, drawn = value
        given[name] = len(tensors) + 1 << PLACE_BITS, BYTES[type_]
        words = None if drawn is None else drawn.astype(numpy.int32).view(numpy.uint32)
        tensors.append(Tensor(name, BYTES[type_] * int(numpy.prod(shape)), words, BYTES[type_]))
    program.driver.tiles.clear()
    kernel.bind(row.sizes, given | row.scalars, WORKSPACE << PLACE_BITS, WORKSPACE << PLACE_BITS, cores)
    constants, places = bank(program, kernel)
    tiles = {address: tile for address, tile in zip(places, program.driver.tiles)}
    return Launch(constants, tensors, tiles, program.static_bytes + kernel.shared_bytes, kernel.threads, cores)


def bank(program, kernel):
    """Returns the constant bank, and the addresses of the tensor maps in it."""
    raw = bytearray(4 * BANK_WORDS)
    start, parameters = program.parameters
    for value, (offset, size) in zip(kernel.kept, parameters):
        raw[start + offset:start + offset + size] = bytes(ctypes.string_at(ctypes.addressof(value), size))
    words = numpy.frombuffer(raw, numpy.uint32).copy()
    words[BLOCK_SIZE // 4], words[BLOCK_SIZE // 4 + 1], words[BLOCK_SIZE // 4 + 2] = kernel.threads, 1, 1
    words[GRID_SIZE // 4], words[GRID_SIZE // 4 + 1], words[GRID_SIZE // 4 + 2] = kernel.cores, 1, 1
    words[BANK_ADDRESS // 4 + 1] = 0x7F  # high half of the address of the first parameter
    base = 0x7F << 32
    count = len(kernel.maps)
    return words, [base + offset for offset, _ in parameters[len(parameters) - count:]]
