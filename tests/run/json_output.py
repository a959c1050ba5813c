#!/usr/bin/env python3
"""Tests `--json`: each command prints one object with a schema version and nothing else, and writes the same to a file. Also tests
that `kernelc check` of a file with 200 lines takes less than a tenth of a second, as editors need."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks

KERNEL = """/// Doubles x.
export kernel twice(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 64 { y[i] = 2 * x[i]; }
}
ensures { y[i] ~ 2 * x[i]; }
"""
KINDS = """export kernel kinds(a: out bool[N], b: out f32[N], c: out i64[N, 1], d: out f32[N]) {
    spmd for i in N by 1 { a[i] = true; b[i] = 1.0 / 0.0; c[i, 0] = -9223372036854775807; d[i] = 0.1; }
}
"""
EVERYWHERE = {"schema": int, "version": str, "command": str, "diagnostics": list, "exit_code": int, "output": str}
QUICK = ["--set", "N=64", "--threads", "1", "--trials", "3", "--seconds", "1"]
# For each command: its arguments, and what must hold for the object `o`.
COMMANDS = [
    (["build", "a.kdl", "-o", "out"], 'o["files"] == ["out/a.h", "out/a.c", "out/a.orch.cpp", "out/a.host.o", "out/a.x86-64.o"]'),
    (["build", "a.kdl", "--emit", "ir"], '"spmd" in o["output"]'),
    (["check", "a.kdl"], 'o["diagnostics"] == []'),
    (["run", "a.kdl", "--set", "N=5", "--verify"], '"bit for bit" in o["output"]'),
    (["run", "a.kdl", "--set", "N=3", "--arg", "x=1", "--verify"], 'o["outputs"] == [{"name": "y", "type": "f32", "shape": [3], "values": [2, 2, 2]}]'),
    (["run", "a.kdl", "--set", "N=3", "--verify"], 'o["verify"] == {"passed": True, "differences": [], "allowed": [], "contract": True}'),
    (["run", "a.kdl", "--set", "N=100", "--out", "y=@y.npy"], 'o["outputs"] == [{"name": "y", "type": "f32", "shape": [100], "file": "y.npy"}] and "verify" not in o'),
    (["run", "kinds.kdl", "--set", "N=2"], '[one["values"] for one in o["outputs"]] == [[True] * 2, ["inf"] * 2, [[-9223372036854775807]] * 2, [0.1] * 2]'),
    (["run", "false.kdl", "--set", "N=2", "--arg", "x=1", "--verify"], 'o["verify"]["passed"] is False and o["verify"]["contract"] is False and o["exit_code"] == 1'),
    (["run", "talks.kdl", "--set", "N=1"], '"said 7\\n" in o["output"]'),
    (["test", "a.kdl"], 'o["passed"] == 1 and o["failed"] == 0'),
    (["test", "a.kdl"], '{row["result"] for row in o["rows"]} == {"passed"} and o["rows"][0]["kernel"] == "twice" and o["rows"][0]["runs"] > 0'),
    (["test", "false.kdl"], '"failed" in [row["result"] for row in o["rows"]] and o["failed"] == 1'),
    (["test", "golden.kdl"], 'o["rows"] == [{"file": "golden.kdl", "result": "failed"}]'),
    (["test", "--contracts", "a.kdl"], 'o["rows"] and {row["file"] for row in o["rows"]} == {"a.kdl"}'),
    (["tune", "tiles.kdl", "--set", "N=64", "--trials", "3", "--seconds", "1", "--tuned", "t.yaml"],
     'o["file"] == "t.yaml" and o["kernels"][0]["kernel"] == "twice" and o["kernels"][0]["chosen"] and all(t["seconds"] > 0 for t in o["kernels"][0]["trials"] if "seconds" in t)'),
    (["shrink", "wrong_type.kdl", "--fails", "kernelc check {}"], 'o["file"] == "wrong_type.small.kdl" and "wrong" in o["text"] and o["lines"] < o["lines_before"] and o["failure"]'),
    (["doc", "a.kdl"], '[page["file"] for page in o["pages"]] == ["index.html", "a.html"] and "twice" in o["pages"][1]["html"] and "@PAGE@" in o["template"]'),
    (["--version"], 'o["output"].startswith("kernelc ")'),
    (["--help"], '"usage: kernelc" in o["output"]'),
    (["build", "--help"], '"--emit" in o["output"]'),
    (["bench", "a.kdl", *QUICK], '[row["kernel"] for row in o["rows"]] == ["twice"] and o["rows"][0]["median"] > 0'),
    (["explain", "E0302"], 'o["entries"][0]["id"] == "E0302" and o["entries"][0]["explanation"]'),
    (["explain", "--all"], 'len(o["entries"]) > 200 and all(e["explanation"] and e["phase"] for e in o["entries"])'),
    (["explain", "ops"], '{"name", "topic", "text"} == set(o["entries"][0])'),
    (["explain", "--perf", "a.kdl"], 'o["remarks"] == []'),
    (["explain", "nothing"], 'o["exit_code"] != 0 and o["diagnostics"][0]["help"]'),
    (["targets"], '"host" in [row["kind"] for row in o["targets"]]'),
    (["devices", "host", "nodevice"], '[row["available"] for row in o["devices"]] == [True, False]'),
    (["build", "wrong.kdl"], 'o["diagnostics"][0]["line"] == 2 and "wrong.kdl:2:" in o["diagnostics"][0]["text"] and o["exit_code"] == 1'),
    (["build", "a.kdl", "--nothing"], 'o["diagnostics"][0]["id"] == "E0902" and o["exit_code"] == 2'),
    (["build", "missing.kdl"], 'o["exit_code"] == 1 and len(o["diagnostics"]) == 1'),
]


def call(*words, folder, given=None):
    return subprocess.run(["kernelc", *map(str, words)], cwd=folder, input=given, capture_output=True, text=True, timeout=300)


def holding(holds, found):
    try:
        return eval(holds, {"o": found})
    except (KeyError, IndexError):
        return False


def check_command(words, holds, folder):
    what = " ".join(words)
    plain = call(*words, folder=folder)
    ran = call(*words, "--json", folder=folder)
    try:
        found = json.loads(ran.stdout)
    except json.JSONDecodeError as error:
        return checks.expect(what, False, f"{error}\n{ran.stdout}{ran.stderr}")
    kinds = all(isinstance(found.get(key), kind) for key, kind in EVERYWHERE.items())
    checks.expect(f"{what}: members", kinds and found["schema"] == 1 and found["command"] == words[0], ran.stdout)
    checks.expect(f"{what}: exit code", found["exit_code"] == ran.returncode == plain.returncode, f"{ran.returncode} {plain.returncode}")
    checks.expect(f"{what}: {holds}", holding(holds, found), ran.stdout[:3000])
    checks.expect(f"{what}: nothing else", ran.stderr == "" and ran.stdout.count("\n") == 1, ran.stderr)
    if words[0] not in ("bench", "tune"):  # whose times differ
        checks.expect(f"{what}: the same text", found["output"] == plain.stdout, found["output"][:3000])
        texts = found.get("aside", "") + "".join(one["text"] for one in found["diagnostics"])
        checks.expect(f"{what}: the same diagnostics", texts == plain.stderr, texts)


def check_file(folder):
    ran = call("check", "wrong.kdl", "--json=told.json", folder=folder)
    found = json.loads((folder / "told.json").read_text())
    checks.expect("texts are printed as usual", ran.stdout == "" and "wrong.kdl:2:" in ran.stderr, ran.stderr)
    checks.expect("the file has the object", found["command"] == "check" and len(found["diagnostics"]) == 1, found)
    before = (folder / "a.kdl").read_text()
    ran = call("check", "a.kdl", "--json=a.kdl", folder=folder)
    checks.expect("an input is not replaced", ran.returncode != 0 and (folder / "a.kdl").read_text() == before, ran.stderr)
    ran = call("check", "-", "--json", folder=folder, given=KERNEL.replace("2 * x", "2 * z"))
    found = json.loads(ran.stdout)
    checks.expect("standard input", [one["file"] for one in found["diagnostics"]][:1] == ["stdin.kdl"], ran.stdout)
    ran = call("build", "-", "--module", "given", "--emit", "header,deps", "--json", folder=folder, given=KERNEL)
    checks.expect("build of standard input", json.loads(ran.stdout)["files"] == ["given.h", "given.d"] and (folder / "given.h").exists(), ran.stdout)
    checks.expect("standard input is no file for make", "stdin" not in (folder / "given.d").read_text())


def check_bytes(folder):
    """JSON is UTF-8, although paths need not be."""
    path = folder / os.fsdecode(b"n\xff.kdl")
    path.write_text(KERNEL)
    for words in (["build", path, "-o", path.with_suffix("")], ["explain", "--perf", path], ["devices", path.name], ["targets", "--device", path.name],
                  ["run", path, "--set", "N=1", "--out", f"y=@{path}.npy"], ["bench", path, *QUICK]):
        ran = subprocess.run(["kernelc", *words, "--json"], cwd=folder, capture_output=True, encoding="utf-8", timeout=300)
        checks.expect(f"{words[0]}: a path that is not UTF-8", json.loads(ran.stdout)["command"] == words[0] and ran.returncode != 70, ran.stderr)


def check_speed(folder):
    """Checks 200 lines. On a busy machine, the time of the processor counts, and the best of several runs."""
    text = "".join(re.sub("twice", f"twice{n}", KERNEL) for n in range(40))
    (folder / "long.kdl").write_text(text)
    best = 1e9
    for _ in range(5):
        begin = sum(children())
        ran = call("check", "long.kdl", folder=folder)
        best = min(best, sum(children()) - begin)
    checks.expect(f"{text.count(chr(10))} lines take {1e3 * best:.0f} ms", ran.returncode == 0 and best < 0.1, ran.stderr)
    print(f"check: {text.count(chr(10))} lines, {1e3 * best:.0f} ms of the processor")


def children():
    import resource
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a.kdl").write_text(KERNEL)
        (folder / "talks.kdl").write_text("export kernel f(y: out f32[N]) { spmd for i in N by 1 { y[i] = 7; print(\"said\", 7); } }\n")
        (folder / "wrong.kdl").write_text("const N: int = 4;\nconst M: int = ;\n")
        (folder / "false.kdl").write_text(KERNEL.replace("~ 2 *", "~ 3 *"))
        (folder / "golden.kdl").write_text("//! args: check\n" + KERNEL.replace("2 * x", "2 * z"))
        (folder / "tiles.kdl").write_text(KERNEL.replace("twice(", "twice<B: int = auto>(").replace("by 64", "by B"))
        (folder / "wrong_type.kdl").write_text(KERNEL + "const wrong: int = true;\n")
        (folder / "kinds.kdl").write_text(KINDS)
        for words, holds in COMMANDS:
            check_command(words, holds, folder)
        found = json.loads(call("new", "made", "--json", folder=folder).stdout)
        checks.expect("new: its files", found["files"] and all((folder / file).exists() for file in found["files"]), found)
        check_file(folder)
        check_bytes(folder)
        check_speed(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
