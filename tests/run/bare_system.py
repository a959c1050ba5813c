#!/usr/bin/env python3
"""Builds programs with only the Debian packages, on a bare Debian 12 system that mmdebstrap creates.

Builds a CMake project in C++ as in the installed README, two CMake projects in C (one with a kernel, one with
a program), and a program by calling the compiler directly. Purging the packages must leave nothing.

Takes three minutes and needs Debian's mirror, so it only runs with `--trial`. Skipped otherwise, and without
mmdebstrap or root."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import bare_root, checks

# The project that the installed README.md shows, with the kernel from the start of the repository's
# README.md.
APP = """
#include <cstdio>
#include <vector>
#include "mlp.h"
int main() {
  kdl::Context context;
  context.Register(kdl_images_mlp);
  const kdl::Device host = context.Select("host");
  std::vector<float> a(6, 1), b(6, 2), c(4);
  mlp::matmul(host.queue(), KDL_CORES_AUTO, context.Wrap(host, a.data(), {2, 3}), context.Wrap(host, b.data(), {3, 2}),
              context.Wrap(host, c.data(), {2, 2}));
  std::printf("%g %g\\n", c[0], c[3]);
}
"""
C_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(caller C)
find_package(kdl REQUIRED)
kdl_add_library(saxpy saxpy.kdl)
add_executable(caller main.c)
target_link_libraries(caller saxpy)
"""
# A KDL program in C, linked with libkdl.so.
C_PROGRAM = {"CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(caller C)
find_package(kdl REQUIRED)
kdl_add_library(steps steps.kdl SHARED)
add_executable(caller main.c)
target_link_libraries(caller steps)
""", "steps.kdl": """
kernel halve(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 0.5 * x[i]; } }
export program halvings(x: in f32[N], y: out f32[N], n: i64) {
    let now: f32[N];
    let next: f32[N];
    copy(x, now);
    for t in 0..n {
        spmd halve(now, next);
        swap(now, next);
    }
    copy(now, y);
}
""", "main.c": """
#include <stdio.h>
#include "steps.h"
#define CHECK(call) do { kdl_error* e = (call); if (e) { puts(kdl_error_message(e)); return 1; } } while (0)
int main(void) {
  kdl_context* context;
  kdl_device* host;
  kdl_array from, to;
  float x[3] = {8, 16, 32}, y[3] = {0, 0, 0};
  const int64_t size = 3;
  CHECK(kdl_context_create(&context));
  CHECK(kdl_context_register_all(context, kdl_images_steps));
  CHECK(kdl_select_device(context, "host", &host));
  CHECK(kdl_array_wrap(host, x, KDL_F32, 1, &size, NULL, "x", &from));
  CHECK(kdl_array_wrap(host, y, KDL_F32, 1, &size, NULL, "y", &to));
  CHECK(steps_halvings(context, &from, &to, 3, NULL));
  printf("%g %g %g\\n", y[0], y[1], y[2]);
  kdl_array_free(&from);
  kdl_array_free(&to);
  kdl_context_destroy(context);
}
"""}
TRIAL = r"""
set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/root
step() { echo "== $1"; }
quietly() { "$@" >/trial/words 2>&1 || { cat /trial/words; exit 1; }; }
step packages
quietly apt-get -q -y install --no-install-recommends /trial/*.deb
step tools
quietly apt-get -q -y install --no-install-recommends cmake make
step documents
cp /usr/share/doc/kernelc/README.md /trial/kernelc.md
cp /usr/share/doc/libkdl-dev/README.md /trial/libkdl.md
test -s /usr/share/man/man1/kernelc.1.gz -o -s /usr/share/man/man1/kernelc.1
test -s /usr/share/doc/kernelc/grammar/LANGUAGE.md
test -s /usr/share/doc/kernelc/grammar/DIAGNOSTICS.md
test -s /usr/share/doc/kernelc/src/targets/cluster/describing.md
test -s /usr/share/doc/kernelc/runtime/cluster/guest/boot.cpp
step cpp
cd /trial/cpp
{ printf 'cmake_minimum_required(VERSION 3.25)\nproject(app CXX)\n'; sed -n '/^```cmake/,/^```$/p' /trial/libkdl.md | grep -v '```'; } \
  > CMakeLists.txt
sed -n '/^```kdl/,/^```$/p' /trial/kernelc.md | grep -v '```' > mlp.kdl
quietly cmake -S . -B build
quietly cmake --build build
build/app
step c
cd /trial/c
cp /usr/share/doc/kernelc/samples/saxpy/* .
quietly cmake -S . -B build
quietly cmake --build build
build/caller | head -n 1
step cprogram
cd /trial/cprogram
quietly cmake -S . -B build
quietly cmake --build build
build/caller
step program
cd /trial
kernelc build cpp/mlp.kdl --emit exe -o program
./program/mlp --set M=1 --set N=1 --set K=2 --arg a=iota --arg b=iota
step gone
kernelc --version | head -n 1 | sed 's/ .*//'
files=$(dpkg -L kernelc libkdl-dev libkdl0 | grep -e kernelc -e kdl)
quietly apt-get -q -y purge kernelc libkdl-dev libkdl0
for file in $files; do test ! -e "$file" || echo "$file is left"; done
step end
"""
EXPECTED = {"packages": "", "tools": "", "documents": "", "cpp": "6 6\n", "c": "12 14 16 18 20\n",
            "cprogram": "1 2 4\n", "program": "c: f32[1, 1] = [[1]]\n", "gone": "kernelc\n", "end": ""}


def make_files(folder):
    for name, files in {"cpp": {"app.cpp": APP}, "c": {"CMakeLists.txt": C_PROJECT}, "cprogram": C_PROGRAM}.items():
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text)
    (folder / "trial.sh").write_text(TRIAL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trial", action="store_true")
    lacks = bare_root.missing() if parser.parse_args().trial else "--trial makes it"
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory(prefix="bare-") as name:
        folder = pathlib.Path(name) / "trial"
        folder.mkdir()
        packed = subprocess.run(["cpack", "--config", own / "CPackConfig.cmake", "-B", folder], cwd=own, capture_output=True, text=True,
                                timeout=600)
        checks.expect("packed", packed.returncode == 0, packed.stdout + packed.stderr)
        shutil.rmtree(folder / "_CPack_Packages")
        make_files(folder)
        bare_root.expect_steps(bare_root.run(folder), EXPECTED)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
