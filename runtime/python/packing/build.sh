#!/bin/sh
# Builds the wheel for Debian 11 and later systems, and puts it in FOLDER: build.sh FOLDER [arm64]
# Links with the libc of Debian 11, of which it makes a root in FOLDER. With `arm64`, compiles for AArch64, and makes another root with
# the libraries of Debian 12 for it. Needs root, mmdebstrap, and the packages of `tests/install.sh build`; for `arm64`, also
# g++-aarch64-linux-gnu and qemu-user. To continue after a failure, run it again.
set -eu
here=$(dirname "$(realpath "$0")")
top=$here/../../..
native=$(dpkg --print-architecture)
architecture=${2:-$native}
case $architecture in
  "$native" | arm64) ;;
  *) echo "$0: the only other architecture is arm64, not $architecture" >&2; exit 2 ;;
esac
mkdir -p "${1:?a folder}"
folder=$(realpath "$1")
libraries="llvm-19-dev liblld-19-dev libantlr4-runtime-dev uuid-dev libboost-program-options-dev libfmt-dev libisl-dev libgmp-dev
           libjemalloc-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev libzstd-dev libpython3.11-dev libc6-dev"

root() {  # root NAME SUITE PACKAGE...
  name=$folder/$1-$architecture
  suite=$2
  shift 2
  [ -e "$name/complete" ] || { rm -rf "$name" && sh "$here/system.sh" "$name" "$suite" "$architecture" "$@" && touch "$name/complete"; }
}

root old bullseye libc6-dev libgcc-10-dev
set -- "-DKDL_OLD_SYSTEM=$folder/old-$architecture"
if [ "$architecture" != "$native" ]; then
  root new bookworm $libraries
  set -- "$@" "-DCMAKE_TOOLCHAIN_FILE=$top/src/portable/aarch64.cmake" "-DKDL_CROSS_SYSTEM=$folder/new-$architecture"
fi
build=$folder/build-$architecture
(cd "$top" && cmake --preset release -B "$build" "$@")
cmake --build "$build" --target kdl_wheel_inputs
/usr/bin/python3 "$here/wheel.py" "$build" "$folder"
