#!/usr/bin/env bash
# Installs missing packages, builds, and runs every test. Prints `N passed, N failed` last; the exit code
# is 0 only if none failed. `tests/run.sh --help` says how to run fewer tests.
set -euo pipefail
cd "$(dirname "$0")/.."
# Use Debian's Python, which has the packages of install.sh.
export PATH=/usr/bin:$PATH
start=$SECONDS
tests/install.sh tests
export PATH=/usr/bin:$PATH  # use Debian's Python first
echo "install: $((SECONDS - start)) s"
exec python3 tests/stages.py "$@"
