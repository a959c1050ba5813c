#!/usr/bin/env python3
"""Checks that libraries from files with the same name, with kernels of the same name, can be used in one
program, both as archives and as shared objects."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

# The source of vendor NAME's library: ops.kdl, and C++ functions that wrap its program.
SOURCE = """kernel apply(x: in f32[N], y: out f32[N]) {{
    spmd for i in N by 64 {{ y[i] = {factor} * x[i]; }}
}}
export program {name}_run(x: in f32[N], y: out f32[N]) {{ spmd apply(x, y); }}
"""
LIBRARY = """#include "ops.h"
void {name}_register(kdl::Context& context) {{ context.Register(kdl_images_ops); }}
float {name}_apply(const kdl::Context& context, float value) {{
  float result = 0;
  const kdl::Device host = context.Select("host");
  ops::{name}_run(context, context.Wrap(host, &value, {{1}}), context.Wrap(host, &result, {{1}}));
  return result;
}}
"""
PROGRAM = """#include <cstdio>
#include "kdl/runtime.hpp"
void east_register(kdl::Context& context);
void west_register(kdl::Context& context);
float east_apply(const kdl::Context& context, float value);
float west_apply(const kdl::Context& context, float value);
int main() {
  kdl::Context context;
  west_register(context);
  east_register(context);
  east_register(context);  // again
  std::printf("%g %g\\n", east_apply(context, 1), west_apply(context, 1));
  const kdl_function* function = nullptr;
  kdl_error* error = kdl_context_find_kernel(context.get(), "ops.apply", &function);
  std::printf("%s\\n", error == nullptr ? "found" : kdl_error_message(error));
  kdl_error_free(error);
}
"""
EXPECTED = (r"2 3\nkernel 'apply' is in several modules; write one of ops#[0-9a-f]{8}\.apply and ops#[0-9a-f]{8}\.apply\n")



def sanitizers():
    found = re.search(r"^KDL_SANITIZE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return [f"-fsanitize={found[1]}"] if found else []


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_objects(folder, name, factor):
    folder.mkdir()
    (folder / "ops.kdl").write_text(SOURCE.format(name=name, factor=factor))
    (folder / "library.cpp").write_text(LIBRARY.format(name=name))
    call("kernelc", "build", folder / "ops.kdl", "-o", folder)
    for source in ("ops.orch.cpp", "library.cpp"):
        call("c++", "-std=c++20", "-fPIC", *WARNINGS, "-I", ROOT / "include", "-c", folder / source, "-o",
             folder / f"{source}.o")
    return sorted(folder.glob("*.o"))


def as_archive(folder, objects):
    archive = folder / "libops.a"
    call("ar", "rcs", archive, *objects)
    return archive


def as_shared_object(folder, objects):
    shared = folder / f"lib{folder.name}.so"
    call("c++", "-shared", *objects, "-o", shared)
    return shared


def check(kind, make):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        libraries = [make(folder / vendor, make_objects(folder / vendor, vendor, factor))
                     for vendor, factor in (("east", "2.0"), ("west", "3.0"))]
        (folder / "main.cpp").write_text(PROGRAM)
        call("c++", "-std=c++20", *WARNINGS, *sanitizers(), "-I", ROOT / "include", folder / "main.cpp", *libraries,
             "-rdynamic", "-Wl,--whole-archive", BUILD / "lib/libkdl_runtime.a", "-Wl,--no-whole-archive",
             "-ldl", "-pthread", "-o", folder / "program")
        printed = call(folder / "program")
    if re.fullmatch(EXPECTED, printed):
        return []
    return [f"{kind}: printed\n{printed}"]


def main():
    problems = check("archives", as_archive) + check("shared objects", as_shared_object)
    print("\n".join(problems) or "2 passed, 0 failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
