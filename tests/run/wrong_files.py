#!/usr/bin/env python3
"""Tests wrong inputs that a golden file cannot contain. Each must give a numbered error with a location.
Nothing may crash, and no output file may be left.

A case is (name, command line, the file's bytes, exit code, text in standard error).
"""

import functools
import os
import pathlib
import platform
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

KERNEL = b"""export kernel scale<B: int = 3>(x: in f32[N], y: out f32[N]) {
    spmd for i in N by B { y[i] = 3.0 * x[i]; }
}
"""
CHOSEN = KERNEL.replace(b"B: int = 3", b"B: int = auto")
PROGRAM = b"""export program grow(x: in f32[N], n: u64, y: out f32[N]) {
    let t: f32[n];
    copy(x, y);
}
"""
MACHINE = "run scale.kdl --set N=3 --target cluster?description="
PLUGIN = "run scale.kdl --set N=3 --target plugin:"
RUN = "run scale.kdl --arg x=@x.npy --out y=@y.npy"


def npy(descr="<f4", shape="(3,)", data=b"\0" * 12, fortran="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + data


def truncated_object():
    """Returns the start of a shared object for this machine, whose only segment would be 1 MiB long."""
    machine = {"x86_64": 62, "aarch64": 183, "riscv64": 243}[platform.machine()]
    header = struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return b"\x7fELF\2\1\1" + b"\0" * 9 + header + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 4096)


CASES = [
    ("empty file", "build f.kdl --emit obj -o out", b"", 0, ""),
    ("a line of 10 MB", "build f.kdl -o out", b"const N = " + b"1 + " * (10 << 18), 1, "[E0"),
    ("only NUL bytes", "build f.kdl -o out", b"\0" * 1000, 1, "[E0102]"),
    ("UTF-16", "build f.kdl -o out", "const N = 4;".encode("utf-16"), 1, "[E010"),
    ("invalid UTF-8", "build f.kdl -o out", b"const N = 4; // \xff\n", 1, "f.kdl:1:17: error: "),
    ("CRLF", "build f.kdl --emit obj -o out", KERNEL.replace(b"\n", b"\r\n"), 0, ""),
    ("no permission", "build f.kdl -o out", None, 1, "cannot read 'f.kdl'"),
    ("a device file", "build /dev/null -o out", b"", 1, "[E0913]"),
    ("a named pipe", "build f.kdl -o out", "fifo", 1, "cannot read 'f.kdl': it is not a regular file"),
    ("a test of a named pipe", "test f.kdl", "fifo", 1, "cannot read 'f.kdl': it is not a regular file"),
    ("a device file as a tensor", "run scale.kdl --arg x=@/dev/zero", KERNEL, 1, "cannot read '/dev/zero': it is not a regular file"),
    ("tiles of a device file", "build f.kdl -o out --tuned /dev/zero", KERNEL, 1, "cannot read '/dev/zero': it is not a regular file"),
    ("a machine of a device file", MACHINE + "/dev/zero", KERNEL, 1, "cannot read '/dev/zero': it is not a regular file"),
    ("a machine of a named pipe", MACHINE + "f.kdl", "fifo", 1, "cannot read 'f.kdl': it is not a regular file"),
    ("a machine of a folder", MACHINE + "folder.kdl", KERNEL, 1, "cannot read 'folder.kdl': it is a folder, not a file"),
    ("a machine of 2 MB", MACHINE + "f.kdl", b"# " * (1 << 20), 1, "'f.kdl' is larger than 1048576 bytes"),
    ("a plugin that is a device file", PLUGIN + "/dev/zero", KERNEL, 1, "cannot load a device from '/dev/zero': it is not a regular file"),
    ("a plugin that is a named pipe", PLUGIN + "./f.kdl", "fifo", 1, "cannot load a device from './f.kdl': it is not a regular file"),
    ("a plugin that is a folder", PLUGIN + "folder.kdl", KERNEL, 1, "cannot load a device from 'folder.kdl': it is not a regular file"),
    ("a truncated plugin", PLUGIN + "./f.kdl", truncated_object(), 1, "cannot load a device from './f.kdl': it is truncated"),
    ("a plugin that ends in its header", PLUGIN + "./f.kdl", truncated_object()[:100], 1, "cannot load a device from './f.kdl': it is truncated"),
    ("an imported folder", "build f.kdl -o out", b"import folder;\n", 1, "f.kdl:1:1: error: there is no file 'folder.kdl'"),
    ("an output folder that is a file", "build f.kdl -o f.kdl", KERNEL, 1, "[E0916]"),
    ("a truncated .npy", RUN, npy()[:-1], 1, "needs 12 bytes of elements, but the file has 11"),
    ("an empty .npy", RUN, b"", 1, "'x.npy' is not a .npy file: it is empty"),
    (".npy of doubles", RUN, npy("<f8", data=b"\0" * 24), 1, "numpy.save('x.npy', x.astype(numpy.float32))"),
    (".npy with two shapes", RUN, npy(shape="(3,), 'shape': (1,)"), 1, "its header is not one that numpy.save writes"),
    (".npy with two dimensions", RUN, npy(shape="(3, 1)"), 1, "has the shape (3, 1)"),
    (".npy of objects", RUN, npy("|O"), 1, "[E0944]"),
    ("big-endian .npy", RUN, npy(">f4"), 1, "[E0945]"),
    ("Fortran order", RUN, npy(shape="(3, 3)", data=b"\0" * 36, fortran="True"), 1, "[E0946]"),
    (".npy of 2^63 bytes", RUN, npy(shape="(2305843009213693952,)"), 1, "[E0948]"),
    ("a .npy that is text", RUN, KERNEL, 1, "[E0940]"),
    ("sizes above the memory", "run scale.kdl --set N=4000000000000", KERNEL, 3, "not enough memory for 'x'"),
    ("a tensor of a program above the memory", "run f.kdl --set N=1 --arg n=1000000000000000", PROGRAM, 3,
     "f.kdl:2:5: error: allocation of 4000000000000000 bytes"),
    ("tiles in a file whose name is too long", "tune f.kdl --set N=64 --tuned " + "n" * 300, CHOSEN, 1, "File name too long [E0913]"),
    ("tiles that cannot be written", "tune f.kdl --set N=64 --trials 3 --tuned scale.kdl/x", CHOSEN, 1,
     "cannot write 'scale.kdl/x': Not a directory [E0916]"),
    ("a sane .npy", RUN, npy(), 0, ""),
]


SUITE = b"""suite: examples
peers: peers.py
problems:
  - name: scale
    file: scale.kdl
    kernel: scale
    scaled: {N: 3}
    arguments:
      x: in f32[N] uniform(0, 1)
      y: out f32[N]
"""
HALF = b"export fn half(a: f32) -> f32 { return 0.5 * a; }\n"
IMPORTS = b"import half;\n" + KERNEL.replace(b"3.0 * x[i]", b"half.half(x[i])")
BENCH = "bench scale.kdl --set N=3 --trials 3 --threads 1"
GIVEN = "run scale.kdl --set N=3"
# Command lines that name a file twice, the error, and the file, which must be kept.
KEPT = [
    (f"{BENCH} --out y=@scale.kdl", "E0953", "scale.kdl"),
    (f"{BENCH} --arg x=@x.npy --out y=@x.npy", "E0953", "x.npy"),
    (f"{BENCH} --arg x=@x.npy --plot x.npy", "E0953", "x.npy"),
    (f"{BENCH} --plot old --out y=@old", "E0955", "old"),
    (f"{BENCH} --out y=@old --json=old", "E0955", "old"),
    (f"{BENCH} --against main.kdl --out y=@half.kdl", "E0953", "half.kdl"),
    (f"{BENCH} --against main.kdl --json=main.kdl", "E0953", "main.kdl"),
    (f"{BENCH} --against main.kdl --plot half.kdl", "E0953", "half.kdl"),
    ("bench both.kdl --set N=3 --trials 3 --threads 1 --out y=@old --out z=@old", "E0955", "old"),
    ("check main.kdl --json=half.kdl", "E0953", "half.kdl"),
    ("check main.kdl --json=link", "E0953", "half.kdl"),
    ("build main.kdl --json=half.kdl", "E0953", "half.kdl"),
    ("build main.kdl --emit ir --json=half.kdl", "E0953", "half.kdl"),
    ("build main.kdl -o . --json=main.h", "E0955", "main.h"),
    ("run main.kdl --set N=3 --json=half.kdl", "E0953", "half.kdl"),
    (f"{GIVEN} --arg x=@x.npy --json=x.npy", "E0953", "x.npy"),
    (f"{GIVEN} --tuned m.tuned --json=m.tuned", "E0953", "m.tuned"),
    (f"{GIVEN} --tuned m.tuned --out y=@m.tuned", "E0953", "m.tuned"),
    (f"{GIVEN} --pipeline p.yaml?x=1 --json=p.yaml", "E0953", "p.yaml"),
    (f"{GIVEN} --pipeline p.yaml --out y=@p.yaml", "E0953", "p.yaml"),
    (f"{GIVEN} --target cluster?description=cl.yaml --json=cl.yaml", "E0953", "cl.yaml"),
    (f"{GIVEN} --target cluster?description=cl.yaml --out y=@cl.yaml", "E0953", "cl.yaml"),
    (f"{GIVEN} --out y=@old --json=old", "E0955", "old"),
    ("build device.kdl --allow-plugins --json=cl.yaml", "E0953", "cl.yaml"),
    ("targets --device cluster?description=cl.yaml --json=cl.yaml", "E0953", "cl.yaml"),
    ("targets show cluster?description=cl.yaml --json=cl.yaml", "E0953", "cl.yaml"),
    ("explain --perf scale.kdl --html old --json=old", "E0955", "old"),
    ("explain --perf main.kdl --html half.kdl", "E0953", "half.kdl"),
    ("tune chosen.kdl --set N=64 --trials 3 --tuned m.tuned --json=m.tuned", "E0955", "m.tuned"),
    ("test . --json=half.kdl", "E0953", "half.kdl"),
    ("test . --coverage --json=half.kdl", "E0953", "half.kdl"),
    *((f"{command} --suite suite.yaml {option}{name}", "E0953", name) for command in ("test", "bench")
      for option in ("--json=", "--resume=") for name in ("suite.yaml", "peers.py", "scale.kdl")),
    ("bench --suite suite.yaml --plot scale.kdl", "E0953", "scale.kdl"),
    ("test --suite suite.yaml --resume old --json=old", "E0955", "old"),
    ("KDL_TRACE=scale.kdl run scale.kdl --set N=3", "E0953", "scale.kdl"),
    ("KDL_TRACE=half.kdl run main.kdl --set N=3", "E0953", "half.kdl"),
    (f"KDL_TRACE=./x.npy {GIVEN} --arg x=@x.npy", "E0953", "x.npy"),
    (f"KDL_TRACE=m.tuned {GIVEN} --tuned m.tuned --profile", "E0953", "m.tuned"),
    (f"KDL_TRACE=old {GIVEN} --out y=@old", "E0955", "old"),
    (f"KDL_TRACE=old {GIVEN} --json=old", "E0955", "old"),
    (f"KDL_TRACE=old {BENCH} --plot old", "E0955", "old"),
    ("KDL_TRACE=half.kdl bench main.kdl --set N=3 --trials 3 --threads 1", "E0953", "half.kdl"),
    ("KDL_TRACE=chosen.kdl tune chosen.kdl --set N=64 --trials 3", "E0953", "chosen.kdl"),
]


@functools.cache
def printed(line):
    return subprocess.run(["kernelc", *line.split()], capture_output=True, check=True, timeout=60).stdout


def words_of(line):
    """Returns the command of a line, after its variables of the environment."""
    words = line.split()
    variables = [word for word in words[:1] if word.startswith("KDL_")]
    return [*variables, "kernelc", *words[len(variables):]]


def keeps(case, folder):
    """Returns what is wrong with a command that names a file twice, or None."""
    line, error, victim = case
    (folder / "link").symlink_to("half.kdl")
    files = {"scale.kdl": KERNEL, "chosen.kdl": CHOSEN, "main.kdl": IMPORTS, "half.kdl": HALF, "suite.yaml": SUITE, "x.npy": npy(),
             "both.kdl": KERNEL.replace(b"y: out f32[N]", b"y: out f32[N], z: out f32[N]").replace(b"{ y[i]", b"{ z[i] = x[i]; y[i]"),
             "device.kdl": b'device npu = target("cluster?description=cl.yaml");\n' + KERNEL, "m.tuned": b"schedules: []\n", "old": b"old", "main.h": b"old"}
    files["peers.py"] = b"def scale(x): return 3 * x\n"
    files |= {"cl.yaml": printed("targets show cluster-riscv64"), "p.yaml": printed("targets --device host --dump-pipeline")}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    done = subprocess.run(["env", *words_of(line)], cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    if (folder / victim).read_bytes() != files[victim]:
        return f"{line}: {victim} is overwritten\n{done.stderr[:2000]}"
    if done.returncode != 1 or done.stderr.count(f"[{error}]") != 1:
        return f"{line}: exit code {done.returncode}, not one {error}\n{done.stderr[:2000]}"
    return None


def run(case, folder):
    """Returns what is wrong with the outcome of a case, or None."""
    name, line, data, code, message = case
    (folder / "scale.kdl").write_bytes(KERNEL)
    file = folder / ("x.npy" if "x.npy" in line else "f.kdl")
    (folder / "folder.kdl").mkdir()
    if data == "fifo":
        os.mkfifo(file)
    else:
        file.write_bytes(KERNEL if data is None else data)
    if data is None:
        if os.geteuid() == 0:
            return None  # root may read every file
        file.chmod(0)
    done = subprocess.run(["kernelc", *line.split()], cwd=folder, capture_output=True, text=True,
                          errors="replace", timeout=300)
    if done.returncode != code:
        return f"{name}: exit code {done.returncode}, expected {code}\n{done.stderr[:2000]}"
    if message not in done.stderr:
        return f"{name}: standard error lacks {message!r}\n{done.stderr[:2000]}"
    errors = sum(": error: " in row for row in done.stderr.splitlines())
    if code and not 1 <= errors <= 20:
        return f"{name}: {errors} errors\n{done.stderr[:2000]}"
    left = {p.name for p in folder.rglob("*") if p.is_file()} - {"scale.kdl", file.name}
    if code and left:
        return f"{name}: failed and left {sorted(left)}"
    return None


def prints_and_writes(folder):
    """Checks that standard output, redirected to a file, gets both prints and the output of --out, after the
    existing contents."""
    (folder / "scale.kdl").write_bytes(KERNEL)
    with open(folder / "all", "wb") as out:
        out.write(b"before")
        out.flush()
        subprocess.run(["kernelc", *"run scale.kdl --set N=3 --out y=@/dev/stdout -v".split()], cwd=folder, stdout=out, timeout=300)
    text = (folder / "all").read_bytes()
    holds = text.startswith(b"before") and b"\x93NUMPY" in text and b"launches" in text
    return None if holds else f"standard output that --out names, too, holds {text!r}"


def links_to_itself(folder):
    """Checks files that import each other through links to their own folder, which give them infinitely many
    names."""
    (folder / "f.kdl").write_text("import a.f;\nimport b.f;\n")
    for name in "ab":
        (folder / name).symlink_to(".")
    done = subprocess.run(["kernelc", "build", "f.kdl", "-o", "out"], cwd=folder, capture_output=True, text=True, timeout=60)
    return None if done.returncode == 1 and "imports itself" in done.stderr else f"links to '.': {done.stderr[:2000]}"


def times_that_nobody_gets(folder):
    """Checks that the build succeeds without printing the times if standard error cannot be written."""
    (folder / "scale.kdl").write_bytes(KERNEL)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(["kernelc", *"build scale.kdl -o out --time-passes".split()], cwd=folder, stderr=full, timeout=300)
    made = (folder / "out" / "scale.host.o").exists()
    return None if done.returncode == 0 and made else f"--time-passes on a full disk: exit code {done.returncode}"


def prints_to_nobody(folder):
    """Checks that lost output is an error if standard output is closed, also of a program, and that it is not written to a file that
    is opened instead."""
    (folder / "scale.kdl").write_bytes(KERNEL + b"export program all(x: in f32[N], y: out f32[N]) { spmd scale(x, y); }\n")
    kernelc = "kernelc run scale.kdl --set N=3"
    subprocess.run(["kernelc", *"build scale.kdl --emit exe -O0 -o .".split()], cwd=folder, check=True, timeout=300)
    for command in (kernelc, f"{kernelc} --out y=@y.npy", f"{kernelc} --target reference", "./scale --set N=3", "kernelc targets"):
        done = subprocess.run(["sh", "-c", f"{command} >&-"], cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode != 3 or "cannot write to standard output" not in done.stderr:
            return f"{command} without standard output: {done}"
    if len((folder / "y.npy").read_bytes()) != 128 + 12:
        return "y.npy contains what was printed"
    done = subprocess.run(["sh", "-c", "kernelc build scale.kdl -o out <&- >&- 2>&-"], cwd=folder, timeout=300)
    return None if done.returncode == 0 and (folder / "out/scale.host.o").exists() else f"a build without standard streams: {done}"


def depends_on_odd_names(folder):
    """Checks dependency files. Characters that would end a name must be escaped for make and ninja; other
    backslashes must stay."""
    name = "a b\\c:d\\#e$.kdl"
    (folder / name).write_bytes(KERNEL)
    subprocess.run(["kernelc", "build", name, "--module", "m", "--emit", "deps,header", "-o", "."], cwd=folder, timeout=300)
    text = (folder / "m.d").read_text()
    wanted = "./m.h: a\\ b\\c\\:d\\\\\\#e$$.kdl\n"
    return None if text == wanted else f"{name} depends by {text!r}, expected {wanted!r}"


def may_not_grow(folder):
    """Checks that an output larger than the limit of the shell is an error, and that nothing remains."""
    (folder / "scale.kdl").write_bytes(KERNEL)
    done = subprocess.run(["sh", "-c", "ulimit -f 0; exec kernelc build scale.kdl -o out"], cwd=folder, capture_output=True, text=True,
                          timeout=300)
    left = list((folder / "out").iterdir())
    return None if done.returncode == 3 and "File too large [E0982]" in done.stderr and not left else f"{done} left {left}"


def ends_by_signal(folder):
    """Checks that a build that is interrupted while another program links removes its temporary files, and ends this
    program, too."""
    (folder / "scale.kdl").write_bytes(KERNEL)
    (folder / "tmp").mkdir()
    linker = folder / "bin/c++"
    linker.parent.mkdir()
    linker.write_text(f"#!/bin/sh\ncase $* in *-o*) echo $$ > {folder}/pid.new && mv {folder}/pid.new {folder}/pid && exec sleep 100;; esac\n")
    linker.chmod(0o755)
    environment = os.environ | {"PATH": f"{linker.parent}:{os.environ['PATH']}", "TMPDIR": str(folder / "tmp")}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # This process may ignore the signal, as under nohup, and its children would inherit that.
        build = subprocess.Popen(["kernelc", *"build scale.kdl --emit exe -O0 -o out".split()], cwd=folder, env=environment,
                                 preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))
        until = time.monotonic() + 120
        while not (folder / "pid").exists() and build.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        had = list((folder / "tmp").iterdir())
        build.send_signal(number)
        code = build.wait(timeout=60)
        pid = (folder / "pid").read_text().strip()
        (folder / "pid").unlink()
        # The killed program is listed until its new parent has waited for it.
        until = time.monotonic() + 10
        while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.01)
        left = [*(folder / "tmp").iterdir(), *folder.glob("out/.*"), *pathlib.Path("/proc").glob(pid)]
        if code != -number or not had or left:
            return f"a build that is interrupted by {number!r}: exit code {code}, had {had}, left {left}"
    return None


def ends_after_linking(folder):
    """Checks that signals end a run after lld, which has handlers of its own, has linked its kernels."""
    (folder / "turns.kdl").write_bytes(KERNEL + b"""export program turns(x: in f32[N], y: out f32[N], n: i64) {
    let now: f32[N];
    let next: f32[N];
    copy(x, now);
    for t in 0..n { checkpoint(t, now, to = "turns.checkpoint", every = 1000); spmd scale(now, next); swap(now, next); }
    copy(now, y);
}
""")
    for number in (signal.SIGQUIT, signal.SIGXCPU, signal.SIGUSR1, signal.SIGINT):
        def prepare(number=number):
            signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        run = subprocess.Popen(["kernelc", *"run turns.kdl --set N=3 --arg n=1000000000000".split()], cwd=folder, preexec_fn=prepare)
        until = time.monotonic() + 120
        while not (folder / "turns.checkpoint").exists() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        run.send_signal(number)
        try:
            code = run.wait(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
            code = run.wait()
        (folder / "turns.checkpoint").unlink(missing_ok=True)
        if code != -number:
            return f"a run that is interrupted by {number!r}: exit code {code}"
    return None


def traces(folder):
    """Checks that a command writes the trace that KDL_TRACE names, and that one that cannot be written is an error with a reason."""
    (folder / "scale.kdl").write_bytes(KERNEL)
    for name, code, message in (("t.json", 0, ""), ("none/t.json", 1, "there is no folder 'none'"), ("/dev/full", 3, "No space left")):
        done = subprocess.run(["kernelc", *GIVEN.split()], cwd=folder, capture_output=True, text=True, timeout=300, env=os.environ | {"KDL_TRACE": name})
        if done.returncode != code or message not in done.stderr:
            return f"a trace in {name}: {done}"
    if "launch of 'scale" not in (folder / "t.json").read_text():
        return "the trace has no launch"
    # The variable may still be set when the trace is shown.
    done = subprocess.run(["kernelc", "explain", "--trace", "t.json"], cwd=folder, capture_output=True, text=True, timeout=300,
                          env=os.environ | {"KDL_TRACE": "t.json"})
    return None if done.returncode == 0 and "scale" in done.stdout else f"a trace that is shown: {done}"


def program_keeps(folder):
    """Checks that the object of --json of a program and its trace do not replace an argument or another output."""
    (folder / "scale.kdl").write_bytes(KERNEL + b"export program all(x: in f32[N], y: out f32[N]) { spmd scale(x, y); }\n")
    (folder / "x.npy").write_bytes(npy())
    subprocess.run(["kernelc", *"build scale.kdl --emit exe -O0 -o .".split()], cwd=folder, check=True, timeout=300)
    for trace, words, error in (("", "--json=x.npy", "E0953"), ("", "--json=./x.npy --out y=@x.npy", "E0955"), ("x.npy", "", "E0953"),
                                ("y.npy", "--out y=@y.npy", "E0955")):
        done = subprocess.run(["./scale", "--arg", "x=@x.npy", *words.split()], cwd=folder, env=os.environ | {"KDL_TRACE": trace}, capture_output=True, text=True, timeout=300)
        if done.returncode != 1 or done.stderr.count(error) != 1 or (folder / "x.npy").read_bytes() != npy():
            return f"a program with {words}: {done}"
    return None


def main():
    problems = []
    for check in (prints_and_writes, links_to_itself, may_not_grow, times_that_nobody_gets, prints_to_nobody, depends_on_odd_names, ends_by_signal, ends_after_linking, traces, program_keeps):
        with tempfile.TemporaryDirectory(prefix="wrong-") as scratch:
            problems.append(check(pathlib.Path(scratch)))
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="wrong-") as scratch:
            problems.append(run(case, pathlib.Path(scratch)))
    for case in KEPT:
        with tempfile.TemporaryDirectory(prefix="wrong-") as scratch:
            problems.append(keeps(case, pathlib.Path(scratch)))
    problems = [p for p in problems if p]
    print("\n".join(problems) or f"{len(CASES) + len(KEPT)} cases are as they should be")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
