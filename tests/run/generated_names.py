#!/usr/bin/env python3
"""Checks that generated headers, C and C++ compile for any names in the source. Every keyword of C and C++,
every macro of the headers that generated code includes, and each name that the generated code uses itself
is tried as a name of kernels, programs, parameters, sizes, variables and devices, also for `--emit c-source`. One in 20 of the names
that the C library declares is also tried as a module, and as a module and a kernel together."""

import pathlib
import re
import subprocess
import sys
import tempfile

from shared import checks, seeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-pedantic", "-fsyntax-only"]
C = [[compiler, f"-std={std}"] for compiler in ("gcc", "clang-19") for std in ("c11", "gnu17")]
CPP_17 = [[compiler, "-std=c++17"] for compiler in ("g++", "clang++-19")]
CPP_20 = [["g++", "-std=gnu++20"], ["clang++-19", "-std=c++20"]]

KEYWORDS = """
_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary _Noreturn _Static_assert
_Thread_local alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue contract_assert decltype default delete do
double dynamic_cast else enum explicit export extern false final float for friend goto if import inline int long main module mutable
namespace new noexcept not not_eq nullptr operator or or_eq override post pre private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast std struct switch template this thread_local throw
true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
""".split()
# Names that generated code uses itself, and names that escaping could make equal.
OWN = """
Devices Devices2 Kernels Open WithDefaults _ _1 __ after after_count args context core_num data devices done floats fn get given given_devices
host_queue0 int32_t int64_t kdl kdl_array kdl_context kdl_device kdl_event kdl_handle kdl_kernels kdl_launch kdl_queue kdl_run
kdl_value kdl_with_defaults kernels kernels_ kernels__ device names names_close names_devices names_kernels names_open names_scale
queue run running sizes uint8_t values M_PI_ M_PI __M_PI a__b a_b open close scale_launch scale_async
bound made status scale_bound scale_bind scale_call scale_unbind
""".split()
# Names that the code of `--emit c-source` uses itself, or names that look like them.
OWN_OF_SOURCE = """
body call core cores copysignf count error fabsf floorf fmaf free from ilogb kdl_allocate kdl_bytes kdl_call kdl_core kdl_cores kdl_error
kdl_left kdl_memory kdl_min_f32 kdl_run_cores kdl_scratch kdl_shared kdl_size_mul kdl_wrong l lane malloc memcpy names_cores
names_parallel_for parallel_for ptrdiff_t rintf scratch scale_body scale_arguments scale_on_core size_t sqrtf start uintptr_t v0 v1 v_0
x_bytes x_0 y_1 load_0 add_1
""".split()


def macros_of(folder):
    """Returns the names that the compilers and the included headers define."""
    found = set()
    for words, name in [(c, f"names.{end}") for end in ("c", "orch.c") for c in C] + \
                       [(c, "names.h") for c in CPP_17 + CPP_20] + [(c, "names.orch.cpp") for c in CPP_20]:
        language = "c++" if "++" in words[0] else "c"
        text = output_of([*words, "-x", language, "-dM", "-E", "-I", ROOT / "include", name], folder)
        found |= set(re.findall(r"^#define (\w+)", text, re.MULTILINE))
    for words in C:  # not those that the file defines itself
        text = output_of([*words, "-dM", "-E", "names.source.c"], folder)
        found |= {name for name in re.findall(r"^#define (\w+)", text, re.MULTILINE) if not name.startswith("KDL_")}
    return found


def words_to_try(macros):
    """Returns all names that may keep their spelling, and one in 40 of the names that get a `_`. Also checks
    that each macro that ends in `_` starts with `_`, too."""
    ends = [name for name in macros if name.endswith("_") and not name.startswith("_")]
    checks.expect("no macro ends in '_'", not ends, str(ends))
    kept = [name for name in macros if re.match("[a-z]|[A-Z]([a-z]|[0-9]*$)", name)]
    checks.expect("macros are found", len(macros) > 1000 and len(kept) > 20, str(macros))
    return kept + KEYWORDS + OWN + OWN_OF_SOURCE + seeds.one_in(40, sorted(macros - set(kept)))



def output_of(words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr[:1000]}")
    return done.stdout


def build(folder, text, *options, module="names"):
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.kdl").write_text(text)
    output_of(["kernelc", "build", f"{module}.kdl", "--emit", "header,c,orch,orch-c", *options], folder)


def compile_source(what, folder, text):
    """Compiles kernels as C source, and a C++ file that includes their header."""
    folder.mkdir(exist_ok=True)
    (folder / "names.kdl").write_text(text)
    output_of(["kernelc", "build", "names.kdl", "--emit", "c-source", "--target", "host?isa=x86-64-v3"], folder)
    (folder / "source.cpp").write_text('#include "names.source.h"\n')
    for words, name in [(c, "names.source.c") for c in C[1:3]] + [(c, "source.cpp") for c in CPP_20]:
        try:
            output_of([*words, *WARNINGS, "-Wno-psabi", name], folder)
            checks.expect(f"{what} as C source: {words}", True)
        except RuntimeError as failed:
            checks.expect(f"{what} as C source: {words}", False, failed)


def compile_all(what, folder, calls=True):
    """Compiles everything that was generated, and a caller of each kernel, with each compiler and standard."""
    header = (folder / "names.h").read_text()
    uses = '#include "names.h"\n'
    uses += "void Use(const names::Kernels& kernels, const float* x, float* y);\n" if calls else ""
    if calls:
        members = re.findall(r"^  kdl::Status (\w+)\(int64_t \w+, const float\* \w+,\s+float\* \w+\) const", header, re.MULTILINE)
        binds = re.findall(r"^  kdl::Status (\w+)\(int64_t \w+, const float\* \w+,\s+float\* \w+,\s+kdl::BoundCall&", header, re.MULTILINE)
        uses += "void Use(const names::Kernels& kernels, const float* x, float* y) {\n"
        uses += "".join(f"  static_cast<void>(kernels.{name}(1, x, y));\n" for name in members)
        uses += "  kdl::BoundCall bound;\n"
        uses += "".join(f"  static_cast<void>(kernels.{name}(1, x, y, bound));\n" for name in binds) + "}\n"
        c_names = re.findall(r"^kdl_error\* (\w+)\(const names_kernels\w*\* \w+,\s+int64_t \w+,\s+const float\* \w+,\s+float\* \w+\);", header, re.MULTILINE)
        checks.expect(f"{what}: functions are found", len(members) > 100 and len(c_names) == len(members) == len(binds), header)
    (folder / "caller.cpp").write_text(uses)
    for words, name in [(c, f"names.{end}") for end in ("c", "orch.c") for c in C] + \
                       [(c, "caller.cpp") for c in CPP_17 + CPP_20] + [(c, "names.orch.cpp") for c in CPP_20]:
        try:
            output_of([*words, *WARNINGS, "-I", ROOT / "include", name], folder)
            checks.expect(f"{what}: {words} {name}", True)
        except RuntimeError as failed:
            checks.expect(f"{what}: {words} {name}", False, failed)


def kernels_and_programs(words, kinds):
    """Returns a source that uses the words as names of kernels or programs."""
    scale = "kernel scale_(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = x[i]; } }\n"
    kernel = "export kernel {}(x: in f32[N], y: out f32[N]) {{ spmd for i in N by 8 {{ y[i] = x[i]; }} }}\n"
    program = "export program {}(x: in f32[N], y: out f32[N]) {{ spmd scale_(x, y); }}\n"
    return scale + "".join((kernel if kind == "kernel" else program).format(word) for word, kind in zip(words, kinds))


def parameters(words):
    """Returns a source that uses the words as names of parameters, sizes and variables of kernels and
    programs."""
    text = "kernel base_k(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = x[i]; } }\n"
    for number in range(0, len(words), 24):
        part = words[number:number + 24]
        other = (words[number + 24:] + words)[:24]
        scalars = ", ".join(f"{word}: f32" for word in part)
        tensors = ", ".join(f"{word}: in f32[{size}]" for word, size in zip(part, other))
        spare = "base_y"
        text += f"export kernel base_k{number}({scalars}, base_x: in f32[N], {spare}: out f32[N]) {{ spmd for i in N by 8 {{ {spare}[i] = base_x[i]; }} }}\n"
        text += f"export kernel base_l{number}({tensors}, base_x: in f32[N], {spare}: out f32[N]) {{ spmd for i in N by 8 {{ {spare}[i] = base_x[i]; }} }}\n"
        text += f"export program base_p{number}({tensors}) {{\n"
        text += "".join(f"    let base_t{i}: f32[{size}];\n    spmd base_k({word}, base_t{i});\n"
                        for i, (word, size) in enumerate(zip(part, other)))
        text += "}\n"
        text += f"export program base_q{number}(base_x: inout f32[N], base_s: f32) {{\n"
        text += "".join(f"    let {word} = base_s * {i}.0;\n    base_x[{i}] = {word};\n" for i, word in enumerate(part)) + "}\n"
        text += f"export program base_r{number}(base_x: in f32[N]) {{\n"
        text += "".join(f"    let {word}: f32[N];\n    spmd base_k(base_x, {word});\n" for word in part) + "}\n"
        text += f"export program base_s{number}(base_x: inout f32[N]) {{\n"
        text += "".join(f"    for {word} in 0..3 {{ base_x[{word}] = 1.0; }}\n" for word in part) + "}\n"
    return text


def bodies(words):
    """Returns kernels that use the words as names of parameters, sizes and variables in their bodies."""
    text = ""
    for number in range(0, len(words), 24):
        part = words[number:number + 24]
        scalars = ", ".join(f"{word}: f32" for word in part)
        other = (words[number + 24:] + words)[:24]
        tensors = ", ".join(f"{word}: in f32[{size}]" for word, size in zip(part, other))
        sum_of = " + ".join(part)
        text += f"export kernel base_b{number}({scalars}, base_x: in f32[N], base_y: out f32[N]) {{ spmd for base_i in N by 8 {{ base_y[base_i] = base_x[base_i] + {sum_of}; }} }}\n"
        text += f"export kernel base_c{number}({tensors}, base_y: inout f32[N]) {{ spmd for base_i in N by 8 {{ base_y[base_i] += {' + '.join(word + '[0]' for word in part)}; }} }}\n"
        text += f"export kernel base_d{number}(base_x: in f32[N], base_y: out f32[N]) {{\n    spmd for base_i in N by 8 {{\n"
        text += "".join(f"        let {word} = base_x[base_i] * {i}.5;\n" for i, word in enumerate(part))
        text += f"        base_y[base_i] = {sum_of};\n    }}\n}}\n"
    return text


def devices(words):
    """Returns a source that uses the words as names of devices."""
    text = "kernel base_k(x: in f32[N], y: out f32[N]) { spmd for i in N by 8 { y[i] = x[i]; } }\n"
    text += "".join(f'device {word} = target("host");\n' for word in words)
    for number in range(0, len(words), 50):
        text += f"export program base_p{number}(base_x: inout f32[N]) {{\n    let base_y: f32[N];\n"
        text += "".join(f"    spmd on {word} base_k(base_x, base_y);\n    spmd on {word} base_k(base_y, base_x);\n"
                        for word in words[number:number + 50]) + "}\n"
    return text


# A header that callers often include, too. Its names cannot be namespaces either.
OF_CALLERS = '#include <string.h>\n'


def globals_of(folder):
    """Returns the names that the global scope already contains, so that they cannot be namespaces."""
    text = "".join(output_of([*c, "-E", "-P", "-include", "string.h", "-I", ROOT / "include", "names.orch.cpp"], folder) for c in CPP_20)
    names = sorted(set(re.findall(r"\b[A-Za-z]\w*", text)) - set(KEYWORDS))
    before = OF_CALLERS + '#include "names.orch.cpp"\n'
    (folder / "spaces.cpp").write_text(before + "".join(f"namespace {name} {{ }}\n" for name in names))
    done = subprocess.run(["clang++-19", "-std=gnu++20", "-ferror-limit=0", "-fsyntax-only", "-w", "-I", ROOT / "include", "spaces.cpp"],
                          cwd=folder, capture_output=True, text=True, timeout=300)
    lines = re.findall(r"^spaces\.cpp:(\d+):\d+: error", done.stderr, re.MULTILINE)
    return sorted({names[int(line) - 3] for line in lines if int(line) >= 3})


def check_modules(what, folder, modules):
    """Checks that the headers of modules with these names and kernels can be included together."""
    headers = []
    for module, kernels in modules.items():
        place = folder / f"{module}.{what}"
        place.mkdir(parents=True)
        (place / "source.kdl").write_text(kernels_and_programs(kernels, ["kernel"] * len(kernels)))
        output_of(["kernelc", "build", "source.kdl", "--module", module, "--emit", "header,c"], place)
        headers.append(f"{place.name}/{module}")
    for words in C + CPP_17 + CPP_20:
        end = "cpp" if "++" in words[0] else "c"
        (folder / f"all.{end}").write_text(OF_CALLERS + "".join(f'#include "{header}.{"h" if end == "cpp" else "c"}"\n' for header in headers))
        done = subprocess.run([*words, *WARNINGS, "-I", str(ROOT / "include"), f"all.{end}"], cwd=folder, capture_output=True, text=True, timeout=300)
        checks.expect(f"{what}: {words}", done.returncode == 0, done.stderr[:1000])


def split_names(names, others):
    """Splits the names into modules and kernels whose C functions would have these names. No kernel has one of the other names."""
    modules = {}
    for name in names:
        module, _, kernel = name.rpartition("_")
        if module and re.match("[A-Za-z]", kernel) and kernel not in others:
            modules.setdefault(module, []).append(kernel)
    return modules


def main():
    lexer = (ROOT / "grammar/KdlLexer.g4").read_text()
    of_language = {"core_id", "core_num"} | set(re.findall(r"^\w+ : '(\w+)'", lexer, re.MULTILINE))
    builtins = set(re.findall(r"^(\w+)  ", output_of(["kernelc", "explain", "builtins"], ROOT), re.MULTILINE))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build(folder / "plain", kernels_and_programs(["scale", "twice"], ["kernel", "program"]))
        compile_source("two functions", folder / "plain", kernels_and_programs(["scale", "twice"], ["kernel", "program"]))
        words = sorted(set(words_to_try(macros_of(folder / "plain"))) - of_language)
        for what, shift in (("kernels and programs", 0), ("programs and kernels", 1)):
            kinds = ["kernel" if (i + shift) % 2 else "program" for i in range(len(words))]
            build(folder / f"functions{shift}", kernels_and_programs(words, kinds))
            compile_all(what, folder / f"functions{shift}")
        own = sorted({*OWN, *OWN_OF_SOURCE} - of_language)
        compile_source("kernels", folder / "source", kernels_and_programs(own, ["kernel"] * len(own)))
        compile_source("bodies", folder / "source", bodies(words))
        for what, text in (("parameters", parameters(words)), ("devices", devices(words))):
            build(folder / what, text)
            compile_all(what, folder / what, calls=False)
        names = seeds.one_in(20, globals_of(folder / "plain"))
        check_modules("modules", folder / "modules", {name: ["scale"] for name in names})
        check_modules("modules and kernels", folder / "modules", split_names(sorted(set(names) - of_language), builtins | of_language))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
