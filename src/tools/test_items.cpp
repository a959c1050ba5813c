#include "tools/test_items.h"

#include <algorithm>
#include <string_view>

#include "driver/compile.h"
#include "driver/compile_target.h"
#include "driver/devices.h"
#include "driver/report.h"
#include "driver/run_program.h"
#include "driver/wrap_kernel.h"
#include "support/check.h"
#include "tools/load.h"

namespace kdl::tools {

namespace {

ir::Function* Find(const ir::Module& module, std::string_view name) {
  auto found = std::find_if(module.functions().begin(), module.functions().end(),
                            [&](const ir::Function* f) { return f->name.text() == name; });
  KDL_CHECK(found != module.functions().end(), "'{}' is not in the module any more", name);
  return *found;
}

/// The results on the targets that were reached.
void Run(driver::Compilation& c, const std::string& name, const std::vector<std::string>& targets,
         std::vector<ItemResult>& results) {
  if (driver::CompileToIr(c) != driver::PipelineEnd::Done) return;
  ir::Function* program = Find(*c.module, name);
  if (c.options.core_num) driver::SetCoreNum(*c.module, *program, *c.options.core_num);
  driver::KeepOnly(*c.module, {program});
  std::map<std::string, driver::DeviceSpecs> by_target;
  auto specs = ResolveTargets(c, targets, by_target);
  if (!specs) return;
  std::optional<driver::Code> code = CompileAll(c, *specs);
  driver::Context context = code ? Load(c, *code) : nullptr;
  if (!context) return;
  for (const std::string& target : targets) {
    driver::RunPlace place{context.get(),
                           *c.module,
                           by_target.at(target),
                           c.sources,
                           &c.contracts.list,
                           {},
                           driver::LaunchChecks::Requirements};
    driver::BoundProgram bound;
    Status ran = driver::RunOnce(place, *program, {}, bound);
    results.push_back({target, ran.ok()});
    if (ran.ok()) continue;
    driver::ReportFailure(ran.failure(), c.sources, c.diagnostics);
    return;
  }
}

}  // namespace

std::vector<ItemResult> RunTestItem(const driver::Options& options,
                                    const targets::Registry& families, const std::string& program,
                                    const std::vector<std::string>& targets) {
  driver::Compilation compilation(options, families);
  std::vector<ItemResult> results;
  Run(compilation, program, targets, results);
  driver::PrintDiagnostics(compilation.diagnostics, compilation.sources, options.diag_format);
  if (results.empty()) results.push_back({targets[0], false});
  return results;
}

}  // namespace kdl::tools
