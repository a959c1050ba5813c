#include "driver/compile/output_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ranges>
#include <string_view>

#include "driver/compile/stdlib.h"
#include "driver/diagnostics.h"
#include "driver/own_root.h"

namespace kdl::driver {

namespace fs = std::filesystem;

namespace {

/// Applies the last --path-prefix-map whose prefix matches the path. Returns nothing if no prefix
/// matches.
std::optional<std::string> Mapped(const Options& options, std::string_view path) {
  for (const std::string& text : std::views::reverse(options.path_prefix_map)) {
    size_t equals = text.find('=');
    std::string_view old = std::string_view(text).substr(0, equals);
    if (path.starts_with(old))
      return fmt::format("{}{}", text.substr(equals + 1), path.substr(old.size()));
  }
  return std::nullopt;
}

}  // namespace

bool CheckPrefixMap(const Options& options, DiagnosticEngine& diagnostics) {
  for (const std::string& text : options.path_prefix_map) {
    size_t equals = text.find('=');
    if (equals != std::string::npos && equals > 0) continue;
    diagnostics.Report(diag::BadOptionValue, {}, "--path-prefix-map", text, "OLD=NEW");
    return false;
  }
  return true;
}

std::string ModuleName(const Options& options) {
  if (!options.module.empty()) return options.module;
  const std::string& file = options.files[0];
  return FindStdlibFile(file) ? file.substr(file.rfind('.') + 1) : fs::path(file).stem().string();
}

bool CheckModuleName(std::string_view name, const Options& options, DiagnosticEngine& diagnostics) {
  auto is_wrong = [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte < 32 || byte == 127 || c == '/' || c == '\\' || c == '"';
  };
  bool fits = !name.empty() && std::ranges::none_of(name, is_wrong);
  if (options.command != Command::Build || fits) return true;
  diagnostics.Report(diag::NoNameForFiles, {}, name)
      .Help("give a name of letters, digits and `_`: --module NAME");
  return false;
}

std::string NameInOutputs(const Options& options, const std::string& path) {
  if (options.command != Command::Build) return path;
  if (std::optional<std::string> mapped = Mapped(options, path)) return *mapped;
  if (options.lines) return path;
  // Imported files are in the folder of the compiled file or in its subfolders.
  return fs::path(path).lexically_relative(fs::path(options.files[0]).parent_path()).string();
}

std::string FolderInOutputs(const Options& options) {
  std::error_code ignored;
  const std::string folder = fs::current_path(ignored).string();
  return Mapped(options, folder).value_or(folder);
}

std::string GdbScript(const Options& options) {
  std::error_code ignored;
  // By default, gdb trusts the files in /usr/share/gdb/auto-load.
  const fs::path path = OwnRoot() / "share/gdb/auto-load/kernelc/kdl_printers.py";
  if (!fs::exists(path, ignored)) return "";
  return Mapped(options, path.string()).value_or(path.string());
}

std::string SpecsInOutputs(const Options& options, const targets::Registry& families,
                           std::string_view list) {
  std::string all;
  for (std::string_view one : SplitList(list)) {
    std::string spec(one);
    const std::string file = families.CodeFile(spec);
    std::optional<std::string> mapped = Mapped(options, file);
    if (!file.empty() && mapped) spec.replace(spec.find(file), file.size(), *mapped);
    all += (all.empty() ? "" : ",") + spec;
  }
  return all;
}

}  // namespace kdl::driver
