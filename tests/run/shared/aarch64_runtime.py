"""Builds the runtime for aarch64, and provides the emulator that runs programs with it."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOLS = ["aarch64-linux-gnu-g++", "qemu-aarch64"]
EMULATOR = [TOOLS[1], "-L", "/usr/aarch64-linux-gnu"]


def call(*words, folder, limit=300):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=limit)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")


def build_runtime(folder):
    """Builds runtime/lib/libkdl_runtime.a in the folder."""
    call("cmake", "-S", ROOT, "-B", "runtime", "-G", "Ninja", "-DKDL_RUNTIME_ONLY=ON", "-DCMAKE_SYSTEM_NAME=Linux",
         "-DCMAKE_SYSTEM_PROCESSOR=aarch64", f"-DCMAKE_CXX_COMPILER={TOOLS[0]}", f"-DCMAKE_C_COMPILER={TOOLS[0][:-3]}gcc",
         "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1", folder=folder)
    call("cmake", "--build", "runtime", "--target", "kdl_runtime", folder=folder, limit=1200)
