#!/usr/bin/env python3
"""Tests a product and its residual in two stages, with every way of passing tiles, against the same kernel
without stages. Every way, number of cores, -O and device must give the same bits, which must also be the
interpreter's."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

PLAIN = """
export kernel plain<BM: int = 16, BN: int = 24, BK: int = 40>(
    a: in bf16[M, K], b: in bf16[K, N], res: in f32[M, N], c: out f32[M, N])
{
    spmd for i in M by BM, j in N by BN {
        var acc: f32[i, j] = 0;
        for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc + res[i, j];
    }
}
"""

PIPED = """
export kernel piped<BM: int = 16, BN: int = 24, BK: int = 40>(
    a: in bf16[M, K], b: in bf16[K, N], res: in f32[M, N], c: out f32[M, N])
{
    domain blocks = (M by BM, N by BN);
    pipe q: f32[BM, BN] @depth(DEPTH);

    stage cube {
        spmd for i, j in blocks {
            var acc: f32[i, j] = 0;
            for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
            q.push(acc, i, j);
        }
    }
    stage vector {
        spmd for i, j in blocks { c[i, j] = q.pop(i, j) + res[i, j]; }
    }
}
"""

# Tiles go back and forth: the second stage scales what the first stage has computed, and the first stage adds
# the residual.
OPPOSITE = """
fn send(q: push f32[E, F], t: f32[i, j]) { q.push(t, i, j); }

export kernel opposite<BM: int = 16, BN: int = 24, BK: int = 40>(
    a: in bf16[M, K], b: in bf16[K, N], res: in f32[M, N], c: out f32[M, N])
{
    domain blocks = (M by BM, N by BN);
    pipe there: f32[BM, BN] @depth(DEPTH);
    pipe back: f32[BM, BN];

    stage cube {
        spmd for i, j in blocks {
            var acc: f32[i, j] = 0;
            for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
            there.push(acc, i, j);
            c[i, j] = back.pop(i, j) + res[i, j];
        }
    }
    stage vector {
        spmd for i, j in blocks { let t = there.pop(i, j); send(back, t); }
    }
}
"""

SHAPES = [(1, 1, 1), (16, 24, 40), (50, 49, 41), (33, 100, 7), (17, 5, 0), (0, 4, 4)]
CORES = ["1", "2", "24", "1000", "3"]
WAYS = [["--pipes=buffered"], ["--pipes=fused"], ["--target", "host?engines=split"], ["--target", "debug"],
        ["--target", "debug", "--pipes=buffered"], ["--target", "host?engines=split", "--pipes=buffered"]]
failures = []
checks = 0


def result(folder, source, kernel, shape, options):
    """Returns `c` of one `kernelc run` as bytes, or None after a failure."""
    global checks
    checks += 1
    path = folder / f"{kernel}.kdl"
    path.write_text(source)
    command = ["kernelc", "run", str(path), "--verify", "--out", f"c=@{folder / 'c.npy'}", *options]
    for seed, name in enumerate(["a", "b", "res"]):
        command += ["--arg", f"{name}=random:{seed + 1}"]
    for name, size in zip("MNK", shape):
        command += ["--set", f"{name}={size}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        failures.append(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return None
    return np.load(folder / "c.npy").tobytes()


def waits_in_trace(folder):
    """Checks that a trace has a row for each stage of a core, with its waits at pipes."""
    global checks
    checks += 1
    path, trace = folder / "piped.kdl", folder / "trace.json"
    path.write_text(PIPED.replace("DEPTH", "2"))
    command = ["kernelc", "run", str(path), "--pipes=buffered", "--target", "host?threads=1", "--core-num", "1"]
    for size in ("M=64", "K=8", "N=48"):
        command += ["--set", size]
    subprocess.run(command, check=True, capture_output=True, timeout=120, env=os.environ | {"KDL_TRACE": str(trace)})
    events = json.loads(trace.read_text())
    rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    waits = {(rows[event["tid"]], event["name"]) for event in events if event["ph"] == "X" and " stage " in rows[event["tid"]]}
    expected = {("host?threads=1 core 0 stage 0", "'q.push(acc, i, j)' waits for a free slot of 'q'"),
                ("host?threads=1 core 0 stage 1", "'q.pop(i, j)' waits for a tile of 'q'")}
    if waits != expected:
        failures.append(f"waits in a trace: {sorted(waits)}")


def main():
    levels = itertools.cycle("0123")
    cores = itertools.cycle(CORES)
    depths = itertools.cycle(["1", "2", "8"])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        waits_in_trace(folder)
        for shape in SHAPES:
            expected = result(folder, PLAIN, "plain", shape, [])
            for way, (kernel, source) in itertools.product(WAYS, [("piped", PIPED), ("opposite", OPPOSITE)]):
                options = [*way, "--core-num", next(cores), "-O", next(levels)]
                got = result(folder, source.replace("DEPTH", next(depths)), kernel, shape, options)
                if got is not None and got != expected:
                    failures.append(f"{kernel} {shape} {' '.join(options)}: other bits than without stages")
    for failure in failures[:10]:
        print(failure)
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
