#!/usr/bin/env python3
"""Tests which device a program gets. Each row has a file, a command line, and the exact answer."""
import ctypes
import dataclasses
import os
import subprocess
import sys
import tempfile

PROGRAM = """
kernel scale<B: int = 3>(x: in f32[N], y: out f32[N]) {{
    spmd for i in N by B {{ y[i] = 3.0 * x[i] + 1.0; }}
}}
export program p(x: in f32[N], y: out f32[N]) {{ spmd on {place} scale(x, y); }}
"""
KINDS = "unknown kind '{}'; the kinds are: host debug reference opencl cuda cluster-riscv64 cluster plugin:PATH [E0917]"
TARGETS = "help: `kernelc targets` lists the targets"
SPELLING = "write it as host, host?isa=x86-64-v3 or opencl[1] [E0917]"
UNKNOWN_KEY = ("kernelc: error: target 'host?thread=2': unknown key 'thread'; the keys of host are isa engines pipes dot threads cpus pin resident spin; "
               f"did you mean 'threads'? [E0917]\n{TARGETS}")
FORM = "help: write target(\"host\"), select(a, b), fallback(a), ranks() or the name of a device"


@dataclasses.dataclass
class Row:
    what: str
    devices: str
    answer: str  # "on URI" if the program runs, else the message
    place: str = "npu"
    options: tuple = ()


def bound(what, spec, answer, *others):
    """Returns a row whose file declares a device without a target, which the command line binds to a spec."""
    return Row(what, "device npu;", answer, options=("--device", f"npu={spec}", *others))


def has_cuda():
    try:
        return bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


# These rows only apply where the driver is missing.
NO_CUDA = "CUDA is not available: libcuda.so.1 cannot be loaded; install NVIDIA's driver"
WITHOUT_CUDA = [] if has_cuda() else [
    Row("a device whose driver is missing", 'device npu = target("cuda");', f"kernelc: error: {NO_CUDA} [E0982]"),
    Row("an optional one whose driver is missing",
        'device cpu = target("debug");\ndevice npu = select(target("cuda"), fallback(cpu));',
        "on debug\n'cpu' and 'npu' are one device, debug"),
]

ROWS = [
    Row("a required device is missing", 'device npu = target("debug")[64];',
        "kernelc: error: there is no debug[64]: it would be the 65th, 64 match [E0982]"),
    Row("one of a kind that this compiler does not know", 'device npu = target("vulkan");',
        f"kernelc: error: target 'vulkan': {KINDS.format('vulkan')}\n{TARGETS}"),
    Row("an optional one is missing", 'device cpu = target("debug")[1];\ndevice npu = select(target("debug")[99], fallback(cpu));',
        "on debug[1]\n'cpu' and 'npu' are one device, debug[1]"),
    Row("an optional one of a kind that is not known",
        'device cpu = target("host");\ndevice npu = select(target("vulkan", arch = "sm_90"), fallback(cpu));',
        "kernelc: warning: target 'vulkan?arch=sm_90' of device 'npu' is skipped: target 'vulkan?arch=sm_90': "
        "unknown kind 'vulkan'; the kinds are: host debug reference opencl cuda cluster-riscv64 cluster plugin:PATH [E0978]\non host\n"
        "'cpu' and 'npu' are one device, host"),
    *WITHOUT_CUDA,
    Row("all candidates are rejected", 'device npu = select(target("debug")[64], target("host")[7]);',
        "kernelc: error: none of the devices 'debug[64],host[7]' is available:\n"
        "  debug[64]: there is no debug[64]: it would be the 65th, 64 match\n"
        "  host[7]: there is no host[7]: it would be the 8th, 1 matches [E0982]"),
    Row("selects within selects", 'device npu = select(select(target("debug")[64], target("host")[9]), target("debug")[2]);',
        "on debug[2]"),
    Row("one device under two names", 'device npu = target("debug");\ndevice other = npu;',
        "on debug\n'npu' and 'other' are one device, debug", "other"),
    Row("one device, described twice", 'device npu = target("host", threads = 2);\ndevice other = target("host", threads = 2);',
        "on host?threads=2\n'npu' and 'other' are one device, host?threads=2"),
    Row("two devices of one kind", 'device npu = target("debug");\ndevice other = target("debug")[1];', "on debug\non debug[1]"),
    Row("a fallback to a later declaration", 'device npu = fallback(cpu);\ndevice cpu = target("debug")[3];',
        "on debug[3]\n'cpu' and 'npu' are one device, debug[3]"),
    Row("a fallback to itself", "device npu = fallback(npu);",
        "t.kdl:1:1: error: the description of device 'npu' refers to itself [E0524]\n"
        "  device npu = fallback(npu);\n  ^^^^^^^^^^^^^^^^^^^^^^^^^^^"),
    Row("fallbacks in a cycle", 'device npu = select(target("host"), fallback(b));\ndevice b = fallback(npu);',
        "t.kdl:2:1: error: the description of device 'b' refers to itself [E0524]\n"
        "  device b = fallback(npu);\n  ^^^^^^^^^^^^^^^^^^^^^^^^^"),
    Row("a promise that nothing binds", "device npu;",
        "kernelc: error: device 'npu' of 't.kdl' is not bound [E0910]\n"
        "help: bind it with --device npu=host, or with another spec from `kernelc targets`"),
    Row("a name that is nearly one", "device npu;", "kernelc: error: 't.kdl' declares no device 'nup' [E0918]\nhelp: did you mean 'npu'?",
        options=("--device", "nup=host")),
    Row("names that are declared twice", "device npu;\ndevice npu;",
        "t.kdl:2:8: error: 'npu' is already declared as a device [E0303]\n  device npu;\n         ^^^\nt.kdl:1:8: note: declared here\n"
        "  device npu;\n         ^^^\nhelp: choose another name"),
    bound("a name that is bound twice", "host", "kernelc: error: device 'npu' is bound twice: to 'host' and to 'debug' [E0977]",
          "--device", "npu=debug"),
    bound("a number that is none", "debug[x]", f"kernelc: error: target 'debug[x]': '[x]' is not an ordinal such as [0]; {SPELLING}\n{TARGETS}"),
    bound("a negative number", "debug[-1]", f"kernelc: error: target 'debug[-1]': '[-1]' is not an ordinal such as [0]; {SPELLING}\n{TARGETS}"),
    bound("something after it", "debug[0]junk",
          f"kernelc: error: target 'debug[0]junk': '[0]junk' is not an ordinal such as [0]; {SPELLING}\n{TARGETS}"),
    bound("a number that does not fit", "debug[99999999999999999999]",
          f"kernelc: error: target 'debug[99999999999999999999]': '[99999999999999999999]' is not an ordinal such as [0]; {SPELLING}\n{TARGETS}"),
    bound("a device that nobody declares", "@accelerator", "kernelc: error: 't.kdl' declares no device 'accelerator' [E0918]\nhelp: it declares 'npu'"),
    bound("itself", "host[9],@npu", "kernelc: error: device 'npu' is bound to itself: npu -> npu [E0889]"),
    Row("devices in a circle", "device npu;\ndevice cpu;", "kernelc: error: device 'npu' is bound to itself: npu -> cpu -> npu [E0889]",
        options=("--device", "npu=@cpu", "--device", "cpu=@npu")),
    Row("another device of the file", "device npu;\ndevice cpu;", "on debug[1]\n'cpu' and 'npu' are one device, debug[1]",
        options=("--device", "npu=@cpu", "--device", "cpu=debug[1]")),
    bound("a reference beyond the only one", "reference[2]",
          "kernelc: error: there is no reference[2], only reference [E0982]"),
    bound("a device beyond the only one", "host[1]", "kernelc: error: there is no host[1]: it would be the 2nd, 1 matches [E0982]"),
    Row("a number in the file that is none", 'device npu = target("debug")[x];',
        "t.kdl:1:14: error: 'target(\"debug\")[x]' does not describe a device [E0521]\n"
        f"  device npu = target(\"debug\")[x];\n               ^^^^^^^^^^^^^^^^^^\n{FORM}"),
    Row("a number in the file that does not fit", 'device npu = target("debug")[99999999];',
        "t.kdl:1:14: error: 'target(\"debug\")[99999999]' does not describe a device [E0521]\n"
        f"  device npu = target(\"debug\")[99999999];\n               ^^^^^^^^^^^^^^^^^^^^^^^^^\n{FORM}"),
    *[bound("an empty element", spec, f"kernelc: error: device list '{spec}' has an empty element; write spec,spec, such as "
            "opencl,host [E0917]") for spec in ("host,", ",host", "host,,debug")],
    bound("nothing", "", "kernelc: error: option '--device' expects NAME=VALUE, not 'npu=' [E0908]\nhelp: for example: --device npu=debug"),
    bound("a kind that is nearly one", "hots", f"kernelc: error: target 'hots': {KINDS.format('hots')}\n{TARGETS}"),
    bound("an unknown key", "host?thread=2", UNKNOWN_KEY),
    bound("a bad value", "host?threads=0", "kernelc: error: threads=0 is not an integer from 1 to 1024 [E0960]"),
    bound("named and unnamed ones", "host", "kernelc: error: option '--device' expects NAME=VALUE, not 'debug' [E0908]\n"
          "help: for example: --device npu=debug", "--device", "debug"),
    Row("the last queue", 'device npu = target("debug");', "on debug", "npu.queue(63)"),
    Row("a queue after the last one", 'device npu = target("debug");',
        "t.kdl:5:67: error: expected a queue number from 0 to 63, found '64' [E0520]\n"
        "  export program p(x: in f32[N], y: out f32[N]) { spmd on npu.queue(64) scale(x, y); }\n" + " " * 68 + "^^", "npu.queue(64)"),
    Row("a set of queues with one after the last", 'device npu = target("debug");',
        "t.kdl:5:71: error: expected a queue number from 0 to 63, found '64' [E0520]\n"
        "  export program p(x: in f32[N], y: out f32[N]) { spmd on npu.queues(0, 64) scale(x, y); }\n" + " " * 72 + "^^",
        "npu.queues(0, 64)"),
    Row("a set of queues with the last one", 'device npu = target("debug");', "on debug", "npu.queues(0, 63)"),
    Row("a set that names a queue twice", 'device npu = target("debug");',
        "t.kdl:5:71: error: queue 1 is listed twice [E0589]\n"
        "  export program p(x: in f32[N], y: out f32[N]) { spmd on npu.queues(1, 1) scale(x, y); }\n" + " " * 72 + "^",
        "npu.queues(1, 1)"),
    Row("an empty set of queues", 'device npu = target("debug");',
        "t.kdl:5:61: error: invalid '.queues' after a device; use .queue(n) or .queues(a, b) [E0126]\n"
        "  export program p(x: in f32[N], y: out f32[N]) { spmd on npu.queues() scale(x, y); }\n" + " " * 62 + "^^^^^^",
        "npu.queues()"),
    Row("all candidates within selects are rejected",
        'device npu = select(select(target("debug")[64], target("host")[9]), target("debug")[65]);',
        "kernelc: error: none of the devices 'debug[64],host[9],debug[65]' is available:\n"
        "  debug[64]: there is no debug[64]: it would be the 65th, 64 match\n"
        "  host[9]: there is no host[9]: it would be the 10th, 1 matches\n"
        "  debug[65]: there is no debug[65]: it would be the 66th, 64 match [E0982]"),
    Row("a fallback within selects comes in its place",
        'device cpu = target("host", threads = 1);\n'
        'device npu = select(select(target("debug")[64], fallback(cpu)), target("debug"));',
        "on host?threads=1\n'cpu' and 'npu' are one device, host?threads=1"),
    bound("a list, of which the first is missing", "debug[64],host?threads=1", "on host?threads=1"),
    bound("a list, of which none is there", "debug[64],host[7]",
          "kernelc: error: none of the devices 'debug[64],host[7]' is available:\n"
          "  debug[64]: there is no debug[64]: it would be the 65th, 64 match\n"
          "  host[7]: there is no host[7]: it would be the 8th, 1 matches [E0982]"),
    Row("one device, spelled with its number", 'device npu = target("debug");\ndevice other = target("debug")[0];',
        "on debug\n'npu' and 'other' are one device, debug"),
    Row("one device, its keys in another order",
        'device npu = target("host", threads = 2, pin = 0);\ndevice other = target("host", pin = 0, threads = 2);',
        "on host?pin=0&threads=2\n'npu' and 'other' are one device, host?pin=0&threads=2"),
    Row("a fallback to itself after another candidate", 'device npu = select(target("debug")[64], fallback(npu));',
        "t.kdl:1:1: error: the description of device 'npu' refers to itself [E0524]\n"
        "  device npu = select(target(\"debug\")[64], fallback(npu));\n  " + "^" * 56),
    Row("fallbacks in a cycle of three", "device npu = fallback(a);\ndevice a = fallback(b);\ndevice b = fallback(npu);",
        "t.kdl:3:1: error: the description of device 'b' refers to itself [E0524]\n"
        "  device b = fallback(npu);\n  ^^^^^^^^^^^^^^^^^^^^^^^^^"),
    Row("a fallback to what is nearly a name", 'device cpu = target("host");\ndevice npu = fallback(cpy);',
        "t.kdl:2:23: error: unknown name 'cpy' [E0302]\n"
        "  device npu = fallback(cpy);\n                        ^^^\nhelp: did you mean 'cpu'?"),
    Row("a promise after a fallback", "device npu = fallback(cpu);\ndevice cpu;",
        "kernelc: error: device 'cpu' of 't.kdl' is not bound [E0910]\n"
        "help: bind it with --device cpu=host, or with another spec from `kernelc targets`"),
    Row("a launch on what is nearly a name", 'device npu = target("debug");',
        "t.kdl:5:57: error: unknown name 'nup' [E0302]\n"
        "  export program p(x: in f32[N], y: out f32[N]) { spmd on nup scale(x, y); }\n" + " " * 58 + "^^^\n"
        "help: did you mean 'npu'?", "nup"),
    bound("an empty number", "debug[]",
          f"kernelc: error: target 'debug[]': '[]' is not an ordinal such as [0]; {SPELLING}\n{TARGETS}"),
    bound("a number without its end", "debug[0",
          f"kernelc: error: target 'debug[0': '[0' is not an ordinal such as [0]; {SPELLING}\n{TARGETS}"),
    bound("a number without brackets", "debug1", f"kernelc: error: target 'debug1': {KINDS.format('debug1')}\n{TARGETS}"),
    bound("a key twice", "host?threads=1&threads=2",
          f"kernelc: error: target 'host?threads=1&threads=2': 'threads' is given twice; {SPELLING}\n{TARGETS}"),
    bound("a key without a value", "host?threads",
          f"kernelc: error: target 'host?threads': 'threads' is not key=value; {SPELLING}\n{TARGETS}"),
    bound("a value without a key", "host?=1", f"kernelc: error: target 'host?=1': '=1' is not key=value; {SPELLING}\n{TARGETS}"),
    bound("an unknown processor level", "host?isa=x86-64-v9",
          "kernelc: error: target 'host?isa=x86-64-v9': unknown isa 'x86-64-v9'; the known ones are: x86-64-v2 x86-64-v3 "
          f"x86-64-v3-vnni x86-64-v4 x86-64-v4-vnni x86-64-v4-bf16 x86-64-v4-amx x86-64-v4-fp16 armv8-a armv8-a-fp16 armv8-a-dotprod armv8-a-i8mm armv8-a-bf16 armv8-a-sve256 [E0917]\n{TARGETS}"),
    Row("an unknown key in the file", 'device npu = target("host", thread = 2);',
        UNKNOWN_KEY),
    Row("a bad value in the file", 'device npu = target("host", threads = 0);',
        "kernelc: error: threads=0 is not an integer from 1 to 1024 [E0960]"),
    bound("a spec without a name", "host", "kernelc: error: option '--device' expects NAME=VALUE, not '=host' [E0908]\n"
          "help: for example: --device npu=debug", "--device", "=host"),
    bound("one for all, and one that is bound by name", "host", "on host", "--target", "debug"),
    Row("a negative queue", 'device npu = target("debug");',
        "t.kdl:5:67: error: expected a queue number from 0 to 63, found '-1' [E0520]\n"
        "  export program p(x: in f32[N], y: out f32[N]) { spmd on npu.queue(-1) scale(x, y); }\n" + " " * 68 + "^^", "npu.queue(-1)"),
]


def answer(row, folder):
    with open(os.path.join(folder, "t.kdl"), "w") as file:
        file.write(row.devices + PROGRAM.format(place=row.place))
    command = ["kernelc", "run", "t.kdl", "-v", "--set", "N=3", "--arg", "x=iota", *row.options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    lines = done.stderr.strip().splitlines()
    if done.returncode == 0:
        where = [line.split(": launches ")[0] for line in (done.stdout + done.stderr).splitlines() if ": launches " in line]
        lines = [line for line in lines if ": launches " not in line and " -> " not in line]
        lines += [f"on {uri}" for uri in where]
        lines += [line for line in done.stdout.splitlines() if " are one device, " in line]
    return "\n".join(lines)


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="selection-") as folder:
        for row in ROWS:
            given = answer(row, folder)
            if given != row.answer:
                problems.append(f"{row.what} ({row.devices} {' '.join(row.options)}):\n{given}\nexpected:\n{row.answer}")
    print("\n".join(problems))
    print(f"{len(ROWS) - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
