#include "tools/testing/test_items.h"

#include <algorithm>
#include <string_view>

#include "driver/compile/compile.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "driver/run/run_program.h"
#include "driver/run/wrap_kernel.h"
#include "support/check.h"
#include "tools/loading/load.h"

namespace kdl::tools {

namespace {

ir::Function* Find(const ir::Module& module, std::string_view name) {
  auto found = std::find_if(module.functions().begin(), module.functions().end(),
                            [&](const ir::Function* f) { return f->name.text() == name; });
  KDL_CHECK(found != module.functions().end(), "'{}' is no longer in the module", name);
  return *found;
}

/// Returns a result for each target on which the test ran.
std::vector<ItemResult> RunOnTargets(driver::Session& s, const std::string& name,
                                     const std::vector<std::string>& targets) {
  ir::Function* program = nullptr;
  driver::CompileRequest request;
  request.edit = [&](driver::Compilation& made) {
    program = Find(*made.module, name);
    if (s.options.core_num) driver::SetCoreNum(*made.module, *program, *s.options.core_num);
    driver::KeepOnly(*made.module, {program});
    return true;
  };
  request.places = {.under_test = targets, .bindings = s.options.device};
  driver::Compilation made = driver::Compile(s, std::move(request));
  driver::Context context = made.ok() ? Load(s, made) : nullptr;
  std::vector<ItemResult> results;
  for (size_t i = 0; context && i < targets.size(); ++i) {
    driver::RunPlace place{context.get(),
                           *made.module,
                           made.devices[i],
                           s.sources,
                           &made.contracts.list,
                           {},
                           driver::LaunchChecks::Requirements};
    driver::BoundProgram bound;
    Status ran = driver::RunOnce(place, *program, {}, bound);
    results.push_back({targets[i], ran.ok()});
    if (ran.ok()) continue;
    driver::ReportFailure(ran.failure(), s.sources, s.diagnostics);
    break;
  }
  return results;
}

}  // namespace

std::vector<ItemResult> RunTestItem(const driver::Options& options,
                                    const targets::Registry& families, const std::string& program,
                                    const std::vector<std::string>& targets) {
  driver::Session session(options, families);
  std::vector<ItemResult> results = RunOnTargets(session, program, targets);
  driver::PrintDiagnostics(session.diagnostics, session.sources);
  if (results.empty()) results.push_back({targets[0], false});
  return results;
}

}  // namespace kdl::tools
