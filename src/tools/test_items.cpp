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

void Run(driver::Compilation& c, const std::string& name) {
  if (driver::CompileToIr(c) != driver::PipelineEnd::Done) return;
  ir::Function* program = Find(*c.module, name);
  if (c.options.core_num) driver::SetCoreNum(*c.module, *program, *c.options.core_num);
  driver::KeepOnly(*c.module, {program});
  std::string target = c.options.target.empty() ? std::string() : c.options.target[0];
  auto specs =
      driver::ResolveSpecs(*c.module, c.options.files[0], target, true, c.options, c.diagnostics);
  if (!specs) return;
  c.runtime_specs = driver::RuntimeSpecs(*specs);
  std::optional<driver::Code> code = CompileAll(c, *specs);
  bool runs = code && driver::RunsHere(*code, c.diagnostics);
  driver::Context context = runs ? Load(c, *code) : nullptr;
  if (!context) return;
  driver::RunPlace place{context.get(), *c.module, c.runtime_specs, c.sources, &c.contracts};
  driver::BoundProgram bound;
  Status ran = driver::RunOnce(place, *program, {}, bound);
  if (!ran.ok()) driver::ReportFailure(ran.failure(), c.sources, c.diagnostics);
}

}  // namespace

bool RunTestItem(const driver::Options& options, const std::string& program) {
  driver::Compilation compilation(options);
  Run(compilation, program);
  driver::PrintDiagnostics(compilation.diagnostics, compilation.sources, options.diag_format);
  return !compilation.diagnostics.has_errors();
}

}  // namespace kdl::tools
