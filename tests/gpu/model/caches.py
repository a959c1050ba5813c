"""Memory as one multiprocessor sees it: its first-level cache, its share of the second level and of memory's
rate. Each is a queue: a request starts when those before it are done."""

import collections

from .memory import LINE, PLACE_BITS, SECTOR

SMALL = 16 << 20  # tensors of at most these bytes stay in the second level
MOST_USED = 0.95
SETTLING = 4000  # cycles before which the part of the time for which memory is busy says little
COUNT = [bin(bits).count("1") for bits in range(16)]


class Cache:
    """A cache of lines, whose least recently used line goes first: line -> [sectors, when they arrive]."""

    def __init__(self, size):
        self.most = max(1, int(size) // LINE)
        self.lines = collections.OrderedDict()

    def find(self, line):
        entry = self.lines.get(line)
        if entry is None:
            entry = self.lines[line] = [0, 0.0]
            if len(self.lines) > self.most:
                self.lines.popitem(last=False)
        else:
            self.lines.move_to_end(line)
        return entry


class MemorySystem:
    def __init__(self, machine, tensors, shares, shared_bytes):
        self.machine = machine
        self.first = Cache(machine.first_level_bytes - shared_bytes)
        self.second = Cache(machine.second_level_bytes / machine.processors)
        self.small = {n + 1 for n, tensor in enumerate(tensors) if tensor.bytes <= SMALL}
        self.shares = [1.0, *shares]
        self.port = self.memory = 0.0  # when the port to the second level and memory are free
        self.units = 0.0               # when loads and stores can begin
        self.sector_s = SECTOR / machine.second_level_rate
        self.memory_s = SECTOR / machine.memory_rate
        self.busy = 0.0                # cycles for which memory has worked
        self.from_memory = self.to_memory = self.from_second = 0  # sectors
        self.byte_cycles = 0.0         # bytes that loads wait for, times the cycles for which they wait

    def occupy(self, now, sectors):
        """Returns when memory has moved sectors after all earlier ones."""
        cycles = sectors * self.memory_s
        self.busy += cycles
        self.memory = max(self.memory, now) + cycles
        return self.memory

    def latency(self, now):
        """Returns memory's latency. Requests do not come in an even stream, so they wait for each other the longer the
        less time memory is free (as in a queue with random arrivals)."""
        used = min(MOST_USED, self.busy / (now + SETTLING))
        return self.machine.memory_latency * (1 + self.machine.disorder * used / (1 - used))

    def load(self, now, access, warp):
        """Returns when a load's values are there."""
        begin = self.units = max(self.units, now) + access.wavefronts[warp]
        done = begin + self.machine.first_level_latency
        for at in range(access.starts[warp], access.starts[warp + 1]):
            done = max(done, self.load_line(begin, access.lines[at], access.sectors[at], self.first))
        return done

    def load_line(self, begin, line, sectors, cache):
        entry = cache.find(line) if cache else [0, 0.0]
        missing = sectors & ~entry[0]
        if not missing:
            return entry[1]
        count = COUNT[missing]
        self.port = max(self.port, begin) + count * self.sector_s
        self.from_second += count
        arrives = self.port + self.machine.second_level_latency
        tensor = line >> PLACE_BITS - 7
        if tensor not in self.small:
            second = self.second.find(line)
            beyond = COUNT[missing & ~second[0]]
            if beyond:
                second[0] |= missing
                beyond *= self.shares[tensor]
                arrives = max(arrives, self.occupy(begin, beyond) + self.latency(begin))
                self.from_memory += beyond
        self.byte_cycles += SECTOR * count * (arrives - begin)
        entry[0] |= missing
        entry[1] = max(entry[1], arrives)
        return entry[1]

    def store(self, now, access, warp):
        """Returns when the warp's registers are read. Stores wait if too many are under way."""
        begin = self.units = max(self.units, now, self.port - self.machine.store_queue, self.memory - self.machine.store_queue) + access.wavefronts[warp]
        partial, count = access.partial[warp], 0
        for at in range(access.starts[warp], access.starts[warp + 1]):
            line, sectors = access.lines[at], access.sectors[at]
            count += COUNT[sectors]
            entry = self.second.find(line)
            beyond = COUNT[sectors & ~entry[0]]
            if beyond:
                entry[0] |= sectors
                self.occupy(begin, beyond)
                self.to_memory += beyond
        self.port = max(self.port, begin) + (count - partial) * self.sector_s + partial * self.machine.partial_store
        return begin + 10

    def tile(self, now, size, tensor):
        """Returns when a tile has arrived."""
        self.port = max(self.port, now) + size / self.machine.second_level_rate
        self.from_second += size // SECTOR
        arrives = self.port + self.machine.second_level_latency
        if tensor + 1 not in self.small:
            part = size * self.shares[tensor + 1] / SECTOR
            arrives = max(arrives, self.occupy(now, part) + self.latency(now))
            self.from_memory += part
        self.byte_cycles += size * (arrives - now)
        return arrives + self.machine.tile_latency

    def shared(self, now, cycles):
        self.units = max(self.units, now) + cycles
        return self.units
