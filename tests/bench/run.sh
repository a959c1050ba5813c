#!/usr/bin/env bash
# Installs what is missing, builds, and compares the kernels with other libraries: prints a table.
# `tests/bench/run.sh --help` lists the options.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
# Debian's own programs before any other.
export PATH=/usr/bin:$PATH
"$root/tests/install.sh" bench
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S "$root" --preset release -DKDL_BENCH=ON &&
       cmake --build "$root/build" --target kernelc bench; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
"$root/build/bin/bench" "$@"
