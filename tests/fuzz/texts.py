#!/usr/bin/env python3
"""Runs fuzz_source or fuzz_kir under libFuzzer: on every text of the repository, then on mutations of these
texts for some time. Failing texts, and the corpus that the fuzzer has collected, are kept in FOUND."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENDINGS = {"source": "kdl", "kir": "kir"}
# Limits for one text: seconds (many, because a busy machine is slow), MiB, and bytes.
LIMITS = ["-timeout=600", "-rss_limit_mb=8192", "-max_len=20000"]


def seeds(kind):
    texts = []
    for folder in ("tests/golden", "tests/run", "samples", "tests/fuzz/corpus"):
        texts += sorted((ROOT / folder).rglob(f"*.{ENDINGS[kind]}"))
    return texts


def sample(texts, most):
    """Returns about `most` texts, evenly spread, or all texts if `most` is None."""
    step = max(1, len(texts) // most) if most else 1
    return texts[::step]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(ENDINGS))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seeds", type=int, help="how many texts to begin with, about (default: all)")
    parser.add_argument("--build", default="build-asan", help="the folder of the build")
    parser.add_argument("--found", help="default: found in the build's folder")
    options = parser.parse_args()
    found = pathlib.Path(options.found or ROOT / options.build / "found")
    learned = found / f"corpus-{options.kind}"
    learned.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for text in sample(seeds(options.kind), options.seeds):
            name = "_".join(text.relative_to(ROOT).parts)
            (pathlib.Path(folder) / name).write_bytes(text.read_bytes())
        done = subprocess.run(
            [ROOT / options.build / "bin" / f"fuzz_{options.kind}", f"-max_total_time={options.seconds}", *LIMITS,
             "-print_final_stats=1", f"-artifact_prefix={found}/{options.kind}-", str(learned), folder],
            capture_output=True, text=True, errors="replace", env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    points = re.findall(r"cov: (\d+)", done.stderr)
    print(f"fuzz_{options.kind}: {runs[1] if runs else 'unknown'} texts, {points[-1] if points else 'unknown'} branches of the "
          "compiler reached")
    if done.returncode != 0:
        print(done.stderr[-6000:])
    sys.exit(done.returncode != 0)


if __name__ == "__main__":
    main()
