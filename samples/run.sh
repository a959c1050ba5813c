#!/usr/bin/env bash
# Installs missing packages, builds kernelc, then compiles and runs every sample with the commands of
# its README, and compares the output with the README. Prints the accuracy of the digits sample last.
set -euo pipefail
cd "$(dirname "$0")/.."
# Use Debian's Python, which has the packages of install.sh.
export PATH=/usr/bin:$PATH

tests/install.sh samples
export PATH=$PWD/build/bin:/usr/bin:$PATH  # Debian's Python first

start=$SECONDS
cmake --preset release >/dev/null
cmake --build --preset release
echo "built build/bin/kernelc in $((SECONDS - start)) s"

for sample in saxpy matmul softmax matmul_residual down_proj moe schedule two_devices device_plugin ranks gallery digits; do
  echo
  echo "samples/$sample"
  python3 tests/readme.py "samples/$sample/README.md"
done
