"""What instructions on integers compute. Each builder takes an instruction and its operands, and
returns a function (mask) that executes it for the warps and lanes of the mask."""

import numpy

from .operands import U32, U64, UnknownInstruction

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


def extreme_of_three(ins, o):
    """VIMNMX3: the least or the greatest of three numbers."""
    result, *of, by = ins.operands
    store, least = o.result(result), o.predicate(by)
    values = [o.bits(each) for each in of]
    view = (lambda v: v) if "U32" in ins.dots else signed
    def run(mask):
        a, b, c = (view(each()) for each in values)
        store(numpy.where(least(), numpy.minimum(numpy.minimum(a, b), c), numpy.maximum(numpy.maximum(a, b), c)), mask)
    return run


def absolute(ins, o):
    store, x = o.result(ins.operands[0]), o.bits(ins.operands[1])
    return lambda mask: store(numpy.abs(signed(x())), mask)


def add_extreme(ins, o):
    """VIADDMNMX: the sum of a and b, but not beyond c."""
    result, a, b, c, by = [each for at, each in enumerate(ins.operands) if each != "PT" or at == len(ins.operands) - 1][:5]
    store, x, y, z, least = o.result(result), o.bits(a), o.bits(b), o.bits(c), o.predicate(by)
    view = (lambda v: v) if "U32" in ins.dots else signed
    def run(mask):
        left, right = view(x() + y()), view(z())
        store(numpy.where(least(), numpy.minimum(left, right), numpy.maximum(left, right)), mask)
    return run


BUILDERS = {"IADD3": add3, "VIADD": add3, "IADD": add3, "IMAD": multiply, "MOV": move, "LEA": shift_add, "ISETP": compare, "SHF": shift,
            "SEL": select, "IMNMX": extreme, "VIMNMX": extreme, "VIMNMX3": extreme_of_three, "IABS": absolute, "VIADDMNMX": add_extreme}
