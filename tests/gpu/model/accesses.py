"""Instructions that access memory, and those that read numbers of the launch or of other lanes."""

import numpy

from .integers import parts
from .memory import conflicts, describe, place_of, size_of, spread
from .operands import F32, U32, U64, UnknownInstruction
from .state import LANES


def lanes_of(o, mask):
    return o.state.active if mask is True else mask


def each_word(o, register, words):
    return [o.result(register, n) for n in range(words)]


def signed_part(ins, value, size):
    if "S8" in ins.dots or "S16" in ins.dots:
        kind = numpy.int8 if size == 1 else numpy.int16
        return value.astype(kind).astype(numpy.int32).view(U32)
    return value


def load_global(ins, o):
    size, place = size_of(ins), place_of(ins.operands[-1], o, "E" in ins.dots)
    words = max(1, size // 4)
    stores = each_word(o, ins.operands[0], words)
    def run(mask):
        lanes, places = lanes_of(o, mask), place()
        o.log.append(describe("load", places, lanes, size))
        for store, value in zip(stores, o.memory.load(places, lanes, words, size)):
            store(signed_part(ins, value, size), mask)
    return run


def store_global(ins, o):
    size, place = size_of(ins), place_of(ins.operands[0], o, "E" in ins.dots)
    def run(mask):
        lanes, places = lanes_of(o, mask), place()
        places = spread(places, lanes.shape)
        o.memory.check(places, lanes, size)
        o.log.append(describe("store", places, lanes, size))
    return run


def copy_to_shared(ins, o):
    """LDGSTS: copies global memory to shared memory."""
    size = size_of(ins)
    to, source = place_of(ins.operands[0], o, False), place_of(ins.operands[1], o, True)
    words = max(1, size // 4)
    given = o.predicate(ins.operands[2]) if len(ins.operands) > 2 else None
    def run(mask):
        lanes, places, target = lanes_of(o, mask), source(), to()
        read = lanes & given() if given else lanes
        access = describe("copy", places, read, size)
        access.wavefronts = [max(a, b) for a, b in zip(access.wavefronts, conflicts(spread(target, lanes.shape), lanes, size))]
        o.log.append(access)
        o.shared.store(target, lanes, o.memory.load(places, read, words, size), size)
    return run


def load_shared(ins, o):
    size, place = size_of(ins), place_of(ins.operands[1], o, False)
    words = max(1, size // 4)
    stores = each_word(o, ins.operands[0], words)
    def run(mask):
        lanes = lanes_of(o, mask)
        places = spread(place(), lanes.shape)
        o.log.append(conflicts(places, lanes, size))
        for store, value in zip(stores, o.shared.load(places, lanes, words, size)):
            store(signed_part(ins, value, size), mask)
    return run


def store_shared(ins, o):
    size, place = size_of(ins), place_of(ins.operands[0], o, False)
    gets = [source_word(o, ins.operands[1], n) for n in range(max(1, size // 4))]
    def run(mask):
        lanes = lanes_of(o, mask)
        places = spread(place(), lanes.shape)
        o.log.append(conflicts(places, lanes, size))
        o.shared.store(places, lanes, [get() for get in gets], size)
    return run


def source_word(o, text, ahead):
    kind, number = o.register(text)
    if number == (255 if kind == "R" else 63):
        ahead = 0
    values = o.array(kind, number + ahead)
    return lambda: values


def load_matrix(ins, o):
    """LDSM: the values are not needed."""
    place = place_of(ins.operands[1], o, False)
    count = int(ins.dots[-1]) if ins.dots[-1] in ("2", "4") else 1
    used = numpy.arange(LANES) < 8 * count
    def run(mask):
        lanes = lanes_of(o, mask) & used
        o.log.append(conflicts(spread(place(), lanes.shape), lanes, 16))
    return run


def private(ins, o):
    """LDL and STL: spilled registers, in a memory of each lane."""
    is_load, size = ins.name == "LDL", size_of(ins)
    text = ins.operands[1 if is_load else 0]
    place, words = place_of(text, o, False), max(1, size // 4)
    spilled = o.spilled
    stores = each_word(o, ins.operands[0].split(" ")[0], words) if is_load else []
    gets = [] if is_load else [source_word(o, ins.operands[1].split(" ")[0], n) for n in range(words)]
    def run(mask):
        lanes = lanes_of(o, mask)
        places = spread(place(), lanes.shape)
        o.log.append([max(1, size // 4)] * lanes.shape[0])
        for n in range(words):
            key = (int(places[lanes][0]) >> 2) + n if lanes.any() else 0
            values = spilled.setdefault(key, numpy.zeros(lanes.shape, U32))
            if is_load:
                stores[n](values, mask)
            else:
                numpy.copyto(values, gets[n](), where=lanes)
    return run


def refused_when_executed(ins, o):
    """Atomic instructions are only for traps and prints, which no measurement has."""
    def run(mask):
        if lanes_of(o, mask).any():
            raise UnknownInstruction(f"{ins.name} is executed")
        o.log.append(None)
    return run


def load_constant(ins, o):
    result, source = ins.operands
    size = size_of(ins)
    if size == 8:
        store, get = o.pair_result(result), o.pair(source)
    elif size == 4:
        store, get = o.result(result), o.plain(source)
    else:
        word = o.constants.view({1: numpy.uint8, 2: numpy.uint16}[size])[int(source[source.rindex("[") + 1:-1], 0) // size]
        store, get = o.result(result), lambda: U32(word)
    return lambda mask: store(get(), mask)


def special_register(ins, o):
    store, s, name = o.result(ins.operands[0]), o.state, ins.operands[1]
    values = {"SR_TID.X": s.thread, "SR_CTAID.X": s.block, "SR_LANEID": s.lane, "SR_CgaCtaId": U32(0), "SRZ": U32(0), "SR_TID.Y": U32(0),
              "SR_TID.Z": U32(0), "SR_CTAID.Y": U32(0), "SR_CTAID.Z": U32(0)}
    if name not in values:
        raise UnknownInstruction(f"{ins.name} {name}")
    if ins.name == "CS2R" and "32" not in ins.dots:
        both = o.pair_result(ins.operands[0])
        return lambda mask: both(U64(0), mask)
    return lambda mask: store(values[name], mask)


def to_uniform(ins, o):
    store, get = o.result(ins.operands[0]), o.plain(ins.operands[1])
    return lambda mask: store(get(), mask)


def shuffle(ins, o):
    """SHFL: a value of another lane."""
    inside, result, source, by, how = ins.operands
    store, ok, value, n, clamp = o.result(result), o.predicate_result(inside), o.plain(source), o.plain(by), o.plain(how)
    lane, mode = numpy.arange(LANES), ins.dots[0]
    if mode not in ("IDX", "UP", "DOWN", "BFLY"):
        raise UnknownInstruction(f"SHFL.{mode}")
    def run(mask):
        lanes = lanes_of(o, mask)
        steps = numpy.broadcast_to(n(), lanes.shape).astype(numpy.int64)
        limit = numpy.broadcast_to(clamp(), lanes.shape).astype(numpy.int64)
        segment = limit >> 8 & 31
        low, last = lane & segment, (lane & segment) | (limit & ~segment & 31)
        target = {"IDX": lambda: low | (steps & ~segment & 31), "UP": lambda: lane - (steps & 31), "DOWN": lambda: lane + (steps & 31),
                  "BFLY": lambda: lane ^ (steps & 31)}[mode]()
        good = target >= last if mode == "UP" else target <= last
        target = numpy.where(good, target, lane)
        store(numpy.take_along_axis(spread(value(), lanes.shape), target, 1), mask)
        ok(good, mask)
    return run


def vote(ins, o):
    """VOTE: whether any or all active lanes have a predicate; and the predicates as bits."""
    result, out, _, read = parts(ins, o)
    out = [result, *out] if o.is_predicate(result) else out
    bits = None if o.is_predicate(result) else o.result(result)
    store = o.predicate_result(out[0]) if out else None
    get = o.predicate(read[-1] if read else (ins.operands[-1]))
    if len(out) > 1 and not read:
        store = o.predicate_result(out[0])
    def run(mask):
        lanes = lanes_of(o, mask)
        have = lanes & get()
        if bits:
            bits((have * (U64(1) << numpy.arange(LANES, dtype=U64))).sum(1)[:, None].astype(U32), mask)
        if store:
            found = have.any(1) if "ANY" in ins.dots else (have | ~lanes).all(1)
            store(numpy.broadcast_to(found[:, None], (found.shape[0], 1)), mask)
    return run


def vote_result(ins, o):
    """B2R.RESULT: what a block's lanes have voted at a barrier."""
    if ins.dots != ("RESULT",):
        raise UnknownInstruction(f"B2R.{'.'.join(ins.dots)}")
    store, voted = o.predicate_result(ins.operands[1]), o.state.voted
    return lambda mask: store(voted, mask)


def elect(ins, o):
    """ELECT: chooses the first active lane."""
    store, lane = o.predicate_result(ins.operands[0]), numpy.arange(LANES)
    def run(mask):
        lanes = lanes_of(o, mask)
        store(lane == lanes.argmax(1)[:, None], mask)
    return run


def wide_from_integer(ins, o):
    """I2F of 64 bits, which divisions begin with."""
    if "F64" in ins.dots:
        store = o.pair_result(ins.operands[0])
        return lambda mask: store(U64(0), mask)
    store, get = o.result(ins.operands[0]), o.pair(ins.operands[1])
    is_signed = "S64" in ins.dots
    return lambda mask: store((get().view(numpy.int64) if is_signed else get()).astype(F32).view(U32), mask)


def wide_to_integer(ins, o):
    store, get = o.pair_result(ins.operands[0]), o.float(ins.operands[1])
    most = float(2 ** 64 - 2 ** 40)
    return lambda mask: store(numpy.clip(numpy.nan_to_num(numpy.trunc(get().astype(numpy.float64))), 0, most).astype(U64), mask)


BUILDERS = {"LDG": load_global, "LD": load_global, "STG": store_global, "ST": store_global, "LDGSTS": copy_to_shared, "LDS": load_shared,
            "STS": store_shared, "LDSM": load_matrix, "LDL": private, "STL": private, "ATOMG": refused_when_executed,
            "ATOM": refused_when_executed, "RED": refused_when_executed, "LDC": load_constant, "S2R": special_register,
            "CS2R": special_register, "R2UR": to_uniform, "SHFL": shuffle, "VOTE": vote, "B2R": vote_result, "ELECT": elect}
