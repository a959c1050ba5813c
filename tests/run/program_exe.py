#!/usr/bin/env python3
"""Checks that programs of `--emit exe` accept the arguments of `kernelc run` and give the same output, bit
for bit."""

import pathlib
import subprocess
import sys
import tempfile

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
RUNS = [
    ("saxpy", "--set N=1003 --arg a=2.5 --verify"),
    ("saxpy", "--set N=7 --target debug -v"),
    ("matmul", "--set M=31 --set K=9 --set L=17 --set N=5 --verify"),
    ("softmax", "--set R=3 --set C=301 --arg x=random:4"),
]
CONTRACTS = "verify: the contracts of its launches hold\n"  # executables do not check contracts
DEVICES = pathlib.Path(__file__).with_name("orchestration_programs.kdl")
COMPILED_FOR = "host?isa=x86-64-v3&threads=1"  # only the runtime reads threads; kernelc also reads isa
WRONG = [
    ("--set N=many", 1, "saxpy: error: 'many' is not a valid size for N"),
    ("--arg x=@no.npy", 1, "saxpy: error: there is no file 'no.npy'"),
    ("--emit ir", 2, "saxpy: error: 'saxpy' has no option '--emit'"),
    ("--set N=3 --target nothing", 3, "unknown kind of device"),
]
MEMORY = 300000  # KiB: enough for the program, but not for its tensors


def output(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="exe-") as scratch:
        folder = pathlib.Path(scratch)
        for name in sorted({name for name, _ in RUNS}):
            subprocess.run(["kernelc", "build", str(SAMPLES / name / f"{name}.kdl"), "--emit", "exe",
                            "-o", str(folder)], check=True, timeout=300)
        for name, options in RUNS:
            made = output([f"./{name}", *options.split()], folder)
            walked = output(["kernelc", "run", str(SAMPLES / name / f"{name}.kdl"), *options.split()], folder)
            walked = (walked[0], walked[1].replace(CONTRACTS, ""), walked[2])
            if made != walked or made[0] != 0:
                problems.append(f"{name} {options}:\n{made}\nkernelc run:\n{walked}")
        subprocess.run(["kernelc", "build", str(DEVICES), "--emit", "exe", "--device", f"cpu={COMPILED_FOR}",
                        "--device", "npu=@cpu", "-o", str(folder)], check=True, timeout=300)
        made = output([f"./{DEVICES.stem}", *"--program turns --set N=9 --arg a=2 --arg n=1 -v".split()], folder)
        if made[0] != 0 or not made[1].startswith(f"{COMPILED_FOR}: launches 4,"):
            problems.append(f"{DEVICES.stem}, built for {COMPILED_FOR}: {made}")
        for options, code, message in WRONG:
            made = output(["./saxpy", *options.split()], folder)
            if made[0] != code or message not in made[2]:
                problems.append(f"saxpy {options}: {made}, expected {code} and {message!r}")
        made = output(["sh", "-c", f"ulimit -v {MEMORY}; exec ./saxpy --set N=100000000 --arg a=1"], folder)
        if made != (3, "", "saxpy: error: not enough memory\n"):
            problems.append(f"saxpy with too little memory: {made}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
