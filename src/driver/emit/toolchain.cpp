#include "driver/emit/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "codegen/llvm/link_shared.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/own_root.h"
#include "kdl/kernel_abi.h"
#include "support/process.h"
#include "support/system_libraries.h"

namespace kdl::driver {

namespace {

namespace fs = std::filesystem;

/// Returns the path of the tool, or reports which package to install.
std::string Find(const std::vector<std::string>& names, std::string_view purpose,
                 std::string_view package, DiagnosticEngine& diagnostics) {
  std::string path = FindProgram(names);
  if (path.empty()) {
    diagnostics.Report(diag::ToolMissing, {}, names.front(), purpose)
        .Help(fmt::format("on Debian: apt install {}", package));
  }
  return path;
}

/// Returns the path of the object that contains the runtime and what it needs of the C++ library, or nothing.
std::string FindRuntimeInside() {
  for (const char* libraries : {"lib", KDL_LIBRARIES}) {
    fs::path path = OwnRoot() / libraries / KDL_RUNTIME_INSIDE;
    std::error_code error;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

/// Returns a version script of the linker. An incompatible runtime gives all symbols another version.
std::string VersionScript(const codegen::CallTable& table) {
  std::string names =
      fmt::format("{}; kdl_module_images; {}; {};", table.images, table.open, table.close);
  for (const codegen::CallEntry& entry : table.entries)
    names += fmt::format(" {}; {}; {}; {}; {};", entry.call, entry.async, entry.bind, entry.run,
                         entry.unbind);
  return fmt::format("{}_{} {{ global: {} local: *; }};\nKDL_{} {{ global: kdl_*; }};\n",
                     table.library, KDL_ABI_VERSION, names, KDL_ABI_VERSION);
}

bool RunTool(std::vector<std::string> words, DiagnosticEngine& diagnostics) {
  ProcessRequest request;
  request.words = std::move(words);
  Result<ProcessResult> result = RunProcess(request);
  if (!result.ok()) {
    diagnostics.Report(diag::MachineFailed, {}, result.failure().message);
    return false;
  }
  if (result->ok()) return true;
  diagnostics.Report(diag::ToolFailed, {}, request.words[0], DescribeEnd(*result, request))
      .Help("it said: " + result->err);
  return false;
}

}  // namespace

bool LinkImages(const std::vector<std::string>& objects, const std::string& output,
                DiagnosticEngine& diagnostics) {
  Status linked = codegen::LinkShared(objects, output);
  if (!linked.ok()) diagnostics.Report(diag::MachineFailed, {}, linked.failure().message);
  return linked.ok();
}

bool LinkLibrary(std::vector<std::string> objects, const std::string& output,
                 const codegen::CallTable& table, const std::string& name,
                 DiagnosticEngine& diagnostics) {
  std::string runtime = FindRuntimeInside();
  if (runtime.empty()) {
    diagnostics.Report(diag::NoRuntimeInside, {}, KDL_RUNTIME_INSIDE)
        .Help("use --emit images for a file that kdl_context_load opens");
    return false;
  }
  std::string map = objects[0] + ".map";
  if (!WriteOutputFiles({{map, VersionScript(table)}}, diagnostics)) return false;
  objects.insert(objects.end(), {runtime, "--version-script=" + map, "-soname=" + name,
                                 "--eh-frame-hdr", "--gc-sections", "-Bsymbolic", "--as-needed"});
  for (std::string& library : LoadedSystemLibraries()) objects.push_back(std::move(library));
  return LinkImages(objects, output, diagnostics);
}

bool LinkProgram(const std::vector<std::string>& objects, const std::string& output,
                 DiagnosticEngine& diagnostics) {
  std::string compiler = Find({"c++", "g++", "clang++-19"}, "link a program", "g++", diagnostics);
  if (compiler.empty()) return false;
  const fs::path root = OwnRoot();
  std::vector<std::string> words = {compiler, "-o", output};
  words.insert(words.end(), objects.begin(), objects.end());
  for (const char* libraries : {"lib", KDL_LIBRARIES}) {
    words.push_back(fmt::format("-L{}", (root / libraries).string()));
  }
  for (std::string_view rest = KDL_PROGRAM_LINK; !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    words.emplace_back(word);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return RunTool(std::move(words), diagnostics);
}

}  // namespace kdl::driver
