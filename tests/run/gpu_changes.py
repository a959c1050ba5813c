#!/usr/bin/env python3
"""Tests that random legal changes of the schedules of GPU kernels do not change a bit of their results.

Each change draws the tiles of a kernel, the options and the optional passes of its pipeline, and edits of its text after some
passes: the order of axes and loads, thread layouts, the depth of rings, TMA on or off, and the number of threads. The
compiler continues from the changed text, and the tests' own driver interprets the PTX. A change may also be refused, with a
located error.

tests/run/gpu_changes.py --changes 500    # so many, however long they take
"""

import argparse
import collections
import pathlib
import random
import re
import sys
import tempfile
import time

from shared import checks, schedules, seeds, teams

SOURCES = {
    "product": ("""
export kernel product<BM: int = 64, BN: int = 64, BK: int = 64>(a: in bf16[M, K], b: in bf16[N, K], c: out f32[M, N]) {
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[j, k] over k); }
        c[i, j] = acc;
    }
}""", "ab", "c"),
    "exact_product": ("""
export kernel exact_product<BM: int = 64, BN: int = 64, BK: int = 16>(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = max(acc, 0.0);
    }
}""", "ab", "c"),
    "softmax": ("""
export kernel softmax<BR: int = 4>(x: in f32[R, C], y: out f32[R, C]) {
    spmd for r in R by BR {
        var most: f32[r] = -inf;
        for c in C by 512 { most = max(most, max(x[r, c] over c)); }
        var s: f32[r] = 0;
        for c in C by 512 { s += sum(exp(x[r, c] - most) over c); }
        for c in C by 512 { y[r, c] = exp(x[r, c] - most) / s; }
    }
}""", "x", "y"),
    "layer_norm": ("""
export kernel layer_norm<BR: int = 4>(x: in f32[R, C], w: in f32[C], z: in f32[C], y: out f32[R, C]) where C > 0 {
    spmd for r in R by BR {
        var s: f32[r] = 0;
        for c in C by 512 { s += sum(x[r, c] over c); }
        let m = s / (C as f32);
        var v: f32[r] = 0;
        for c in C by 512 {
            let d = x[r, c] - m;
            v += sum(d * d over c);
        }
        let i = 1.0 / sqrt(v / (C as f32) + 0.00001);
        for c in C by 512 { y[r, c] = (x[r, c] - m) * i * w[c] + z[c]; }
    }
}""", "xwz", "y"),
    "attention": ("""
export kernel attention<BL: int = 64, BS: int = 64>(q: in bf16[L, 64], k: in bf16[S, 64], v: in bf16[S, 64], o: out f32[L, 64]) {
    range d in 64;
    range e in 64;
    spmd for i in L by BL {
        let qi = q[i, d];
        var m: f32[i] = -inf;
        var l: f32[i] = 0;
        var acc: f32[i, e] = 0;
        for j in S by BS {
            let s = dot(qi, k[j, d] over d);
            let m2 = max(m, max(s over j));
            let p = exp(s - m2);
            let f = exp(m - m2);
            l = l * f + sum(p over j);
            acc = acc * f + dot(p as bf16, v[j, e] over j);
            m = m2;
        }
        o[i, e] = acc / l;
    }
}""", "qkv", "o"),
}
TILES = {
    "product": {"BM": [64, 128], "BN": [8, 16, 32, 64, 128], "BK": [16, 32, 64, 128]},
    "exact_product": {"BM": [8, 16, 32, 64], "BN": [16, 32, 64, 128], "BK": [4, 8, 16, 32]},
    "softmax": {"BR": [1, 2, 4, 8, 16]},
    "layer_norm": {"BR": [1, 2, 4, 8, 16]},
    "attention": {"BL": [32, 64, 128]},
}
MEANING = {"attention": {"BS": [32, 64, 128]}}  # tiles that change the result, because the softmax runs over them
SIZES = {
    "product": {"M": (1, 140), "N": (1, 140), "K": (0, 300)},
    "exact_product": {"M": (1, 140), "N": (1, 140), "K": (0, 90)},
    "softmax": {"R": (1, 20), "C": (1, 1500)},
    "layer_norm": {"R": (1, 20), "C": (1, 1500)},
    "attention": {"L": (1, 140), "S": (1, 200)},
}
LEVELS = ["sm_90a", "sm_80"]
OPTIONAL_PASSES = ["keep-rows", "stage-transposed-loads"]
MOST_REFUSED = 0.2
SECONDS = 40


# Each edit takes the random numbers and a text, and returns the changed text and what has changed. It returns None instead if there is
# nothing to change.

def swap_axes(draw, text):
    """Distributes the points of elementwise loops in another order."""
    def swapped(found):
        return f"elementwise ({found[2]}, {found[1]}) {{" if draw.random() < 0.5 else found[0]
    changed = re.sub(r"elementwise \((%\S+ in %\S+), (%\S+ in %\S+)\) \{", swapped, text)
    return (changed, "axes swapped") if changed != text else None


LOAD = r"( +)%\S+ = elementwise \([^)]*\) \{\n +%\S+ = load .*\n +yield .*\n +\} : tile.*\n"


def swap_loads(_draw, text):
    """Loads two adjacent factors in the other order."""
    pair = re.search(f"({LOAD})({LOAD})", text)
    if not pair or pair[2] != pair[4]:
        return None
    return text[:pair.start()] + pair[3] + pair[1] + text[pair.end():], "loads swapped"


def change_layout(draw, text):
    """Distributes a product of two axes to other threads."""
    maps = set(re.findall(r"\{map = \[([\d, ]+)\]", text))
    if len(maps) != 1 or "instruction" in text:
        return None
    old = [int(digit) for digit in maps.pop().split(", ")]
    if len(old) != 8:
        return None
    extents = [old[0] * old[1] * old[3], old[4] * old[5] * old[7]]
    digits = []
    for extent in extents:
        held = draw.choice([held for held in [1, 2, 4, 8] if extent % held == 0])
        side = draw.choice([side for side in [1, 2, 4] if held % side == 0])
        digits.append([held // side, extent // held, 1, side])
    threads = digits[0][1] * digits[1][1]
    if not 32 <= threads <= 512:
        return None
    slow = draw.randrange(2)
    digits[slow][2] = digits[1 - slow][1]
    new = ", ".join(str(digit) for axis in digits for digit in axis)
    return text.replace(", ".join(map(str, old)), new), f"layout [{new}]"


def change_depth(draw, text):
    """Fetches tiles another number of iterations ahead."""
    loop = re.compile(r"^( *%\S.* = loop %\S+ in 0 \.\. %[KS] step \d+ carry\(.*\))( \{ahead = \d+\})? \{$", re.MULTILINE)
    ahead = draw.randint(1, 7)
    changed, count = loop.subn(rf"\1 {{ahead = {ahead}}} {{", text)
    return (changed, f"{ahead} ahead") if count else None


def without_tma(draw, text):
    """Lets threads copy some tiles, although tile copies could."""
    fits = re.compile(r"= tile_copy_fits (%\S+) to .* : bool$", re.MULTILINE)
    tensors = sorted(set(fits.findall(text)))
    if not tensors:
        return None
    chosen = draw.sample(tensors, draw.randint(1, len(tensors)))
    changed = fits.sub(lambda found: "= const false : bool" if found[1] in chosen else found[0], text)
    return changed, f"threads copy {', '.join(chosen)}"


def change_threads(draw, text):
    """Runs a kernel without registers for tiles on another number of threads."""
    if re.search(r"= mma |buffer_new.*: buffer<[^;]*>$", text, re.MULTILINE):
        return None
    threads = draw.choice([32, 64, 96, 256])
    return re.sub(r"^  workgroup \d+$", f"  workgroup {threads}", text, flags=re.MULTILINE), f"{threads} threads"


# The edits of the text after each pass, in the order of the passes.
EDITS = {
    "fuse-elementwise": [swap_axes, swap_loads],
    "assign-thread-layouts": [change_layout],
    "expand-reductions": [change_depth],
    "pipeline-async-copies": [without_tma],
    "insert-barriers": [change_threads],
}


def draw_pipeline(draw, folder, level):
    """Returns the options of the compiler for a pipeline with other options, and without some of the passes that only make code faster."""
    done = teams.kernelc("targets", "--device", f"cuda?isa={level}", "--dump-pipeline")
    assert done.returncode == 0, done.stderr
    rows = draw.choice([64, 128, 2048])
    ahead = draw.randint(1, 6)
    skipped = [name for name in OPTIONAL_PASSES if draw.random() < 0.4]
    text = re.sub(r"rows: \d+", f"rows: {rows}", done.stdout)
    text = re.sub(r"ahead: \d+", f"ahead: {ahead}", text)
    for name in skipped:
        text = text.replace(f"  - {name}\n", "")
    file = folder / "pipeline.yaml"
    file.write_text(text)
    return ["--pipeline", file], f"rows {rows}, ahead {ahead}, without {skipped}"


def check_change(draw, folder, kernels, number, made):
    """Draws and checks one change. Counts the edits in `made`. Returns whether the change was refused."""
    name = draw.choice(sorted(SOURCES))
    kernel = kernels[name]
    level = draw.choice(LEVELS)
    sizes = {size: draw.randint(*between) for size, between in SIZES[name].items()}
    meaning = {tile: draw.choice(choices) for tile, choices in MEANING.get(name, {}).items()}
    tiles = {tile: draw.choice(choices) for tile, choices in TILES[name].items()}
    pipeline, what = draw_pipeline(draw, folder, level)
    stops = draw.sample(sorted(EDITS), draw.randint(1, 4))
    file, options = kernel.source, schedules.defines({**tiles, **meaning})
    done = [str(tiles), what]
    for stop in [stop for stop in EDITS if stop in stops]:
        text, said = kernel.lower(file, level, stop, [*options, *pipeline])
        if text is None:
            return finish(kernel, f"change {number}: {name} on {level}, {sizes}: {done}", "refused", said)
        for edit in EDITS[stop]:
            changed = edit(draw, text)
            text = changed[0] if changed else text
            done += [changed[1]] if changed else []
            made[edit.__name__] += changed is not None
        file, options = kernel.write(text), []
    outcome, said = kernel.outcome(file, level, sizes, meaning, [*options, *pipeline, "--core-num", str(draw.randint(1, 4))])
    return finish(kernel, f"change {number}: {name} on {level}, {sizes}, {meaning}: {done}", outcome, said)


def finish(kernel, what, outcome, said):
    located = re.search(rf"{kernel.name}\.(kdl|kir):\d+:\d+: error: ", said)
    checks.expect(what, outcome == "equal" or (outcome == "refused" and located), f"{outcome}\n{said[-2000:]}")
    return outcome == "refused"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, help=f"the number of changes (default: as many as {SECONDS} seconds allow)")
    options = parser.parse_args()
    schedules.use_interpreted_driver()
    print(f"seed {seeds.of_today()}")
    draw = random.Random(seeds.of_today())
    end = time.monotonic() + SECONDS
    refused = number = 0
    made = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kernels = {kernel: schedules.Kernel(folder, kernel, *given) for kernel, given in SOURCES.items()}
        while number < options.changes if options.changes else time.monotonic() < end:
            refused += check_change(draw, folder, kernels, number, made)
            number += 1
    checks.expect(f"{refused} of {number} changes are refused", refused <= max(MOST_REFUSED * number, 2))
    print(f"{number} changes, {refused} of them refused, with these edits: {dict(made)}")
    if options.changes and options.changes >= 100:
        for edit in [edit for edits in EDITS.values() for edit in edits]:
            checks.expect(f"{edit.__name__} has changed some text", made[edit.__name__] > 0)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
