#!/usr/bin/env bash
# Runs on a GPU of NVIDIA's what tests otherwise interpret, and writes build-gpu/report.md: tests/gpu/run.sh [--built FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "${1:-}" = --built ]; then
  built=$(realpath "$2")
else
  export PATH=/usr/bin:$PATH
  tests/install.sh tests
  cmake --preset dev >/dev/null
  cmake --build --preset dev --target kernelc gpu_conformance_cuda
  built=$PWD/build-dev
fi
export PATH=$built/bin:$PATH KDL_CUDA=1
exec python3 tests/gpu/report.py
