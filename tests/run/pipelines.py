#!/usr/bin/env python3
"""Tests pipeline files (--pipeline). The passes that --dump-pipeline writes give the same code as no file. Each pass of a family is
either needed, so that a file without it is refused, or can be left out: then results still equal the reference. The same holds for
the least and greatest values of options. Kernels are drawn from samples and families.

    tests/run/pipelines.py [--all]      # --all: each change of a pipeline, not one in eight
"""

import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

from shared import seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*/*.kdl"))
FAMILIES = sorted((ROOT / "tests/run/families").glob("*.kdl"))
SAME_CODE = {"host?isa=x86-64-v3": ["asm"], "opencl": ["ocl"], "cuda?isa=sm_90a": ["ptx"], "cluster-riscv64": ["asm"]}
RUN = ["host?isa=x86-64-v3", "cuda?isa=sm_80", "cluster-riscv64"]
NEEDED = re.compile(r"\[E100[45]\]")


def kernelc(*words, **more):
    return subprocess.run(["kernelc", *map(str, words)], capture_output=True, text=True, timeout=600, **more)


def dump(target):
    return kernelc("targets", "--device", target, "--dump-pipeline").stdout


def outputs(source, target, folder, *options):
    emits = ",".join(SAME_CODE[target])
    built = kernelc("build", source, "--target", target, "--emit", emits, "-o", folder, *options)
    texts = {path.name: path.read_text() for path in sorted(pathlib.Path(folder).glob("*"))}
    # The hash in symbols depends on the options.
    return built.returncode, {name: re.sub(r"\b[0-9a-f]{8}\b", "", text) for name, text in texts.items()}


def same_code(folder, target, source):
    """Returns what is wrong, or None."""
    (folder / "all.yaml").write_text(dump(target))
    plain = outputs(source, target, folder / "plain")
    given = outputs(source, target, folder / "given", "--pipeline", folder / "all.yaml")
    return None if plain[1] and plain == given else "the code differs"


def changes(text):
    """Returns what is changed, and the changed text, for each pass and for the ends of each option's range."""
    for found in re.finditer(r"^  - ([a-z-]+):?\n(?:      .*\n)*", text, re.M):
        yield f"without {found[1]}", text[:found.start()] + text[found.end():]
    for found in re.finditer(r", (\d+) to (\d+)\n      (\w+): \d+\n", text):
        for value in found[1], found[2]:
            yield f"with {found[3]} = {value}", text[:found.end(3)] + f": {value}\n" + text[found.end():]


def changed(folder, target, source, text):
    path = folder / "changed.yaml"
    path.write_text(text)
    ran = kernelc("test", source, "--target", target, "--pipeline", path)
    output = ran.stdout + ran.stderr
    if ran.returncode == 0 or (ran.returncode == 1 and NEEDED.search(output)):
        return None
    return output[-2000:]


def main():
    draw = random.Random(seeds.of_today())
    jobs = [(f"{target} {source.stem} with its own pipeline", same_code, target, source)
            for target in SAME_CODE for source in draw.sample(SAMPLES, 4)]
    drawn = seeds.one_in(8, [(target, what, text) for target in RUN for what, text in changes(dump(target))])
    for target, what, text in drawn:
        source = draw.choice(FAMILIES)
        jobs.append((f"{target} {source.stem} {what}", changed, target, source, text))
    # The driver that interprets PTX.
    fake = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "lib/fake"
    os.environ["LD_LIBRARY_PATH"] = f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:

        def check(job):
            with tempfile.TemporaryDirectory() as name:
                return job[1](pathlib.Path(name), *job[2:])

        for job, wrong in zip(jobs, pool.map(check, jobs)):
            failed += wrong is not None
            if wrong:
                print(f"FAILED: {job[0]}\n{wrong}", flush=True)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not jobs else 0)


if __name__ == "__main__":
    main()
