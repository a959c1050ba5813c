#!/usr/bin/env python3
"""Applies the declarations that `kernelc explain --communication` suggests, one after another: the ranks must send as many bytes as
it says, less each time, and the results must not change.

tests/run/ranks_remedies.py
"""

import json
import pathlib
import re
import sys
import tempfile

from shared import checks
from shared.rank_runs import outputs, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "driver"
# Files with the arguments, the number of ranks, and how many declarations are suggested.
PROGRAMS = {
    GOLDEN / "explain_communication_remedy.kdl": ("--set M=60 --set N=70 --arg steps=4", 12, 1),
    GOLDEN / "explain_communication_remedy_whole.kdl": ("--set M=19 --set N=8", 3, 1),
    GOLDEN / "explain_communication_remedy_none.kdl": ("--set N=16", 4, 0),
    GOLDEN / "explain_communication_grid.kdl": ("--set N=24", 8, 1),
    ROOT / "samples" / "ranks" / "distributed" / "heat.kdl": ("--set M=64 --set N=48 --arg limit=0.3", 4, 1),
}


def explained(file, arguments, ranks, folder):
    """Returns how many bytes all ranks send, and the suggested declarations."""
    done = run(["kernelc", "explain", "--communication", str(file), *arguments, "--ranks", str(ranks), "--json"], folder)
    checks.expect(f"{file.name} cannot be explained: {done.stdout}{done.stderr}", done.returncode == 0)
    report = json.loads(done.stdout)["communication"]
    return sum(row["bytes"] for row in report["tensors"]), report.get("remedies", [])


def applied(text, remedy):
    """Returns the text in which the program declares tensors as a remedy says."""
    begin = text.index("export program")
    program = text[begin:]
    for name in remedy["tensors"]:
        declaration = rf"(\b{name}: (?:in |out |inout )?\w+\[[^]]*\])(?: on \w+(?: by \([^)]*\))?)?"
        program, count = re.subn(declaration, rf"\1 {remedy['placement']}", program, count=1)
        checks.expect(f"{name} is not declared", count == 1)
    return text[:begin] + program


def results_of(file, arguments, ranks, folder):
    outs = [word for name in re.findall(r"(\w+): out ", file.read_text()[file.read_text().index("export program"):])
            for word in ("--out", f"{name}=@{name}.npy")]
    return outputs(["kernelc", "run", str(file), *arguments, *outs, "--device", f"grid=ranks?count={ranks}"], folder)


def check_program(source, arguments, ranks, suggested, folder):
    file = folder / source.name
    file.write_text(source.read_text())
    sent, remedies = explained(file, arguments, ranks, folder)
    checks.expect(f"{source.name}: {len(remedies)} remedies", len(remedies) == suggested)
    wanted = results_of(file, arguments, ranks, folder)
    checks.expect(f"{source.name} fails: {wanted}", isinstance(wanted, dict) and wanted)
    for remedy in remedies:
        file.write_text(applied(file.read_text(), remedy))
        then, _ = explained(file, arguments, ranks, folder)
        checks.expect(f"{source.name} sends {then} bytes with {remedy}, before {sent}", then == remedy["bytes"] < sent)
        checks.expect(f"{source.name} has other results with {remedy}", results_of(file, arguments, ranks, folder) == wanted)
        sent = then
    checks.expect(f"{source.name} is not finished", explained(file, arguments, ranks, folder)[1] == [])


def main():
    with tempfile.TemporaryDirectory() as name:
        for source, (arguments, ranks, suggested) in PROGRAMS.items():
            check_program(source, arguments.split(), ranks, suggested, pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
