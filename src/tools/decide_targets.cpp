#include "tools/decide_targets.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "driver/devices.h"
#include "driver/select.h"
#include "support/contains.h"

namespace kdl::tools {

namespace {

/// The kernels that --kernel names, and no program that launches others. False after a report.
bool KeepNamed(driver::Compilation& c) {
  auto kept = driver::SelectKernels(*c.module, c.options.files[0], c.options, c.diagnostics);
  std::erase_if(c.module->functions(), [&](ir::Function* function) {
    bool is_fn = function->kind == ir::FunctionKind::Fn;
    return !is_fn && !Contains(kept, function);
  });
  return !kept.empty();
}

}  // namespace

bool DecideTargets(driver::Compilation& c, driver::Code& code) {
  if (driver::CompileToIr(c) != driver::PipelineEnd::Done) return false;
  if (!c.options.kernel.empty() && !KeepNamed(c)) return false;
  if (driver::RunModulePasses(c) != driver::PipelineEnd::Done) return false;
  std::string under_test = fmt::format("{}", fmt::join(c.options.target, ","));
  auto specs = driver::ResolveSpecs(*c.module, c.options.files[0], under_test, false, c.options,
                                    c.diagnostics);
  auto targets = specs ? driver::ParseTargets(*specs, c) : std::nullopt;
  if (specs) c.runtime_specs = driver::RuntimeSpecs(*specs, c.families);
  return targets && driver::DecidePipes(c, std::move(*targets), code) == driver::PipelineEnd::Done;
}

}  // namespace kdl::tools
