#!/usr/bin/env bash
# Fuzzes source files and KIR files with libFuzzer and sanitizers, and tests random kernels, all at the same
# time, for a minute each. `--long` takes an hour, and `--seconds N` takes N seconds. Inputs that fail are
# kept in build-asan/found.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=60
case "${1:-}" in
  --long) seconds=3600 ;;
  --seconds) seconds=$2 ;;
  "") ;;
  *) echo "usage: $0 [--long | --seconds N]" >&2; exit 2 ;;
esac

export PATH=/usr/bin:$PATH  # use Debian's Python first
tests/install.sh tests
cmake --preset asan
cmake --build --preset asan --target fuzz_source fuzz_kir
cmake --preset tests
cmake --build --preset tests --target kernelc

found=$PWD/build-asan/found
tests/fuzz/texts.py source --seconds "$seconds" &
source=$!
tests/fuzz/texts.py kir --seconds "$seconds" &
kir=$!
failed=0
PATH=$PWD/build-tests/bin:$PATH tests/fuzz/programs.py --seconds "$seconds" --coverage --out "$found" || failed=1
wait $source || failed=1
wait $kir || failed=1
if [[ $failed == 0 ]]; then echo "nothing found"; else echo "see $found"; fi
exit $failed
