"""Instructions whose work goes on after them: copies of tiles, matrix instructions, and barriers in shared
memory. While a program is executed their work is done at once; how long it takes is left to the timing."""

import dataclasses

import numpy

from .memory import place_of
from .operands import UnknownInstruction
from .accesses import lanes_of

PENDING_ONE = 0x100000  # a barrier of n arrivals is initialized with 2 * (PENDING_ONE - n)


@dataclasses.dataclass
class Barrier:
    """A barrier in shared memory. `phases` counts those that are complete."""
    count: int
    pending: int
    bytes: int = 0
    phases: int = 0

    def arrive(self, arrivals=1, expected=0):
        self.pending -= arrivals
        self.bytes += expected
        return self.complete()

    def bring(self, count):
        self.bytes -= count
        return self.complete()

    def complete(self):
        """Begins the next phase if nothing is missing. Returns whether it did."""
        if self.pending or self.bytes:
            return False
        self.pending = self.count
        self.phases += 1
        return True


@dataclasses.dataclass
class Tile:
    """The tiles that a kernel can copy with a tensor map."""
    tensor: int
    bytes: int


def lane_values(get, lanes):
    return numpy.broadcast_to(get(), lanes.shape)


def barrier_instruction(ins, o):
    """SYNCS."""
    if "EXCH" in ins.dots:
        return initialize(ins, o)
    if "ARRIVE" in ins.dots:
        return arrive(ins, o)
    if "TRYWAIT" in ins.dots:
        return wait(ins, o)
    if "CCTL" in ins.dots:
        return lambda mask: o.log.append([None] * o.state.count)
    raise UnknownInstruction(f"SYNCS.{'.'.join(ins.dots)}")


def initialize(ins, o):
    place, low = place_of(ins.operands[1], o, False), o.plain(ins.operands[2])
    def run(mask):
        lanes, said = lanes_of(o, mask), [None] * o.state.count
        places, words = lane_values(place, lanes), lane_values(low, lanes)
        for warp in numpy.flatnonzero(lanes.any(1)):
            lane = lanes[warp].argmax()
            count = PENDING_ONE - int(words[warp, lane] >> 1)
            key = (int(o.state.block_of[warp]), int(places[warp, lane]))
            o.barriers[key] = Barrier(count, count)
            said[warp] = ("begin", key, count)
        o.log.append(said)
    return run


def arrive(ins, o):
    place = place_of(ins.operands[1], o, False)
    expects = "A1T0" not in ins.dots
    expected = o.plain(ins.operands[2]) if expects else None
    def run(mask):
        lanes, said = lanes_of(o, mask), [None] * o.state.count
        places = lane_values(place, lanes)
        more = lane_values(expected, lanes) if expects else None
        for warp in numpy.flatnonzero(lanes.any(1)):
            block = int(o.state.block_of[warp])
            keys = {}
            for lane in numpy.flatnonzero(lanes[warp]):
                key = (block, int(places[warp, lane]))
                arrivals, wanted = keys.get(key, (0, 0))
                keys[key] = arrivals + 1, wanted + (int(more[warp, lane]) if expects else 0)
            if len(keys) > 1:
                raise UnknownInstruction("arrivals of one warp at several barriers")
            (key, (arrivals, wanted)), = keys.items()
            if o.barriers[key].arrive(arrivals, wanted):
                o.changed.add(block)
            said[warp] = ("arrive", key, arrivals, wanted)
        o.log.append(said)
    return run


def wait(ins, o):
    """The warps here do not wait any more: `Warps` holds them until the phase is complete."""
    store = o.predicate_result(ins.operands[0])
    def run(mask):
        lanes, said = lanes_of(o, mask), [None] * o.state.count
        for warp in numpy.flatnonzero(lanes.any(1)):
            said[warp] = ("wait", *o.waited_for[int(warp)])
        o.log.append(said)
        store(True, mask)
    return run


def waits_of(ins, o):
    """Returns a function (warp, lane) that returns (barrier, phase) of a wait, or None if the phase is complete."""
    place, parity = place_of(ins.operands[1], o, False), o.plain(ins.operands[2])
    shape = o.state.active.shape
    def find(warp, lane):
        key = int(o.state.block_of[warp]), int(numpy.broadcast_to(place(), shape)[warp, lane])
        wanted = int(numpy.broadcast_to(parity(), shape)[warp, lane]) >> 31
        barrier = o.barriers[key]
        is_complete = barrier.phases & 1 != wanted
        o.waited_for[warp] = key, barrier.phases if is_complete else barrier.phases + 1
        return is_complete
    return find


def copy_tile(ins, o):
    """UTMALDG: [UR: place in shared memory, barrier, coordinates], [UR: address of the tensor map]."""
    kind, number = o.register(ins.operands[0].strip("[]"))
    map_place = o.pair(ins.operands[1].strip("[]"))
    uniform = o.state.uniform
    rank = int(ins.dots[0][0])
    def run(mask):
        lanes, said = lanes_of(o, mask), [None] * o.state.count
        maps = numpy.broadcast_to(map_place(), (o.state.count, 1))
        for warp in numpy.flatnonzero(lanes.any(1)):
            tile = o.tiles[int(maps[warp, 0])]
            key = (int(o.state.block_of[warp]), int(uniform[number + 1, warp, 0]))
            place = tuple(int(uniform[number + 2 + n, warp, 0]) for n in range(rank))
            if o.barriers[key].bring(tile.bytes):
                o.changed.add(key[0])
            said[warp] = (key, tile.bytes, tile.tensor, place)
        o.log.append(said)
    return run


def no_values(ins, o):
    """Matrix instructions: nothing depends on their values but results."""
    return lambda mask: None


BUILDERS = {"SYNCS": barrier_instruction, "UTMALDG": copy_tile, "HGMMA": no_values, "IGMMA": no_values, "QGMMA": no_values, "HMMA": no_values,
            "IMMA": no_values, "WARPGROUP": no_values, "DEPBAR": no_values, "LDGDEPBAR": no_values, "FENCE": no_values, "MEMBAR": no_values,
            "YIELD": no_values, "NOP": no_values, "NANOSLEEP": no_values, "ERRBAR": no_values, "CCTL": no_values}
