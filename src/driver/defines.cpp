#include "driver/defines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.h"

namespace kdl::driver {

namespace {

/// Returns the values as numbers. Returns nothing and reports an error if a value is not a number.
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

/// Checks the values of a comma-separated list. Reports an error and returns false if a value has
/// the form NAME=VALUE, which needs its own -D.
bool AreValues(const Assignment& define, const std::vector<std::string_view>& values,
               DiagnosticEngine& diagnostics) {
  auto other = std::ranges::find_if(
      values, [](std::string_view value) { return value.find('=') != std::string_view::npos; });
  if (other == values.end()) return true;
  Diagnostic& report =
      diagnostics.Report(diag::DefineInList, {}, define.name, define.value, *other, define.name);
  if (other == values.begin()) return false;
  std::string written = fmt::format("-D {}=", define.name);
  for (std::string_view value : values) {
    bool is_next = value.find('=') != std::string_view::npos;
    if (value.data() != values[0].data()) written += is_next ? " -D " : ",";
    written += value;
  }
  report.Help(fmt::format("use a separate -D for each parameter: {}", written));
  return false;
}

}  // namespace

std::optional<std::vector<sema::Define>> ReadDefines(const Options& options,
                                                     DiagnosticEngine& diagnostics) {
  std::vector<sema::Define> defines;
  for (const std::string& text : options.define) {
    auto define = SplitAssignment("-D", text, "-D BM=64", diagnostics);
    if (!define) return std::nullopt;
    std::vector<std::string_view> values = SplitList(define->value);
    if (!AreValues(*define, values, diagnostics)) return std::nullopt;
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
      if (!define.function.empty() && define.function != function->base_name()) continue;
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
