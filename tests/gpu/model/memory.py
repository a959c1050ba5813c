"""Loads and stores. Addresses are exact, and each access is described for the timing: which lines and sectors of
global memory it touches, or how many cycles shared memory takes for it.

Tensors have no memory: a load of floats returns numbers that depend on the address, a load of integers returns
those that the launch gives, and stores are only checked to stay in their tensor.
"""

import dataclasses

import numpy

from .operands import U32, U64, UnknownInstruction
from .state import LANES

SECTOR, LINE = 32, 128
PLACE_BITS = 40     # each tensor starts at a multiple of 2^40
RESERVED = 0x400    # bytes of shared memory before a kernel's own
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
NUMBERS = numpy.random.default_rng(1).standard_normal(4096).astype(numpy.float32).view(numpy.uint32)
NO_SECTOR = numpy.iinfo(numpy.int64).max


@dataclasses.dataclass
class Tensor:
    """`numbers` are the tensor's 32-bit elements, or None if they are floats."""
    name: str
    bytes: int
    numbers: numpy.ndarray = None
    element_bytes: int = 4


@dataclasses.dataclass
class Access:
    """The lines that warps touch: those of warp w are `lines[starts[w]:starts[w + 1]]`. `sectors` are the bits of
    their four sectors, `partial` the number of sectors of which an instruction writes only some bytes."""
    kind: str
    lines: list
    sectors: list
    starts: list
    partial: list
    bytes: list
    wavefronts: list


class Memory:
    """`tensors` lie at multiples of 2^40, from 1 on."""

    def __init__(self, tensors):
        self.tensors = tensors

    def check(self, places, mask, size):
        inside = places[mask]
        if not inside.size:
            return None
        number = int(inside[0] >> PLACE_BITS) - 1
        if not 0 <= number < len(self.tensors):
            raise ValueError(f"an access at {int(inside[0]):#x} is in no tensor")
        base = number + 1 << PLACE_BITS
        tensor = self.tensors[number]
        if inside.min() < base or inside.max() + size > base + -(-tensor.bytes // 16) * 16:
            return self.check_each(inside, size)
        return tensor

    def check_each(self, inside, size):
        """Checks accesses of lanes that use several tensors."""
        numbers = (inside >> PLACE_BITS) - 1
        for number in set(numbers.tolist()):
            some = inside[numbers == number] - (number + 1 << PLACE_BITS)
            if not 0 <= number < len(self.tensors) or some.max() + size > -(-self.tensors[number].bytes // 16) * 16:
                raise ValueError(f"an access at {int(inside.max()):#x} is outside its tensor")
        return Tensor("several", 0)

    def load(self, places, mask, words, size):
        """Returns the 32-bit words of a load of each lane."""
        tensor = self.check(places, mask, size)
        if tensor is None or tensor.numbers is None:
            word = places >> 2
            values = [NUMBERS[(word + n) & 4095] for n in range(words)]
            if size < 4:
                values = [values[0] >> U32(16) if size == 2 else values[0] >> U32(24)]
            return values
        index = (places - (places >> PLACE_BITS << PLACE_BITS)) >> 2
        last = len(tensor.numbers) - 1
        return [tensor.numbers[numpy.clip(index + n, 0, last)] for n in range(words)]


def spread(values, shape):
    """Returns values for all lanes."""
    return values if values.shape == shape else numpy.broadcast_to(values, shape)


def describe(kind, places, mask, size):
    """Describes an access of global memory."""
    count = places.shape[0]
    sector = numpy.sort(numpy.where(mask, places >> 5, NO_SECTOR), axis=1)
    new = numpy.ones(sector.shape, bool)
    new[:, 1:] = sector[:, 1:] != sector[:, :-1]
    new &= sector != NO_SECTOR
    rows, columns = numpy.nonzero(new)
    sectors = sector[rows, columns]
    lines = sectors >> 2
    first = numpy.ones(len(lines), bool)
    first[1:] = (lines[1:] != lines[:-1]) | (rows[1:] != rows[:-1])
    at = numpy.flatnonzero(first)
    bits = numpy.add.reduceat(1 << (sectors & 3), at) if len(at) else at
    starts = numpy.searchsorted(rows[at], numpy.arange(count + 1))
    lanes = mask.sum(1)
    of_row = numpy.bincount(rows, minlength=count)
    written = numpy.minimum(lanes * size, of_row * SECTOR)
    partial = numpy.where(written < of_row * SECTOR, of_row, 0)
    line_count = numpy.diff(starts)
    fronts = numpy.maximum(line_count, -(-lanes * size // LINE))
    return Access(kind, lines[at].tolist(), bits.tolist(), starts.tolist(), partial.tolist(), (lanes * size).tolist(), fronts.tolist())


def conflicts(places, mask, size):
    """Returns how many cycles shared memory takes for each warp. Lanes are served 128 bytes at a time; in each
    such part, a bank takes a cycle for each different word."""
    warps = numpy.flatnonzero(mask.any(1))
    found = numpy.zeros(mask.shape[0], numpy.int64)
    if len(warps) < len(mask):
        places, mask = places[warps], mask[warps]
    parts = max(1, size // 4)
    total, lanes = 0, LANES // parts
    for part in range(parts if len(warps) else 0):
        chosen = slice(part * lanes, (part + 1) * lanes)
        total = total + worst_bank(places[:, chosen], mask[:, chosen], parts)
    if parts > 1 and len(warps):
        same = worst_bank(places, mask, parts) == 1
        total = numpy.where(same, numpy.minimum(total, 1), total)
    found[warps] = total
    return found.tolist()


def worst_bank(places, mask, words):
    rows = places.shape[0]
    word = numpy.where(mask, places >> 2, -1)
    word = numpy.concatenate([numpy.where(word < 0, -1, word + n) for n in range(words)], axis=1) if words > 1 else word
    word = numpy.sort(word, axis=1)
    new = numpy.ones(word.shape, bool)
    new[:, 1:] = word[:, 1:] != word[:, :-1]
    new &= word >= 0
    row, column = numpy.nonzero(new)
    counts = numpy.bincount(row * 32 + (word[row, column] & 31), minlength=rows * 32)
    return counts.reshape(rows, 32).max(1)


class Shared:
    """The shared memory of all blocks."""

    def __init__(self, state, bytes_of_block):
        self.bytes = -(-(RESERVED + bytes_of_block) // 128) * 128
        self.words = numpy.zeros((int(state.block_of.max()) + 1) * self.bytes // 4, U32)
        self.base = (state.block_of * self.bytes)[:, None]

    def index(self, places, mask, size):
        inside = numpy.where(mask, places, RESERVED)
        if inside.max() + size > self.bytes:
            raise ValueError(f"an access of shared memory at {int(inside.max()):#x} is outside its {self.bytes} bytes")
        return inside + self.base

    def load(self, places, mask, words, size):
        at = self.index(places, mask, size)
        if size < 4:
            return [self.words.view({1: numpy.uint8, 2: numpy.uint16}[size])[at // size].astype(U32)]
        return [self.words[(at >> 2) + n] for n in range(words)]

    def store(self, places, mask, values, size):
        at = self.index(places, mask, size)[mask]
        if size < 4:
            view = self.words.view({1: numpy.uint8, 2: numpy.uint16}[size])
            view[at // size] = spread(values[0], mask.shape)[mask].astype(view.dtype)
            return
        for n, value in enumerate(values):
            self.words[(at >> 2) + n] = spread(value, mask.shape)[mask]


def size_of(ins):
    return next((SIZES[dot] for dot in ins.dots if dot in SIZES), 4)


def inside_brackets(text):
    return text[text.rindex("[") + 1:text.rindex("]")]


def place_of(text, o, wide):
    """Returns a function that returns addresses as i64."""
    gets, offset = [], 0
    for part in inside_brackets(text).split("+"):
        if "R" not in part:
            offset += int(part, 0)
        elif wide:
            gets.append(o.pair(part))
        else:
            gets.append(o.plain(part))
    if not gets:
        raise UnknownInstruction(f"address {text}")
    if wide:
        def run():
            total = gets[0]()
            for get in gets[1:]:
                total = total + get()
            return (total + U64(offset & 0xFFFFFFFFFFFFFFFF)).view(numpy.int64)
    else:
        def run():
            total = gets[0]()
            for get in gets[1:]:
                total = total + get()
            return (total + U32(offset & 0xFFFFFFFF)).astype(numpy.int64)
    return run
