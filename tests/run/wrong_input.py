#!/usr/bin/env python3
"""Tests inputs that are too long or too deep for a golden file, and truncated files. Each must give a
numbered error with exit code 1, within a second or two, and leave no output file."""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

COPY = "export kernel copy(x: in f32[N], y: out f32[N]) { spmd for i in N by 16 { y[i] = x[i]; } }\n"


def texts():
    """Returns {name: (source, a word that the error must contain)}."""
    deep = "(" * 300
    return {
        "nested brackets": (COPY.replace("x[i]", deep + "x[i]" + ")" * 300), "nest"),
        "nested blocks": (COPY.replace("y[i] = x[i];", "{" * 300 + "}" * 300), "nest"),
        "20 MB of text": ("// a long comment\n" * 1_200_000, "16 MiB"),
        "a line of 20 MB": ("x" * 20_000_000, "16 MiB"),
        "too many words": ("; " * 2_100_000, "2000000 tokens"),
        "NUL bytes": (COPY + "\0\0", "NUL"),
        "a long sum": (COPY.replace("x[i];", "x[i]" + " + x[i]" * 100_000 + ";"), "E0"),
        "a long if": (COPY.replace("x[i];", "if true then 1.0 else " * 5000 + "x[i];"), "E0"),
        "an unclosed brace": (COPY.replace("} }", "}"), "}"),
        "no file end": (COPY + "/*", "comment"),
    }


def fails_well(command, word, folder):
    """Returns a message if the command did not fail as it should, else None."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    left = [p.name for p in (folder / "out").glob("*")]
    if done.returncode != 1:
        return f"exit code {done.returncode}: {done.stderr[-500:]}"
    if not re.search(r"error: .*\[E0\d\d\d\]", done.stderr) or word not in done.stderr:
        return f"'{word}' or a number is missing: {done.stderr[-500:]}"
    return f"left after: {left}" if left else None


def main():
    failed = 0
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, (text, word) in texts().items():
            source = folder / "input.kdl"
            source.write_text(text)
            count += 1
            complaint = fails_well(["kernelc", "build", source, "-o", folder / "out"], word, folder)
            if complaint:
                failed += 1
                print(f"{title}: {complaint}")
        source.write_text(COPY)
        np.save(folder / "x.npy", np.zeros(100, np.float32))
        whole = (folder / "x.npy").read_bytes()
        for length in [0, 5, 9, 60, len(whole) - 1]:
            (folder / "x.npy").write_bytes(whole[:length])
            count += 1
            command = ["kernelc", "run", source, "--arg", f"x=@{folder}/x.npy", "--out", f"y=@{folder}/out/y.npy"]
            complaint = fails_well(command, "x.npy", folder)
            if complaint:
                failed += 1
                print(f"an array cut to {length} bytes: {complaint}")
    print(f"{count - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
