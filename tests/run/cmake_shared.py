#!/usr/bin/env python3
"""Tests shared libraries in a user's CMake project. They export only what their headers declare, can be
unloaded, coexist with another copy of the runtime, and refuse its objects."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from shared import checks

KERNEL = """
export kernel scale(x: in f32[N], y: out f32[N]) { spmd for i in N by 64 { y[i] = 2.0 * x[i]; } }
export program twice(x: in f32[N], y: out f32[N]) {
    let t: f32[N];
    spmd scale(x, t);
    spmd scale(t, y);
}
"""
# The source of a vendor's library with its own interface. The library contains the kernels and the runtime.
VENDOR = """
#include "inner.h"
static kdl::Context own;
extern "C" void vendor_twice(const float* x, float* y) {
  own.Register(kdl_images_inner);
  const kdl::Device host = own.Select("host?threads=2");
  inner::twice(own, own.Wrap(host, x, {3}, "x"), own.Wrap(host, y, {3}, "y"));
}
// Hands on what an application made.
extern "C" void vendor_refuses(void* context, void* queue, const void* array, void (*print)(const char*)) {
  const auto told = [&](kdl_error* error) { print(kdl_error_message(error)); kdl_error_free(error); };
  kdl_device* device = nullptr;
  kdl_event* event = nullptr;
  told(kdl_select_device(static_cast<kdl_context*>(context), "host", &device));
  told(kdl_queue_wait(static_cast<kdl_queue*>(queue)));
  const kdl::Device host = own.Select("host");
  const auto* x = static_cast<const kdl_array*>(array);
  told(kdl_copy(host.queue().get(), x, x, "", nullptr, 0, &event));
}
"""
# A C program that uses the shared library and libkdl.so, together with the vendor's library.
APP = """
#include <stdio.h>
#include "numbers.h"
void vendor_twice(const float* x, float* y);
void vendor_refuses(void* context, void* queue, const void* array, void (*print)(const char*));
static void Print(const char* text) { puts(text); }
#define CHECK(call) do { kdl_error* e = (call); if (e) { puts(kdl_error_message(e)); return 1; } } while (0)
int main(void) {
  kdl_context* context;
  kdl_device* host;
  kdl_queue* queue;
  CHECK(kdl_context_create(&context));
  CHECK(kdl_context_register_all(context, kdl_images_numbers));
  CHECK(kdl_select_device(context, "host", &host));
  CHECK(kdl_device_queue(host, 0, &queue));
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0}, z[3] = {0, 0, 0};
  const int64_t size = 3;
  kdl_array from, to;
  CHECK(kdl_array_wrap(host, x, KDL_F32, 1, &size, NULL, "x", &from));
  CHECK(kdl_array_wrap(host, y, KDL_F32, 1, &size, NULL, "y", &to));
  CHECK(numbers_twice(context, &from, &to, NULL));
  vendor_twice(x, z);
  printf("%g %g, %g %g\\n", y[0], y[2], z[0], z[2]);
  vendor_refuses(context, queue, &from, Print);
  kdl_array_free(&from);
  kdl_array_free(&to);
  kdl_context_destroy(context);
  return 0;
}
"""
LOADER = """
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
int main(int argc, char** argv) {
  size_t used = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return puts(dlerror());
    float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
    void (*twice)(const float*, float*) = (void (*)(const float*, float*))dlsym(library, "vendor_twice");
    if (turn % 100 == 0) twice(x, y);
    if (turn % 100 == 0 && y[2] != 12) return puts("wrong");
    dlclose(library);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL) return puts("stays loaded");
    if (turn == 99) used = mallinfo2().uordblks;
  }
  puts(mallinfo2().uordblks < used + 900 * 16 ? "unloaded" : "leaks");
  return argc != 2;
}
"""
# A thread-local variable keeps the library loaded after it was closed. Its global kernels are destroyed when
# the process exits, after the driver has shut down.
KEPT = """
#include <cstdio>
#include "inner.h"
struct Last { int calls = 0; ~Last() { std::printf("%d calls\\n", calls); } };
static thread_local Last last;
static inner::Kernels kernels;
extern "C" int vendor_scale(const char* device, const float* x, float* y) {
  ++last.calls;
  const kdl::Status opened = kernels.Open(device);
  return opened.ok() && kernels.scale(3, x, y).ok() ? 0 : std::puts(opened.message());
}
"""
CLOSER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return puts(dlerror());
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  int (*scale)(const char*, const float*, float*) = (int (*)(const char*, const float*, float*))dlsym(library, "vendor_scale");
  if (scale(argv[2], x, y) != 0 || y[2] != 6) return puts("wrong");
  return dlclose(library) + argc - 3;
}
"""
ALONE = """
#include <kdl/runtime.h>
#include <stdio.h>
int main(void) {
  kdl_context* context;
  kdl_device* host;
  kdl_device_facts facts = {.size = sizeof facts};
  if (kdl_context_create(&context) || kdl_select_device(context, "host?threads=2", &host)) return 1;
  if (kdl_device_get_facts(host, &facts)) return 1;
  printf("%d cores\\n", (int)facts.cores);
  kdl_context_destroy(context);
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C CXX)
find_package(kdl REQUIRED)
kdl_add_library(numbers numbers.kdl SHARED OPTIONS --target host)
kdl_add_library(inner numbers.kdl MODULE inner OPTIONS --target host)
kdl_add_library(called log.kdl SHARED OPTIONS --target host)
add_executable(caller caller.cpp)
target_link_libraries(caller called)
add_library(vendor SHARED vendor.cpp)
kdl_export_only(vendor vendor_*)
target_link_libraries(vendor PRIVATE inner)
add_executable(app app.c)
target_link_libraries(app numbers vendor)
add_executable(loader loader.c)
target_link_libraries(loader ${CMAKE_DL_LIBS})
kdl_add_library(inner_of_kept numbers.kdl MODULE inner OPTIONS --target host --target opencl)
add_library(kept SHARED kept.cpp)
kdl_export_only(kept vendor_*)
target_link_libraries(kept PRIVATE inner_of_kept)
add_executable(closer closer.c)
target_link_libraries(closer ${CMAKE_DL_LIBS})
"""
# A caller of a library whose namespace has the same name as a C function.
CALLER = """
#include <cstdio>
#include "log.h"
int main() {
  kdl::Context context;
  context.Register(kdl_images_log);
  const kdl::Device host = context.Select("host");
  const float x[2] = {1, 2};
  float y[2] = {0, 0};
  log_::twice(context, context.Wrap(host, x, {2}), context.Wrap(host, y, {2}));
  std::printf("%g %g\\n", y[0], y[1]);
}
"""
FILES = {"log.kdl": KERNEL, "caller.cpp": CALLER, "numbers.kdl": KERNEL, "vendor.cpp": VENDOR, "app.c": APP, "loader.c": LOADER, "kept.cpp": KEPT, "closer.c": CLOSER, "CMakeLists.txt": PROJECT}
FOREIGN = (" belongs to another copy of the runtime in this process; a library with its own copy accepts only handles that it "
           "created")
PRINTED = f"""4 12, 4 12
kdl_select_device: context{FOREIGN}
kdl_queue_wait: queue{FOREIGN}
a tensor{FOREIGN}
"""
SHOWN = {
    "numbers": {"kdl_images_numbers_", "kdl_module_images", "numbers_open", "numbers_close", "numbers_scale", "numbers_scale_async",
                "numbers_scale_bind", "numbers_scale_call", "numbers_scale_unbind", "numbers_twice",
                "numbers::scale", "numbers::scale_launch", "numbers::twice"},
    "called": {"kdl_images_log_", "kdl_module_images", "log_open", "log_close", "log_scale", "log_scale_async", "log_scale_bind", "log_scale_call",
               "log_scale_unbind", "log_twice", "log_::scale", "log_::scale_launch", "log_::twice"},
    "vendor": {"vendor_twice", "vendor_refuses"},
    "kept": {"vendor_scale"},
}


def call(*words, folder):
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=300)


def shown(library):
    """Returns the names that a library exports, without parameters and hashes. The version, which is also a
    symbol, is omitted."""
    lines = call("nm", "-DC", "--defined-only", library, folder=".").stdout.splitlines()
    names = (re.sub(r"(\[abi:\w+\])?\(.*|@@.*", "", line.split(maxsplit=2)[2]) for line in lines if line.split()[1] != "A")
    return {re.sub(r"^(kdl_images_\w+_)[0-9a-f]{8}$", r"\1", name) for name in names}


def main():
    own = pathlib.Path(shutil.which("kernelc")).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in FILES.items():
            (root / name).write_text(text)
        for what, words in {
                "installed": ["cmake", "--install", own, "--prefix", root / "kdl"],
                "configured": ["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={root / 'kdl'}",
                               f"-DKDL_KERNELC={shutil.which('kernelc')}"],
                "built": ["cmake", "--build", "build"]}.items():
            done = call(*words, folder=root)
            checks.expect(what, done.returncode == 0, done.stdout + done.stderr)
            if done.returncode != 0:
                return checks.end()
        for name, expected in SHOWN.items():
            found = shown(root / f"build/lib{name}.so")
            checks.expect(f"{name} shows what it declares", found == expected, str(sorted(found ^ expected)))
        versions = call("objdump", "-T", root / "build/libnumbers.so", folder=root).stdout
        checks.expect("uses the version", re.search(r"\(?KDL_0\)? +kdl_run_kernel$", versions, re.MULTILINE), versions)
        ran = call("build/app", folder=root)
        checks.expect("two runtimes", ran.stdout == PRINTED, ran.stdout + ran.stderr)
        ran = call("build/caller", folder=root)
        checks.expect("a module called log", ran.stdout == "4 8\n", ran.stdout + ran.stderr)
        ran = call("build/loader", root / "build/libvendor.so", folder=root)
        checks.expect("loaded and unloaded", ran.stdout == "unloaded\n", ran.stdout + ran.stderr)
        for device in ("host", "opencl"):
            ran = call("build/closer", root / "build/libkept.so", device, folder=root)
            checks.expect(f"closed on {device} before its end", ran.returncode == 0 and ran.stdout == "1 calls\n", f"{ran}")
        # If the runtime destroyed objects at exit, the order would be unknown, and a program's own
        # destructors may still need these objects.
        undefined = call("nm", "-u", own / "lib/libkdl_runtime.a", folder=root).stdout
        checks.expect("the runtime destroys nothing at the end", "__cxa_atexit" not in undefined and "_Znwm" in undefined, undefined)
        flags = call("pkg-config", "--cflags", "--libs", root / "kdl/lib/pkgconfig/kdl.pc", folder=root).stdout.split()
        (root / "alone.c").write_text(ALONE)
        built = call("gcc", "-std=c11", "alone.c", "-o", "alone", *flags, "-Wl,-rpath," + str(root / "kdl/lib"), folder=root)
        checks.expect("built by pkg-config's flags", built.returncode == 0, built.stderr)
        if built.returncode == 0:
            ran = call("./alone", folder=root)
            checks.expect("runs on libkdl.so", ran.stdout == "2 cores\n", ran.stdout + ran.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
