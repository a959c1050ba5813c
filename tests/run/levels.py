#!/usr/bin/env python3
"""Checks that a build can continue from KIR text that was printed after any pass, and that the result is the
same.

For one target, every sample is stopped after half of its passes, selected anew each day, or after each pass
with `--all`. It is then built from the printed text. The result must be the KIR of the whole pipeline. After
some passes the text is also run, and must give the same bits as the source.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from shared import seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [*sorted(ROOT.glob("samples/*/*.kdl")), ROOT / "tests/run/orchestration_pipes.kdl"]
LEVEL = "host?isa=x86-64-v3"
# Texts that are also run: (sample, sizes and inputs, output).
RUNS = [("saxpy", ["--kernel", "saxpy", "--set", "N=1003", "--arg", "a=2.0", "--arg", "x=random:1", "--arg", "y=random:2"], "y"),
        ("softmax", ["--kernel", "softmax", "--set", "R=5", "--set", "C=41", "--arg", "x=random:1"], "y"),
        ("digits", ["--kernel", "hidden_layer", "--set", "M=77", "--set", "K=300", "--set", "N=70",
                    *(f"--arg={name}=random:{seed}" for seed, name in enumerate("xwb"))], "y")]
RUNS_AFTER = ["order-launches", "select-tiles", "fuse-stages", "distribute-blocks", "fuse-elementwise", "fuse-reductions", "allocate-tiles", "peel-first-iteration", "fuse-epilogue", "pack-late",
              "block-products", "insert-prefetches", "expand-tiles"]


def call(*words, folder):
    done = subprocess.run(["kernelc", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def passes(folder):
    """Returns the names of the passes that run for CPUs: those of all families, and those marked with `cpu`."""
    table = call("explain", "passes", folder=folder)
    rows = (line.split(maxsplit=1) for line in table.split("\n\n", 1)[1].splitlines())
    families = re.compile(r"\(([a-z, ]+)\) ")
    return [name for name, text in rows if not (only := families.match(text)) or "cpu" in only[1].split(", ")]


def lowered(file, folder, *options):
    return call("build", "--emit", "ir", "--target", LEVEL, *options, file, folder=folder)


def results(file, inputs, output, folder):
    """Returns the bits that a run writes, after the run has compared them with the interpreter's."""
    call("run", file, "--target", LEVEL, *inputs, "--out", f"{output}=@{output}.npy", "--verify", folder=folder)
    return (folder / f"{output}.npy").read_bytes()


def functions(text):
    """Returns each function's text by its name. The text before the functions says how far the module has
    been processed."""
    found = re.split(r"^(?=(?:kernel|fn|program) @)", text, flags=re.MULTILINE)
    return {part.split("(")[0].split(" {")[0]: part.strip() for part in found[1:]}


def main():
    problems, checks = [], 0
    with tempfile.TemporaryDirectory(prefix="levels-") as name:
        folder = pathlib.Path(name)
        names = passes(folder)
        names = names[:names.index("canonicalize-loops") + 1]
        stops = seeds.one_in(2, names[:-1])
        for source in SOURCES:
            last = functions(lowered(source, folder, f"--stop-after={names[-1]}"))
            for stop in stops:
                text = lowered(source, folder, f"--stop-after={stop}")
                (folder / "text.kir").write_text(text)
                checks += 1
                again = functions(lowered("text.kir", folder, "--trust-ir", f"--stop-after={names[-1]}"))
                kernels = [key for key in last if key.startswith("kernel")]
                if any(last[key] != again.get(key) for key in kernels):
                    problems.append(f"{source.name} after {stop}: the rest of the passes make another kernel of the text")
        for sample, inputs, output in RUNS:
            source = ROOT / f"samples/{sample}/{sample}.kdl"
            wanted = results(source, inputs, output, folder)
            for stop in RUNS_AFTER:
                (folder / "text.kir").write_text(lowered(source, folder, f"--stop-after={stop}"))
                checks += 1
                if results("text.kir", [*inputs, "--trust-ir"], output, folder) != wanted:
                    problems.append(f"{sample} after {stop}: the text computes something else")
    print("\n".join(problems))
    print(f"{checks - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
