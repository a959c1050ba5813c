#!/usr/bin/env python3
"""Tests `kernelc bench`: whether it counts the operations and bytes of kernels correctly, whether its rows,
JSON and picture agree, and which input it refuses. Times are not checked, because they depend on the
machine's load."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from shared import checks

SOURCE = """
export kernel product(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by 16, j in N by 32 {
        var acc: f32[i, j] = 0;
        for k in K by 24 { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
/// Of each row what stands before its diagonal.
export kernel lower(a: in f32[M, M], y: out f32[M]) {
    spmd for i in 0..M {
        var s: f32 = 0;
        for j in 0..i { s = s + a[i, j] * a[i, j]; }
        y[i] = s;
    }
}
export kernel shifted(x: inout f64[N], s: f64) {
    spmd for i in N by 64 { x[i] = x[i] * s + s; }
}
/// As many turns as the data says.
export kernel halved(x: in f32[N], y: out i32[N]) {
    spmd for i in 0..N {
        var v: f32 = x[i];
        var n: i32 = 0;
        while (v > 1.0) { v = v * 0.5; n = n + 1; }
        y[i] = n;
    }
}
"""
SIZES = ["--set", "M=37", "--set", "N=101", "--set", "K=53"]
M, N, K = 37, 101, 53
# The expected numbers of operations and of bytes. Data that is changed in place is both read and
# written.
EXPECTED = {
    "product": (2 * M * N * K, 4 * (M * K + K * N + M * N)),
    "lower": (2 * (M * (M - 1) // 2), 4 * (M * M + M)),
    "shifted": (2 * N, 2 * 8 * N),
    "halved": (None, 8 * N),
}
QUICK = ["--trials", "3", "--seconds", "1"]


def bench(*words):
    return subprocess.run(["kernelc", "bench", *map(str, words)], capture_output=True, text=True, timeout=300)


def check_rows(source, folder):
    rows_file, picture = folder / "rows.json", folder / "roof.svg"
    run = bench(source, *SIZES, *QUICK, "--threads", "1,2", f"--json={rows_file}", "--plot", picture)
    checks.expect("all kernels are measured", run.returncode == 0, run.stderr)
    rows = json.loads(rows_file.read_text())["rows"] if rows_file.exists() else []
    checks.expect("a row for each kernel and number of threads",
                  [(row["threads"], row["kernel"]) for row in rows]
                  == [(threads, kernel) for threads in (1, 2) for kernel in EXPECTED], run.stdout)
    for row in rows:
        operations, moved = EXPECTED[row["kernel"]]
        checks.expect(f"operations of {row['kernel']}", row["operations"] == operations, str(row))
        checks.expect(f"bytes of {row['kernel']}", row["bytes"] == moved, str(row))
        checks.expect(f"times of {row['kernel']}", row["median"] > 0 and row["trials"] == 3 and row["peak"] > 0, str(row))
        # On a busy machine there may be no ceiling even for known work.
        checks.expect(f"no ceiling of {row['kernel']}, where its work is not known",
                      row["ceiling"] is None or operations is not None, str(row))
    checks.expect("ceilings", any(row["ceiling"] is not None for row in rows), str(rows))
    lines = run.stdout.splitlines()
    checks.expect("the table has a head and as many lines", len(lines) == 1 + len(rows), run.stdout)
    checks.expect("what depends on the data has no rate",
                  all(re.search(r" -\s", line) for line in lines if line.startswith("halved")), run.stdout)
    check_picture(picture, [row for row in rows if row["operations"] is not None])


SVG = "{http://www.w3.org/2000/svg}"


def check_picture(file, rows):
    """Compares the roofline with the rows whose work is known."""
    picture = ElementTree.parse(file).getroot()
    texts = ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]
    axes = ["".join(text.itertext()) for text in picture.iter(f"{SVG}text") if text.get("class") == "axis"]
    checks.expect("both axes have a unit", sorted(axes) == ["intensity (operations per byte)", "speed (Gop/s)"], str(axes))
    checks.expect("the picture has a title, a machine and a date", texts[0].startswith("Roofline of ")
                  and len(texts[0]) > 12 and re.fullmatch(r"\d{4}-\d\d-\d\d", texts[1]), str(texts[:2]))
    checks.expect("a point for each row", len(list(picture.iter(f"{SVG}circle"))) == len(rows))
    for row in rows:
        checks.expect(f"the list has {row['kernel']} with its sizes",
                      any(text.startswith(f"{row['kernel']} {row['sizes']}: ") for text in texts), str(texts))
    threads = {row["threads"] for row in rows}
    roofs = [[tuple(map(float, point.split(","))) for point in line.get("points").split()] for line in picture.iter(f"{SVG}polyline")]
    checks.expect("a roof of f32 and one of f64 for each number of threads", len(roofs) == 2 * len(threads)
                  and texts.count("f32") == texts.count("f64") == len(threads), str(texts))
    for (x0, y0), (x1, y1), (x2, y2) in roofs:
        checks.expect("a roof has a slope and then a limit", x0 < x1 < x2 and y0 > y1 and y1 == y2, str(roofs))
    lower = max(float(line.get("y2")) for line in picture.iter(f"{SVG}line") if line.get("class") == "grid")
    checks.expect("the roofs are above the lower axis", all(y <= lower for roof in roofs for _, y in roof), str(roofs))
    width, height = map(float, picture.get("viewBox").split()[2:])
    checks.expect("everything is inside of the picture", all(0 <= float(one.get("x")) <= width and 0 <= float(one.get("y")) <= height
                                                             for one in picture.iter(f"{SVG}text")))


def check_against(source, folder):
    other = folder / "other.kdl"
    other.write_text(SOURCE.replace("i in M by 16, j in N by 32", "i in M by 8, j in N by 64"))
    run = bench(source, "--kernel", "product", *SIZES, *QUICK, "--threads", "1", "--against", other, "--cold")
    checks.expect("two files take turns", run.returncode == 0 and "against" in run.stdout, run.stdout + run.stderr)
    other.write_text("export kernel another(x: out f32[N]) { spmd for i in N by 8 { x[i] = 1.0; } }")
    run = bench(source, "--kernel", "product", *SIZES, *QUICK, "--threads", "1", "--against", other)
    checks.expect("the other file has to have the kernel", run.returncode == 1 and "E0922" in run.stderr, run.stderr)


REQUIRING = """
kernel stops(at: in i32[N], y: out i32[N]) {
    spmd for i in N by 64 { assert(at[i] == -2, "only -2"); y[i] = at[i]; }
}
kernel gather(at: in i64[N], x: in f32[K], y: out f32[N]) {
    spmd for i in N by 64 { y[i] = x[at[i]]; }
}
requires { 0 <= at[i] && at[i] < K; }
"""


def check_inputs(folder):
    """Checks that `requires` bounds the random inputs, and that a kernel that stops does not affect the other
    kernels."""
    source, rows_file, picture = folder / "requiring.kdl", folder / "rows.json", folder / "roof.svg"
    source.write_text(REQUIRING)
    run = bench(source, *SIZES, *QUICK, "--threads", "1", f"--json={rows_file}", "--plot", picture)
    checks.expect("a kernel that stops is told of", run.returncode == 1 and run.stderr.count("E0959") == 1, run.stderr)
    rows = json.loads(rows_file.read_text())["rows"] if rows_file.exists() else []
    checks.expect("the others are measured", [row["kernel"] for row in rows] == ["gather"] and picture.exists(), run.stdout)


def check_refusals(source):
    for words, code, told in [
            (["--threads", "0"], 2, "E0904"),
            (["--threads", "1,x"], 2, "E0904"),
            (["--trials", "0"], 2, "E0904"),
            (["--target", "reference"], 1, "E0969"),
            (["--target", "debug"], 1, "E0969"),
            (["--target", "reference", "--threads", "1"], 2, "E0970"),
            (["--target", "host?threads=1"], 2, "E0904"),
            ([f"--json={source.parent}/rows", "--plot", f"{source.parent}/rows"], 1, "E0955"),
            ([f"--json={source}"], 1, "E0953"),
            (["--plot", "missing/folder.svg"], 1, "mkdir -p missing"),
            (["--kernel", "produkt"], 1, "did you mean 'product'?")]:
        run = bench(source, *SIZES, *QUICK, *words)
        checks.expect(f"{' '.join(words)}: {told}", run.returncode == code and told in run.stderr,
                      f"{run.returncode} {run.stderr}")
    run = bench(source, "--kernel", "product", "--set", "M=4", *QUICK)
    checks.expect("a size that is missing", run.returncode == 1 and "E0932" in run.stderr, run.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "kernels.kdl"
        source.write_text(SOURCE)
        check_rows(source, folder)
        check_against(source, folder)
        check_inputs(folder)
        check_refusals(source)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
