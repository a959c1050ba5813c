#include "tools/timing/measure_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "driver/diagnostics.h"
#include "support/machine.h"
#include "targets/kinds.h"

namespace kdl::tools {

namespace {

bool IsMeasurable(std::string_view option, std::optional<int64_t> number,
                  DiagnosticEngine& diagnostics) {
  constexpr int64_t kMost = 1'000'000;
  bool fits = !number || (*number > 0 && *number <= kMost);
  if (!fits)
    diagnostics.Report(driver::diag::BadOptionValue, {}, option, fmt::format("{}", *number),
                       fmt::format("a number from 1 to {}", kMost));
  return fits;
}

}  // namespace

bool MeansHost(const std::string& spec) {
  return spec.substr(0, spec.find('?')) == targets::kOwnKind;
}

std::string WithKey(const std::string& spec, const std::string& key) {
  return spec + (spec.find('?') == std::string::npos ? '?' : '&') + key;
}

std::optional<std::vector<int>> ThreadCounts(const driver::Options& options,
                                             const std::string& spec, std::vector<int> unsaid,
                                             DiagnosticEngine& diagnostics) {
  const std::string& text = options.threads;
  if (!MeansHost(spec)) {
    if (text.empty()) return std::vector<int>{0};
    diagnostics.Report(driver::diag::OptionNeedsOption, {}, "--threads", "--target host");
    return std::nullopt;
  }
  if (spec.find("threads=") != std::string::npos) {
    diagnostics.Report(driver::diag::BadOptionValue, {}, "--target", spec,
                       "a host without 'threads='; use --threads");
    return std::nullopt;
  }
  if (text.empty()) return unsaid;
  int all = static_cast<int>(AllowedProcessors().size());
  std::vector<int> counts;
  for (std::string_view word : driver::SplitList(text)) {
    int count = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    bool reads = error == std::errc() && end == word.data() + word.size();
    if (!reads || count < 1 || count > all) {
      diagnostics.Report(
          driver::diag::BadOptionValue, {}, "--threads", text,
          fmt::format("numbers from 1 to {}, the number of processors of this process", all));
      return std::nullopt;
    }
    counts.push_back(count);
  }
  return counts;
}

bool CanMeasure(const driver::Options& options, DiagnosticEngine& diagnostics) {
  return IsMeasurable("--trials", options.trials, diagnostics) &&
         IsMeasurable("--seconds", options.seconds, diagnostics) &&
         IsMeasurable("--time-limit", options.time_limit, diagnostics);
}

driver::Options OptionsFor(const driver::Options& options, const ir::Function& kernel) {
  driver::Options own = options;
  auto is_other = [&](const std::string& text) {
    std::string_view name = std::string_view(text).substr(0, text.find('='));
    auto named = [&](Name one) { return one.text() == name; };
    return std::ranges::none_of(kernel.dims, named) &&
           std::ranges::none_of(kernel.generics,
                                [&](const ir::Generic& g) { return named(g.name); }) &&
           std::ranges::none_of(kernel.params,
                                [&](const ir::Param& p) { return named(p.value->name()); });
  };
  std::erase_if(own.set, is_other);
  std::erase_if(own.arg, is_other);
  return own;
}

}  // namespace kdl::tools
