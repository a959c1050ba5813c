#include <doctest/doctest.h>

#include <string>

#include "tools/testing/golden_file.h"
#include "tools/testing/text_diff.h"

using namespace kdl;
using namespace kdl::tools;

namespace {

GoldenFile Parsed(const std::string& text) {
  auto parsed = ParseGolden(text, "t.kdl");
  REQUIRE(parsed.ok());
  REQUIRE(parsed->has_value());
  return **parsed;
}

constexpr const char* kText =
    "//! args: build --emit ir -D 'A=1 2'\n"
    "//! command: build {file} {file}x\n"
    "//! exit: 1\n"
    "//! files: a.npy b.npy\n"
    "kernel f() {}\n"
    "//~ 8: error: one [E0001]\n"
    "//~ help: do this\n"
    "\n"
    "//=== stdout\n"
    "//| a\n"
    "//|\n"
    "//|  b \n"
    "//\\ no newline at the end\n"
    "//=== out/x.h\n"
    "//| c\n";

}  // namespace

TEST_CASE("golden: a file is split into parts and joined again") {
  GoldenFile file = Parsed(kText);
  REQUIRE(file.commands.size() == 2);
  CHECK(file.commands[0].words ==
        std::vector<std::string>{"build", "--emit", "ir", "-D", "A=1 2", "t.kdl"});
  CHECK(file.commands[1].words == std::vector<std::string>{"build", "t.kdl", "t.kdlx"});
  CHECK(file.exit_code == 1);
  CHECK(file.companions == std::vector<std::string>{"a.npy", "b.npy"});
  REQUIRE(file.sections.size() == 2);
  CHECK(file.sections[0].text == "a\n\n b ");
  CHECK(file.sections[1].name == "out/x.h");
  CHECK(FormatGolden(file) == kText);
  CHECK(CompilerInput(file) == std::string(kText).substr(0, std::string(kText).find("//===")));
}

TEST_CASE("golden: files that are not golden files, and invalid golden files") {
  auto none = ParseGolden("kernel f() {}\n", "t.kdl");
  REQUIRE(none.ok());
  CHECK_FALSE(none->has_value());
  CHECK_FALSE(ParseGolden("//! arg: build\n", "t.kdl").ok());
  CHECK_FALSE(ParseGolden("//! args: build\n//! exit: one\n", "t.kdl").ok());
  CHECK_FALSE(ParseGolden("//! args: build\n//=== stdout\ntext\n", "t.kdl").ok());
}

TEST_CASE("golden: equal output changes nothing") {
  GoldenFile file = Parsed(
      "//! args: build\n//! exit: 1\nab\n//~ 2: error: e [E0001]\n//~ help: h\ncd\n//~ 1: note: "
      "n\n//=== stdout\n//| o\n");
  GoldenActual actual{
      "o\n",
      "t.kdl:3:2: error: e [E0001]\n  ab\n   ^\nt.kdl:6:1: note: n\n  cd\n  ^\nhelp: h\n",
      {}};
  CHECK(FormatGolden(WithActual(file, actual, "t.kdl")) == FormatGolden(file));
}

TEST_CASE("golden: a part is a block whose values are renumbered") {
  GoldenFile file = Parsed(
      "//! args: build\n//=== stdout of if %c\n//| if %c {\n//|   %0 = add %1, %0\n//| } else {\n"
      "//|   yield\n//| }\n//=== stdout of last\n//| last %0\n//=== stdout of none\n//| x\n");
  GoldenActual actual{
      "loop {\n  if %c {\n    %71 = add %5, %71\n  } else {\n    yield\n  }\n  if %c {\n  "
      "}\n}\nlast %9\n",
      "",
      {}};
  GoldenFile updated = WithActual(file, actual, "t.kdl");
  REQUIRE(updated.sections.size() == 2);
  CHECK(updated.sections[0].text == file.sections[0].text);
  CHECK(updated.sections[1].text == file.sections[1].text);
}

TEST_CASE("golden: every difference is shown") {
  GoldenFile file = Parsed(
      "//! args: build\nab\n//~ 2: error: e [E0001]\ncd\n//=== stdout\n//| o\n//=== f\n//| g\n");
  std::string same = "t.kdl:2:2: error: e [E0001]\n  ab\n   ^\n";
  auto after = [&](const GoldenActual& actual) {
    return FormatGolden(WithActual(file, actual, "t.kdl"));
  };
  std::string before = FormatGolden(file);
  CHECK(after({"o\n", same, {{"f", "g\n"}}}) == before);
  CHECK(after({"p\n", same, {{"f", "g\n"}}}) != before);
  CHECK(after({"o", same, {{"f", "g\n"}}}) != before);
  CHECK(after({"o\n", same, {{"f", ""}}}) != before);
  CHECK(after({"o\n", same, {}}) != before);
  CHECK(after({"o\n", "", {{"f", "g\n"}}}) != before);
  CHECK(after({"o\n", same + same, {{"f", "g\n"}}}) != before);
  CHECK(after({"o\n", "t.kdl:4:2: error: e [E0001]\n", {{"f", "g\n"}}}) != before);
  CHECK(after({"o\n", same + "help: more\n", {{"f", "g\n"}}}) != before);
}

TEST_CASE("golden: a diagnostic without a line goes to a stderr section") {
  GoldenFile file = Parsed("//! args: build\nab\n");
  GoldenFile updated =
      WithActual(file, {"", "kernelc: error: there is no file 'x' [E0911]\n", {}}, "t.kdl");
  REQUIRE(updated.Find("stderr"));
  CHECK(updated.lines[1].annotations.empty());
  GoldenFile beyond = WithActual(file, {"", "t.kdl:9:1: error: e [E0001]\n", {}}, "t.kdl");
  CHECK(beyond.Find("stderr"));
}

TEST_CASE("diff: hunks, context, missing line ends") {
  CHECK(UnifiedDiff("a\n", "a\n", "x", "y").empty());
  CHECK(UnifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "x", "y") ==
        "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  CHECK(UnifiedDiff("", "a\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
  CHECK(UnifiedDiff("a\n", "a", "x", "y") ==
        "--- x\n+++ y\n@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n");
  std::string global = "a\n1\n2\n3\n4\n5\n6\n7\nb\n";
  CHECK(UnifiedDiff(global, "A\n1\n2\n3\n4\n5\n6\n7\nB\n", "x", "y").find("@@ -6,4 +6,4 @@") !=
        std::string::npos);
}
