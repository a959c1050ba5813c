#!/usr/bin/env python3
"""Tests a user's CMake project with the installed package. Libraries from files of the same name, for two
host architectures, can be linked and run. A library without code for this processor gives an error that says
so. Projects that are only in C work, too, and so does a project in C++17 without exceptions. A library that
contains kernels can be installed and found."""

import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

SOURCES = pathlib.Path(__file__).resolve().parents[2]
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
kdl_add_library(version numbers.v2.kdl OPTIONS {options})
add_executable(app app.cpp)
target_link_libraries(app numbers more version)
"""
PROGRAM = KERNEL.format(factor="2.0") + """
export program twice(x: in f32[N], y: out f32[N]) { let t: f32[N]; spmd scale(x, t); spmd scale(t, y); }
"""
C_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(kdl REQUIRED)
kdl_add_library(numbers numbers.kdl {kind} OPTIONS --target host)
add_executable(app app.c)
target_link_libraries(app numbers)
"""
PARTS = """
cmake_minimum_required(VERSION 3.25)
project(all C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_subdirectory(other)
add_subdirectory(own)
"""
C_CALL = """
#include <stdio.h>
#include "numbers.h"
#define CHECK(call) do { kdl_error* e = (call); if (e) { puts(kdl_error_message(e)); return 1; } } while (0)
int main(void) {
  numbers_kernels* kernels;
  kdl_context* context;
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  CHECK(kdl_context_create(&context));
  CHECK(numbers_open(context, "host", &kernels));
  CHECK(numbers_scale(kernels, 3, x, y));
  numbers_close(kernels);
"""
C_KERNELS = C_CALL + """
  printf("%g %g\\n", y[0], y[2]);
  kdl_context_destroy(context);
}
"""
C_PROGRAMS = C_CALL + """
  kdl_device* host;
  kdl_array from, to;
  const int64_t size = 3;
  CHECK(kdl_select_device(context, "host", &host));
  CHECK(kdl_array_wrap(host, y, KDL_F32, 1, &size, NULL, "x", &from));
  CHECK(kdl_array_wrap(host, x, KDL_F32, 1, &size, NULL, "y", &to));
  CHECK(numbers_twice(context, &from, &to, NULL));
  printf("%g %g\\n", x[0], x[2]);
  kdl_array_free(&from);
  kdl_array_free(&to);
  kdl_context_destroy(context);
}
"""
# These results change if the host's compiler fuses or reorders operations: (1 + 2^-12)^2 - (1 + 2^-11) is 0
# if the product is rounded first.
EXACT = {"numbers.kdl": """
export program mix(x: inout f32[N], a: f32) {
    let p = x[0] * a;
    x[1] = p + x[1];
}
""", "app.c": """
#include <stdio.h>
#include "numbers.h"
int main(void) {
  float x[2] = {1.000244140625f, -1.00048828125f};
  const int64_t size = 2;
  kdl_context* context;
  kdl_device* host;
  kdl_array array;
  if (kdl_context_create(&context) || kdl_select_device(context, "host", &host) ||
      kdl_array_wrap(host, x, KDL_F32, 1, &size, NULL, "x", &array) || numbers_mix(context, &array, x[0], NULL)) return 1;
  printf("%g\\n", x[1]);
  kdl_array_free(&array);
  kdl_context_destroy(context);
}
"""}
EXACT_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app {languages})
add_compile_options(-O2 -march=x86-64-v3 -ffast-math)
find_package(kdl REQUIRED)
kdl_add_library(numbers numbers.kdl)
add_executable(app app.c)
target_link_libraries(app numbers)
"""
CPP_17 = """
#include <cstdio>
#include "numbers.h"
#if defined(__cpp_exceptions) || __cplusplus != 201703L
#error
#endif
int main() {
  numbers::Kernels kernels;
  const float x[2] = {1, 2};
  float y[2] = {0, 0};
  if (!kernels.Open("host").ok() || !kernels.scale(2, x, y).ok()) return 1;
  std::printf("%g %g\\n", y[0], y[1]);
}
"""
CPP_17_PROJECT = C_PROJECT.replace("app C)", "app CXX)").replace("app.c)", "app.cpp)\nset_target_properties(app PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)\ntarget_compile_options(app PRIVATE -fno-exceptions)")
# A static library, as installed for others, and a project that finds it. Warnings in their own sources are
# errors.
VENDOR_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(vendor {language})
find_package(kdl REQUIRED)
add_compile_options(-Wall -Wextra -pedantic -Wconversion $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> -Werror)
kdl_add_library(numbers numbers.kdl)
add_library(vendor STATIC vendor.{ending})
target_link_libraries(vendor PRIVATE numbers)
install(TARGETS vendor numbers EXPORT vendor INCLUDES DESTINATION include)
install(EXPORT vendor FILE vendor-config.cmake DESTINATION lib/cmake/vendor)
"""
VENDOR = """
#include "numbers.h"
#ifdef __cplusplus
extern "C"
#endif
int vendor_scale(const float* x, float* y);
int vendor_scale(const float* x, float* y) {
  numbers_kernels* kernels;
  kdl_error* error = numbers_open(NULL, "host", &kernels);
  if (error == NULL) {
    error = numbers_scale(kernels, 2, x, y);
    numbers_close(kernels);
  }
  kdl_error_free(error);
  return error != NULL;
}
"""
FINDER_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(kdl REQUIRED)
find_package(vendor REQUIRED)
add_executable(app app.c)
target_link_libraries(app vendor)
"""
FINDER = """
#include <stdio.h>
int vendor_scale(const float* x, float* y);
int main(void) {
  const float x[2] = {1, 2};
  float y[2];
  if (vendor_scale(x, y) != 0) return 1;
  printf("%g %g\\n", y[0], y[1]);
}
"""
# The static libraries of two vendors in one application. Their files, targets and kernels have the same
# names.
OWN_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project({vendor} C)
find_package(kdl REQUIRED)
kdl_add_library(numbers numbers.kdl {options})
add_library({vendor} STATIC {vendor}.c)
target_link_libraries({vendor} PRIVATE numbers)
install(TARGETS {vendor} numbers EXPORT {vendor} ARCHIVE DESTINATION lib/{vendor})
install(EXPORT {vendor} NAMESPACE {vendor}:: FILE {vendor}-config.cmake DESTINATION lib/cmake/{vendor})
"""
SHARED_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project({vendor} C)
find_package(kdl REQUIRED)
set(CMAKE_INSTALL_RPATH "$ORIGIN;${{CMAKE_PREFIX_PATH}}/lib")
kdl_add_library({name} numbers.kdl SHARED)
add_library({vendor} SHARED {vendor}.c)
target_link_libraries({vendor} PRIVATE {name})
install(TARGETS {vendor} {name} EXPORT {vendor} LIBRARY DESTINATION lib/{vendor})
install(EXPORT {vendor} NAMESPACE {vendor}:: FILE {vendor}-config.cmake DESTINATION lib/cmake/{vendor})
"""
OF_BOTH = {"CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(kdl REQUIRED)
find_package(acme REQUIRED)
find_package(bolt REQUIRED)
add_executable(app app.c)
target_link_libraries(app acme::acme bolt::bolt)
""", "app.c": """
#include <stdio.h>
int acme_scale(const float* x, float* y);
int bolt_scale(const float* x, float* y);
int main(void) {
  const float x[2] = {1, 2};
  float y[2], z[2];
  if (acme_scale(x, y) != 0 || bolt_scale(x, z) != 0) return 1;
  printf("%g %g\\n", y[1], z[1]);
}
"""}
OTHER = "armv8-a" if platform.machine() == "x86_64" else "x86-64-v3"


def call(*words, folder):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)


def build(root, package, files, *options):
    """Configures a project with the options, builds it and returns the output."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    configured = call("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={package}", f"-DKDL_KERNELC={shutil.which('kernelc')}",
                      *options, folder=root)
    checks.expect("configured", configured.returncode == 0, configured.stdout + configured.stderr)
    return call("cmake", "--build", "build", folder=root)


def of_two(options):
    factors = {"numbers.kdl": "2.0", "elsewhere/numbers.kdl": "3.0", "numbers.v2.kdl": "4.0"}
    return {**{name: KERNEL.format(factor=factor) for name, factor in factors.items()}, "app.cpp": MAIN,
            "CMakeLists.txt": PROJECT.format(options=options)}


def check_runs(what, root, package, files, expected):
    built = build(root, package, files)
    checks.expect(f"{what}: built", built.returncode == 0, built.stdout + built.stderr)
    if built.returncode == 0:
        ran = call("build/app", folder=root)
        checks.expect(f"{what}: runs", ran.stdout == expected, ran.stdout + ran.stderr)


def check_one_name(root, package):
    for name, text in (of_two("--target host") | {"CMakeLists.txt": PROJECT.format(options="").replace("MODULE more_numbers", "")}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    configured = call("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={package}", f"-DKDL_KERNELC={shutil.which('kernelc')}",
                      folder=root)
    checks.expect("libraries of one module are not linked together",
                  configured.returncode != 0 and "KDL_MODULE_numbers" in configured.stderr, configured.stdout + configured.stderr)


def check_thin(root, package):
    kernels = {"numbers.kdl": KERNEL.format(factor="2.0"), "app.c": C_KERNELS}
    programs = {"numbers.kdl": PROGRAM, "app.c": C_PROGRAMS}
    for kind in ("STATIC", "SHARED"):
        project = {"CMakeLists.txt": C_PROJECT.format(kind=kind)}
        check_runs(f"kernels in C, {kind}", root / f"kernels{kind}", package, kernels | project, "2 6\n")
        check_runs(f"programs in C, {kind}", root / f"programs{kind}", package, programs | project, "8 24\n")
        cache = (root / f"programs{kind}/build/CMakeCache.txt").read_text()
        checks.expect("the project is C alone", "CMAKE_CXX_COMPILER:" not in cache, cache)
    parts = {"CMakeLists.txt": PARTS, "other/CMakeLists.txt": "project(other CXX)\n",
             **{f"own/{name}": text for name, text in (programs | {"CMakeLists.txt": C_PROJECT.format(kind="SHARED")}).items()}}
    check_runs("C beside a part in C++", root / "parts", package, parts, "8 24\n")
    project = {"CMakeLists.txt": C_PROJECT.format(kind="SHARED")}
    built = build(root / "none", package, programs | project, "-DKDL_CXX=")
    checks.expect("C takes no compiler of C++", built.returncode == 0, built.stdout + built.stderr)
    for languages in ("C", "C CXX") if platform.machine() == "x86_64" else ():
        project = {"CMakeLists.txt": EXACT_PROJECT.format(languages=languages)}
        check_runs(f"programs are exact, {languages}", root / f"exact{len(languages)}", package, EXACT | project, "0\n")
    check_runs("C++17 without exceptions", root / "cpp17", package,
               {"numbers.kdl": PROGRAM, "app.cpp": CPP_17, "CMakeLists.txt": CPP_17_PROJECT.format(kind="STATIC")}, "2 4\n")


def check_installed_library(root, package):
    for language, ending in (("C", "c"), ("CXX", "cpp")):
        own, prefix = root / f"vendor{ending}", root / f"prefix{ending}"
        project = VENDOR_PROJECT.format(language=language, ending=ending)
        built = build(own, package, {"numbers.kdl": PROGRAM, f"vendor.{ending}": VENDOR, "CMakeLists.txt": project})
        installed = call("cmake", "--install", "build", "--prefix", prefix, folder=own)
        checks.expect(f"a library in {language}: built and installed", built.returncode == installed.returncode == 0,
                      built.stdout + built.stderr + installed.stderr)
        shutil.rmtree(own)  # from here on, only the installed files are needed
        check_runs(f"a library in {language}, found", root / f"finder{ending}", f"{package};{prefix}",
                   {"app.c": FINDER, "CMakeLists.txt": FINDER_PROJECT}, "2 4\n")


def check_two_vendors(root, package):
    """Checks that neither vendor gets the other's functions. The linker reports duplicates; with different
    module names, everything works."""
    for module, expected in (("numbers", None), ("more", "4 6\n")):
        prefix = root / f"vendors_{module}"
        for vendor, factor, name in (("acme", "2.0", "numbers"), ("bolt", "3.0", module)):
            own = root / f"{vendor}_{module}"
            source = VENDOR.replace("vendor_scale", f"{vendor}_scale").replace("numbers", name)
            options = "" if name == "numbers" else f"MODULE {name}"
            built = build(own, package, {"numbers.kdl": KERNEL.format(factor=factor), f"{vendor}.c": source,
                                         "CMakeLists.txt": OWN_PROJECT.format(vendor=vendor, options=options)})
            installed = call("cmake", "--install", "build", "--prefix", prefix, folder=own)
            checks.expect(f"{vendor} with {name}: installed", built.returncode == installed.returncode == 0,
                          built.stdout + built.stderr + installed.stderr)
        if expected is not None:
            check_runs("two vendors", root / f"both_{module}", f"{package};{prefix}", OF_BOTH, expected)
            continue
        built = build(root / f"both_{module}", f"{package};{prefix}", OF_BOTH)
        said = built.stdout + built.stderr
        checks.expect("two vendors of one module", built.returncode != 0 and "multiple definition of `numbers_scale'" in said, said)


def check_two_shared(root, package):
    """Checks two vendors' shared libraries with functions of the same name. A library of each vendor uses
    them, and must get its own vendor's functions. If the libraries themselves have the same name, the linker
    finds only one of them, and reports what is missing in it."""
    for names, expected in ((("numbers_a", "numbers_b"), "4 6\n"), (("numbers", "numbers"), r"undefined reference to `numbers_\w+@(acme|bolt)_numbers'")):
        prefix = root / f"shared_{names[0]}"
        for vendor, factor, name in zip(("acme", "bolt"), ("2.0", "3.0"), names):
            own = root / f"{vendor}_{name}"
            project = SHARED_PROJECT.format(vendor=vendor, name=name)
            built = build(own, package, {"numbers.kdl": KERNEL.format(factor=factor), "CMakeLists.txt": project,
                                         f"{vendor}.c": VENDOR.replace("vendor_scale", f"{vendor}_scale")})
            installed = call("cmake", "--install", "build", "--prefix", prefix, folder=own)
            checks.expect(f"{vendor} with {name}: installed", built.returncode == installed.returncode == 0,
                          built.stdout + built.stderr + installed.stderr)
        app = root / f"of_{names[0]}"
        built = build(app, f"{package};{prefix}", OF_BOTH)
        said = built.stdout + built.stderr
        if built.returncode == 0:
            ran = call("build/app", folder=app)
            said = ran.stdout + ran.stderr
        checks.expect(f"two vendors' shared {names[0]}", re.search(expected, said), said)


def check_uninstall(package, own):
    """Does what the uninstall target does, but with a list of the files of this installation. The list in the
    build folder describes that folder's last installation."""
    files = [path for path in package.rglob("*") if not path.is_dir() or path.is_symlink()]
    others = package / "lib/other.txt"
    others.write_text("stays")
    (package / "manifest.txt").write_text("\n".join(map(str, files)))
    removed = call("cmake", f"-DMANIFEST={package}/manifest.txt", "-P", SOURCES / "src/uninstall.cmake", folder=package)
    left = sorted(package.rglob("*"))
    checks.expect("uninstalled", removed.returncode == 0 and left == [others.parent, others], f"{left}\n{removed.stdout}{removed.stderr}")
    again = call("cmake", f"-DMANIFEST={package}/manifest.txt", "-P", SOURCES / "src/uninstall.cmake", folder=package)
    checks.expect("nothing is left to uninstall", "nothing was installed from" in again.stderr, again.stderr)
    known = call("cmake", "--build", own, "--target", "help", folder=package).stdout
    checks.expect("uninstall is a target", re.search(r"\buninstall\b", known), known)


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        installed = call("cmake", "--install", own, "--prefix", root / "kdl", folder=root)
        checks.expect("installed", installed.returncode == 0, installed.stdout + installed.stderr)
        both = of_two(f'--target host --target "host?isa={OTHER}"')
        check_runs("two architectures", root / "both", root / "kdl", both, "2 6 3 9\n")
        built = build(root / "other", root / "kdl", of_two(f'--target "host?isa={OTHER}"'))
        text = f"generate no code for {platform.machine()}"
        checks.expect("says what is missing", built.returncode != 0 and text in built.stdout + built.stderr,
                      built.stdout + built.stderr)
        check_one_name(root / "one_name", root / "kdl")
        check_thin(root, root / "kdl")
        check_installed_library(root, root / "kdl")
        check_two_vendors(root, root / "kdl")
        check_two_shared(root, root / "kdl")
        check_uninstall(root / "kdl", own)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
