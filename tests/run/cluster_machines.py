#!/usr/bin/env python3
"""Tests cluster machines that are described by files. Each way to generate code, and each kind of machine,
must give the interpreter's bits. Also checks that mistakes in a description or a tool are reported, that
products use vectors, and that an emulator's times are never presented as times of a device."""

import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks, teams
from shared.clusters import KIND, PRODUCT, SHIPPED, STEPS, describe, moved

# Flags for compilers other than the LLVM in kernelc.
RISCV = "--target=riscv64-unknown-elf, -march=rv64gc_zfhmin, -mabi=lp64d, -mcmodel=medany, -O2"
OF_C = "-std=c11, -ffreestanding, -fno-strict-aliasing, -fno-math-errno, -Wall, -Wextra, -Werror, -Wno-unused, -Wno-unknown-pragmas"
BY_CLANG = f"[clang-19, {RISCV}, {OF_C}, -ffp-contract=off, -c, '{{source}}', -o, '{{object}}']"
BY_GCC = f"[gcc, -O1, {OF_C}, -c, '{{source}}', -o, '{{object}}']"
OF_IR = f"[clang-19, {RISCV}, -Xclang, -disable-llvm-passes, -Wno-override-module, -c, '{{source}}', -o, '{{object}}']"

# Kernels with zeros that are compared and selected, bools with arbitrary bytes, and masked loads.
SPECIAL = {"zeros_compared": ["--set", "N=67", "--arg", "i=iota"],
           "special_argument": ["--set", "N=67", *(word for name in "xhiub" for word in ("--arg", f"{name}=special:1"))],
           "bool_bytes_updated": ["--set", "N=12", *(word for name in "xao" for word in ("--arg", f"{name}=special:3"))],
           "window_sums": ["--set", "N=50", "--arg", "x=special:1"]}


def machines(folder):
    """Checks that each way to generate code, and each kind of machine, gives the interpreter's bits."""
    (folder / "steps.kdl").write_text(STEPS)
    vectors = {"features": "[+m, +a, +f, +d, +c, +zfhmin, +v]"}
    runs = "[qemu-riscv64, -cpu, 'rv64,Zfhmin=on,v=%s,vlen=256', '{image}']"
    specs = {"ir": describe(folder, "ir", code="llvm-ir", compile=OF_IR),
             "c": describe(folder, "c", code="c", compile=BY_CLANG),
             "cores": describe(folder, "cores", blocks="core"),
             "pipes": describe(folder, "pipes", pipes="memory"),
             "polls": describe(folder, "polls", transport="polling"),
             "vectors": describe(folder, "vectors", run=runs % "true", **vectors)}
    peaks = {}
    for name, spec in {"shipped": KIND, **specs}.items():
        for file, words in [("samples/matmul_residual/matmul_residual.kdl", ["M=30", "K=70", "N=20", "--pipes", "buffered"]),
                            (folder / "steps.kdl", ["N=50", "--arg", "turns=3"]), ("samples/softmax/softmax.kdl", ["R=9", "C=103"])]:
            words = [word for given in words for word in (["--set", given] if given[1] == "=" else [given])]
            done = teams.kernelc("run", file, "--target", spec, "--verify", "--verbose", *words)
            checks.expect(f"{file} on {name}", "bit for bit" in done.stdout, done.stdout + done.stderr)
            peaks.setdefault(name, moved(done)[3])
            checks.expect(f"{file} on {name}: tiles in the scratchpad", moved(done)[3] > 0, done.stdout)
        for file, words in SPECIAL.items():
            done = teams.kernelc("run", f"tests/golden/run/{file}.kdl", "--target", spec, "--verify", *words)
            checks.expect(f"{file} on {name}", "bit for bit" in done.stdout, done.stdout + done.stderr)
    checks.expect("pipes in memory leave room", 0 < peaks["pipes"] < peaks["shipped"] == peaks["c"], peaks)
    done = teams.kernelc("devices", specs["cores"])
    checks.expect("cores that are blocks", "cluster cores, 80 cores" in done.stdout, done.stdout + done.stderr)
    lame = describe(folder, "lame_vectors", run=runs % "false", **vectors)
    done = teams.kernelc("run", "samples/softmax/softmax.kdl", "--target", lame, "--set", "R=9", "--set", "C=103")
    checks.expect("vectors are used", "executed an invalid instruction" in done.stderr, done.stdout + done.stderr)
    drawn = [sys.executable, teams.ROOT / "tests/fuzz/programs.py", "--kernels", "20", "--build", "--whole", "--out", folder / "found"]
    done = subprocess.run([*drawn, "--target", specs["vectors"]], capture_output=True, text=True)
    checks.expect("drawn kernels in vectors", done.returncode == 0, done.stdout + done.stderr)
    (folder / "both.kdl").write_text(teams.DEVICES)
    done = teams.kernelc("run", folder / "both.kdl", "--set", "N=37", "--verify", "--device", f"a={KIND}", "--device",
                         f"b={specs['polls']}")
    checks.expect("two machines at once", "bit for bit" in done.stdout, done.stdout + done.stderr)
    products_in_vectors(folder)
    vectors_of_one(folder)
    own_tools(folder)
    compilers(folder)


def products_in_vectors(folder):
    """Checks that a product's loop over terms consists of vector multiply-adds, and gives the interpreter's
    bits for any vector length. Blocks at the ends of tensors use scalars."""
    image = folder / "vectors.elf"
    linker = f"[sh, -c, 'ld.lld-19 -m elf64lriscv -static --gc-sections -o $0 $@ && cp $0 {image}', '{{image}}', '{{objects}}']"
    (folder / "kinds.kdl").write_text(PRODUCT.replace("product(", "product<T: f32 | f64 | i32>(").replace("f32[", "T["))
    for length in (128, 512):
        spec = describe(folder, f"vectors{length}", features="[+m, +a, +f, +d, +c, +zfhmin, +v]", link=linker,
                        run=f"[qemu-riscv64, -cpu, 'rv64,Zfhmin=on,v=true,vlen={length}', '{{image}}']")
        for scalar, sizes in [("f32", (64, 32, 48)), ("f64", (64, 64, 17)), ("i32", (37, 41, 53))]:
            words = [word for name, size in zip("MNK", sizes) for word in ("--set", f"{name}={size}")]
            done = teams.kernelc("run", folder / "kinds.kdl", "-D", f"T={scalar}", "--target", spec, "--verify", *words)
            checks.expect(f"a product of {scalar} in vectors of {length} bits", "bit for bit" in done.stdout, done.stdout + done.stderr)
            if scalar != "f32":
                continue
            code = subprocess.run(["llvm-objdump-19", "-d", "--no-show-raw-insn", image], capture_output=True, text=True).stdout
            turns = re.findall(r"(?:(?:\s+[0-9a-f]+:\s+(?!b)\S.*\n))+", code)
            loop = max(turns, key=lambda turn: turn.count("vfmacc"), default="")
            checks.expect("its loop is of vectors", loop.count("vfmacc.vf") == 16 and "fmadd" not in loop, loop)


def vectors_of_one(folder):
    """Checks cores with one worker. LLVM itself vectorizes their loops, with any vector length, if `features`
    or `cpu` says that the machine has vectors."""
    runs = "[qemu-riscv64, -cpu, 'rv64,Zfhmin=on,v=true,vlen=512', '{image}']"  # vlen as in sifive-x280
    named = {"features": "[+m, +a, +f, +d, +c, +zfhmin, +v]"}
    for name, keys in [("one", {"cores": 1, **named}), ("each", {"blocks": "core", **named}),
                       ("known", {"cores": 1, "cpu": "sifive-x280", "features": "[-zba, -zbb, -zfh, -zvfh]"})]:
        spec = describe(folder, f"vector_{name}", run=runs, **keys)
        for file, words in [(folder / "product.kdl", ["M=37", "N=41", "K=29"]), ("samples/softmax/softmax.kdl", ["R=9", "C=103"])]:
            words = [word for given in words for word in ("--set", given)]
            done = teams.kernelc("run", file, "--target", spec, "--verify", *words)
            checks.expect(f"{file} in vectors, {name}", "bit for bit" in done.stdout, done.stdout + done.stderr)


def own_tools(folder):
    """Fills in the template as a vendor would: with C for the vendor's own compiler, with its own boot code,
    and with a mailbox that is polled."""
    flags = RISCV.replace(",", "").split()
    done = subprocess.run(["clang++-19", *flags, "-std=c++20", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-builtin", "-I",
                           teams.ROOT / "include", "-c", teams.ROOT / "runtime/cluster/guest/boot.cpp", "-o", folder / "own_boot.o"],
                          capture_output=True, text=True)
    checks.expect("boot code of one's own", done.returncode == 0, done.stderr)
    text = (teams.ROOT / "runtime/cluster/kvx/kvx.yaml").read_text()
    compiler = ["clang-19", *flags, "-std=c11", "-ffreestanding", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-math-errno", "-c",
                "{source}", "-o", "{object}"]
    begin, end = text.index("compile:"), text.index("boot:")
    filled = text[:begin] + "compile:\n" + "".join(f"  - '{word}'\n" for word in compiler) + text[end:]
    for left, right in [("<the object of your boot code>", "own_boot.o"), ("<your linker>", "ld.lld-19, -m, elf64lriscv, -static"),
                        ("<what starts an image on a cluster>", "qemu-riscv64, -cpu, 'rv64,Zfhmin=on'"),
                        ("<your addr2line>", "llvm-addr2line-19")]:
        filled = filled.replace(left, right)
    (folder / "filled.yaml").write_text(filled)
    for file, words in [("samples/softmax/softmax.kdl", ["--set", "R=9", "--set", "C=103"]),
                        (folder / "steps.kdl", ["--set", "N=50", "--arg", "turns=3"])]:
        done = teams.kernelc("run", file, "--device", f"npu=cluster?description={folder}/filled.yaml", "--verify", *words)
        checks.expect(f"{file} by the template that is filled in", "bit for bit" in done.stdout, done.stdout + done.stderr)


def compilers(folder):
    """Checks that GCC accepts the generated C as it is, and that mistakes with compilers and boot code are
    reported."""
    copies = "[sh, -c, 'cp $1 $0', '{image}', '{objects}']"
    taken = describe(folder, "taken", code="c", compile=BY_GCC, link=copies)
    for file in ("samples/digits/digits.kdl", "tests/run/families/elementwise.kdl"):
        done = teams.kernelc("build", file, "--target", taken, "-o", folder / "taken")
        checks.expect(f"GCC takes the C of {file}", done.returncode == 0, done.stdout + done.stderr)
    run = ["run", folder / "product.kdl", "--set", "M=3", "--set", "N=3", "--set", "K=3", "--target"]
    last = len(SHIPPED.read_text().splitlines())  # the line number of an added key
    for name, keys, told in [
            ("none", {"code": "c", "compile": BY_GCC.replace("gcc", "no-such-cc")}, "no-such-cc, which compiles kernels"),
            ("fails", {"code": "c", "compile": "[sh, -c, 'echo broken >&2; false', '{source}', '{object}']"},
             "which compiles kernels for machine 'fails', exited with code 1; it said: broken"),
            ("mute", {"code": "c", "compile": "[sh, -c, 'exit 3', '{source}', '{object}']"}, "for machine 'mute', exited with code 3 ["),
            ("idle", {"code": "c", "compile": "['true', '{source}', '{object}']"},
             "true, which compiles kernels for machine 'idle', wrote no file and reported no error"),
            ("loose", {"code": "c", "compile": BY_CLANG.replace("-O2", "-O2, -ffast-math")}, "kernels need IEEE 754 floats"),
            ("triple", {"triple": "riscv65-unknown-elf"}, f"{folder}/triple.yaml:{last}: LLVM cannot make code for riscv65-unknown-elf"),
            ("cpu", {"cpu": "rocket-rv65"}, f"{folder}/cpu.yaml:{last}: LLVM does not know the processor 'rocket-rv65' of riscv64-unknown-elf"),
            ("bits", {"cpu": "generic-rv32"}, "LLVM does not know the 64-bit processor 'generic-rv32' of riscv64-unknown-elf"),
            ("features", {"features": "[+m, +zfhmim]"},
             f"{folder}/features.yaml:{last}: LLVM does not know the feature '+zfhmim' of riscv64-unknown-elf"),
            ("a b", {}, f"{folder}/a b.yaml:{last}: name must be a word of letters, digits, '_', '.' and '-' that begins with a letter"),
            ("..", {}, "must be a word of letters, digits, '_', '.' and '-' that begins with a letter, not '..'"),
            ("layout", {"code": "llvm-ir", "compile": OF_IR, "layout": "x-y"}, "'x-y' is not an LLVM data layout"),
            ("instructions", {"instructions": "[wide]"}, "unknown matrix instruction 'wide'; the known ones are: cpu.bf16_pairs"),
            ("boot", {"boot": "nowhere.o"}, f"cannot open '{folder}/nowhere.o'")]:
        done = teams.kernelc(*run, describe(folder, name, **keys))
        checks.expect(f"what is wrong with {name}", told in done.stderr, done.stdout + done.stderr)


def files(folder):
    """Checks that the build rule contains everything that a build reads. Paths in a description must be
    relative to its folder, wherever a build runs. Outputs must be reproducible, and must not contain mapped
    paths."""
    home = folder / "home"
    (home / "bin").mkdir(parents=True)
    for name, words in [("cc", BY_CLANG.split(", '{source}'")[0][1:].replace(",", "")),
                        ("link", "ld.lld-19 -m elf64lriscv -static --gc-sections -o"), ("emulate", "qemu-riscv64 -cpu rv64,Zfhmin=on")]:
        (home / "bin" / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (home / "bin" / name).chmod(0o755)
    (home / "boot.o").write_bytes((folder / "own_boot.o").read_bytes())
    spec = describe(home, "placed", code="c", boot="boot.o", compile="[bin/cc, -g, '{source}', -o, '{object}']",
                    link="[./bin/link, '{image}', '{objects}']", run="[./bin/emulate, '{image}']")
    size = ["--set", "M=3", "--set", "N=3", "--set", "K=3"]
    done = teams.kernelc("run", folder / "product.kdl", "--target", spec, "--verify", *size)
    checks.expect("paths from the description's folder", "bit for bit" in done.stdout, done.stdout + done.stderr)
    (folder / "both.kdl").write_text(teams.DEVICES)
    made = []
    for out in ("first", "second"):
        done = teams.kernelc("build", folder / "both.kdl", "--device", f"a={spec}", "--emit", "header,obj,elf,exe,deps",
                             "-o", folder / out, "--path-prefix-map", f"{folder}=/srv")
        checks.expect("a build for a described machine", done.returncode == 0, done.stdout + done.stderr)
        made.append({file.name: file.read_bytes() for file in sorted((folder / out).glob("*")) if file.suffix != ".d"})
    checks.expect("two builds are equal", made[0] == made[1] and len(made[0]) == 5, list(made[0]))
    checks.expect("and have no path", all(str(folder).encode() not in file for file in made[0].values()))
    checks.expect("but those that are mapped", b"cluster?description=/srv/home/placed.yaml" in made[0].get("both.h", b""))
    checks.expect("an image that names the source", b"both.kdl" in made[0].get("both.placed.elf", b""))
    rule = (folder / "second/both.d").read_text()
    wanted = [folder / "both.kdl", *(home / name for name in ("placed.yaml", "boot.o", "bin/cc", "bin/link"))]
    checks.expect("a rule with all that was read", all(f" {file}" in rule for file in wanted), rule)
    twin = home / "twin.yaml"
    twin.write_text((home / "placed.yaml").read_text())
    done = teams.kernelc("build", folder / "product.kdl", "--target", spec, "--target", f"cluster?description={twin}", "-o", folder)
    checks.expect("two machines of one name", "both machines are named 'placed': change the `name` in one description" in done.stderr, done.stderr)


def images(folder):
    """Checks that a program built only for a machine runs there, and that a machine with fewer cores refuses
    its image."""
    spec = describe(folder, "shrinks", cores=4)
    done = teams.kernelc("build", folder / "product.kdl", "--target", spec, "--emit", "exe", "-o", folder)
    checks.expect("a program", done.returncode == 0, done.stdout + done.stderr)
    size = ["--set", "M=3", "--set", "N=3", "--set", "K=3"]
    for cores, told in [(4, "c: f32[3, 3]"), (2, "has workgroups of 2 threads, fewer than the kernel was compiled for")]:
        describe(folder, "shrinks", cores=cores)
        done = subprocess.run([folder / "product", *size], capture_output=True, text=True)
        checks.expect(f"an image for 4 cores on {cores}", told in done.stdout + done.stderr, done.stdout + done.stderr)


def times(folder):
    """Checks that `kernelc bench` refuses an emulated machine, and that a trace marks times as
    emulated."""
    size = ["--set", "R=3", "--set", "C=10"]
    done = teams.kernelc("bench", "samples/softmax/softmax.kdl", "--target", KIND, *size)
    checks.expect("nothing is measured", "is an emulation, so its times say nothing about a device" in done.stderr, done.stdout + done.stderr)
    done = teams.kernelc("bench", "samples/softmax/softmax.kdl", "--device", f"npu={KIND}", *size)
    checks.expect("nor by its name", f"'{KIND}' is an emulation" in done.stderr, done.stdout + done.stderr)
    trace = folder / "trace.json"
    done = teams.kernelc("run", "samples/softmax/softmax.kdl", "--target", KIND, *size, environment={"KDL_TRACE": str(trace)})
    checks.expect("a trace says so", f'"{KIND} queue 0 (emulated)"' in trace.read_text(), done.stdout + done.stderr)
    done = teams.kernelc("devices", describe(folder, "real", times="real"))
    checks.expect("a machine of its own times", "cluster real" in done.stdout and "emulation" not in done.stdout,
                  done.stdout + done.stderr)


def described(folder):
    """Checks that a machine with a different topology needs no code changes, and that mistakes in a
    description are reported."""
    spec = describe(folder, "small", clusters=2, cores=4, scratchpad_bytes=262144)
    small = folder / "small.yaml"
    text = small.read_text()
    for file in ("samples/matmul_residual", "samples/softmax"):
        done = teams.kernelc("test", file, "--target", spec)
        checks.expect(f"contracts of {file} on 2 clusters of 4", done.returncode == 0, done.stdout + done.stderr)
    done = teams.kernelc("devices", spec)
    checks.expect("what it is", "cluster small, 2 cores" in done.stdout and "an emulation" in done.stdout, done.stdout + done.stderr)
    cores = text.splitlines().index("cores: 4") + 1
    small.write_text(text.replace("cores: 4", "cores: none"))
    run = ["run", folder / "product.kdl", "--target", spec, "--set", "M=3", "--set", "N=3", "--set", "K=3"]
    done = teams.kernelc(*run)
    checks.expect("where it is wrong", f"{small}:{cores}: cores must be a number from 1 to 256" in done.stderr, done.stdout + done.stderr)
    small.write_text(text.replace("run: [qemu-riscv64", "run: [no-such-runner"))
    done = teams.kernelc(*run)
    checks.expect("a runner that is not here", "cannot be started with no-such-runner" in done.stderr, done.stdout + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "product.kdl").write_text(PRODUCT)
        described(folder)
        machines(folder)
        files(folder)
        images(folder)
        times(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
