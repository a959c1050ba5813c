"""Reads machine code as `nvdisasm -hex -c` prints it, with the bits that control its issue.

The second word of an instruction says how long its warp waits before the next instruction (`stall`), which of
six counters the instruction holds until its result (`write`) or its operands (`read`) are done with, and which
counters must be free before it starts (`waits`).
"""

import dataclasses
import re

LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?)(U?P\w+)\s+)?([A-Z0-9_.a-z]+)\s*(.*?)\s*;\s+/\* 0x([0-9a-f]{16}) \*/")
SECOND_WORD = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/")
LABEL = re.compile(r"^([\w.$]+):$")
TARGET = re.compile(r"`\(([\w.$]+)\)")
FIRST_CONTROL_BIT = 41
NO_COUNTER = 7
BYTES = 16  # of an instruction
# Instructions after which a warp may go on somewhere else, or may have to wait for other warps or lanes.
ENDS = {"BRA", "BRX", "JMP", "EXIT", "BSYNC", "CALL", "RET", "BAR", "WARPSYNC", "SYNCS"}


@dataclasses.dataclass
class Instruction:
    """`guard` is the predicate that it depends on (or None), `dots` are the parts of its name after the first.
    `target` is the number of the instruction that it names as a label."""
    address: int
    guard: str
    guard_negated: bool
    name: str
    dots: tuple
    operands: list
    stall: int
    yields: bool
    write: int
    read: int
    waits: int
    target: int = None

    @property
    def is_uniform(self):
        """Whether it computes one value for a warp."""
        return self.name.startswith("U") and self.name not in ("UTMALDG", "UTMASTG")

    def counters_waited_for(self):
        return [counter for counter in range(6) if self.waits >> counter & 1]


@dataclasses.dataclass
class Code:
    """A kernel's instructions, and where each of its straight runs starts and ends."""
    instructions: list
    runs: list          # (first, one past the last)
    run_at: dict        # from the number of a run's first instruction to the number of the run


def split_operands(text):
    """Splits at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += letter in "[({"
        depth -= letter in "])}"
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def read_instruction(found, second):
    address, negation, guard, name, operands, _ = found.groups()
    control = int(second, 16) >> FIRST_CONTROL_BIT
    name, *dots = name.split(".")
    return Instruction(int(address, 16), guard, negation == "!", name, tuple(dots), split_operands(operands),
                       control & 15, not control >> 4 & 1, control >> 5 & 7, control >> 8 & 7, control >> 11 & 63)


def read_code(text, entry):
    """Reads one kernel."""
    section = re.search(rf"^\.text\.{re.escape(entry)}:$(.*?)(?=^\.text\.|^//-----|\Z)", text, re.DOTALL | re.MULTILINE)
    if not section:
        raise ValueError(f"the machine code has no kernel '{entry}'")
    instructions, labels, found = [], {}, None
    for line in section[1].splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif found and (second := SECOND_WORD.match(line)):
            instructions.append(read_instruction(found, second[1]))
            found = None
        else:
            found = LINE.match(line)
    for each in instructions:
        target = TARGET.search(" ".join(each.operands))
        if target and target[1] in labels:
            each.target = labels[target[1]]
    return divided(instructions, set(labels.values()))


def divided(instructions, labelled):
    """Divides instructions into straight runs."""
    starts = {0, *labelled, *(at + 1 for at, each in enumerate(instructions) if each.name in ENDS)}
    starts |= {at for at, each in enumerate(instructions) if "TRYWAIT" in each.dots}  # so that warps can be held before it
    starts = sorted(at for at in starts if at < len(instructions))
    runs = list(zip(starts, [*starts[1:], len(instructions)]))
    return Code(instructions, runs, {first: number for number, (first, _) in enumerate(runs)})
