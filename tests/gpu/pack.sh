#!/usr/bin/env bash
# Builds a kit for a machine with an NVIDIA GPU, its driver and Python with torch, on which nothing can be
# built or installed:
#   tests/gpu/pack.sh FOLDER             everything (README.md lists the contents)
#   tests/gpu/pack.sh --numbers FOLDER   only the files that first.py needs
# Uses the kernelc on PATH and the programs next to it, and builds them if there is none.
set -euo pipefail
cd "$(dirname "$0")/../.."
most_bytes=50000000

numbers_only=
if [ "${1:-}" = --numbers ]; then
  numbers_only=1
  shift
fi
kit=${1:?a folder for the kit}
if ! command -v kernelc >/dev/null; then
  tests/install.sh tests
  cmake --preset tests >/dev/null
  cmake --build --preset tests --target kernelc gpu_conformance_cuda
  PATH=$PWD/build-tests/bin:$PATH
fi
built=$(dirname "$(realpath "$(command -v kernelc)")")
mkdir -p "$kit"
kit=$(realpath "$kit")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# PTX for first.py, for both levels.
for level in sm_90a sm_80; do
  ptx() { kernelc build "$1" --module "$2" "${@:3}" --emit ptx,header -o "$kit/$level" --target "cuda?isa=$level"; }
  ptx samples/matmul/matmul.kdl matmul
  ptx samples/softmax/softmax.kdl softmax
  ptx tests/gpu/memory.kdl memory
  ptx tests/run/byte_products.kdl bytes -D A=f8e4m3 -D B=f8e4m3
  ptx tests/run/turn_products.kdl turns -D T=bf16 -D D=128
done
cp tests/gpu/{README.md,first.py,rows.py,arrays.py,ptx_kernel.py,jobs.py} "$kit"
[ -z "$numbers_only" ] || exit 0

# LLVM is linked with some libraries whose functions are never called here. They are replaced by stubs that
# end the process when they are called. With their dependencies, these libraries would be a third of the kit.
stub() {  # NAME PATTERN: the functions that LLVM uses
  nm -D --undefined-only "$llvm" | awk '{sub(/@+/, " "); print $2, $3}' | grep -E "$2" >"$work/functions"
  awk '{print "void " $1 "(void) { __builtin_trap(); }"}' "$work/functions" >"$work/stub.c"
  awk '{names[$2] = names[$2] " " $1 ";"} END {for (version in names) if (version) print version " {" names[version] " };"}' \
    "$work/functions" >"$work/versions"
  script=
  [ ! -s "$work/versions" ] || script=-Wl,--version-script=$work/versions
  gcc -shared -fPIC -nostdlib "$work/stub.c" -Wl,-soname,"$1" $script -o "$work/stubs/$1"
}
llvm=$(ldd "$built/kernelc" | awk '/libLLVM/ {print $3}')
mkdir -p "$work/stubs" "$work/bin" "$work/lib"
stub libz3.so.4 '^Z3_'
stub libxml2.so.2 ' LIBXML2_'

for program in "$built/kernelc" "$built/gpu_conformance_cuda"; do
  strip -o "$work/bin/$(basename "$program")" "$(realpath "$program")"
  LD_LIBRARY_PATH=$work/stubs ldd "$program" | awk '$2 == "=>" {print $3}'
done | sort -u | grep -Ev '/lib(c|m|stdc\+\+|gcc_s)\.so' | while read -r library; do cp -L "$library" "$work/lib"; done
env -i LD_LIBRARY_PATH="$work/lib" "$work/bin/kernelc" --version >/dev/null

tar -cf "$work/sources.tar" --exclude=__pycache__ tests/run tests/fuzz samples stdlib
mkdir "$work/sources"
tar -xf "$work/sources.tar" -C "$work/sources"
XZ_OPT=${XZ_OPT:--5 -T0} tar -C "$work" -cJf "$kit/tools.tar.xz" bin lib sources
bytes=$(du -sb "$kit" | cut -f 1)
echo "$kit: $bytes bytes"
if [ "$bytes" -ge "$most_bytes" ]; then
  echo "$0: the kit is larger than $most_bytes bytes" >&2
  exit 1
fi
