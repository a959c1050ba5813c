#include "driver/defines.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.h"

namespace kdl::driver {

namespace {

/// The values as numbers; nothing, with a report, where one is none.
std::optional<std::vector<int64_t>> Numbers(const sema::Define& define,
                                            DiagnosticEngine& diagnostics) {
  std::vector<int64_t> numbers;
  for (const std::string& text : define.values) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      diagnostics.Report(diag::BadOptionValue, {}, fmt::format("-D {}", define.name), text,
                         "whole numbers");
      return std::nullopt;
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<sema::Define>> ReadDefines(const Options& options,
                                                     DiagnosticEngine& diagnostics) {
  std::vector<sema::Define> defines;
  for (const std::string& text : options.define) {
    auto define = SplitAssignment("-D", text, "-D BM=64", diagnostics);
    if (!define) return std::nullopt;
    std::vector<std::string_view> values = SplitList(define->value);
    defines.push_back({define->name, {values.begin(), values.end()}});
  }
  return defines;
}

bool BindDefines(ir::Module& module, const std::vector<sema::Define>& defines,
                 DiagnosticEngine& diagnostics) {
  for (const sema::Define& define : defines) {
    auto numbers = Numbers(define, diagnostics);
    if (!numbers) return false;
    bool found = false;
    for (ir::Function* function : module.functions()) {
      for (ir::Generic& generic : function->generics) {
        if (generic.name.text() != define.name) continue;
        generic.values = *numbers;
        found = true;
      }
    }
    if (found) continue;
    diagnostics.Report(diag::UnknownGeneric, {}, define.name,
                       fmt::format("{}={}", define.name, define.values[0]));
    return false;
  }
  return true;
}

}  // namespace kdl::driver
