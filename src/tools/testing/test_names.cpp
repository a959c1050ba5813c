#include "tools/testing/test_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/run/select.h"
#include "support/near_names.h"

namespace kdl::tools {

namespace {

void AddNew(std::vector<std::string_view>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void HelpNear(Diagnostic& report, std::string_view name,
              const std::vector<std::string_view>& names) {
  std::string_view near = NearestName(name, names);
  if (!near.empty()) report.Help(fmt::format("did you mean '{}'?", near));
}

}  // namespace

bool KnowSizes(const std::vector<const ir::Function*>& kernels, const driver::Options& options,
               DiagnosticEngine& diagnostics) {
  std::vector<std::string_view> sizes;
  std::vector<std::string_view> names;
  for (const ir::Function* kernel : kernels) {
    AddNew(names, kernel->base_name());
    for (Name dim : kernel->dims) AddNew(sizes, dim.text());
  }
  bool known = true;
  for (const std::string& text : options.set) {
    std::string_view name = std::string_view(text).substr(0, text.find('='));
    if (kernels.empty() || std::find(sizes.begin(), sizes.end(), name) != sizes.end()) continue;
    known = false;
    Diagnostic& report = diagnostics.Report(
        driver::diag::UnknownSize, {}, names.size() == 1 ? names[0] : options.files[0], name,
        sizes.empty() ? std::string("no size that can be set") : QuotedList(sizes));
    auto is_its = [&](const ir::Generic& generic) { return generic.name.text() == name; };
    bool is_generic = std::ranges::any_of(
        kernels, [&](const ir::Function* k) { return std::ranges::any_of(k->generics, is_its); });
    if (is_generic) {
      report.Help(fmt::format("it is an integer parameter: -D {}", text));
    } else {
      HelpNear(report, name, sizes);
    }
  }
  return known;
}

bool KnowsKernel(const std::string& file, driver::Options options,
                 const targets::Registry& families, DiagnosticEngine& diagnostics) {
  options.files = {file};
  driver::Session session(options, families);
  driver::Compilation made = driver::Compile(session, {.until = driver::Until::Ir});
  if (!made.ok()) return true;
  std::vector<std::string_view> names;
  for (const ir::Function* function : made.module->functions()) {
    if (function->kind != ir::FunctionKind::Kernel) continue;
    if (driver::IsNamed(*function, options.kernel)) return true;
    AddNew(names, function->base_name());
  }
  Diagnostic& report =
      diagnostics.Report(driver::diag::UnknownProgram, {}, file, "kernel", options.kernel);
  HelpNear(report, options.kernel, names);
  return false;
}

}  // namespace kdl::tools
