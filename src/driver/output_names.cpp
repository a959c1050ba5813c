#include "driver/output_names.h"

#include <filesystem>
#include <ranges>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.h"

namespace kdl::driver {

namespace fs = std::filesystem;

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
  return fs::path(options.files[0]).stem().string();
}

std::string NameInOutputs(const Options& options, const std::string& path) {
  if (options.command != Command::Build) return path;
  for (const std::string& text : std::views::reverse(options.path_prefix_map)) {
    size_t equals = text.find('=');
    std::string_view old = std::string_view(text).substr(0, equals);
    if (path.starts_with(old)) return text.substr(equals + 1) + path.substr(old.size());
  }
  if (!fs::path(path).is_absolute()) return path;
  std::error_code error;
  std::string relative = fs::proximate(path, error).string();
  return error ? path : relative;
}

}  // namespace kdl::driver
