"""Runs programs over ranks, and reads the files that they write."""

import re
import subprocess

LAUNCHERS = {
    "Open MPI": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"],
    "MPICH": ["mpirun.mpich", "-n"],
}

BLOCKED_SHAPES = [(1, 3), (3, 1), (2, 2), (2, 4)]


def run(words, folder):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


def results(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


def outputs(words, folder):
    """Returns the files that a run has written, or its errors."""
    for path in folder.glob("*.npy"):
        path.unlink()
    done = run(words, folder)
    return results(folder) if done.returncode == 0 else done.stderr


def in_blocks(text, length):
    """Returns the text with each distributed dimension in blocks of this length."""
    def entry(size):
        return size if size == "_" else f"{size}: {length}"

    return re.sub(r"by \(([^)]*)\)", lambda found: f"by ({', '.join(map(entry, found[1].split(', ')))})", text)


def on_shape(source, shape):
    """Returns the text with this shape of the grid. For some shapes, dimensions are distributed in blocks."""
    text = source.read_text().replace("ranks(2, 3)", f"ranks({shape[0]}, {shape[1]})")
    return in_blocks(text, shape[1] + 1) if shape in BLOCKED_SHAPES else text
