#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "support/json_text.h"
#include "support/source.h"
#include "tools/commands.h"

namespace kdl::tools {

namespace {

/// A file of a new project. `@NAME@` in the path and in the text is the name of the project.
struct Template {
  std::string_view path;
  std::string_view text;
};

constexpr std::string_view kKernelFile =
#include "new_project/kernel.kdl.inc"
    ;

constexpr Template kCMake[] = {
    {"@NAME@.kdl", kKernelFile},
    {
        "CMakeLists.txt",
#include "new_project/cmake/CMakeLists.txt.inc"
    },
    {
        "main.cpp",
#include "new_project/cmake/main.cpp.in.inc"
    },
    {
        "README.md",
#include "new_project/cmake/README.md.inc"
    },
    {
        ".gitignore",
#include "new_project/cmake/gitignore.inc"
    },
};

constexpr Template kPython[] = {
    {"@NAME@/@NAME@.kdl", kKernelFile},
    {
        "@NAME@/__init__.py",
#include "new_project/python/__init__.py.inc"
    },
    {
        "tests/test_@NAME@.py",
#include "new_project/python/test_kernels.py.inc"
    },
    {
        "pyproject.toml",
#include "new_project/python/pyproject.toml.inc"
    },
    {
        "README.md",
#include "new_project/python/README.md.inc"
    },
    {
        ".gitignore",
#include "new_project/python/gitignore.inc"
    },
};

constexpr std::string_view kNamePlace = "@NAME@";

std::string Filled(std::string_view text, std::string_view name) {
  std::string filled(text);
  for (size_t at = filled.find(kNamePlace); at != std::string::npos;
       at = filled.find(kNamePlace, at + name.size()))
    filled.replace(at, kNamePlace.size(), name);
  return filled;
}

/// Whether the name has another meaning: keywords that C++, Python or CMake have, and packages that projects import.
bool IsReserved(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "alignas",  "alignof",  "and",     "and_eq",   "as",        "asm",       "assert",
      "async",    "auto",     "await",   "bitand",   "bitor",     "bool",      "break",
      "case",     "catch",    "char",    "class",    "compl",     "concept",   "const",
      "continue", "def",      "default", "del",      "delete",    "do",        "double",
      "elif",     "else",     "enum",    "except",   "explicit",  "export",    "extern",
      "false",    "finally",  "float",   "for",      "friend",    "from",      "global",
      "goto",     "if",       "import",  "in",       "inline",    "int",       "is",
      "kdl",      "kernelc",  "lambda",  "long",     "mutable",   "namespace", "new",
      "noexcept", "nonlocal", "not",     "not_eq",   "numpy",     "nullptr",   "operator",
      "or",       "or_eq",    "pass",    "private",  "protected", "public",    "raise",
      "register", "requires", "return",  "short",    "signed",    "sizeof",    "static",
      "std",      "struct",   "switch",  "template", "test",      "this",      "throw",
      "true",     "try",      "typedef", "typeid",   "typename",  "union",     "unittest",
      "unsigned", "using",    "virtual", "void",     "volatile",  "while",     "with",
      "xor",      "xor_eq",   "yield"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

/// Whether the name can be that of a file of kernels, a C++ namespace, a CMake target and a Python package.
bool IsProjectName(std::string_view name) {
  auto is_part = [](char c) {
    return c == '_' || std::isdigit(static_cast<unsigned char>(c)) != 0 || (c >= 'a' && c <= 'z');
  };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, is_part) && !IsReserved(name);
}

std::vector<driver::OutputFile> FilesOf(std::span<const Template> templates,
                                        const std::string& folder, std::string_view name) {
  std::vector<driver::OutputFile> files;
  for (const Template& one : templates)
    files.push_back({folder + "/" + Filled(one.path, name), Filled(one.text, name)});
  return files;
}

bool WriteAll(const std::vector<driver::OutputFile>& files, DiagnosticEngine& diagnostics) {
  for (const driver::OutputFile& file : files) {
    std::string folder = std::filesystem::path(file.path).parent_path().string();
    if (!driver::MakeFolder(folder, diagnostics)) return false;
  }
  return driver::WriteOutputFiles(files, diagnostics);
}

/// Writes the project, and returns the text that lists its files.
std::string WriteProject(const driver::Options& options, DiagnosticEngine& diagnostics) {
  namespace fs = std::filesystem;
  const std::string& folder = options.files[0];
  std::string name = fs::path(folder).filename().string();
  std::error_code none;
  if (!IsProjectName(name)) {
    diagnostics.Report(driver::diag::BadProject, {}, folder, "it is not a name of a project")
        .Help(
            "use lower-case letters, digits and `_`, begin with a letter, and avoid the words of "
            "C++ and Python");
  } else if (fs::exists(folder, none)) {
    diagnostics.Report(driver::diag::BadProject, {}, folder, "it exists")
        .Help("choose another name");
  }
  if (diagnostics.has_errors()) return "";
  auto files = options.python ? FilesOf(kPython, folder, name) : FilesOf(kCMake, folder, name);
  if (!WriteAll(files, diagnostics)) {
    fs::remove_all(folder, none);  // a part of a project would be in the way of the next try
    return "";
  }
  std::string listed;
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  for (const driver::OutputFile& file : files) {
    listed += file.path + "\n";
    paths.push_back(file.path);
  }
  driver::AddJson("files", JsonText(paths));
  return listed + fmt::format("\n{}/README.md says how to build and test it\n", folder);
}

}  // namespace

int RunNew(const driver::Options& options, const targets::Registry&) {
  DiagnosticEngine diagnostics;
  std::string text = WriteProject(options, diagnostics);
  driver::PrintDiagnostics(diagnostics, SourceManager());
  if (diagnostics.has_errors()) return driver::ExitCodeOf(diagnostics);
  return driver::PrintOutput(text) ? driver::kExitDone : driver::kExitEnvironment;
}

}  // namespace kdl::tools
