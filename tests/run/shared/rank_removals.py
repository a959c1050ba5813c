"""Removes fetches from programs over ranks: the results must change."""

import math
import re

from shared import checks
from shared.rank_runs import results, run
from shared.rank_traffic import sent_in_run


def fetches_of(lines, program):
    """Returns the numbers of the lines of a module in which the program fetches elements."""
    begins = [at for at, line in enumerate(lines) if line.startswith("program @")]
    first = next(at for at in begins if f"@{program} " in lines[at])
    end = min([at for at in begins if at > first], default=len(lines))
    return [at for at in range(first, end) if re.match(r"\s*fetch ", lines[at])]


def sent_and_written(file, words, folder):
    """Returns what the ranks send in a run, and the files that it has written, or its errors."""
    for path in folder.glob("*.npy"):
        path.unlink()
    done = run(["kernelc", "run", str(file), *words, "-v", "--trust-ir"], folder)
    return sent_in_run(done.stdout), results(folder) if done.returncode == 0 else done.stderr


def without_fetches(file, program, words, folder, draw=None, most=math.inf):
    """Removes one fetch after another, in random order if `draw` is given, until so many have been removed that send something.
    The results must change each time. Returns how many have been removed."""
    text = run(["kernelc", "build", str(file), "--emit", "ir", "--stop-after=order-launches"], folder).stdout
    lines = text.splitlines(keepends=True)
    complete = folder / "complete.kir"
    complete.write_text(text)
    words = ["--program", program, *words]
    sent, want = sent_and_written(complete, words, folder)
    checks.expect(f"{program} as KIR fails: {want}", isinstance(want, dict))
    removed = 0
    fetches = fetches_of(lines, program)
    if draw:
        draw.shuffle(fetches)
    for at in fetches:
        if removed >= most:
            break
        broken = folder / "broken.kir"
        broken.write_text("".join(lines[:at] + lines[at + 1:]))
        left, got = sent_and_written(broken, words, folder)
        if left == sent:
            continue
        removed += 1
        checks.expect(f"{program} does not need line {at + 1}: {lines[at].strip()}", got != want)
    return removed
