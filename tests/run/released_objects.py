#!/usr/bin/env python3
"""Loads one small object of each released version, which `released/` contains. The runtime must run its kernel if the ABI is still the
same, and otherwise refuse it with an error that names the version. `--add` writes the object of this version."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
RELEASED = ROOT / "tests/run/released"
KERNEL = "export kernel scale(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 2 * x[i]; } }\n"
CALLER = """
#include <dlfcn.h>
#include <kdl/runtime.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library == NULL) return puts(dlerror());
  kdl_kernels* kernels = NULL;
  const int64_t sizes[] = {3, 3};
  const float x[3] = {1, 2, 3};
  float y[3] = {0, 0, 0};
  const kdl_value values[] = {{.data = x}, {.data = y}};
  const char* const names[] = {argv[2]};
  kdl_error* error = kdl_kernels_open(NULL, dlsym(library, "kdl_module_images"), "host", names, 1, &kernels);
  if (error == NULL) error = kdl_kernels_call(kernels, 0, sizes, values);
  if (error != NULL) printf("%s\\n", kdl_error_message(error));
  printf("%g %g %g\\n", y[0], y[1], y[2]);
  return error != NULL;
}
"""


def call(*words, folder):
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=120)


def version_and_hash():
    numbers = re.findall(r"#define KDL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/kdl/version.h").read_text())
    abi = re.search(r"KDL_ABI_HASH UINT64_C\(0x([0-9a-f]+)\)", (ROOT / "include/kdl/kernel_abi.h").read_text())[1]
    return f"{'.'.join(numbers)}-{abi}"


def is_promised(released):
    """Whether samples/guide/CHANGELOG.md promises that this version runs the objects of another one that was released: from 1.0 on, those of
    its MAJOR, and before, those of its MINOR."""
    if f"\n## {released}, not yet released\n" in (ROOT / "samples/guide/CHANGELOG.md").read_text():
        return False
    own, other = version_and_hash().partition("-")[0].split("."), released.split(".")
    return own[:1] == other[:1] != ["0"] or own[:2] == other[:2]


def add(folder):
    """Writes the object of this version. Its name tells the version and the hash of the ABI."""
    (folder / "old.kdl").write_text(KERNEL)
    subprocess.run(["kernelc", "build", "old.kdl", "--target", "host?isa=x86-64-v3", "--emit", "images"], cwd=folder, check=True)
    subprocess.run(["strip", "old.images.so"], cwd=folder, check=True)
    shutil.copy(folder / "old.images.so", RELEASED / f"{version_and_hash()}.so")


def name_in(file):
    """Returns the kernel's name in the runtime, which contains a hash of the source."""
    return re.search(rb"old#[0-9a-f]{8}", file.read_bytes())[0].decode() + ".scale"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--add" in sys.argv[1:]:
            return add(folder)
        (folder / "caller.c").write_text(CALLER)
        built = call("gcc", "-std=c11", "-I", ROOT / "include", "caller.c", BUILD / "lib/libkdl_runtime.a", "-lstdc++", "-lm", "-ldl", "-pthread",
                     "-o", "caller", folder=folder)
        checks.expect("the caller is built", built.returncode == 0, built.stderr)
        objects = sorted(RELEASED.glob("*.so"))
        checks.expect("there are objects", objects)
        for file in objects:
            version, abi = file.stem.split("-")
            refused = (1, f"module 'old' was compiled by kernelc {version} for ABI ")
            ran = call("./caller", file, name_in(file), folder=folder)
            if is_promised(version) or f"0x{abi})" in (ROOT / "include/kdl/kernel_abi.h").read_text():
                checks.expect(f"{version} runs", (ran.returncode, ran.stdout) == (0, "2 4 6\n"), ran.stdout + ran.stderr)
            else:
                checks.expect(f"{version} is refused by name", (ran.returncode, ran.stdout[:len(refused[1])]) == refused, ran.stdout + ran.stderr)
            other = folder / "other.so"
            own = int(abi, 16).to_bytes(8, "little")
            other.write_bytes(file.read_bytes().replace(own, bytes([own[0] ^ 1]) + own[1:]))
            told = call("./caller", other, name_in(file), folder=folder)
            checks.expect(f"{version} with another ABI is refused by name", (told.returncode, told.stdout[:len(refused[1])]) == refused,
                          told.stdout + told.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
