#include "driver/emit/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "codegen/llvm/link_shared.h"
#include "driver/diagnostics.h"
#include "support/process.h"

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

bool LinkShared(const std::vector<std::string>& objects, const std::string& output,
                DiagnosticEngine& diagnostics) {
  Status linked = codegen::LinkShared(objects, output);
  if (!linked.ok()) diagnostics.Report(diag::MachineFailed, {}, linked.failure().message);
  return linked.ok();
}

bool LinkProgram(const std::vector<std::string>& objects, const std::string& output,
                 DiagnosticEngine& diagnostics) {
  std::string compiler = Find({"c++", "g++", "clang++-19"}, "link a program", "g++", diagnostics);
  if (compiler.empty()) return false;
  std::error_code error;
  fs::path root = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
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
