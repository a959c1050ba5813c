"""What instructions on f32 compute. Their values only decide branches, so the last bits of a result may
differ from those of a GPU. Formats of 16 and 8 bits have no values here: results are zeros."""

import numpy

from .integers import COMBINE
from .operands import F32, U32, UnknownInstruction, half_bits, is_number

UNARY = {"RCP": lambda x: F32(1) / x, "RSQ": lambda x: F32(1) / numpy.sqrt(x), "SQRT": numpy.sqrt, "EX2": numpy.exp2, "LG2": numpy.log2,
         "SIN": numpy.sin, "COS": numpy.cos, "TANH": numpy.tanh}
TESTS = {"LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
         "EQ": lambda a, b: a == b, "NE": lambda a, b: (a != b) & (a == a) & (b == b), "NEU": lambda a, b: a != b,
         "LTU": lambda a, b: ~(a >= b), "LEU": lambda a, b: ~(a > b), "GTU": lambda a, b: ~(a <= b), "GEU": lambda a, b: ~(a < b),
         "EQU": lambda a, b: ~((a != b) & (a == a) & (b == b)), "NUM": lambda a, b: (a == a) & (b == b), "NAN": lambda a, b: (a != a) | (b != b)}


def bits_of(values):
    return numpy.asarray(values, F32).view(U32)


def arithmetic(function, count):
    def build(ins, o):
        store = o.result(ins.operands[0])
        gets = [o.float(each) for each in ins.operands[1:1 + count]]
        if count == 2:
            a, b = gets
            return lambda mask: store(bits_of(function(a(), b())), mask)
        a, b, c = gets
        return lambda mask: store(bits_of(function(a(), b(), c())), mask)
    return build


def extreme(ins, o):
    store = o.result(ins.operands[0])
    a, b = (o.float(each) for each in ins.operands[1:3])
    least = o.predicate(ins.operands[3])
    return lambda mask: store(bits_of(numpy.where(least(), numpy.fmin(a(), b()), numpy.fmax(a(), b()))), mask)


def compare(ins, o):
    first, second, a, b, given = ins.operands
    if ins.dots[0] not in TESTS:
        raise UnknownInstruction(f"FSETP.{ins.dots[0]}")
    test, combine = TESTS[ins.dots[0]], COMBINE[next(dot for dot in ins.dots if dot in COMBINE)]
    x, y, start = o.float(a), o.float(b), o.predicate(given)
    store, complement = o.predicate_result(first), o.predicate_result(second)
    def run(mask):
        found, start_value = numpy.asarray(test(x(), y())), start()
        other = combine(~found, start_value)
        store(combine(found, start_value), mask)
        complement(other, mask)
    return run


def select(ins, o):
    result, a, b, by = ins.operands
    store, x, y, chosen = o.result(result), o.float(a), o.float(b), o.predicate(by)
    return lambda mask: store(numpy.where(chosen(), bits_of(x()), bits_of(y())), mask)


def special(ins, o):
    function = UNARY.get(ins.dots[0])
    if not function:
        raise UnknownInstruction(f"MUFU.{ins.dots[0]}")
    store, x = o.result(ins.operands[0]), o.float(ins.operands[1])
    return lambda mask: store(bits_of(function(x())), mask)


def check_quotient(ins, o):
    """FCHK: whether a quotient needs the slow way, as its operands are close to the ends of f32."""
    store = o.predicate_result(ins.operands[0])
    a, b = (o.float(each) for each in ins.operands[1:3])
    def run(mask):
        x, y = numpy.broadcast_arrays(numpy.asarray(a()), numpy.asarray(b()))
        p, q = ((v.view(U32) >> U32(23) & U32(255)).astype(numpy.int32) for v in (numpy.ascontiguousarray(x), numpy.ascontiguousarray(y)))
        store((q == 0) | (q >= 253) | (p == 255) | (p - q > 125) | (p - q < -125) | ((p < 24) & (x != 0)), mask)
    return run


def from_integer(ins, o):
    if "F64" in ins.dots or "F16" in ins.dots:
        return nothing(ins, o)
    store, x = o.result(ins.operands[0]), o.bits(ins.operands[-1])
    is_unsigned = any(dot.startswith("U") and dot != "UX" for dot in ins.dots)
    return lambda mask: store(bits_of((x() if is_unsigned else x().view(numpy.int32)).astype(F32)), mask)


def to_integer(ins, o):
    store, x = o.result(ins.operands[0]), o.float(ins.operands[1])
    wide = "S64" in ins.dots or "U64" in ins.dots
    if wide:
        return nothing(ins, o)
    low, high = (0, 2 ** 32 - 1) if "U32" in ins.dots else (-2 ** 31, 2 ** 31 - 1)
    rounded = {"TRUNC": numpy.trunc, "FLOOR": numpy.floor, "CEIL": numpy.ceil}.get(next((d for d in ins.dots if d in ("TRUNC", "FLOOR", "CEIL")), ""), numpy.rint)
    return lambda mask: store(numpy.clip(rounded(numpy.nan_to_num(x().astype(numpy.float64))), low, high).astype(numpy.int64), mask)


def rounded(ins, o):
    store, x = o.result(ins.operands[0]), o.float(ins.operands[1])
    how = {"TRUNC": numpy.trunc, "FLOOR": numpy.floor, "CEIL": numpy.ceil}.get(ins.dots[0] if ins.dots else "", numpy.rint)
    return lambda mask: store(bits_of(how(x())), mask)


def pack(ins, o):
    """F2FP: two f32 as bf16, whose values are those of the upper halves."""
    if "BF16" not in ins.dots or len(ins.operands) != 3:
        return nothing(ins, o)
    store, x, y = o.result(ins.operands[0]), o.float(ins.operands[1]), o.float(ins.operands[2])
    return lambda mask: store((bits_of(x()) & U32(0xFFFF0000)) | bits_of(y()) >> U32(16), mask)


def halves(ins, o):
    """HFMA2 is mostly a way to load a constant of two halves. Other forms have no values."""
    result, *sources = ins.operands
    if len(sources) == 4 and sources[1] == "RZ" and all(is_number(each.lstrip("-")) for each in sources[2:]):
        word = U32(half_bits(sources[2]) << 16 | half_bits(sources[3]))
        store = o.result(result)
        return lambda mask: store(word, mask)
    return nothing(ins, o)


def nothing(ins, o):
    """An instruction whose values are not needed."""
    if o.is_predicate(ins.operands[0]):
        stores = [o.predicate_result(each) for each in ins.operands[:2] if o.is_predicate(each)]
        return lambda mask: [store(False, mask) for store in stores]
    store = o.result(ins.operands[0])
    return lambda mask: store(U32(0), mask)


BUILDERS = {"FADD": arithmetic(lambda a, b: a + b, 2), "FMUL": arithmetic(lambda a, b: a * b, 2), "FFMA": arithmetic(lambda a, b, c: a * b + c, 3),
            "FMNMX": extreme, "FSETP": compare, "FSEL": select, "MUFU": special, "FCHK": check_quotient, "I2F": from_integer,
            "I2FP": from_integer, "F2I": to_integer, "FRND": rounded, "F2FP": pack, "HFMA2": halves, "HADD2": nothing, "HMUL2": nothing,
            "HSETP2": nothing, "HMNMX2": nothing, "F2F": nothing}
