#!/usr/bin/env bash
# Installs what is missing, builds kernelc, then compiles and runs every sample: the commands of its
# README, whose output must be the one printed there. Ends with the digits' accuracy.
set -euo pipefail
cd "$(dirname "$0")/.."
# Debian's own Python, which has the packages that install.sh names, before any other.
export PATH=/usr/bin:$PATH

tests/install.sh samples
export PATH=$PWD/build/bin:/usr/bin:$PATH  # the Python of the packages, not another one

start=$SECONDS
cmake --preset release >/dev/null
cmake --build --preset release
echo "built build/bin/kernelc in $((SECONDS - start)) s"

for sample in saxpy matmul softmax matmul_residual down_proj moe schedule two_devices device_plugin digits; do
  echo
  echo "samples/$sample"
  python3 tests/readme.py "samples/$sample/README.md"
done
