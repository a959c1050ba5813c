#include "driver/compile/stdlib.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "driver/diagnostics.h"

namespace kdl::driver {

namespace {

constexpr StdlibFile kFiles[] = {
#include "stdlib_files.inc"
};

std::string NameOf(const StdlibFile& file) {
  constexpr std::string_view kEnding = ".kdl";
  std::string name = fmt::format("std.{}", file.path.substr(0, file.path.size() - kEnding.size()));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

std::span<const StdlibFile> StdlibFiles() { return kFiles; }

bool IsElementary(const StdlibFile& file) { return file.path.starts_with("math/"); }

const StdlibFile* FindStdlibFile(std::string_view name) {
  auto found = std::ranges::find_if(kFiles, [&](auto& file) { return NameOf(file) == name; });
  return found == std::end(kFiles) ? nullptr : found;
}

std::vector<std::string> StdlibNames() {
  std::vector<std::string> names;
  for (const StdlibFile& file : kFiles)
    if (!IsElementary(file)) names.push_back(NameOf(file));
  return names;
}

bool ReportUnknownStdlibFile(const std::string& name, DiagnosticEngine& diagnostics) {
  namespace fs = std::filesystem;
  std::string ending = fs::path(name).extension().string();
  std::error_code none;
  bool is_named = name.starts_with("std.") && ending != ".kdl" && ending != ".kir";
  if (!is_named || FindStdlibFile(name) || fs::exists(name, none)) return false;
  diagnostics.Report(diag::NoSuchFile, {}, name)
      .Help(fmt::format("the library has {}", fmt::join(StdlibNames(), ", ")));
  return true;
}

std::string StdlibPath(const StdlibFile& file) { return fmt::format("std/{}", file.path); }

}  // namespace kdl::driver
