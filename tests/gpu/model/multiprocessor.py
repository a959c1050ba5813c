"""The timing of one multiprocessor that executes the traces of its blocks."""

import heapq

from .asynchronous import Barrier
from .caches import MemorySystem
from .machine_code import NO_COUNTER
from .pieces import (AWAIT_COPIES, AWAIT_MATRIX, BARRIER, CLOSE, COMPUTE, COPY, LOAD, MATRIX, SHARED, STORE, SYNCS, TILE, WARP_MATRIX,
                     pieces_of)
from .costs import PIPES
from .sharing import shares

SCHEDULERS = 4
COUNTERS = 6


class Warp:
    """A warp under way: where it is in its trace, and when its counters are free."""

    def __init__(self, number, block, row, trace):
        self.number, self.block, self.row, self.trace = number, block, row, trace
        self.item, self.piece = 0, 0
        self.ready = 0.0
        self.counters = [0.0] * COUNTERS
        self.copies, self.copied = [], 0.0      # when closed groups of copies are done; the open group
        self.products, self.multiplied = [], 0.0


class Multiprocessor:
    def __init__(self, code, launch, machine, traces, warps_of_block, resident):
        self.machine, self.traces, self.of_block = machine, traces, warps_of_block
        near = min(resident * (launch.shared_bytes + 1024), machine.shared_bytes)
        self.memory = MemorySystem(machine, launch.tensors, shares(traces, launch.tensors, min(launch.cores, machine.processors)), near)
        self.resident = resident
        self.pieces = {}
        self.code = code
        self.slots = [0.0] * SCHEDULERS
        self.pipes = [[0.0] * len(PIPES) for _ in range(SCHEDULERS)]
        self.matrix = [0.0] * SCHEDULERS
        self.arrived, self.barriers, self.phase_times, self.held = {}, {}, {}, {}
        self.queue, self.order = [], 0
        self.left = {}
        self.blocks = len(traces) // warps_of_block
        self.next_block = 0
        self.issued = self.barrier_count = 0
        self.end = 0.0
        self.handlers = {LOAD: self.load, STORE: self.store, SHARED: self.shared, COPY: self.copy, CLOSE: self.close, TILE: self.tile,
                         AWAIT_COPIES: self.await_copies, MATRIX: self.multiply, AWAIT_MATRIX: self.await_products,
                         WARP_MATRIX: self.multiply_of_warp, SYNCS: self.syncs}

    def run(self):
        """Returns the cycles until all blocks are done."""
        for _ in range(min(self.resident, self.blocks)):
            self.start(0.0)
        while self.queue:
            now, _, warp = heapq.heappop(self.queue)
            self.issue(now, warp)
        if any(self.left.values()):
            raise RuntimeError("the simulated warps wait for each other")
        return self.end

    def start(self, now):
        block = self.next_block
        if block >= self.blocks:
            return
        self.next_block += 1
        self.left[block] = self.of_block
        for number in range(block * self.of_block, (block + 1) * self.of_block):
            self.push(now, Warp(number, block, *self.traces[number]))

    def push(self, now, warp):
        self.order += 1
        heapq.heappush(self.queue, (now, self.order, warp))

    def issue(self, now, warp):
        """Issues the next piece of a warp, which can start now."""
        if warp.item == len(warp.trace):
            return self.finish(now, warp)
        run, log = warp.trace[warp.item]
        pieces = self.pieces.get(run)
        if pieces is None:
            pieces = self.pieces[run] = pieces_of(self.code, run, self.machine)
        if not pieces:
            warp.item += 1
            return self.push(now, warp)
        piece = pieces[warp.piece]
        scheduler = warp.number % SCHEDULERS
        begin = max(now, self.slots[scheduler])
        self.slots[scheduler] = begin + piece.slots
        self.issued += piece.slots
        at = begin + piece.before
        if piece.uses:
            pipes = self.pipes[scheduler]
            for pipe, cycles in piece.uses:
                free = pipes[pipe]
                free = (free if free > begin else begin) + cycles
                pipes[pipe] = free
                if free - 2 > at:
                    at = free - 2
        warp.piece += 1
        if warp.piece == len(pieces):
            warp.piece = 0
            warp.item += 1
        ready = at + piece.after
        if piece.kind == COMPUTE:
            if piece.write != NO_COUNTER:
                self.hold(warp, piece.write, at + piece.cycles)
            if piece.read != NO_COUNTER:
                self.hold(warp, piece.read, at + 6)
        elif piece.kind == BARRIER:
            return self.block_barrier(ready, warp)
        else:
            ready = self.handlers[piece.kind](at, ready, warp, piece, log)
            if ready is None:
                return None
        self.proceed(ready, warp)
        return None

    def proceed(self, ready, warp):
        """Queues a warp for the time when its next piece can start."""
        warp.ready = ready
        if warp.item < len(warp.trace):
            run = warp.trace[warp.item][0]
            pieces = self.pieces.get(run)
            if pieces is None:
                pieces = self.pieces[run] = pieces_of(self.code, run, self.machine)
            if pieces:
                for counter in pieces[warp.piece].waits:
                    if warp.counters[counter] > ready:
                        ready = warp.counters[counter]
        self.order += 1
        heapq.heappush(self.queue, (ready, self.order, warp))

    def hold(self, warp, counter, until):
        if counter != NO_COUNTER and until > warp.counters[counter]:
            warp.counters[counter] = until

    def finish(self, now, warp):
        self.left[warp.block] -= 1
        self.end = max(self.end, now)
        if not self.left[warp.block]:
            self.start(now + self.machine.block_start)
        elif self.arrived.get(warp.block):
            self.open(warp.block)

    def block_barrier(self, ready, warp):
        self.arrived.setdefault(warp.block, []).append((ready, warp))
        self.open(warp.block)

    def open(self, block):
        came = self.arrived[block]
        if len(came) < self.left[block]:
            return
        self.barrier_count += 1
        self.arrived[block] = []
        when = max(ready for ready, _ in came) + self.machine.barrier
        for _, warp in came:
            self.proceed(when, warp)

    def load(self, at, ready, warp, piece, log):
        access = log[piece.log]
        if access.starts[warp.row] != access.starts[warp.row + 1]:
            self.hold(warp, piece.write, self.memory.load(at, access, warp.row))
            self.hold(warp, piece.read, self.memory.units + 10)
        return ready

    def store(self, at, ready, warp, piece, log):
        access = log[piece.log]
        if access.starts[warp.row] != access.starts[warp.row + 1]:
            done = self.memory.store(at, access, warp.row)
            self.hold(warp, piece.read, done)
            self.hold(warp, piece.write, done)
        return ready

    def shared(self, at, ready, warp, piece, log):
        cycles = log[piece.log][warp.row] if piece.log >= 0 else 1
        if cycles:
            done = self.memory.shared(at, cycles)
            self.hold(warp, piece.write, done + self.machine.shared_latency)
            self.hold(warp, piece.read, done + 8)
        return ready

    def copy(self, at, ready, warp, piece, log):
        access = log[piece.log]
        if access.starts[warp.row] != access.starts[warp.row + 1]:
            memory = self.memory
            begin = memory.units = max(memory.units, at) + access.wavefronts[warp.row]
            for n in range(access.starts[warp.row], access.starts[warp.row + 1]):
                warp.copied = max(warp.copied, memory.load_line(begin, access.lines[n], access.sectors[n], None))
            self.hold(warp, piece.read, begin + 10)
        return ready

    def close(self, at, ready, warp, piece, log):
        warp.copies.append(max(warp.copied, warp.copies[-1] if warp.copies else 0.0))
        warp.copied = 0.0
        self.hold(warp, piece.write, at)
        return ready

    def await_copies(self, at, ready, warp, piece, log):
        last = len(warp.copies) - 1 - piece.count
        return max(ready, warp.copies[last]) if last >= 0 else ready

    def multiply(self, at, ready, warp, piece, log):
        scheduler = warp.number % SCHEDULERS
        self.matrix[scheduler] = max(self.matrix[scheduler], at) + piece.cycles
        warp.multiplied = self.matrix[scheduler] + 30
        if piece.closes:
            warp.products.append(warp.multiplied)
        return ready

    def await_products(self, at, ready, warp, piece, log):
        last = len(warp.products) - 1 - piece.count
        return max(ready, warp.products[last]) if last >= 0 else ready

    def multiply_of_warp(self, at, ready, warp, piece, log):
        scheduler = warp.number % SCHEDULERS
        begin = max(self.matrix[scheduler], at)
        self.matrix[scheduler] = begin + piece.cycles
        self.hold(warp, piece.write, begin + 33)
        return max(ready, begin + piece.after)

    def tile(self, at, ready, warp, piece, log):
        said = log[piece.log][warp.row]
        if said:
            (_, place), size, tensor, _ = said
            key = warp.block, place
            arrives = self.memory.tile(at, size, tensor)
            self.change(key, arrives, self.barriers[key].bring(size))
        return ready

    def syncs(self, at, ready, warp, piece, log):
        said = log[piece.log][warp.row]
        if not said:
            return ready
        what, (_, place), *numbers = said
        key = warp.block, place
        if what == "begin":
            self.barriers[key] = Barrier(numbers[0], numbers[0])
            self.phase_times[key], self.held[key] = [0.0, 0.0], []
        elif what == "arrive":
            self.change(key, at, self.barriers[key].arrive(*numbers))
        elif self.barriers[key].phases < numbers[0]:
            self.held[key].append((ready, numbers[0], warp))
            return None
        else:
            return max(ready, self.phase_times[key][numbers[0]] + self.machine.barrier)
        return ready

    def change(self, key, when, is_complete):
        """Notes an arrival at a barrier, whose phase is complete when the last one comes."""
        times = self.phase_times[key]
        times[-1] = max(times[-1], when)
        if not is_complete:
            return
        times.append(0.0)
        still = []
        for ready, phase, warp in self.held[key]:
            if self.barriers[key].phases >= phase:
                self.proceed(max(ready, times[phase] + self.machine.barrier), warp)
            else:
                still.append((ready, phase, warp))
        self.held[key] = still
