#!/usr/bin/env python3
"""Reads each picture that kernelc draws: it says in words what it shows, its axes have units, its colours have a legend, and it
is readable on small and on dark screens. Also reads the pictures in the source tree. With --shots FOLDER, writes screenshots of
them with Chromium, at 1280 and 400 pixels, light and dark."""

import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from shared import checks, svg

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/driver"
WIDEST = 360  # pixels that a phone shows
SCHEMES = {"dark": 0, "light": 1}  # numbers of Chromium
# The number of axes in the pictures of each page. The bars of explain --perf are cells of a table, whose head is their legend.
AXES = {"explain_communication_html": 2, "explain_perf_html": 0, "explain_placement_html": 1, "explain_workspace_html": 1}
BARS = "explain_perf_html"
# Stages with waits, copies between devices, and block copies of a machine with clusters.
STAGES = """kernel staged(x: in f32[N], y: out f32[N]) {
    domain blocks = (N by 64);
    pipe q: f32[64] @depth(2);
    stage first { spmd for i in blocks { q.push(exp(sin(x[i])), i); } }
    stage second { spmd for i in blocks { y[i] = q.pop(i) + 1.0; } }
}
export program run(x: in f32[N], y: out f32[N]) { spmd(core_num = 1) staged(x, y); }
"""
DEVICES = """device one = target("debug");
device two = target("debug")[1];
kernel scale(x: in f32[N], y: out f32[N]) { spmd for i in N by 1024 { y[i] = exp(2.0 * x[i]); } }
export program run(x: in f32[N] on one, y: out f32[N] on two) {
    let h: f32[N];
    spmd on one scale(x, h);
    spmd on two scale(h, y);
}
"""
PRODUCT = """export kernel product(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N]) {
    spmd for i in M by 16, j in N by 16 {
        var acc: f32[i, j] = 0;
        for k in K by 16 @pipelined(2) { acc += dot(a[i, k], b[k, j] over k); }
        c[i, j] = acc;
    }
}
"""


def kernelc(*words, folder):
    ran = subprocess.run(["kernelc", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300)
    checks.expect(f"kernelc {shlex.join(map(str, words))}", ran.returncode == 0, ran.stdout + ran.stderr)
    return ran.stdout


def page_of(golden, folder):
    """Runs the first command of a golden file, and returns the page that it writes."""
    words = shlex.split(re.search(r"^//! (?:args|command): (.*)$", golden.read_text(), re.M)[1].replace("{file}", golden.name))
    words = words if golden.name in words else [*words, golden.name]
    (folder / golden.name).write_text(golden.read_text())
    kernelc(*words, folder=folder)
    return (folder / words[words.index("--html") + 1]).read_text()


def check_page(name, page):
    checks.expect(f"{name}: the page adapts to the width of the screen", 'name="viewport"' in page)
    checks.expect(f"{name}: the page can be dark", "color-scheme: light dark" in page)
    checks.expect(f"{name}: the page has a title and a heading", re.search(r"<title>(.+)</title>", page)[1] == re.search(r"<h1>(.+)</h1>", page)[1])
    pictures = [found.span() for found in re.finditer(r"<svg.*?</svg>", page, re.DOTALL)]
    for begin, end in pictures:
        picture = svg.check(name, page[begin:end], AXES.get(name, 0), has_legend=name != BARS)
        width = float(picture.get("viewBox").split()[2])
        scrolls = page[:begin].rstrip().endswith('<div class="picture">')
        checks.expect(f"{name}: a picture of {width:g} units fits on a phone", width <= WIDEST or scrolls, page[begin:begin + 300])
    if name == BARS:
        checks.expect("the head of the table says what the bars are", "share of the time (%)" in page)
    return len(pictures)


def assembly_page(folder):
    kernelc("explain", "--asm", ROOT / "samples/softmax/softmax.kdl", "--kernel", "softmax", "--target", "host?isa=x86-64-v3", "--html",
            "asm.html", folder=folder)
    return (folder / "asm.html").read_text()


def time_line(name, source, words, folder):
    """Runs a program with --profile, and returns its time line as a picture and as text."""
    (folder / f"{name}.kdl").write_text(source)
    text = kernelc("run", f"{name}.kdl", "--profile", "--plot", f"{name}.svg", *words, folder=folder)
    return (folder / f"{name}.svg").read_text(), text


def rows_of(picture):
    """Returns the colours of each row of a time line. The name of a row is above its boxes."""
    names = [(float(element.get("y")), "".join(element.itertext())) for _, element, in_legend in svg.shapes(picture)
             if element.get("class") == "small" and not in_legend]
    rows = {name: set() for _, name in names}
    for kind, element, in_legend in svg.shapes(picture):
        if kind != "rect" or in_legend or not svg.colours(element):
            continue
        above = [name for y, name in names if y <= float(element.get("y"))]
        rows[above[-1]] |= svg.colours(element)
    return rows


RUNS, COPIES, WAITS = {"var(--c0)"}, {"var(--c1)"}, {"var(--c5)"}


def expect_rows(name, picture, wanted):
    """Checks that the time line has a row that matches each expression, with boxes of the colours."""
    rows = rows_of(svg.check(name, picture, 1))
    for row, colours in wanted.items():
        found = [own for known, own in rows.items() if re.fullmatch(row, known)]
        checks.expect(f"{name}: the row {row} has boxes of {sorted(colours)}", found and all(colours <= own for own in found), str(rows))


def time_lines(folder):
    """Yields the time lines, which show blocks, stages and waits, and copies next to what runs."""
    picture, _ = time_line("stages", STAGES, ["--pipes", "buffered", "--set", "N=10000", "--arg", "x=1"], folder)
    expect_rows("stages", picture, {"host queue 0": RUNS, "host core 0": RUNS, r"host core 0 stage \d": WAITS})
    yield "time_line_stages", picture
    picture, text = time_line("devices", DEVICES, ["--set", "N=1000000", "--arg", "x=1"], folder)
    expect_rows("devices", picture, {r"debug queue 0.*": RUNS, r"debug\[1\] queue 0.*": RUNS | COPIES})
    yield "time_line_devices", picture
    if shutil.which("qemu-riscv64-static") or shutil.which("qemu-riscv64"):
        picture, text = time_line("clusters", PRODUCT, ["--target", "cluster-riscv64", "--set", "M=64", "--set", "N=64", "--set", "K=256"], folder)
        expect_rows("clusters", picture, {r"cluster-riscv64 queue 0 \(emulated\)": RUNS, r"cluster-riscv64 cluster \d": RUNS,
                                          r"cluster-riscv64 cluster \d copies": COPIES, r"cluster-riscv64 cluster \d waits": WAITS})
        checks.expect("clusters: the table has block copies and their bytes", re.search(r"= block copy, \d+ bytes", text), text)
        checks.expect("clusters: and the waits for them", "~ waits for a block copy" in text, text)
        yield "time_line_clusters", picture
    else:
        checks.skip("clusters", "qemu-riscv64 is not installed")


def check_trace(folder):
    """Compares the time line of a run with that of the trace that an application would write."""
    (folder / "devices.kdl").write_text(DEVICES)
    subprocess.run(["kernelc", "run", "devices.kdl", "--set", "N=1000"], cwd=folder, capture_output=True, check=True, timeout=300,
                   env={**os.environ, "KDL_TRACE": "trace.json"})
    text = kernelc("explain", "--trace", "trace.json", "--plot", "trace.svg", folder=folder)
    checks.expect("a trace has the same text", re.search(r"^debug\[1\] queue 0 .*\|[#=~ ]+\|$", text, re.M), text)
    expect_rows("trace", (folder / "trace.svg").read_text(), {r"debug\[1\] queue 0.*": RUNS | COPIES})
    for wrong in ("[{}]", "{", '[{"ph": "X", "tid": 1, "ts": "soon"}]'):
        (folder / "wrong.json").write_text(wrong)
        ran = subprocess.run(["kernelc", "explain", "--trace", "wrong.json"], cwd=folder, capture_output=True, text=True, timeout=60)
        checks.expect(f"{wrong} is not a trace", ran.returncode == 1 and "not a trace" in ran.stderr and "json" not in ran.stderr.replace("wrong.json", ""), ran.stderr)
    for words, needed in ((["run", "devices.kdl", "--plot", "out.svg"], "--profile"), (["explain", "--tiles", "devices.kdl", "--plot", "out.svg"], "--trace or --times")):
        ran = subprocess.run(["kernelc", *words], cwd=folder, capture_output=True, text=True, timeout=60)
        checks.expect(f"{shlex.join(words)} needs {needed}", ran.returncode == 2 and f"'{needed}'" in ran.stderr, ran.stderr)


def roofline(folder):
    kernelc("bench", ROOT / "samples/softmax/softmax.kdl", "--kernel", "softmax", "--set", "R=100", "--set", "C=100", "--trials", "3", "--seconds",
            "1", "--threads", "1,2", "--plot", "roofline.svg", folder=folder)
    return (folder / "roofline.svg").read_text()


def predicted_times(folder):
    golden = ROOT / "tests/golden/driver/explain_communication_times.kdl"
    kernelc("explain", "--communication", golden, "--ranks", "64", "--set", "M=160", "--set", "N=10", "--arg", "steps=3", "--times",
            golden.with_suffix(".json"), "--plot", "scaling.svg", folder=folder)
    return (folder / "scaling.svg").read_text()


def stored_pictures():
    """Yields the pictures of the source tree, with their numbers of axes."""
    yield "two_devices", (ROOT / "samples/two_devices/trace.svg").read_text(), 1
    yield "bench", (ROOT / "tests/bench/roofline.svg").read_text(), 2
    for cell in json.loads((ROOT / "samples/guide/notebook.ipynb").read_text())["cells"]:
        for output in cell.get("outputs", []):
            if "image/svg+xml" in output.get("data", {}):
                yield "notebook", "".join(output["data"]["image/svg+xml"]), 2


def check_images():
    """Checks that each picture in a page of the source tree has a text in its place."""
    for page in sorted(ROOT.glob("*.md")) + sorted((ROOT / "samples").rglob("*.md")) + sorted((ROOT / "tests").rglob("*.md")):
        for text, path in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text()):
            checks.expect(f"{page.name}: {path} has a text", len(text) > 5, text)


def take_shots(page, name, folder):
    for width, (scheme, setting) in itertools.product((1280, 400), SCHEMES.items()):
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},900",
                        f"--blink-settings=preferredColorScheme={setting}", f"--screenshot={folder}/{name}-{width}-{scheme}.png",
                        f"file://{page}"], capture_output=True, timeout=120, check=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shown = {}
        for golden in sorted(GOLDEN.glob("explain_*_html.kdl")):
            shown[f"{golden.stem}.html"] = page_of(golden, folder)
        counts = {page: check_page(pathlib.Path(page).stem, text) for page, text in shown.items()}
        checks.expect("each page has pictures", len(counts) >= 4 and all(counts.values()), str(counts))
        shown["asm.html"] = assembly_page(folder)
        check_page("asm", shown["asm.html"])
        shown |= {f"{line}.svg": picture for line, picture in time_lines(folder)}
        check_trace(folder)
        shown["roofline.svg"] = roofline(folder)
        svg.check("roofline", shown["roofline.svg"], 2)
        shown["scaling.svg"] = predicted_times(folder)
        svg.check("scaling", shown["scaling.svg"], 2)
        checks.expect("the picture of predicted times says what they are", "model, without contention" in shown["scaling.svg"])
        for number, (place, picture, axes) in enumerate(stored_pictures()):
            svg.check(f"{place} {number}", picture, axes)
            shown[f"{place}_{number}.svg"] = picture
        check_images()
        if sys.argv[1:2] == ["--shots"]:
            for file, text in shown.items():
                (folder / file).write_text(text)
                take_shots(folder / file, pathlib.Path(file).stem, sys.argv[2])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
