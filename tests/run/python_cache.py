#!/usr/bin/env python3
"""Tests the cache of the Python package in the build tree: what is compiled again, and when."""

import os
import shutil
import sys

from shared import checks
from shared.python_package import check_all, run


def check_cache(folder):
    """A file is compiled again when it, or a file that it imports, has changed."""
    (folder / "part.kdl").write_text("export fn one() -> i32 { return 1; }\n")
    (folder / "main.kdl").write_text("import part;\nexport kernel f(x: out i32[1]) { spmd for i in 1 by 1 { x[i] = part.one(); } }\n")
    text = f'import kernelc\nprint(kernelc.compile("{folder}/main.kdl").f()[0])\n'
    first = run(text, folder)
    checks.expect("the first process compiles", first.returncode == 0, first.stderr)
    if first.returncode != 0:
        return
    entries = list((folder / "cache/python").iterdir())
    second = run(text, folder)
    checks.expect("the second process uses the cache", (first.stdout, second.stdout) == ("1\n", "1\n") and
                  list((folder / "cache/python").iterdir()) == entries, first.stderr + second.stderr)
    (folder / "part.kdl").write_text("export fn one() -> i32 { return 2; }\n")
    third = run(text, folder)
    checks.expect("a changed import is compiled", third.stdout == "2\n", third.stdout + third.stderr)
    checks.expect("the old entry is gone", len(list((folder / "cache/python").iterdir())) == len(entries))
    objects = list((folder / "cache/python").glob("*.so"))
    objects[0].write_bytes(objects[0].read_bytes()[:1000])
    fourth = run(text, folder)
    checks.expect("a damaged object is compiled again", fourth.stdout == "2\n", fourth.stdout + fourth.stderr)
    check_special_entries(folder, text)
    fifth = run(text + f'open("{folder}/part.kdl", "w").write("export fn one() -> i32 {{ return 3; }}\\n")\n' + text, folder)
    checks.expect("one process sees changes, too", fifth.stdout == "2\n3\n", fifth.stdout + fifth.stderr)


def check_special_entries(folder, text):
    """An entry that leads to a device or a pipe, whose content does not end, is compiled again."""
    special = folder / "special"
    os.mkfifo(special)
    for target in ("/dev/zero", special):
        for suffix in ("json", "so"):
            entry = next((folder / "cache/python").glob(f"*.{suffix}"))
            entry.unlink()
            entry.symlink_to(target)
            done = run(text, folder)
            checks.expect(f"{suffix} of {target}", done.stdout == "2\n", done.stdout + done.stderr)


def check_saved_meanwhile(folder):
    """If a file is saved while the compiler runs, neither this process nor a later one uses code of its old content."""
    part = folder / "part.kdl"
    part.write_text("export fn one() -> i32 { return 4; }\n")
    saves = folder / "saves"
    saves.write_text('#!/bin/sh\nkernelc "$@"\ncode=$?\n'
                     f'[ "$1" = build ] && [ ! -e {folder}/saved ] && : > {folder}/saved && echo "export fn one() -> i32 {{ return 5; }}" > {part}\n'
                     "exit $code\n")
    saves.chmod(0o755)
    text = f'import os\nos.environ["KERNELC"] = "{saves}"\nimport kernelc\nprint(kernelc.compile("{folder}/main.kdl").f()[0])\n'
    for which in ("while", "before"):
        done = run(text, folder)
        checks.expect(f"an import that is saved {which} the compiler runs", done.stdout == "5\n", done.stdout + done.stderr)


def check_always_saved(folder):
    """A file that is saved each time while the compiler runs is compiled a limited number of times, and never taken from the cache."""
    (folder / "always.kdl").write_text("export kernel f(x: out i32[1]) { spmd for i in 1 by 1 { x[i] = 6; } }\n")
    saves = folder / "always"
    saves.write_text(f'#!/bin/sh\nkernelc "$@"\ncode=$?\necho "// $$" >> {folder}/always.kdl\nexit $code\n')
    saves.chmod(0o755)
    text = f'import os\nos.environ["KERNELC"] = "{saves}"\nimport kernelc\ntry: print(kernelc.compile("{folder}/always.kdl").f()[0])\n'
    done = run(text + 'except kernelc.Error as error: print("changed" if "has changed" in str(error) else error)\n', folder)
    checks.expect("a file that always changes", done.stdout in ("6\n", "changed\n"), done.stdout + done.stderr)


def check_deleted(folder):
    """An object that is deleted from the cache before it is loaded is compiled again."""
    text = ("import kernelc, kernelc.compiler as compiler\nbuild, times = compiler.build, []\ndef deleting(source):\n    built = build(source)\n"
            "    if not times: built.shared.unlink()\n    times.append(1)\n    return built\ncompiler.build = deleting\n"
            "print(kernelc.compile('export kernel f(x: out i32[1]) { spmd for i in 1 by 1 { x[i] = 8; } }').f()[0], len(times))\n")
    done = run(text, folder)
    checks.expect("a deleted object is compiled again", done.stdout == "8 2\n", done.stdout + done.stderr)


def check_bytes_in_paths(folder):
    """Names of folders need not be UTF-8."""
    other = folder / os.fsdecode(b"n\xff")
    other.mkdir()
    (other / "main.kdl").write_text("export kernel f(i: i32, x: in i32[1], y: out i32[1]) { spmd for k in 1 by 1 { y[k] = x[i + k]; } }\n")
    text = (f'import os, kernelc\nos.environ["KDL_CACHE_DIR"] = {str(other)!r}\nf = kernelc.compile({str(other / "main.kdl")!r}).f\n'
            'import numpy as np\nx = np.ones(1, "i4")\nprint(f(0, x)[0])\ntry: f(7, x)\nexcept kernelc.Trap as error: print(ascii(str(error)))\n'
            'assert "f" in f.asm()\n')
    for _ in range(2):
        done = run(text, folder)
        checks.expect("paths that are not UTF-8", done.returncode == 0 and done.stdout.startswith("1\n") and "index 7 is outside" in done.stdout,
                      done.stdout + done.stderr)
    checks.expect("the cache", len(list((other / "python").iterdir())) == 2)


def check_paths(folder):
    """Names of folders that are special in dependency files do not disable the cache."""
    special = folder / "a b: c#d"
    special.mkdir()
    (special / "main.kdl").write_text("export kernel f(x: out i32[1]) { spmd for i in 1 by 1 { x[i] = 1; } }\n")
    shutil.rmtree(folder / "cache")
    done = run(f'import kernelc\nprint(kernelc.compile("{special}/main.kdl").f()[0])\n', folder)
    names = sorted(file.suffix for file in (folder / "cache/python").iterdir())
    checks.expect("special folders", (done.stdout, names) == ("1\n", [".json", ".so"]), f"{done.stderr}{names}")


def check_speed(folder):
    """Compiles and calls a kernel in new processes, the first of which finds nothing in the cache. On a busy machine, the time of the
    processor counts, and the best of several runs."""
    (folder / "fast.kdl").write_text("export kernel f(x: in f32[M, N], y: out f32[M, N]) { spmd for i in M by 4, j in N by 64 { y[i, j] = exp(x[i, j]); } }\n")
    text = """import resource, numpy, kernelc
def now(): return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
x, begin = numpy.ones((3, 5), "f4"), now()
kernelc.compile("fast.kdl").f(x)
print(now() - begin)
"""
    shutil.rmtree(folder / "cache")
    os.chdir(folder)
    first, *later = [float(run(text, folder).stdout) for _ in range(6)]
    print(f"the first call takes {1e3 * first:.0f} ms of the processor, in a later process {1e3 * min(later):.1f} ms")
    checks.expect("the first call is fast", first < 0.4, first)
    checks.expect("the first call of a later process is fast", min(later) < 0.003, later)


def main():
    def more(folder):
        check_cache(folder)
        check_saved_meanwhile(folder)
        check_paths(folder)
        check_bytes_in_paths(folder)
        check_always_saved(folder)
        check_deleted(folder)
        check_speed(folder)
    return check_all({}, more)


if __name__ == "__main__":
    sys.exit(main())
