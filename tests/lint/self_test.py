#!/usr/bin/env python3
"""Tests the lints on small trees that contain mistakes, and checks the complaint that each mistake must
cause."""

import pathlib
import tempfile
import unittest

import argument_order
import families
import includes
import knots
import names
import pages
import shape
import words


def tree(files):
    """Makes a temporary folder with these {path: text}."""
    folder = tempfile.TemporaryDirectory(prefix="lint-")
    for name, text in files.items():
        path = pathlib.Path(folder.name).resolve() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class Lints(unittest.TestCase):
    def expect(self, lint, files, words):
        with tree(files) as name:
            problems = list(lint.complaints(pathlib.Path(name).resolve()))
        self.assertEqual(len(problems), 1 if words else 0, problems)
        for word in words:
            self.assertIn(word, problems[0])

    def test_allowed_edge(self):
        self.expect(includes, {"src/ir/a.h": '#include "support/b.h"\n', "src/support/b.h": ""}, [])

    def test_forbidden_edge(self):
        self.expect(includes, {"src/ir/a.h": '#include "sema/b.h"\n', "src/sema/b.h": ""},
                    ["src/ir/a.h", "sema/b.h", "src/support"])

    def test_code_generators_are_apart(self):
        self.expect(includes, {"src/codegen/llvm/a.h": '#include "codegen/orchestration/b.h"\n',
                               "src/codegen/orchestration/b.h": ""}, ["src/codegen/llvm/a.h"])

    def test_runtime_and_compiler_are_apart(self):
        self.expect(includes, {"runtime/core/a.cpp": '#include "support/b.h"\n',
                               "src/support/b.h": ""}, ["runtime/core/a.cpp"])

    def test_neighbour_by_bare_name(self):
        self.expect(includes, {"src/ir/a.h": '#include "../sema/b.h"\n', "src/sema/b.h": ""},
                    ["src/ir/a.h"])

    def test_library_of_one_folder(self):
        self.expect(includes, {"src/passes/a.cpp": "#include <llvm/IR/Module.h>\n"},
                    ["llvm/IR/Module.h", "src/codegen/llvm"])

    def test_system_of_one_folder(self):
        self.expect(includes, {"src/driver/a.cpp": "#include <unistd.h>\n", "src/support/b.cpp": "#include <unistd.h>\n"},
                    ["src/driver/a.cpp", "unistd.h", "src/support"])

    BUILDER = {"src/ir/builder.h": "  Value* I64(int64_t value) {\n  Value* Add(Value* a, Value* b);\n  Value* Sub(Value* a, Value* b);\n"}

    def test_ops_of_two_arguments(self):
        for call in ["b_.Add(b_.Sub(x, y), e.Twice(b_.Sub(y, x)))", "Join(Scaled(e.b, x), b.Sub(x, y))"]:
            self.expect(argument_order, {**self.BUILDER, "src/passes/a.cpp": f"void F() {{\n  {call};\n}}\n"},
                        ["src/passes/a.cpp:2"])

    def test_ops_of_own_functions(self):
        text = "Value* Last() {\n  return b.Sub(x, y);\n}\nValue* Next() {\n  return Last();\n}\nvoid F() {\n  b.Add(Last(), Next());\n}\n"
        self.expect(argument_order, {**self.BUILDER, "src/passes/a.cpp": text}, ["src/passes/a.cpp:8"])

    def test_ops_in_a_defined_order(self):
        for call in ["b.Add(b.Sub(x, y), b.I64(1))", "Values all = {b.Sub(x, y), b.Sub(y, x)}",
                     "MakeIf(b, [&] { b.Sub(x, y); }, [&] { b.Sub(y, x); })"]:
            self.expect(argument_order, {**self.BUILDER, "src/passes/a.cpp": f"void F() {{\n  {call};\n}}\n"}, [])

    def test_knot_by_way_of_sources(self):
        files = {"src/ir/a.h": "", "src/ir/a.cpp": '#include "ir/b.h"\n', "src/ir/b.h": "", "src/ir/b.cpp": '#include "ir/a.h"\n'}
        self.expect(knots, files, ["src/ir: a b"])

    def test_recursion_by_way_of_an_interface(self):
        files = {"src/ir/a.h": "", "src/ir/b.cpp": '#include "ir/a.h"\n', "src/ir/b.h": "",
                 "src/ir/check_a.cpp": '#include "ir/a.h"\n#include "ir/b.h"\n'}
        self.expect(knots, files, [])

    def test_knot_that_is_gone(self):
        with tree({"src/ir/a.h": ""}) as name:
            problems = list(knots.complaints(pathlib.Path(name).resolve(), ["src/ir: a b"]))
        self.assertEqual(len(problems), 1, problems)

    def test_room_below(self):
        self.expect(knots, {"src/sema/walk/a.h": '#include "sema/types/b.h"\n', "src/sema/types/b.h": ""}, ["src/sema/walk/a.h", "model"])

    def test_name_of_two_files(self):
        unnamed = "namespace kdl {\n\nnamespace {\n\n%s\n}  // namespace\n\n}  // namespace kdl\n"
        self.expect(names, {"src/ir/CMakeLists.txt": "", "src/ir/a.cpp": unnamed % "bool Is(const ir::Op* op) {\n}\n",
                            "src/ir/b.cpp": unnamed % "bool Is(const Op* at) {\n}\n"}, ["src/ir/a.cpp", "src/ir/b.cpp", "Is("])

    def test_names_of_what_differs(self):
        files = {"src/ir/CMakeLists.txt": "", "src/sema/CMakeLists.txt": ""}
        files["src/ir/a.cpp"] = "bool Is(int a) {\n}\nusing A = int;\nstruct B {\n};\n"
        files["src/ir/b.cpp"] = "bool Is(bool a) {\n}\nusing A = int;\n"
        self.expect(names, {**files, "src/sema/c.cpp": "struct B {\n};\n"}, [])

    def test_inner_header(self):
        self.expect(includes, {"src/passes/a.cpp": '#include "proofs/sets.h"\n', "src/proofs/sets.h": ""},
                    ["src/passes/a.cpp", "proofs/sets.h", "src/proofs/proofs.h"])

    def test_cycle(self):
        self.expect(includes, {"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "a.h"\n'},
                    ["cycle", "src/ir/a.h", "src/ir/b.h"])

    def test_unknown_folder(self):
        self.expect(includes, {"src/extra/a.h": ""}, ["src/extra/a.h"])

    def test_long_header(self):
        long = {"src/README.md": "", "src/ir/README.md": "", "src/ir/a.h": "\n" * 311}
        self.expect(shape, long, ["src/ir/a.h", "311", "310"])

    def test_long_readme(self):
        self.expect(shape, {"src/README.md": "\n" * 41}, ["src/README.md", "41", "40"])

    def test_long_golden(self):
        golden = "tests/golden/passes/deal.kir"
        self.expect(shape, {"tests/README.md": "", "tests/golden/README.md": "", golden: "\n" * 121},
                    [golden, "121", "120"])

    def test_kind_outside(self):
        self.expect(families, {"src/targets/cpu/family.cpp": '    {"host", kKeys, kStripped, MakeLevels,\n',
                               "src/driver/a.cpp": 'x = "host";  // "--device=host"\n'},
                    ["src/driver/a.cpp:1", "host"])
        self.expect(families, {"src/targets/cpu/family.cpp": '    {"host", kKeys, kStripped, MakeLevels,\n',
                               "runtime/core/device.h": 'return "host";\n', "runtime/host/device.cpp": '"host"\n'},
                    ["runtime/core/device.h:1", "host"])

    def test_page_names_a_file_that_is_gone(self):
        self.expect(pages, {"src/ADDING.md": "| an op | `ir/a.def`, `b.def` |\n", "src/ir/a.def": ""}, ["src/ADDING.md:1", "b.def"])

    def test_page_names_what_its_file_lacks(self):
        self.expect(pages, {"src/DECISIONS.md": "| Why? | `ir/a.h` | `Run`, `Stop` |\n", "src/ir/a.h": "void Run();"}, ["Stop"])

    def test_words_that_come_back(self):
        self.expect(words, {"src/ir/a.h": "// beside\n", "runtime/a.cpp": "// next to\n"}, ["beside", "next to"])

    def test_replaced_name(self):
        self.expect(words, {"src/ir/a.h": 'int OpenGates(int propagates, const char* text = "gate");\n'}, ["OpenGates", "mbarrier"])

    def test_missing_readme(self):
        self.expect(shape, {"src/README.md": "", "src/ir/a.h": ""}, ["src/ir", "README"])


if __name__ == "__main__":
    unittest.main()
