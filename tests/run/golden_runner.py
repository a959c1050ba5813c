#!/usr/bin/env python3
"""Tests `kernelc test` itself: it must fail when it should, and --update must change only what it is allowed
to change."""

import pathlib
import shutil
import platform
import subprocess
import sys
import tempfile
import time

KERNEL = "export kernel scale(x: in f32[N], y: out f32[N]) { spmd for i in N by 4 { y[i] = x[i]; } }\n"
PASSING = "//! args: build --emit ir --stop-after=irgen\nconst N = 4;\n//=== stdout\n//| module \"t\"\n//| after \"irgen\"\n"
SLOW = """
export kernel slow(x: in f32[N], y: out f32[N]) {
    spmd for i in N by 4 {
        var t = x[i];
        for k in 0..1000000000 { t = t + 1.0; }
        y[i] = t;
    }
}
ensures { y[n] ~ x[n]; }
"""
UNPROVEN = """
kernel scatter(place: in i32[N], x: in i32[N], y: inout i32[N]) {
    spmd for i in N by 2 { y[place[i]] = x[i]; }
}
test "one place each" {
    let place: i32[2] = 0;
    let x = random(i32[2], seed = 1);
    let y: i32[2] = 0;
    place[0] = 1;
    spmd scatter(place, x, y);
    expect y[i] ~ x[1 - i];
}
"""
END_S = 30  # how long processes may take to end
problems = []


def test(folder, *options):
    """Runs `kernelc test` on the folder and returns (exit code, output)."""
    done = subprocess.run(["kernelc", "test", str(folder), *options], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout + done.stderr


def expect(what, folder, text, code, *parts, options=()):
    """Writes a golden file, runs it, and checks the exit code and parts of the output."""
    file = folder / "t.kdl"
    file.write_text(text)
    got, output = test(folder, *options)
    for part in parts:
        if part not in output:
            problems.append(f"{what}: the output lacks {part!r}:\n{output}")
    if got != code:
        problems.append(f"{what}: exit code {got}, expected {code}:\n{output}")
    return file.read_text()


def untested(folder):
    """In a folder, files that cannot be read or parsed are failures, and others are tested nevertheless."""
    inside = folder / "inside"
    inside.mkdir()
    (inside / "t.kdl").write_text(PASSING)
    (inside / "helper.kdl").write_text("const N = 4;\n")
    (inside / "utf16.kdl").write_text("const N = 4;\n", encoding="utf-16")
    (inside / "nowhere.kdl").symlink_to("nothing")
    (inside / "wrong.kdl").write_text("export kernel f(x: in f32[N] {}\n")
    (inside / "folder.kdl").mkdir()
    done = subprocess.run(["kernelc", "test", inside], capture_output=True, text=True)
    words = ("nowhere.kdl", "No such file", "utf16.kdl", "wrong.kdl:1:", "1 passed, 3 failed\n")
    if done.returncode != 1 or any(word not in done.stdout for word in words) or "helper" in done.stdout:
        problems.append(f"files that cannot be tested: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    shutil.rmtree(inside)


def runs(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def ended_with_it(folder):
    """Returns whether all processes end when `kernelc test` is killed."""
    (folder / "slow.kdl").write_text(SLOW)
    begun = subprocess.Popen(["kernelc", "test", folder / "slow.kdl", "--target", "reference"], stdout=subprocess.DEVNULL)
    children = []
    while begun.poll() is None and not children:
        for task in pathlib.Path(f"/proc/{begun.pid}/task").glob("*/children"):
            children += task.read_text().split()
        time.sleep(0.02)
    time.sleep(0.5)
    begun.kill()
    begun.wait()
    deadline = time.monotonic() + END_S
    while any(map(runs, children)) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = [pid for pid in children if runs(pid)]
    if not children or left:
        problems.append(f"killed with children {children}: {left} went on")


def main():
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        folder = pathlib.Path(scratch)
        expect("a passing file", folder, PASSING, 0, "1 passed, 0 failed\n")
        expect("other output", folder, PASSING.replace("//| module", "//| modul"), 1,
               "-//| modul \"t\"\n+//| module \"t\"\n", f"rerun: kernelc test {folder}/t.kdl",
               "0 passed, 1 failed\n")
        expect("missing output", folder, PASSING.split("//===")[0], 1, "+//=== stdout\n")
        expect("an error that is not there", folder,
               PASSING.replace("//===", "//~ 1: error: no [E0000]\n//==="), 1, "-//~ 1: error: no [E0000]")
        expect("an error that is not expected", folder, "//! args: build\nconst N = ;\n", 1,
               "exited with code 1, expected exit code 0")
        expect("another exit code", folder, PASSING.replace("const", "//! exit: 1\nconst"), 1,
               "exited with code 0, expected exit code 1")
        expect("a directive that does not exist", folder, PASSING.replace("args", "arg"), 1, "'//! arg:")
        for path in ("../t.kdl", "/etc/hosts", "a/../../b"):
            expect("a companion outside of the folder", folder, f"//! args: build\n//! files: {path}\nconst N = 4;\n", 1,
                   f"'//! files: {path}' is not a file of this folder")
        for command in ("args: test", "command: test ."):
            expect("a file that tests itself", folder, f"//! {command}\nconst N = 4;\n", 1, "exited with code 1, expected exit code 0")
        expect("a syntax error", folder, "kernel (", 1, "t.kdl:1:8: error: ", "0 passed, 1 failed\n")
        untested(folder)
        expect("no golden file", folder, "const N = 4;\n", 1, "[E0962]")
        expect("a file that fails its filter", folder, PASSING, 1, "[E0962]", options=["--filter", "no such name"])
        expect("a kernel that is not there", folder, KERNEL, 1, "has no kernel 'scal' [E0922]", "did you mean 'scale'?",
               options=["--kernel", "scal"])
        expect("a kernel without a contract", folder, KERNEL, 1, "[E0962]", options=["--kernel", "scale"])

        watched = ["--target", "reference?sanitize=races+init"]
        expect("what no proof accepts", folder, UNPROVEN, 1, "[E0414]", options=watched)
        expect("what no proof accepts, under sanitizers", folder, UNPROVEN, 0, "[E0972]", options=[*watched, "--unproven"])
        expect("diagnostics as JSON", folder, UNPROVEN, 1, '[E0414]', '"failed":1', options=[*watched, "--json"])

        strange = "x86-64-v3" if platform.machine() == "aarch64" else "armv8-a"
        command = f"run --set N=4 --target host?isa={strange}"
        expect("code for another processor", folder, f"//! args: {command}\n{KERNEL}", 0, f"cannot run it: kernelc {command.split(' host')[0]}",
               "0 passed, 0 failed, 1 skipped\n")
        expect("code for another processor, and for this one", folder, f"//! args: {command}\n//! args: build\n{KERNEL}", 0, "1 passed, 0 failed\n")
        expect("an error that another processor causes", folder, f"//! args: {command}\n//! exit: 3\n//=== stderr\n{KERNEL}", 1, "0 passed, 1 failed\n")
        ended_with_it(folder)
        wrong = PASSING.replace("//| module", "//| modul")
        mended = expect("an update", folder, wrong, 0, "updated: ", options=["--update"])
        if mended != PASSING:
            problems.append(f"an update wrote\n{mended}")
        kept = expect("an update with the wrong exit code", folder, wrong.replace("args: build", "args: biuld"), 1,
                      "exited with code 2", options=["--update"])
        if "biuld" not in kept or "//| modul " not in kept:
            problems.append(f"a failing update wrote\n{kept}")
        annotated = expect("an update of errors", folder,
                           "//! args: build\n//! exit: 1\nconst N = ;\nconst M = ;\n", 0, options=["--update"])
        if annotated.count("//~ ") != 2 or "//===" in annotated:
            problems.append(f"an update of errors wrote\n{annotated}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
