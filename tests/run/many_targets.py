#!/usr/bin/env python3
"""Checks the output of building one file for several targets. For each target it must contain the code that
can run there, and it must contain neither KIR nor paths."""

import pathlib
import subprocess
import sys
import tempfile

KERNELS = """
device near = target("host?isa=x86-64-v3");
device far = target("debug?isa=x86-64-v4");
kernel here(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 3.0 * x[i]; } }
kernel there(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 5.0 * x[i]; } }
device later;
kernel anywhere(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 9.0 * x[i]; } }
kernel nowhere(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 7.0 * x[i]; } }
export kernel everywhere(x: in f32[N], at: in i32[N], y: out f32[N]) {
    spmd for i in N by 64 { y[i] = x[at[i]]; }
}
export program first(x: in f32[N], y: out f32[N]) { spmd on near here(x, y); }
export program third(x: in f32[N], y: out f32[N]) { spmd on later anywhere(x, y); }
export program second(x: in f32[N], y: out f32[N]) { spmd on far there(x, y); }
"""
OBJECTS = ["kernels.host.o", "kernels.x86-64.o"]


def call(*words, folder):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder, source, *options):
    folder.mkdir(parents=True)
    call("kernelc", "build", source, *options, folder=folder)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".kdl"}


def kernels_of(folder):
    """Returns the kernels that have code in the object, as `here.x86-64-v3`. Names of constants start with a
    dot and are skipped."""
    names = [line.split()[-1] for line in call("llvm-nm-19", "kernels.x86-64.o", folder=folder).splitlines()]
    return {".".join(name.split(".")[-2:]) for name in names if not name.startswith(".")}


def main():
    problems, checks = [], 0

    def check(holds, what):
        nonlocal checks
        checks += 1
        if not holds:
            problems.append(what)

    with tempfile.TemporaryDirectory(prefix="many-targets-") as name:
        root = pathlib.Path(name)
        (root / "kernels.kdl").write_text(KERNELS)
        near = build(root / "a" / "build", "../../kernels.kdl")
        found = kernels_of(root / "a" / "build")
        wanted = {"here.x86-64-v3", "there.x86-64-v4", "everywhere.x86-64-v3", "everywhere.x86-64-v4",
                  "anywhere.x86-64-v3", "anywhere.x86-64-v4"}  # a device without a target may be any device
        check(found == wanted, f"the object has code of {sorted(found)}, not of {sorted(wanted)}")
        for file in OBJECTS:
            check(b"kernel @" not in near[file], f"{file} holds KIR")
            check(b"/kernels.kdl" not in near[file], f"{file} holds a path")
        check(b"x[at[i]]" in near["kernels.host.o"], "the host's object says what a trap is about")

        # Builds in other folders name their sources by full paths, as build systems do.
        for place in ("b", "deeper/c"):
            folder = root / place
            folder.mkdir(parents=True)
            (folder / "kernels.kdl").write_text(KERNELS)
            other = build(folder / "build", folder / "kernels.kdl")
            mapped = build(folder / "mapped", folder / "kernels.kdl", "--path-prefix-map", f"{folder}/=")
            check(other == mapped, f"{place}: a mapped path differs from a relative one")
            check(place == "b" or other == before, f"{place}: the bytes depend on the folder")
            before = other

        lines = build(root / "lines" / "build", root / "b" / "kernels.kdl", "-g")
        check(any(f"{root}/b/kernels.kdl".encode() in bytes for bytes in lines.values()), "-g does not say where the source lies")

        embedded = build(root / "d" / "build", "../../kernels.kdl", "--embed-ir")
        check(b"kernel @" in embedded["kernels.host.o"], "--embed-ir embeds nothing")
        reference = build(root / "e" / "build", "../../kernels.kdl", "--device", "far=reference")
        check(b"kernel @" in reference["kernels.host.o"], "the reference finds no KIR")
    print("\n".join(problems))
    print(f"{checks - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
