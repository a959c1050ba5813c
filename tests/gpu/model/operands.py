"""Reads and writes operands of instructions. `Operands` turns the text of an operand into a function that
returns its values for all warps, or that stores them."""

import re
import struct

import numpy

from .state import TRUE, UNIFORM_ZERO, ZERO

REGISTER = re.compile(r"(U?R)(\d+|Z)$")
PREDICATE = re.compile(r"(U?P)(\d|T)$")
CONSTANT = re.compile(r"c\[0x(\w+)\]\s*\[(.*)\]$")
SUFFIX = re.compile(r"\.(reuse|64|H0_H0|H1_H1|H1_H0|H0|H1|B0|B1|B2|B3|U32|S32|F32|tnsp[AB]|UX4|X4|X8|X16)(?=\.|$|[\]|])")
NAMED_FLOATS = {"INF": 0x7F800000, "QNAN": 0x7FFFFFFF, "SNAN": 0x7F800001}
SIGN = numpy.uint32(1 << 31)
U32 = numpy.uint32
U64 = numpy.uint64
F32 = numpy.float32


class UnknownInstruction(Exception):
    """The simulator does not know an instruction or a form of it."""


def float_bits(text):
    named = NAMED_FLOATS.get(text.lstrip("+-"))
    bits = named if named is not None else struct.unpack("<I", struct.pack("<f", float(text)))[0]
    return bits | (1 << 31 if text.startswith("-") and named is not None else 0)


def half_bits(text):
    return struct.unpack("<H", struct.pack("<e", float(text)))[0]


class Operands:
    def __init__(self, state, constants):
        self.state = state
        self.constants = constants  # the launch's constant bank, as 32-bit words

    def register(self, text):
        """Returns (kind, number), or None. RZ and URZ have the numbers of registers that stay zero."""
        found = REGISTER.match(SUFFIX.sub("", text))
        if not found:
            return None
        zero = ZERO if found[1] == "R" else UNIFORM_ZERO
        return found[1], zero if found[2] == "Z" else int(found[2])

    def array(self, kind, number):
        return (self.state.registers if kind == "R" else self.state.uniform)[number]

    def plain(self, text, is_float=False):
        """Returns a function that returns the bits of an operand without its signs."""
        text = SUFFIX.sub("", text)
        if register := self.register(text):
            values = self.array(*register)
            return lambda: values
        if constant := CONSTANT.match(text):
            return self.constant(constant[1], constant[2])
        if is_float or "INF" in text or "NAN" in text or re.fullmatch(r"[+-]?\d+\.\d+(e[+-]?\d+)?|[+-]?\d+e[+-]?\d+", text):
            try:
                bits = U32(float_bits(text) if not text.startswith(("0x", "-0x")) else int(text, 16) & 0xFFFFFFFF)
            except ValueError:
                raise UnknownInstruction(f"operand {text}") from None
            return lambda: bits
        try:
            bits = U32(int(text, 0) & 0xFFFFFFFF)
        except ValueError:
            raise UnknownInstruction(f"operand {text}") from None
        return lambda: bits

    def constant(self, bank, place):
        parts = [part.strip() for part in place.split("+")]
        register = next((part for part in parts if REGISTER.match(part)), None)
        offset = sum(int(part, 0) for part in parts if part != register)
        if bank != "0":
            raise UnknownInstruction(f"constant bank {bank}")
        if not register:
            bits = self.constants[offset // 4]
            return lambda: bits
        values = self.array(*self.register(register))
        return lambda: self.constants[(values + U32(offset)) // U32(4)]

    def bits(self, text):
        """Returns a function that returns an integer operand's 32 bits."""
        negated, inverted, absolute, text = signs(text)
        get = self.plain(text)
        if inverted:
            return lambda: ~get()
        if absolute:
            inner = get
            def get():
                return numpy.abs(inner().view(numpy.int32)).view(U32)
        return (lambda: U32(0) - get()) if negated and not is_number(text) else self.plain("-" + text) if negated else get

    def summand(self, text):
        """Returns a function that returns an operand of a sum with carry in 64 bits: -x is ~x + 1."""
        negated, inverted, _, text = signs(text)
        if negated and is_number(text):
            return self.wide_constant(int("-" + text, 0) & 0xFFFFFFFF)
        get = self.plain(text)
        if inverted:
            return lambda: (~get()).astype(U64)
        if negated:
            return lambda: (~get()).astype(U64) + U64(1)
        return lambda: get().astype(U64)

    def wide_constant(self, value):
        value = U64(value)
        return lambda: value

    def pair(self, text):
        """Returns a function that returns a 64-bit operand: a register and the next one, or a constant."""
        negated, _, _, text = signs(text)
        register = self.register(text)
        if register and register[1] not in (ZERO, UNIFORM_ZERO):
            low, high = self.array(*register), self.array(register[0], register[1] + 1)
            def get():
                return low.astype(U64) | high.astype(U64) << U64(32)
        elif register:
            zero = U64(0)
            return lambda: zero
        elif constant := CONSTANT.match(text):
            offset = int(constant[2], 0)
            value = U64(int(self.constants[offset // 4]) | int(self.constants[offset // 4 + 1]) << 32)
            return lambda: value
        else:
            value = U64(int(("-" if negated else "") + text, 0) & 0xFFFFFFFFFFFFFFFF)
            return lambda: value
        return (lambda: U64(0) - get()) if negated else get

    def float(self, text):
        """Returns a function that returns an f32 operand."""
        negated, _, absolute, text = signs(text)
        get = self.plain(text, True)
        def bits():
            value = get()
            if absolute:
                value = value & ~SIGN
            return value ^ SIGN if negated else value
        chosen = bits if negated or absolute else get
        return lambda: chosen().view(F32)

    def predicate(self, text):
        """Returns a function that returns a predicate."""
        negated = text.startswith("!")
        found = PREDICATE.match(text.lstrip("!"))
        if not found:
            raise UnknownInstruction(f"predicate {text}")
        file = self.state.predicates if found[1] == "P" else self.state.uniform_predicates
        values = file[TRUE if found[2] == "T" else int(found[2])]
        return (lambda: ~values) if negated else lambda: values

    def is_predicate(self, text):
        return bool(PREDICATE.match(text.lstrip("!")))

    def result(self, text, ahead=0):
        """Returns a function (values, mask) that stores values in a register (or one of the next ones)."""
        register = self.register(text)
        if not register:
            raise UnknownInstruction(f"result {text}")
        kind, number = register
        if number in ((ZERO,) if kind == "R" else (UNIFORM_ZERO,)):
            return lambda values, mask: None
        to = self.array(kind, number + ahead)
        if kind == "UR":
            state = self.state
            def store(values, mask):
                one = values if numpy.shape(values)[-1:] in ((), (1,)) else state.of_first_lane(values, mask)
                numpy.copyto(to, one, where=state.warps_of(mask), casting="unsafe")
            return store
        return into(to)

    def pair_result(self, text):
        low, high = self.result(text), self.result(text, 1)
        def store(values, mask):
            low(values & U64(0xFFFFFFFF), mask)
            high(values >> U64(32), mask)
        return store

    def predicate_result(self, text):
        found = PREDICATE.match(text)
        if not found:
            raise UnknownInstruction(f"result {text}")
        if found[2] == "T":
            return lambda values, mask: None
        state = self.state
        to = (state.predicates if found[1] == "P" else state.uniform_predicates)[int(found[2])]
        if found[1] == "P":
            return into(to)
        def store(values, mask):
            one = values if numpy.shape(values)[-1:] in ((), (1,)) else state.of_first_lane(values, mask)
            numpy.copyto(to, one, where=state.warps_of(mask))
        return store


def into(to):
    """Returns a function (values, mask) that stores values where the mask is set."""
    def store(values, mask):
        if mask is True:
            to[...] = values
        else:
            numpy.copyto(to, values, where=mask, casting="unsafe")
    return store


def signs(text):
    """Returns (negated, inverted, absolute, text without these)."""
    negated, inverted = text.startswith("-"), text.startswith("~")
    text = text[1:] if negated or inverted else text
    absolute = text.startswith("|")
    return negated, inverted, absolute, re.sub(r"\|", "", text)


def is_number(text):
    return text[:1].isdigit()
