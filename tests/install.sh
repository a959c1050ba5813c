#!/bin/sh
# Installs the Debian 12 packages that are missing: tests/install.sh build|samples|tests|bench
# This is the only list of packages; samples/run.sh and tests/run.sh use it, too. Asks no questions, and does
# nothing if all packages are installed.
set -eu

# g++, cmake and ninja build the project, and clang compiles code for devices. LLVM generates code and lld
# links it; the program lld links images for devices. ANTLR 4 is the parser generator. It needs Java, but only
# during the build, and its runtime links uuid. The proofs use isl, and jemalloc is the allocator. Python's
# headers are for the Python package. The others are small libraries.
build="g++ cmake ninja-build clang-19 llvm-19-dev liblld-19-dev lld-19 antlr4 libantlr4-runtime-dev uuid-dev
       libboost-program-options-dev libfmt-dev libisl-dev libjemalloc-dev libyaml-cpp-dev nlohmann-json3-dev
       python3-dev"
# Python and NumPy read the results of the samples' runs. One sample runs in several processes of MPI.
samples="$build python3 python3-numpy mpich libmpich-dev"
# Packages for the tests. doctest is for unit tests, MPFR for exact values of functions, and clang-format for
# the format check. clang is the second compiler for generated C++; its runtime contains the sanitizers and
# the fuzzer. Other packages are for aarch64 code and its emulator, for OpenCL on the processor, for pip
# packages that Debian does not have (tests/ptxas.py), for the metadata of the installed package (pkgconf), for
# the types of the Python package (mypy), and for reading debug information (gdb, lldb, valgrind and perf). Programs with
# several ranks also run with Open MPI. Python's markdown makes the site of the documentation, and Node.js
# runs its search. Tests change suites with Python's yaml.
tests="$samples doctest-dev libmpfr-dev libclang-rt-19-dev clang-format-19 g++-aarch64-linux-gnu qemu-user pocl-opencl-icd
       ocl-icd-libopencl1 pkgconf python3-venv mypy gdb lldb-19 valgrind linux-perf openmpi-bin libopenmpi-dev
       python3-markdown python3-yaml nodejs"
# The libraries that the benchmarks compare with; OpenMP is for twins on several threads (tests/bench/twins).
bench="$samples libdnnl-dev libopenblas-dev libomp-dev"

case "${1:-}" in
  build) wanted=$build ;;
  samples) wanted=$samples ;;
  tests) wanted=$tests ;;
  bench) wanted=$bench ;;
  *) echo "usage: $0 build|samples|tests|bench" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "$0: run as root or install sudo; missing:$missing" >&2; exit 1; }
  as_root=sudo
fi
# ANTLR runs on Java, which reads /proc. In a bare chroot, /proc is not mounted.
[ -e /proc/self/stat ] || $as_root mount -t proc proc /proc
echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y"
if ! { $apt update && $apt install --no-install-recommends $missing; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "$0: apt-get could not install:$missing" >&2
  exit 1
fi
