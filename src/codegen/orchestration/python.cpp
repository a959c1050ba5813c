#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/orchestration.h"
#include "codegen/orchestration/syntax.h"
#include "ir/optional_params.h"
#include "ir/packs.h"
#include "kdl/version.h"
#include "support/contains.h"

// Prints the texts of a Python project. Everything that is the same for all projects is in files of the package
// kernelc, which are copied.

namespace kdl::codegen {

namespace {

constexpr std::string_view kKeywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

/// Modules that every Python has, and those that a package of kernels or its users import. A package of such a name would
/// hide them, or be hidden.
constexpr std::string_view kModules =
    " "
    "abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb "
    "binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop "
    "collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg "
    "crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email "
    "encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib "
    "functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac "
    "html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json kernelc "
    "keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes "
    "ml_dtypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath "
    "nturl2path numbers numpy opcode operator optparse os ossaudiodev pathlib pdb pickle "
    "pickletools pip pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats "
    "pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib "
    "resource rlcompleter runpy sched secrets select selectors setuptools shelve shlex shutil "
    "signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants "
    "sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys "
    "sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time "
    "timeit tkinter token tokenize tomllib torch trace traceback tracemalloc tty turtle "
    "turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref "
    "webbrowser wheel winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib "
    "zoneinfo ";

bool IsName(std::string_view text) {
  return std::ranges::find(kKeywords, text) == std::end(kKeywords);
}

/// Returns the name of the package for a module's name.
std::string PackageName(std::string name) {
  bool is_taken = !IsName(name) || kModules.find(fmt::format(" {} ", name)) != kModules.npos;
  return is_taken ? name + "_" : name;
}

/// Returns the name of a package's distribution. Packages may have names that pip refuses: it wants a letter or digit at both
/// ends.
std::string DistributionName(std::string_view package) {
  auto is_plain = [](char ch) { return ch != '_'; };
  auto first = std::ranges::find_if(package, is_plain);
  auto last = std::find_if(package.rbegin(), package.rend(), is_plain).base();
  if (first == package.begin() && last == package.end()) return std::string(package);
  return first == package.end() ? "kernels" : std::string(first, last) + "-kernels";
}

std::string TypeOf(const FaceParam& param) {
  if (param.is_tensor) return "Any";
  Scalar scalar = param.param->value->type()->scalar;
  if (scalar == Scalar::Bool) return "bool";
  return IsFloat(scalar) || param.any_scalar ? "float" : "int";
}

/// Returns a parameter's name as Python can write it: with `_` at its end if it is a keyword.
std::string WrittenName(std::string_view name) {
  return fmt::format("{}{}", name, IsName(name) ? "" : "_");
}

bool IsOutput(const FaceParam& param) {
  return param.param->direction == ir::Direction::Out && param.is_tensor;
}

/// Returns whether a call may omit the parameter: an output, which is then allocated, or an optional parameter.
bool IsOmittable(const FaceFunction& kernel, const FaceParam& param) {
  return IsOutput(param) || ir::Presence(*kernel.functions[0], *param.param).has_value();
}

/// Returns the declaration of a parameter, with a default if it is to have one.
std::string StubParameter(const FaceParam& param, bool has_default) {
  const std::string_view value = !has_default ? "" : IsOutput(param) ? " = ..." : " = None";
  return fmt::format(", {}: {}{}", WrittenName(param.param->value->name().text()), TypeOf(param),
                     value);
}

/// Returns declarations of parameters without defaults, except for those at the end that may be omitted: outputs, and optional
/// parameters if the flag is set.
std::string StubParameters(const FaceFunction& kernel, std::span<const FaceParam* const> params,
                           bool omits_optional = true) {
  auto is_needed = [&](const FaceParam* param) {
    return omits_optional ? !IsOmittable(kernel, *param) : !IsOutput(*param);
  };
  auto last = std::ranges::find_if(params.rbegin(), params.rend(), is_needed);
  const auto needed = static_cast<size_t>(params.rend() - last);
  std::string text;
  for (size_t p = 0; p < params.size(); ++p) text += StubParameter(*params[p], p >= needed);
  return text;
}

/// Returns the packs of which a call may have to say how many dimensions they have: those that share a tensor with another
/// pack, since the output that determines them may be omitted.
std::vector<Name> UnclearPacks(const FaceFunction& kernel) {
  std::vector<Name> unclear;
  for (const ir::Function* function : kernel.functions) {
    std::vector<Name> packs = ir::OpenPacks(*function);
    for (const ir::Param& param : function->params) {
      const std::vector<Name> shared = ir::PacksOf(*function, param);
      if (shared.size() > 1) packs.insert(packs.end(), shared.begin(), shared.end());
    }
    for (Name pack : packs) {
      if (!Contains(unclear, pack)) unclear.push_back(pack);
    }
  }
  return unclear;
}

/// Returns the declarations of the keywords that say how many dimensions packs have, such as `, rank_A: int = ...`.
std::string StubRanks(const FaceFunction& kernel) {
  std::string text;
  for (Name pack : UnclearPacks(kernel)) text += fmt::format(", {}: int = ...", ir::PackMark(pack));
  return text;
}

/// Returns declarations for the ways to pass the arguments of a call: all in order; or only the inputs in order, and outputs by name; or, if
/// optional inputs are omitted, those after them by name, too.
std::vector<std::string> WaysToCall(const FaceFunction& kernel) {
  std::vector<const FaceParam*> all;
  std::vector<const FaceParam*> inputs;
  std::vector<const FaceParam*> outputs;
  for (const FaceParam& param : kernel.params) {
    all.push_back(&param);
    (IsOutput(param) ? outputs : inputs).push_back(&param);
  }
  const std::string ranks = StubRanks(kernel);
  auto is_omittable = [&](const FaceParam* param) { return IsOmittable(kernel, *param); };
  auto optional = std::ranges::find_if(inputs, is_omittable);
  // In order, an argument could be for the output or for the optional input after it.
  const bool is_unclear =
      optional != inputs.end() && !std::equal(inputs.begin(), optional + 1, all.begin());
  std::vector<std::string> ways = {StubParameters(kernel, all, !is_unclear) +
                                   (ranks.empty() ? "" : ", *" + ranks)};
  std::string named;
  for (const FaceParam* param : outputs) named += StubParameter(*param, true);
  named += ranks;
  if (!named.empty()) named = ", *" + named;
  const bool has_outputs_last = std::equal(inputs.begin(), inputs.end(), all.begin());
  if (!has_outputs_last && !is_unclear) ways.push_back(StubParameters(kernel, inputs) + named);
  if (!is_unclear && std::all_of(optional, inputs.end(), is_omittable)) return ways;
  std::string partly = StubParameters(kernel, std::span(inputs.begin(), optional)) + ", *";
  for (auto one = optional; one != inputs.end(); ++one)
    partly += StubParameter(**one, is_omittable(*one));
  for (const FaceParam* param : outputs) partly += StubParameter(*param, true);
  ways.push_back(partly + ranks);
  return ways;
}

/// Returns a text as it may be inside of a docstring.
std::string Documented(std::string_view text) {
  std::string made;
  for (char ch : text)
    made += ch == '\\' || ch == '"' ? std::string("\\") + ch : std::string(1, ch);
  return made;
}

/// Returns a string literal of one line.
std::string OneLine(std::string_view text) {
  std::string line;
  for (char ch : Documented(text)) line += ch == '\n' ? "\\n" : std::string(1, ch);
  return fmt::format("\"{}\"", line);
}

/// Returns a text as a string of TOML, on one line.
std::string TomlString(std::string_view text) {
  std::string quoted;
  for (char ch : text) {
    if (ch == '\\' || ch == '"') quoted += '\\';
    bool is_control = static_cast<unsigned char>(ch) < ' ' || ch == '\x7f';
    quoted += is_control ? ' ' : ch;
  }
  return fmt::format("\"{}\"", quoted);
}

/// Returns the description of a package whose source does not begin with one.
std::string ListOfKernels(const ModuleFace& face) {
  std::string text;
  for (const FaceFunction& kernel : face.kernels)
    text += fmt::format("{}{}", text.empty() ? "Compiled kernels: " : ", ", kernel.source_name);
  return text.empty() ? "Compiled kernels" : text;
}

/// Returns pyproject.toml. The licence covers the files of kernelc, whose text is in the folder licenses.
std::string ProjectFile(const std::string& package, const std::string& description) {
  return fmt::format(
      "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n\n"
      "[project]\nname = \"{}\"\nversion = \"0.1.0\"\ndescription = {}\n"
      "requires-python = \">=3.11\"\ndependencies = [\"numpy>=1.24\"]\n"
      "# The kernels are yours: replace LicenseRef-Proprietary by their licence. The files in the "
      "folder _kernelc of the\n"
      "# package are those of kernelc, whose licence must stay with them: keep licenses/ in "
      "license-files.\n"
      "license = \"LicenseRef-Proprietary AND Apache-2.0 WITH LLVM-exception\"\n"
      "license-files = [\"licenses/*\"]\n",
      package, TomlString(description));
}

std::string Stub(const FaceFunction& kernel) {
  std::string doc = kernel.doc.empty() ? "" : kernel.doc + "\n\n";
  for (const FaceParam& param : kernel.params)
    doc += fmt::format("{}: {}\n", param.name, param.declared);
  std::string indented;
  for (char ch : Documented(doc)) indented += ch == '\n' ? "\n        " : std::string(1, ch);
  const std::vector<std::string> ways = WaysToCall(kernel);
  std::string text = fmt::format("class _{}(Kernel):\n", kernel.source_name);
  for (const std::string& way : ways) {
    if (ways.size() > 1) text += "    @overload\n";
    text +=
        fmt::format("    def __call__(self{}) -> Any:\n        \"\"\"{}\"\"\"\n\n", way, indented);
  }
  return fmt::format("{0}{1}: _{1}\n\n", text, kernel.source_name);
}

}  // namespace

PythonProject PrintPython(const ir::Module& module, const std::string& runtime_name,
                          const std::string& device, const std::string& inner,
                          const std::string& images, const std::string& description) {
  ModuleFace face = MakeFace(module, runtime_name);
  PythonProject made;
  made.package = PackageName(face.c_prefix.substr(0, face.c_prefix.size() - 1));
  made.project = ProjectFile(DistributionName(made.package),
                             description.empty() ? ListOfKernels(face) : description);
  std::string head = fmt::format("\"\"\"The kernels of {}.kdl. Generated by kernelc {}.\"\"\"\n\n",
                                 face.module_name, KDL_VERSION);
  std::string names;
  std::string docs;
  made.stubs = head + fmt::format(
                          "from typing import Any, overload\n\nfrom .{0} import errors as "
                          "errors\nfrom .{0}.calling import Kernel\n\n",
                          inner);
  for (const FaceFunction& kernel : face.kernels) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", kernel.source_name);
    docs += fmt::format("    {}: {},\n", Quoted(kernel.source_name), OneLine(kernel.doc));
    if (IsName(kernel.source_name)) made.stubs += Stub(kernel);
  }
  made.init =
      head + fmt::format(
                 "import pathlib\n\nfrom .{} import errors, library\n\n"
                 "__all__ = [{}]\n"
                 "_documentation = {{\n{}}}\n"
                 "globals().update(library.open_kernels(pathlib.Path(__file__).parent / {}, {}, "
                 "_documentation))\n",
                 inner, names, docs, Quoted(images), Quoted(device));
  made.torch = fmt::format(
      "\"\"\"Registers the kernels as operators `torch.ops.{0}.*` when it is imported.\"\"\"\n\n"
      "import {0}\n\nfrom .{1} import torch_ops\n\n"
      "_library = torch_ops.register(\"{0}\", [vars({0})[name] for name in {0}.__all__])\n",
      made.package, inner);
  return made;
}

}  // namespace kdl::codegen
