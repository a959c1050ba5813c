#include "codegen/orchestration/cpp_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace kdl::codegen {

namespace {

// The words of C and C++, and the namespaces and macros that generated code or its headers use.
constexpr std::string_view kWords[] = {"INFINITY",     "NAN",
                                       "NULL",         "alignas",
                                       "alignof",      "and",
                                       "and_eq",       "asm",
                                       "auto",         "bitand",
                                       "bitor",        "bool",
                                       "break",        "case",
                                       "catch",        "char",
                                       "char16_t",     "char32_t",
                                       "char8_t",      "class",
                                       "co_await",     "co_return",
                                       "co_yield",     "compl",
                                       "concept",      "const",
                                       "const_cast",   "consteval",
                                       "constexpr",    "constinit",
                                       "continue",     "decltype",
                                       "default",      "delete",
                                       "do",           "double",
                                       "dynamic_cast", "else",
                                       "enum",         "errno",
                                       "explicit",     "export",
                                       "extern",       "false",
                                       "final",        "float",
                                       "for",          "friend",
                                       "goto",         "if",
                                       "import",       "inline",
                                       "int",          "int16_t",
                                       "int32_t",      "int64_t",
                                       "int8_t",       "kdl",
                                       "linux",        "long",
                                       "main",         "module",
                                       "mutable",      "namespace",
                                       "new",          "noexcept",
                                       "not",          "not_eq",
                                       "nullptr",      "operator",
                                       "or",           "or_eq",
                                       "override",     "private",
                                       "protected",    "public",
                                       "register",     "reinterpret_cast",
                                       "requires",     "restrict",
                                       "return",       "short",
                                       "signed",       "sizeof",
                                       "static",       "static_assert",
                                       "static_cast",  "std",
                                       "stderr",       "stdin",
                                       "stdout",       "struct",
                                       "switch",       "template",
                                       "this",         "thread_local",
                                       "throw",        "true",
                                       "try",          "typedef",
                                       "typeid",       "typename",
                                       "uint16_t",     "uint32_t",
                                       "uint64_t",     "uint8_t",
                                       "union",        "unix",
                                       "unsigned",     "using",
                                       "virtual",      "void",
                                       "volatile",     "wchar_t",
                                       "while",        "xor",
                                       "xor_eq"};
static_assert(std::is_sorted(std::begin(kWords), std::end(kWords)));

}  // namespace

std::string CppNames::Pick(std::string_view wanted) {
  std::string name(wanted.empty() ? "value" : wanted);
  if (std::binary_search(std::begin(kWords), std::end(kWords), std::string_view(name))) name += '_';
  std::string picked = name;
  for (int number = 2; taken_.contains(picked); ++number)
    picked = fmt::format("{}{}", name, number);
  taken_.insert(picked);
  return picked;
}

}  // namespace kdl::codegen
