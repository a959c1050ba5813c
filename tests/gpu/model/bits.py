"""What instructions on bits and predicates compute, as in integers.py."""

import numpy

from .integers import I32, I64, LOW, parts, signed
from .operands import U32, U64, UnknownInstruction
from .state import LANES

def logic3(ins, o):
    result, out, sources, carried = parts(ins, o)
    if o.is_predicate(result):
        out, result = [result], None
        sources = [*sources]
    if result is None:  # the first source is the register result
        result = sources.pop(0)
    table = int(sources[3], 0)
    a, b, c = (o.bits(each) for each in sources[:3])
    store, tests = o.result(result), [o.predicate_result(each) for each in out]
    start = o.predicate(carried[0]) if carried else None
    combine = numpy.logical_and if "PAND" in ins.dots else numpy.logical_or
    def run(mask):
        value = looked_up(table, a(), b(), c())
        store(value, mask)
        for test in tests:
            test(combine(value != 0, start()) if start else value != 0, mask)
    return run


SIMPLE = {0xC0: lambda a, b, c: a & b, 0xFC: lambda a, b, c: a | b, 0x3C: lambda a, b, c: a ^ b, 0x30: lambda a, b, c: a & ~b,
          0x33: lambda a, b, c: ~b, 0x0F: lambda a, b, c: ~a, 0xF8: lambda a, b, c: a | (b & c), 0xFE: lambda a, b, c: a | b | c,
          0x96: lambda a, b, c: a ^ b ^ c, 0xEA: lambda a, b, c: (a & b) | c, 0x80: lambda a, b, c: a & b & c,
          0xCF: lambda a, b, c: ~a | b, 0xF3: lambda a, b, c: a | ~b, 0xE2: lambda a, b, c: (a & b) | (~b & c),
          0xB8: lambda a, b, c: (a & ~b) | (b & c), 0xCA: lambda a, b, c: (a & b) | (~a & c), 0x0C: lambda a, b, c: ~a & b}


def looked_up(table, a, b, c):
    """Returns the bits of `table` at the three-bit numbers that the bits of a, b and c form."""
    if simple := SIMPLE.get(table):
        return simple(a, b, c)
    value = U32(0)
    for number in range(8):
        if table >> number & 1:
            value = value | ((a if number & 4 else ~a) & (b if number & 2 else ~b) & (c if number & 1 else ~c))
    return value


def predicate_logic(ins, o):
    first, second, a, b, c, table, other = ins.operands[:7]
    gets = [o.predicate(each) for each in (a, b, c)]
    stores = [(o.predicate_result(to), int(bits, 0)) for to, bits in ((first, table), (second, other))]
    def run(mask):
        a, b, c = (numpy.asarray(get()) for get in gets)
        found = [(store, truth(bits, a, b, c)) for store, bits in stores]
        for store, value in found:
            store(value, mask)
    return run


def truth(table, a, b, c):
    value = numpy.zeros(numpy.broadcast(a, b, c).shape, bool)
    for number in range(8):
        if table >> number & 1:
            value = value | ((a if number & 4 else ~a) & (b if number & 2 else ~b) & (c if number & 1 else ~c))
    return value


def permute(ins, o):
    result, a, by, b = ins.operands
    x, sel, y, store = o.bits(a), o.bits(by), o.bits(b), o.result(result)
    if ins.dots:
        raise UnknownInstruction(f"PRMT.{ins.dots[0]}")
    def run(mask):
        pair, choice, value = x().astype(U64) | y().astype(U64) << U64(32), sel(), U32(0)
        for byte in range(4):
            picked = (choice >> U32(4 * byte)) & U32(15)
            bits = ((pair >> ((picked & U32(7)) * U32(8)).astype(U64)) & U64(255)).astype(U32)
            bits = numpy.where(picked & U32(8), numpy.where(bits & U32(128), U32(255), U32(0)), bits)
            value = value | bits << U32(8 * byte)
        store(value, mask)
    return run


def highest(ins, o):
    """FLO: the number of the highest one bit (SH: how far it is from the top), or all ones."""
    result, _, (a,), _ = parts(ins, o)
    store, x = o.result(result), o.bits(a)
    from_top, is_signed = "SH" in ins.dots, "U32" not in ins.dots
    def run(mask):
        value = x()
        if is_signed:
            value = numpy.where(signed(value) < 0, ~value, value)
        at = numpy.floor(numpy.log2(numpy.maximum(value, 1).astype(numpy.float64))).astype(I64)
        store(numpy.where(value == 0, 0xFFFFFFFF, 31 - at if from_top else at), mask)
    return run


def ones(ins, o):
    store, x = o.result(ins.operands[0]), o.bits(ins.operands[1])
    def run(mask):
        value, total = x(), U32(0)
        for bit in range(LANES):
            total = total + (value >> U32(bit) & U32(1))
        store(total, mask)
    return run


def reverse(ins, o):
    store, x = o.result(ins.operands[0]), o.bits(ins.operands[1])
    def run(mask):
        value, total = x(), U32(0)
        for bit in range(LANES):
            total = total | (value >> U32(bit) & U32(1)) << U32(LANES - 1 - bit)
        store(total, mask)
    return run


def extend(ins, o):
    """SGXT: the low bits of a, extended by their sign or by zeros."""
    result, a, width = ins.operands
    store, x, n = o.result(result), o.bits(a), o.bits(width)
    is_unsigned = "U32" in ins.dots
    def run(mask):
        up = (U32(LANES) - numpy.minimum(n(), U32(LANES))).astype(U64)
        value = (x().astype(U64) << up) & LOW
        value = value >> up if is_unsigned else (value.astype(U32).view(I32).astype(I64) >> up.astype(I64)).view(U64)
        store(value & LOW, mask)
    return run


def bit_mask(ins, o):
    result, place, width = ins.operands
    store, at, n = o.result(result), o.bits(place), o.bits(width)
    return lambda mask: store(((U64(1) << n().astype(U64)) - U64(1)) << at().astype(U64) & LOW, mask)


def read_predicates(ins, o):
    """P2R: all predicates as bits, where the last operand chooses bits."""
    result, _, other, chosen = ins.operands
    store, old, mask_bits, file = o.result(result), o.bits(other), o.bits(chosen), o.state.predicates
    def run(mask):
        value = U32(0)
        for number in range(7):
            value = value | file[number].astype(U32) << U32(number)
        store((value & mask_bits()) | (old() & ~mask_bits()), mask)
    return run


def write_predicates(ins, o):
    """R2P: predicates from bits."""
    _, source, chosen = ins.operands
    get, bits = o.bits(source), int(chosen, 0)
    stores = [(number, o.predicate_result(f"P{number}")) for number in range(7) if bits >> number & 1]
    def run(mask):
        value = get()
        for number, store in stores:
            store((value >> U32(number) & U32(1)) != 0, mask)
    return run


BUILDERS = {"LOP3": logic3, "LOP": logic3, "PLOP3": predicate_logic, "PRMT": permute, "FLO": highest, "POPC": ones, "BREV": reverse,
            "SGXT": extend, "BMSK": bit_mask, "P2R": read_predicates, "R2P": write_predicates}
