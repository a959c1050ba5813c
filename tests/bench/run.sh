#!/usr/bin/env bash
# Installs missing packages, builds, compares the kernels with other libraries, and prints a table. A second
# table compares with PyTorch and IREE if the caller's python3 can import them.
# `tests/bench/run.sh --help` lists the options. `--target SPEC`, as the first option, compiles the kernels
# for a target other than the default, `host`: --target 'host?isa=x86-64-v3'.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v python3 || true)  # the caller's, which may have PyTorch and IREE
# Use Debian's programs first.
export PATH=/usr/bin:$PATH
target=host
if [ "${1:-}" = --target ] && [ $# -ge 2 ]; then
  target=$2
  shift 2
fi
"$root/tests/install.sh" bench
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S "$root" --preset release -DKDL_BENCH=ON "-DKDL_BENCH_TARGET=$target" &&
       cmake --build "$root/build" --target kernelc bench kdl_shared; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
"$root/build/bin/bench" "$@"
if [ -n "$python" ] && "$python" -c 'import numpy, torch' 2>/dev/null; then
  "$python" "$root/tests/bench/frameworks/compare.py" --target "$target" "$@"
fi
