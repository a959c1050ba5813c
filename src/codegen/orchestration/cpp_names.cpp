#include "codegen/orchestration/cpp_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "codegen/orchestration/macro_names.h"

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
                                       "typeof",       "typeof_unqual",
                                       "uint16_t",     "uint32_t",
                                       "uint64_t",     "uint8_t",
                                       "union",        "unix",
                                       "unsigned",     "using",
                                       "virtual",      "void",
                                       "volatile",     "wchar_t",
                                       "while",        "xor",
                                       "xor_eq"};
static_assert(std::is_sorted(std::begin(kWords), std::end(kWords)));

// Functions of the C library that its headers may declare beside a namespace of the generated code.
constexpr std::string_view kFunctions[] = {
    "abort",     "abs",       "acos",      "acosh",       "aligned_alloc", "asctime",  "asin",
    "asinh",     "atan",      "atan2",     "atanh",       "atexit",        "atof",     "atoi",
    "atol",      "atoll",     "bcmp",      "bcopy",       "brk",           "bsearch",  "bzero",
    "calloc",    "cbrt",      "ceil",      "clock",       "close",         "copysign", "cos",
    "cosh",      "ctime",     "daylight",  "difftime",    "div",           "drem",     "erf",
    "erfc",      "exit",      "exp",       "exp10",       "exp2",          "expm1",    "fabs",
    "fclose",    "fdim",      "feof",      "ferror",      "fflush",        "ffs",      "fgetc",
    "fgets",     "fileno",    "finite",    "floor",       "fma",           "fmax",     "fmin",
    "fmod",      "fopen",     "fork",      "fprintf",     "fputc",         "fputs",    "fread",
    "free",      "frexp",     "fscanf",    "fseek",       "ftell",         "fwrite",   "gamma",
    "getc",      "getchar",   "getenv",    "getline",     "getpid",        "getw",     "gmtime",
    "hypot",     "ilogb",     "index",     "isinf",       "isnan",         "j0",       "j1",
    "jn",        "kill",      "labs",      "ldexp",       "ldiv",          "lgamma",   "link",
    "llabs",     "lldiv",     "llrint",    "llround",     "localtime",     "log",      "log10",
    "log1p",     "log2",      "logb",      "lrint",       "lround",        "lseek",    "malloc",
    "memchr",    "memcmp",    "memcpy",    "memmove",     "memset",        "mktime",   "modf",
    "nan",       "nanosleep", "nearbyint", "nextafter",   "nexttoward",    "nice",     "pause",
    "perror",    "pipe",      "popen",     "pow",         "pow10",         "printf",   "putc",
    "puts",      "qsort",     "raise",     "rand",        "random",        "read",     "realloc",
    "remainder", "remove",    "remquo",    "rename",      "rewind",        "rindex",   "rint",
    "round",     "scalb",     "scalbln",   "scalbn",      "scanf",         "select",   "setbuf",
    "setenv",    "signal",    "signgam",   "significand", "sin",           "sincos",   "sinh",
    "sleep",     "snprintf",  "sprintf",   "sqrt",        "srand",         "srandom",  "sscanf",
    "strcat",    "strchr",    "strcmp",    "strcpy",      "strlen",        "strncmp",  "strstr",
    "strtod",    "strtol",    "swab",      "sync",        "system",        "tan",      "tanh",
    "tgamma",    "time",      "timezone",  "tmpfile",     "tolower",       "toupper",  "trunc",
    "ungetc",    "unlink",    "usleep",    "vprintf",     "wait",          "write",    "y0",
    "y1",        "yn"};
static_assert(std::is_sorted(std::begin(kFunctions), std::end(kFunctions)));

}  // namespace

std::string CppNames::Pick(std::string_view wanted) {
  std::string name(wanted.empty() ? "value" : wanted);
  if (IsReserved(name)) {  // its first `_` go behind it
    size_t first = name.find_first_not_of('_');
    name = fmt::format("{}{}", name.substr(first), name.substr(0, first));
  }
  if (MayBeMacro(name) ||
      std::binary_search(std::begin(kWords), std::end(kWords), std::string_view(name)))
    name += '_';
  std::string picked = name;
  for (int number = 2; taken_.contains(picked); ++number)
    picked = fmt::format("{}{}", name, number);
  taken_.insert(picked);
  return picked;
}

std::string CppNames::PickGlobal(std::string_view wanted) {
  // libm has its functions also for float and long double: expf, expl.
  bool suffixed = wanted.size() > 1 && (wanted.back() == 'f' || wanted.back() == 'l');
  for (std::string_view name : {wanted, wanted.substr(0, wanted.size() - (suffixed ? 1 : 0))}) {
    if (std::binary_search(std::begin(kFunctions), std::end(kFunctions), name))
      return Pick(fmt::format("{}_", wanted));
  }
  return Pick(wanted);
}

std::string CppNames::PickLocal(std::string_view wanted) {
  const bool is_runtimes = wanted.starts_with("kdl_") && !wanted.ends_with('_');
  return is_runtimes ? Pick(fmt::format("{}_", wanted)) : Pick(wanted);
}

}  // namespace kdl::codegen
