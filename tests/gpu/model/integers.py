"""What instructions on integers and predicates compute. Each builder takes an instruction and its operands, and
returns a function (mask) that executes it for the warps and lanes of the mask."""

import numpy

from .operands import U32, U64, UnknownInstruction
from .state import LANES

I32, I64 = numpy.int32, numpy.int64
LOW = U64(0xFFFFFFFF)
COMPARE = {"LT": numpy.less, "LE": numpy.less_equal, "GT": numpy.greater, "GE": numpy.greater_equal, "EQ": numpy.equal,
           "NE": numpy.not_equal}
COMBINE = {"AND": numpy.logical_and, "OR": numpy.logical_or, "XOR": numpy.logical_xor}


def parts(ins, o):
    """Divides operands into (result, predicates that are written, sources, predicates that are read)."""
    result, *rest = ins.operands
    first = next((at for at, each in enumerate(rest) if not o.is_predicate(each)), len(rest))
    last = len(rest)
    while last > first and o.is_predicate(rest[last - 1]):
        last -= 1
    return result, rest[:first], rest[first:last], rest[last:]


def signed(values):
    return values.view(I32)


def add3(ins, o):
    result, out, sources, carried = parts(ins, o)
    store, carries = o.result(result), [o.predicate_result(each) for each in out]
    gets = [o.summand(each) for each in sources]
    adds = [o.predicate(each) for each in carried] if "X" in ins.dots else []
    plain = [o.bits(each) for each in sources]
    if not carries and not adds:
        return lambda mask: store(sum_of(plain), mask)
    def run(mask):
        total = sum_of(gets)
        for each in adds:
            total = total + each()
        for number, carry in enumerate(carries):
            carry(total >= U64((number + 1) << 32), mask)
        store(total & LOW, mask)
    return run


def sum_of(gets):
    total = gets[0]()
    for get in gets[1:]:
        total = total + get()
    return total


def multiply(ins, o):
    if "MOV" in ins.dots:
        return move_of(ins, o, ins.operands[-1])
    result, out, (a, b, c), carried = parts(ins, o)
    is_signed = "U32" not in ins.dots
    if "WIDE" in ins.dots or "HI" in ins.dots:
        return multiply_wide(ins, o, is_signed)
    if "SHL" in ins.dots or "IADD" in ins.dots or "X" in ins.dots or not ins.dots or "U32" in ins.dots:
        store, carries = o.result(result), [o.predicate_result(each) for each in out]
        x, y, z = o.bits(a), o.bits(b), o.bits(c)
        if not carries and "X" not in ins.dots:
            return lambda mask: store(x() * y() + z(), mask)
        wide, added = o.summand(c), [o.predicate(each) for each in carried] if "X" in ins.dots else []
        def run(mask):
            total = (x() * y()).astype(U64) + wide()
            for each in added:
                total = total + each()
            for carry in carries:
                carry(total > LOW, mask)
            store(total & LOW, mask)
        return run
    raise UnknownInstruction(f"IMAD.{'.'.join(ins.dots)}")


def multiply_wide(ins, o, is_signed):
    result, out, (a, b, c), carried = parts(ins, o)
    x, y, z = o.bits(a), o.bits(b), o.pair(c)
    extended = (lambda v: v.view(I32).astype(I64).view(U64)) if is_signed else lambda v: v.astype(U64)
    carries = [o.predicate_result(each) for each in out]
    added = [o.predicate(each) for each in carried] if "X" in ins.dots else []
    inverted = c.startswith("~")
    store = o.pair_result(result) if "WIDE" in ins.dots else o.result(result)
    is_high = "HI" in ins.dots
    def run(mask):
        product, summand = extended(x()) * extended(y()), z()
        total = product + (~summand if inverted else summand)
        for each in added:
            total = total + each().astype(U64)
        for carry in carries:
            carry(total < product, mask)
        store(total >> U64(32) if is_high else total, mask)
    return run


def move_of(ins, o, source):
    store, get = o.result(ins.operands[0]), o.bits(source)
    return lambda mask: store(get(), mask)


def move(ins, o):
    if "64" in ins.dots:
        store, get = o.pair_result(ins.operands[0]), o.pair(ins.operands[1])
        return lambda mask: store(get(), mask)
    return move_of(ins, o, ins.operands[1])


def shift_add(ins, o):
    """LEA: a shifted left, plus b; LEA.HI: the high half of the pair shifted left, plus b."""
    result, out, sources, carried = parts(ins, o)
    store, carries = o.result(result), [o.predicate_result(each) for each in out]
    shift = U64(int(sources[-1], 0))
    a, b = o.bits(sources[0]), o.summand(sources[1])
    extended = "SX32" in ins.dots
    high = o.bits(sources[2]) if len(sources) == 4 else None
    adds = [o.predicate(each) for each in carried] if "X" in ins.dots else []
    def run(mask):
        value = a()
        if extended:
            value = value.view(I32).astype(I64).view(U64)
        else:
            value = value.astype(U64)
            if high:
                value = value | high().astype(U64) << U64(32)
        shifted = value << shift
        total = (shifted >> U64(32) if "HI" in ins.dots else shifted & LOW) & LOW
        total = total + b()
        for each in adds:
            total = total + each()
        for carry in carries:
            carry(total > LOW, mask)
        store(total & LOW, mask)
    return run


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


def compare(ins, o):
    first, second, a, b, given, *lower = ins.operands
    test, combine = COMPARE[ins.dots[0]], COMBINE[next(dot for dot in ins.dots if dot in COMBINE)]
    view = (lambda v: v) if "U32" in ins.dots else signed
    x, y, start = o.bits(a), o.bits(b), o.predicate(given)
    below = o.predicate(lower[0]) if lower and "EX" in ins.dots else None
    strict = COMPARE[{"LE": "LT", "GE": "GT"}.get(ins.dots[0], ins.dots[0])]
    store, complement = o.predicate_result(first), o.predicate_result(second)
    is_different = ins.dots[0] == "NE"
    def run(mask):
        left, right = view(x()), view(y())
        if below is None:
            found = test(left, right)
        elif is_different:
            found = (left != right) | below()
        else:
            found = strict(left, right) | ((left == right) & below()) if ins.dots[0] != "EQ" else (left == right) & below()
        start_value = start()
        other = combine(~numpy.asarray(found), start_value)
        store(combine(found, start_value), mask)
        complement(other, mask)
    return run


def shift(ins, o):
    """SHF: a funnel shift of the pair (c, a)."""
    result, low, by, high = ins.operands
    a, n, c, store = o.bits(low), o.bits(by), o.bits(high), o.result(result)
    left, is_high, wraps = "L" in ins.dots, "HI" in ins.dots, "W" in ins.dots
    wide, is_signed = "U64" in ins.dots or "S64" in ins.dots, "S32" in ins.dots or "S64" in ins.dots
    most = U32(63 if wide else 32)
    def run(mask):
        count = n()
        count = (count & U32(63 if wide else 31) if wraps else numpy.minimum(count, most)).astype(U64)
        if left and not is_high:
            return store((a().astype(U64) << count) & LOW, mask)
        if left:
            pair = a().astype(U64) | c().astype(U64) << U64(32)
            return store((pair << count) >> U64(32), mask)
        if is_high:
            top = c().view(I32).astype(I64) >> count.astype(I64) if is_signed else c().astype(U64) >> count
            return store(top.view(U64) & LOW, mask)
        pair = a().astype(U64) | c().astype(U64) << U64(32)
        pair = pair.view(I64) >> count.astype(I64) if is_signed else pair >> count
        return store(pair.view(U64) & LOW, mask)
    return run


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


def select(ins, o):
    result, a, b, by = ins.operands
    store, x, y, chosen = o.result(result), o.bits(a), o.bits(b), o.predicate(by)
    return lambda mask: store(numpy.where(chosen(), x(), y()), mask)


def extreme(ins, o):
    result, a, b, by = [each for each in ins.operands if each != "PT"][:3] + [ins.operands[-1]]
    store, x, y, least = o.result(result), o.bits(a), o.bits(b), o.predicate(by)
    view = (lambda v: v) if "U32" in ins.dots else signed
    def run(mask):
        left, right = view(x()), view(y())
        store(numpy.where(least(), numpy.minimum(left, right), numpy.maximum(left, right)), mask)
    return run


def absolute(ins, o):
    store, x = o.result(ins.operands[0]), o.bits(ins.operands[1])
    return lambda mask: store(numpy.abs(signed(x())), mask)


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


def add_extreme(ins, o):
    """VIADDMNMX: the sum of a and b, but not beyond c."""
    result, a, b, c, by = [each for at, each in enumerate(ins.operands) if each != "PT" or at == len(ins.operands) - 1][:5]
    store, x, y, z, least = o.result(result), o.bits(a), o.bits(b), o.bits(c), o.predicate(by)
    view = (lambda v: v) if "U32" in ins.dots else signed
    def run(mask):
        left, right = view(x() + y()), view(z())
        store(numpy.where(least(), numpy.minimum(left, right), numpy.maximum(left, right)), mask)
    return run


BUILDERS = {"IADD3": add3, "VIADD": add3, "IADD": add3, "IMAD": multiply, "MOV": move, "LEA": shift_add, "LOP3": logic3, "LOP": logic3,
            "PLOP3": predicate_logic, "ISETP": compare, "SHF": shift, "PRMT": permute, "SEL": select, "IMNMX": extreme,
            "VIMNMX": extreme, "IABS": absolute, "FLO": highest, "POPC": ones, "BREV": reverse, "SGXT": extend, "BMSK": bit_mask,
            "P2R": read_predicates, "R2P": write_predicates, "VIADDMNMX": add_extreme}
