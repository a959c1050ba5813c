#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. Ends with `N passed, N failed`; exit code 0 only
# where none failed. `tests/run.sh --help` says how to run less.
set -euo pipefail
cd "$(dirname "$0")/.."
# Debian's own Python, which has the packages that install.sh names, before any other.
export PATH=/usr/bin:$PATH
start=$SECONDS
tests/install.sh tests
export PATH=/usr/bin:$PATH  # the Python of the packages, not another one
echo "install: $((SECONDS - start)) s"
exec python3 tests/stages.py "$@"
