#!/usr/bin/env python3
"""Compiled kernels touch nothing outside their tensors, not even to read: every kernel with a contract runs on tensors that
end, then start, at a page that may not be touched. And the pages do what is said: unchecked kernels that leave them end."""

import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [*sorted((ROOT / "tests/run/families").glob("*.kdl")), *sorted((ROOT / "samples").glob("*/*.kdl"))]

OUTSIDE = """
export kernel outside(x: in f32[N], at: i64, y: out f32[N]) {
    spmd for i in 0..N { y[i] = x[i + at]; }
}
"""


def kept(path, guard):
    """What is wrong with one file's kernels on guarded tensors, or None."""
    done = subprocess.run(["kernelc", "test", str(path), "--target", f"debug?guard={guard}"],
                          capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else f"{path.name}, guard={guard}:\n{(done.stdout + done.stderr)[-2000:]}"


def faulted(file, guard, at):
    """What is wrong with a read `at` elements outside, or None."""
    target = f"debug?guard={guard}&threads=1"
    done = subprocess.run(["kernelc", "run", "--unchecked", "--target", target, str(file), "--set", "N=1024", "--arg", "x=iota",
                           "--arg", f"at={at}"], capture_output=True, text=True, timeout=60)
    # By the signal, or as the address sanitizer reports it.
    if done.returncode == -signal.SIGSEGV or "AddressSanitizer: SEGV" in done.stderr:
        return None
    return f"guard={guard}, {at} elements outside: ended with {done.returncode}\n{done.stderr[-500:]}"


def main():
    wrong = [kept(path, guard) for guard in ("end", "start") for path in FILES]
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "outside.kdl"
        file.write_text(OUTSIDE)
        wrong += [faulted(file, "end", 1), faulted(file, "start", -1)]
        wrong += [None if faulted(file, guard, 0) else f"guard={guard}: faults though nothing is outside" for guard in ("end", "start")]
    for text in filter(None, wrong):
        print(text)
    failed = sum(text is not None for text in wrong)
    print(f"{len(wrong) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
