#!/usr/bin/env python3
"""A user's CMake project over the installed package: libraries from files of one name, for two architectures of hosts, link and
run; one without code for this processor is an error that says so."""

import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

from shared import checks

KERNEL = """
export kernel scale(x: in f32[N], y: out f32[N]) {{ spmd for i in N by 64 {{ y[i] = {factor} * x[i]; }} }}
"""
MAIN = """
#include <cstdio>
#include <vector>
#include "numbers.h"
#include "more_numbers.h"
int main() {
  kdl::Context context;
  context.Register(kdl_images_numbers);
  context.Register(kdl_images_more_numbers);
  const kdl::Device host = context.Select("host");
  std::vector<float> x = {1, 2, 3}, y(3), z(3);
  const kdl::Tensor of_x = context.Wrap(host, x.data(), {3}, "x");
  numbers::scale(host.queue(), KDL_CORES_AUTO, of_x, context.Wrap(host, y.data(), {3}, "y"));
  more_numbers::scale(host.queue(), KDL_CORES_AUTO, of_x, context.Wrap(host, z.data(), {3}, "z"));
  std::printf("%g %g %g %g\\n", y[0], y[2], z[0], z[2]);
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app CXX)
find_package(kdl REQUIRED)
kdl_add_library(numbers numbers.kdl OPTIONS {options})
kdl_add_library(more elsewhere/numbers.kdl MODULE more_numbers OPTIONS {options})
add_executable(app app.cpp)
target_link_libraries(app numbers more)
"""
OTHER = "armv8-a" if platform.machine() == "x86_64" else "x86-64-v3"


def call(*words, folder):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)


def build(root, package, options):
    """What the build of a project with these options for kernels says."""
    (root / "elsewhere").mkdir(parents=True)
    for name, text in (("numbers.kdl", KERNEL.format(factor="2.0")), ("elsewhere/numbers.kdl", KERNEL.format(factor="3.0")), ("app.cpp", MAIN), ("CMakeLists.txt", PROJECT.format(options=options))):
        (root / name).write_text(text)
    configured = call("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={package}", f"-DKDL_KERNELC={shutil.which('kernelc')}",
                      folder=root)
    checks.expect("configured", configured.returncode == 0, configured.stdout + configured.stderr)
    return call("cmake", "--build", "build", folder=root)


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        installed = call("cmake", "--install", own, "--prefix", root / "kdl", folder=root)
        checks.expect("installed", installed.returncode == 0, installed.stdout + installed.stderr)
        built = build(root / "both", root / "kdl", f'--target host --target "host?isa={OTHER}"')
        checks.expect("built for two architectures", built.returncode == 0, built.stdout + built.stderr)
        if built.returncode == 0:
            ran = call("build/app", folder=root / "both")
            checks.expect("runs", ran.stdout == "2 6 3 9\n", ran.stdout + ran.stderr)
        built = build(root / "other", root / "kdl", f'--target "host?isa={OTHER}"')
        text = f"make no code for {platform.machine()}"
        checks.expect("says what is missing", built.returncode != 0 and text in built.stdout + built.stderr,
                      built.stdout + built.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
