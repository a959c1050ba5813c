#include <doctest/doctest.h>

#include <string>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/writer.h"

namespace kdl::codegen {

TEST_CASE("generated names differ from C++ keywords and from each other") {
  CppNames names;
  CHECK(names.Pick("x") == "x");
  CHECK(names.Pick("x") == "x2");
  CHECK(names.Pick("x2") == "x22");
  CHECK(names.Pick("new") == "new_");
  CHECK(names.Pick("kdl") == "kdl_");
  CHECK(names.Pick("") == "value");
}

TEST_CASE("lists wrap after their opening, and a comment at the end may exceed the line length") {
  Writer writer;
  writer.Indent();
  writer.List("f(", {"a", "b"}, ");");
  writer.List("g(", {std::string(60, 'x'), std::string(40, 'y')}, ");");
  writer.List("h(", {std::string(90, 'z')}, ");  // a comment that is long");
  writer.List("i(", {}, ");");
  CHECK(writer.Take() == "  f(a, b);\n  g(" + std::string(60, 'x') + ",\n    " +
                             std::string(40, 'y') + ");\n  h(" + std::string(90, 'z') +
                             ");  // a comment that is long\n  i();\n");
  CHECK(Quoted("a\"b\\c\n") == "\"a\\\"b\\\\c\\012\"");
}

}  // namespace kdl::codegen
