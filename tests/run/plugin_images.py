#!/usr/bin/env python3
"""Tests that kernelc generates the images that a plugin says its devices run, or reports that it cannot. Code
that only a source names must not run: neither a plugin's constructor nor the tools of a machine."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = """
#include <stdio.h>
#include "kdl/device_plugin.h"
__attribute__((constructor)) static void leave_a_mark(void) { fclose(fopen("ran", "w")); }
__attribute__((visibility("default"))) const kdl_device_ops* kdl_device_plugin(const kdl_plugin_host* host) {
  static kdl_device_ops ops = {sizeof(kdl_device_ops), KDL_PLUGIN_VERSION, "made"};
  (void)host;
  ops.image_kind = IMAGES;
  return &ops;
}
"""
KERNEL = "export kernel copy(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = x[i]; } }\n"
MACHINE = (ROOT / "runtime/cluster/cluster-riscv64.yaml").read_text()
BY_SOURCE = {"plugin:./made.so": "./made.so", "host,plugin:./made.so": "./made.so", "cluster?description=machine.yaml": "machine.yaml"}
GOLDEN = "//! args: build --target plugin:./made.so\n//! exit: 1\n"
OUTPUTS = ["copy.h", "copy.host.o", "copy.orch.cpp"]
UNKNOWN = """kernelc: error: target 'plugin:./made.so': it needs images of kind 'tpu', but only these can be generated: host debug reference opencl cuda cluster-riscv64 cluster [E0917]
help: `kernelc targets` lists the targets
"""
OTHER = "aarch64-linux-gnu-gcc"
OTHER_CODE = """kernelc: error: target 'plugin:./made.so': cannot load a device from './made.so': it contains code for aarch64, but this process runs on x86-64 [E0917]
help: `kernelc targets` lists the targets
"""
MISSING = "kernelc: error: target 'plugin:./none.so': cannot load a device from './none.so': cannot open"


def build(folder, target):
    command = ["kernelc", "build", "copy.kdl", "--target", target, "-o", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    outputs = sorted(path.name for path in (folder / "out").glob("*"))
    return done.stderr, outputs


def make_plugin(folder, images, compiler="gcc"):
    (folder / "made.c").write_text(PLUGIN)
    subprocess.run([compiler, "-shared", "-fPIC", f"-DIMAGES={images}", "-I", ROOT / "include", "made.c", "-o", "made.so"],
                   cwd=folder, check=True, timeout=300)


def of_source(folder):
    """Checks code that only a source names. Returns what is wrong, or nothing, for each case."""
    (folder / "machine.yaml").write_text(re.sub(r"(?m)^link:.*$", 'link: [touch, ran, "{image}", "{objects}"]', MACHINE))
    ran = folder / "ran"

    def runs(*words):
        ran.unlink(missing_ok=True)
        done = subprocess.run(["kernelc", *words], cwd=folder, capture_output=True, text=True, timeout=300)
        return ran.exists(), done.stdout + done.stderr

    for spec, file in BY_SOURCE.items():
        (folder / "named.kdl").write_text(f'device npu = target("{spec}");\n' + KERNEL)
        for words in (["build", "named.kdl", "-o", "named"], ["run", "named.kdl", "--set", "N=3"], ["explain", "--tiles", "named.kdl"],
                      ["bench", "named.kdl", "--set", "N=3"], ["test", "named.kdl"], ["build", "named.kdl", "--emit", "header", "-o", "named"]):
            found, said = runs(*words)
            wanted = words[0] in ("bench", "test") or "header" in words or f"which would run code from '{file}', but" in said
            yield f"{spec}, {words}: {said}" if found or not wanted else None
        for words in (["--allow-plugins"], ["--device", f"npu={spec}"], ["--target", spec]):
            found, said = runs("build", "named.kdl", "-o", "named", *words)
            yield None if found else f"{spec}, {words}: {said}"
    (folder / "golden.kdl").write_text(GOLDEN + KERNEL)
    (folder / "made.so").rename(folder / "kept.so")
    found, said = runs("test", "golden.kdl")
    yield f"a golden's command: {said}" if "allow it with --allow-plugins" not in said else None
    (folder / "kept.so").rename(folder / "made.so")


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="plugin-") as name:
        folder = pathlib.Path(name)
        (folder / "copy.kdl").write_text(KERNEL)
        make_plugin(folder, '"tpu"')
        said, outputs = build(folder, "plugin:./made.so")
        if said != UNKNOWN or outputs:
            problems.append(f"of kind tpu: {said}{outputs}")
        said, outputs = build(folder, "plugin:./none.so")
        if not said.startswith(MISSING) or outputs:
            problems.append(f"a plugin that is not there: {said}{outputs}")
        if shutil.which(OTHER):
            make_plugin(folder, "NULL", OTHER)
            said, outputs = build(folder, "plugin:./made.so")
            if said != OTHER_CODE or outputs:
                problems.append(f"a plugin for another processor: {said}{outputs}")
        for images in ("NULL", '"host"', '"reference"'):
            make_plugin(folder, images)
            said, outputs = build(folder, "plugin:./made.so")
            if said or not set(OUTPUTS) <= set(outputs):
                problems.append(f"images {images}: {said}{outputs}")
        others = list(of_source(folder))
        problems += filter(None, others)
    print("\n".join(problems))
    print(f"{6 + len(others) - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
