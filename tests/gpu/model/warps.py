"""Executes the warps of blocks. All warps that are at the same instruction execute it together, and the group
that is behind goes first, so warps stay together where their code allows.

The result is a trace of each warp: the straight runs that it executed, and what their accesses did.
"""

import numpy

from . import accesses, asynchronous, bits, floats, integers
from .divergence import ALL_LANES, DONE, Divergence
from .memory import Memory, Shared
from .operands import Operands, UnknownInstruction
from .state import State

EARLY = 100  # steps after which blocks without work are done
RUNNING, AT_BARRIER, HELD = range(3)
CONTROL = {"BRA", "EXIT", "BSYNC", "WARPSYNC", "CALL", "RET", "BAR"}
TABLES = [integers.BUILDERS, bits.BUILDERS, floats.BUILDERS, accesses.BUILDERS, asynchronous.BUILDERS]
ALIASES = {"S2UR": "S2R", "VOTEU": "VOTE", "ULDC": "LDC", "UMOV": "MOV", "UP2UR": "P2R"}


def builder_of(ins):
    if ins.name in ("I2F", "F2I") and any("64" in dot for dot in ins.dots):
        return accesses.wide_from_integer if ins.name == "I2F" else accesses.wide_to_integer
    names = [ins.name, ALIASES.get(ins.name), ins.name[1:] if ins.name.startswith("U") else None]
    for name in names:
        for table in TABLES:
            if name in table:
                return table[name]
    raise UnknownInstruction(f"{'.'.join([ins.name, *ins.dots])} at {ins.address:#x}")


class Machine(Operands):
    """Everything that instructions read and write. `log` is what the accesses of the current run did."""

    def __init__(self, state, launch):
        super().__init__(state, launch.constants)
        self.memory = Memory(launch.tensors)
        self.shared = Shared(state, launch.shared_bytes)
        self.tiles = launch.tiles
        self.log, self.barriers, self.changed, self.waited_for, self.spilled = [], {}, set(), {}, {}


def traces_of(code, launch, blocks):
    """Executes blocks. Those without work end soon, and are not executed any further with the others. Returns
    (for each warp its number in what its accesses logged, and its trace; the number of warps of a block)."""
    warps = Warps(code, launch, blocks)
    many = warps.state.warps_of_block
    with numpy.errstate(all="ignore"):
        for _ in range(EARLY):
            if not warps.step():
                break
    done = (warps.status == DONE).reshape(len(blocks), many).all(1)
    if done.all() or not done.any():
        return list(enumerate(warps.run())), many
    others = enumerate(Warps(code, launch, [block for block, is_done in zip(blocks, done) if not is_done]).run())
    return [(number, trace) if done[number // many] else next(others) for number, trace in enumerate(warps.traces)], many


class Warps(Divergence):
    def __init__(self, code, launch, blocks):
        self.code, self.state = code, State(blocks, launch.threads)
        self.machine = Machine(self.state, launch)
        s = self.state
        self.alive, self.current = s.alive.copy(), s.alive.copy()
        self.at = numpy.zeros(s.count, numpy.int64)
        self.status = numpy.full(s.count, RUNNING)
        self.pending = [[] for _ in range(s.count)]  # (instruction, lanes) of branches that were not taken first
        self.waiting = [[] for _ in range(s.count)]  # (barrier, lanes, next instruction) of lanes that wait for others
        self.named = {}                              # barriers of blocks: warps that have arrived
        self.traces = [[] for _ in range(s.count)]
        self.compiled = {}
        self.waits = {}

    def run(self):
        with numpy.errstate(all="ignore"):
            while self.step():
                pass
        return self.traces

    def step(self):
        running = numpy.flatnonzero(self.status == RUNNING)
        if not running.size:
            if (self.status != DONE).any():
                raise RuntimeError("the warps wait for each other")
            return False
        first = self.at[running].min()
        group = running[self.at[running] == first]
        number = self.code.run_at[int(first)]
        steps, last = self.compiled.get(number) or self.compile(number)
        if number in self.waits:
            group = self.hold(number, group)
            if not group.size:
                return True
        self.execute(number, group, steps)
        self.leave(group, last, self.code.runs[number][1])
        if self.machine.changed:
            self.release_held()
        return True

    def compile(self, number):
        first, end = self.code.runs[number]
        instructions = self.code.instructions[first:end]
        last = instructions[-1] if instructions[-1].name in CONTROL else None
        steps = []
        for ins in instructions[:-1] if last else instructions:
            guard = self.guard(ins)
            if ins.name in ("BSSY", "BREAK"):
                steps.append((self.scope(ins), guard, True))
                continue
            logs = ins.name in ("LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "LDL", "STL", "SYNCS", "UTMALDG", "ATOMG", "RED")
            steps.append((builder_of(ins)(ins, self.machine), guard, logs))
        if "TRYWAIT" in instructions[0].dots:
            self.waits[number] = asynchronous.waits_of(instructions[0], self.machine)
        self.compiled[number] = steps, last and self.control(last)
        return self.compiled[number]

    def guard(self, ins):
        return self.machine.predicate(("!" if ins.guard_negated else "") + ins.guard) if ins.guard else None

    def scope(self, ins):
        """BSSY begins the scope in which lanes diverge; BREAK takes lanes out of it."""
        barrier = self.state.barriers[int(ins.operands[-1 if ins.name == "BREAK" else 0][1:])]
        s = self.state
        if ins.name == "BSSY":
            return lambda mask: numpy.copyto(barrier, s.active if mask is True else mask, where=s.warps_of(mask))
        given = self.machine.predicate(ins.operands[0]) if len(ins.operands) > 1 else None
        def leave(mask):
            lanes = s.active if mask is True else mask
            numpy.logical_and(barrier, ~(lanes & given() if given else lanes), out=barrier)
        return leave

    def execute(self, number, group, steps):
        s, machine = self.state, self.machine
        s.active[:] = False
        s.active[group] = self.current[group]
        whole = bool(s.active.all())
        machine.log = []
        for step, guard, always in steps:
            if guard is None:
                step(True if whole else s.active)
                continue
            mask = s.active & guard()
            if always or mask.any():
                step(mask)
        item = (number, machine.log)
        for warp in group.tolist():
            self.traces[warp].append(item)

    def hold(self, number, group):
        """Holds warps that wait for a barrier in shared memory whose phase is not complete."""
        find, free = self.waits[number], []
        for warp in group.tolist():
            if find(warp, int(self.current[warp].argmax())):
                free.append(warp)
            else:
                self.status[warp] = HELD
        return numpy.asarray(free, numpy.int64)

    def release_held(self):
        for block in self.machine.changed:
            held = (self.status == HELD) & (self.state.block_of == block)
            self.status[held] = RUNNING
        self.machine.changed.clear()

    def control(self, ins):
        """Returns a function (group, next) for the instruction at the end of a run."""
        condition = self.condition(ins)
        if ins.name == "BRA":
            if "DIV" in ins.dots:
                raise UnknownInstruction("BRA.DIV")
            return lambda group, after: self.branch(group, after, condition, ins.target, "ANY" in ins.dots)
        if ins.name == "CALL":
            return lambda group, after: self.branch(group, after, condition, ins.target, False)
        if ins.name == "RET":
            return self.returning(ins)
        if ins.name == "EXIT":
            return lambda group, after: self.exit(group, after, condition)
        if ins.name == "BAR":
            return self.barrier(ins, condition)
        barrier = ALL_LANES if ins.name == "WARPSYNC" else int(ins.operands[0][1:])
        if ins.name == "WARPSYNC" and "ALL" not in ins.dots:
            raise UnknownInstruction(f"WARPSYNC.{'.'.join(ins.dots)}")
        return lambda group, after: self.converge(group, after, barrier, condition)

    def condition(self, ins):
        gets = [self.machine.predicate(each) for each in ins.operands if self.machine.is_predicate(each)]
        if ins.guard:
            gets.append(self.guard(ins))
        def lanes():
            taken = self.state.active.copy()
            for get in gets:
                taken &= get()
            return taken
        return lanes

    def leave(self, group, control, after):
        if control:
            control(group, after)
        else:
            self.at[group] = after

    def branch(self, group, after, condition, target, is_any):
        taken = condition()
        some = taken.any(1)[group]
        others = (self.state.active & ~taken).any(1)[group]
        self.at[group] = numpy.where(some, target, after)
        if is_any:
            return
        for warp in group[some & others].tolist():
            self.pending[warp].append((target, taken[warp].copy()))
            self.current[warp] = self.state.active[warp] & ~taken[warp]
            self.at[warp] = after

    def returning(self, ins):
        register = self.machine.register(ins.operands[0].split()[0])
        values = self.machine.array(*register)
        def run(group, after):
            for warp in group.tolist():
                lane = int(self.current[warp].argmax())
                self.at[warp] = int(numpy.broadcast_to(values, self.current.shape)[warp, lane]) // 16
        return run

    def exit(self, group, after, condition):
        leaving = condition()
        self.alive &= ~leaving
        self.current &= ~leaving
        stays = self.current[group].any(1)
        self.at[group[stays]] = after
        for warp in group[~stays].tolist():
            self.switch(warp)

    def barrier(self, ins, condition):
        """BAR waits for a block's warps; BAR.RED also finds out whether any or all of their lanes have a predicate."""
        reduces = "RED" in ins.dots
        if reduces and not {"OR", "AND"} & set(ins.dots):
            raise UnknownInstruction(f"BAR.{'.'.join(ins.dots)}")
        count = int(ins.operands[1], 0) // 32 if len(ins.operands) > 1 and not reduces else None
        if not reduces:
            return lambda group, after: self.block_barrier(group, after, ins.operands[0], count)
        voted, is_or = self.state.voted, "OR" in ins.dots
        def run(group, after):
            found = condition()
            votes = found.any(1) if is_or else (found | ~self.state.active).all(1)
            for block in set(self.state.block_of[group].tolist()):
                members = self.state.block_of == block
                here = votes[group[self.state.block_of[group] == block]]
                if not self.named.get((block, ins.operands[0])):
                    voted[members] = not is_or
                voted[members] = voted[members][0] | here.any() if is_or else voted[members][0] & here.all()
            self.block_barrier(group, after, ins.operands[0], count)
        return run

    def block_barrier(self, group, after, name, count):
        self.at[group] = after
        self.status[group] = AT_BARRIER
        for block in set(self.state.block_of[group].tolist()):
            came = group[self.state.block_of[group] == block].tolist()
            self.named.setdefault((block, name), []).extend(came)
            self.open((block, name), count)

    def open(self, name, count):
        """Lets warps go on if all warps of the block have arrived."""
        of_block = self.state.block_of == name[0]
        wanted = count or int((of_block & (self.status != DONE)).sum())
        if wanted and len(self.named[name]) >= wanted:
            self.status[self.named.pop(name)] = RUNNING
