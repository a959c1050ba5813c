#!/usr/bin/env python3
"""Tests a vendor's library and an application with its own kernels, built with different versions of kernelc.
A shared library that contains its own runtime must work with any two versions. A static library must work if
the ABI is the same; otherwise an error must name both versions.

The other version is a copy of this version, installed, with a different number, different class layouts in
its headers and a different hash of the ABI. A release that also changes abi.def differs from the previous
release in these parts of compiler, runtime and headers."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

KERNEL = "export kernel scale(x: in f32[N], y: out f32[N]) {{ spmd for i in N by 64 {{ y[i] = {factor} * x[i]; }} }}\n"
PROGRAM = "export program twice(x: in f32[N], y: out f32[N]) { let t: f32[N]; spmd scale(x, t); spmd scale(t, y); }\n"
VENDOR = """
#include <cstdio>
#include "inner.h"
extern "C" void vendor_nine_times(const float* x, float* y, char* told, int bytes) {
  try {
    kdl::Context context;
    context.Register(kdl_images_inner);
    const kdl::Device host = context.Select("host?threads=2");
    inner::twice(context, context.Wrap(host, x, {2}, "x"), context.Wrap(host, y, {2}, "y"));
  } catch (const kdl::Error& error) {
    std::snprintf(told, bytes, "%s\\n", error.what());
  }
}
"""
APP = """
#include <cstdio>
#include "numbers.h"
extern "C" void vendor_nine_times(const float* x, float* y, char* told, int bytes);
int main() {
  kdl::Context context;
  context.Register(kdl_images_numbers);
  const kdl::Device host = context.Select("host");
  const float x[2] = {1, 2};
  float y[2] = {0, 0}, z[2] = {0, 0};
  char told[1000] = "";
  vendor_nine_times(x, z, told, sizeof told);
  numbers::twice(context, context.Wrap(host, x, {2}, "x"), context.Wrap(host, y, {2}, "y"));
  std::printf("%s%g %g, %g %g\\n", told, y[0], y[1], z[0], z[1]);
}
"""
VENDOR_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(vendor CXX)
find_package(kdl REQUIRED)
kdl_add_library(inner inner.kdl OPTIONS --target host)
add_library(vendor {kind} vendor.cpp)
target_link_libraries(vendor PRIVATE inner)
install(TARGETS vendor inner EXPORT vendor)
install(EXPORT vendor FILE vendor-config.cmake DESTINATION lib/cmake/vendor)
"""
APP_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app CXX)
find_package(kdl REQUIRED)
find_package(vendor REQUIRED)
kdl_add_library(numbers numbers.kdl OPTIONS --target host)
add_executable(app app.cpp)
target_link_libraries(app numbers vendor)
"""
RIGHT = "4 8, 9 18\n"


def call(*words, folder):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)


def replace(path, changes):
    """Replaces texts in a file, and returns how often they occurred."""
    data = path.read_bytes()
    count = 0
    for old, new in changes:
        count += data.count(old)
        data = data.replace(old, new)
    path.write_bytes(data)
    return count


def own_version(package):
    """Returns (version, ABI hash) as the headers state them."""
    numbers = re.findall(r"#define KDL_VERSION_[A-Z]+ (\d+)", (package / "include/kdl/version.h").read_text())
    stated = re.search(r"KDL_ABI_HASH UINT64_C\(0x(\w+)\)", (package / "include/kdl/kernel_abi.h").read_text())
    return ".".join(numbers), int(stated[1], 16)


def make_other(package, other, abi_hash):
    """Makes a copy of the package as version 0.9 with this hash."""
    shutil.copytree(package, other, symlinks=True)
    version, own_hash = own_version(package)
    changes = [(f"kernelc {version}".encode(), b"kernelc 0.9.0"), (own_hash.to_bytes(8, "little"), abi_hash.to_bytes(8, "little"))]
    for name in ("bin/kernelc", "lib/libkdl_runtime.a"):
        for change in changes:
            checks.expect(f"{name} has {change[0]}", replace(other / name, [change]) > 0)
    headers = other / "include/kdl"
    text = [(b"KDL_VERSION_MAJOR " + version.split(".")[0].encode(), b"KDL_VERSION_MAJOR 0"),
            (b"KDL_VERSION_MINOR " + version.split(".")[1].encode(), b"KDL_VERSION_MINOR 9")]
    checks.expect("version.h has a version", replace(headers / "version.h", text) == 2)
    layouts = {"runtime.hpp": "class Queue", "device.hpp": "class Device", "tensor.hpp": "class Tensor"}
    for name, beginning in layouts.items():
        line = f"{beginning} {{\n".encode()
        checks.expect(f"{name} has a {beginning}", replace(headers / name, [(line, line + b"  std::int64_t more_[3] = {};\n")]) == 1)


def build(folder, files, packages, kernelc):
    """Configures and builds a project, and returns whether that worked; it is installed in `installed`."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    for words in (["-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={';'.join(map(str, packages))}", f"-DKDL_KERNELC={kernelc}",
                   f"-DCMAKE_INSTALL_PREFIX={folder / 'installed'}"], ["--build", "build"]):
        done = call("cmake", *words, folder=folder)
        checks.expect(f"{folder.name}: cmake {words[0]}", done.returncode == 0, done.stdout + done.stderr)
    return done.returncode == 0


def check(root, what, kind, package, other, expected):
    vendor = {"inner.kdl": KERNEL.format(factor="3.0") + PROGRAM, "vendor.cpp": VENDOR,
              "CMakeLists.txt": VENDOR_PROJECT.format(kind=kind)}
    app = {"numbers.kdl": KERNEL.format(factor="2.0") + PROGRAM, "app.cpp": APP, "CMakeLists.txt": APP_PROJECT}
    if not build(root / f"{what}_vendor", vendor, [other], other / "bin/kernelc"):
        return
    installed = call("cmake", "--install", "build", folder=root / f"{what}_vendor")
    checks.expect(f"{what}: installed", installed.returncode == 0, installed.stderr)
    if build(root / what, app, [package, root / f"{what}_vendor/installed"], package / "bin/kernelc"):
        ran = call("build/app", folder=root / what)
        checks.expect(f"{what}: runs", ran.stdout == expected and ran.returncode == 0, f"{ran.returncode}: {ran.stdout}{ran.stderr}")


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        package = root / "kdl"
        installed = call("cmake", "--install", own, "--prefix", package, folder=root)
        checks.expect("installed", installed.returncode == 0, installed.stdout + installed.stderr)
        version, own_hash = own_version(package)
        other_hash = own_hash ^ 0x123456789
        make_other(package, root / "same_abi", own_hash)
        make_other(package, root / "other_abi", other_hash)
        refused = (f"module 'inner' was compiled by kernelc 0.9.0 for ABI 0.{other_hash:x}, but the runtime of kernelc "
                   f"{version} has ABI 0.{own_hash:x}; compile it with the kernelc {version} that belongs to this runtime, or use it "
                   "as a shared library that contains its own runtime\n")
        check(root, "shared", "SHARED", package, root / "other_abi", RIGHT)
        check(root, "static", "STATIC", package, root / "same_abi", RIGHT)
        check(root, "refused", "STATIC", package, root / "other_abi", refused + "4 8, 0 0\n")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
