#!/usr/bin/env bash
# Fuzzing: texts, KIR texts and whole kernels. `--long`: each for an hour (or `--long SECONDS`), texts under libFuzzer with
# sanitizers; else for seconds, with what the development build has. What fails is kept in build-fuzz/found, and by the
# short run in build-dev.
set -euo pipefail
cd "$(dirname "$0")/../.."

long=""
if [[ ${1:-} == --long ]]; then long=${2:-3600}; fi
found=$PWD/build-fuzz/found
mkdir -p "$found"

if [[ -z $long ]]; then
  for fuzzer in source kir; do
    build-dev/bin/fuzz_$fuzzer 10 tests/golden samples tests/fuzz/corpus
  done
  PATH=$PWD/build-dev/bin:$PATH tests/fuzz/programs.py --kernels 100 --coverage --out "$found"
  exit
fi

tests/install.sh fuzz
cmake --preset fuzz
cmake --build --preset fuzz --target fuzz_source fuzz_kir
cmake --preset dev
cmake --build --preset dev --target kernelc
for fuzzer in source kir; do
  ending=kdl
  if [[ $fuzzer == kir ]]; then ending=kir; fi
  seeds=build-fuzz/seeds-$fuzzer
  rm -rf "$seeds" && mkdir -p "$seeds" "build-fuzz/corpus-$fuzzer"
  find tests/golden samples tests/fuzz/corpus -name "*.$ending" -exec cp --backup=numbered {} "$seeds" \;
  # A text that is found is kept beside the others: it belongs into tests/fuzz/corpus once it is mended.
  ASAN_OPTIONS=detect_leaks=0 build-fuzz/bin/fuzz_$fuzzer -max_total_time="$long" -timeout=20 -rss_limit_mb=8192 \
    -max_len=20000 -print_final_stats=1 -artifact_prefix="$found/" "build-fuzz/corpus-$fuzzer" "$seeds"
done
PATH=$PWD/build-dev/bin:$PATH tests/fuzz/programs.py --seconds "$long" --coverage --out "$found"
