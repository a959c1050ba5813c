#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/arguments.h"
#include "driver/compile.h"
#include "driver/compile_target.h"
#include "driver/devices.h"
#include "driver/diagnostics.h"
#include "driver/executor.h"
#include "driver/outputs.h"
#include "driver/run_program.h"
#include "driver/select.h"
#include "driver/toolchain.h"
#include "driver/wrap_kernel.h"
#include "support/io.h"
#include "tools/commands.h"
#include "tools/reference_device.h"

namespace kdl::tools {

namespace {

using driver::Compilation;
using driver::PipelineEnd;

/// --set gives sizes, and constants of a kernel; what is left of it once the constants are bound.
driver::Options WithoutConstants(const driver::Options& options, const ir::Function& kernel) {
  driver::Options left = options;
  std::erase_if(left.set, [&](const std::string& text) {
    return std::any_of(kernel.generics.begin(), kernel.generics.end(),
                       [&](const ir::Generic& generic) {
                         return text.substr(0, text.find('=')) == generic.name.text();
                       });
  });
  return left;
}

/// The program to run, alone in the module with what it launches. Null after a report. `options`
/// loses the values that became constants.
ir::Function* ChooseProgram(Compilation& c, const std::vector<driver::ArgumentSpec>& arguments,
                            driver::Options& options,
                            std::optional<driver::BoundContract>& contract) {
  ir::Function* chosen =
      driver::SelectFunction(*c.module, c.options.files[0], arguments, c.options, c.diagnostics);
  if (chosen && chosen->kind == ir::FunctionKind::Kernel) {
    if (!driver::BindGenerics(*chosen, arguments, c.options, c.diagnostics)) return nullptr;
    options = WithoutConstants(c.options, *chosen);
    contract = driver::FindContract(c.contracts, *c.module, *chosen);
    chosen = driver::WrapKernel(*c.module, *chosen, Name());
  }
  if (!chosen) return nullptr;
  if (c.options.core_num) driver::SetCoreNum(*c.module, *chosen, *c.options.core_num);
  driver::KeepOnly(*c.module, *chosen);
  return chosen;
}

/// The spec that --target gives; empty: none.
std::optional<std::string> DeviceUnderTest(Compilation& c) {
  const std::vector<std::string>& given = c.options.target;
  if (given.size() < 2) return given.empty() ? std::string() : given[0];
  c.diagnostics.Report(driver::diag::SeveralTargets, {}, given[0], given[1])
      .Help("leave one away, or bind declared devices one by one with --device");
  return std::nullopt;
}

/// A runtime that knows the program's kernels. Null after a report.
driver::Context Load(Compilation& c, const driver::Code& code) {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  kdl_context* made = nullptr;
  Status status =
      folder.ok() ? driver::StatusOf(kdl_context_create(&made)) : Status(folder.failure());
  driver::Context context(made);
  if (status.ok()) status = AddReferenceDevice(context.get());
  if (status.ok()) {
    std::vector<std::string> objects = driver::WriteObjects(c, code, folder->path());
    std::string shared = folder->path() + "/kernels.so";
    if (objects.empty() || !driver::LinkShared(objects, shared, c.diagnostics)) return nullptr;
    status = driver::StatusOf(kdl_context_load(context.get(), shared.c_str()));
  }
  if (status.ok()) return context;
  c.diagnostics.Report(driver::diag::MachineFailed, {}, status.failure().message);
  return nullptr;
}

/// Everything up to code that the runtime can load; the module's passes have run.
std::optional<driver::Code> CompileAll(Compilation& c, const driver::DeviceSpecs& specs) {
  auto targets = driver::ParseTargets(driver::SpecsOf(specs), c.diagnostics);
  if (!targets || driver::RunModulePasses(c) != PipelineEnd::Done) return std::nullopt;
  std::optional<driver::Code> code(std::in_place);
  PipelineEnd end = driver::CompileForTargets(c, std::move(*targets), {}, *code);
  if (end != PipelineEnd::Done) return std::nullopt;
  return code;
}

void Run(Compilation& c) {
  auto arguments = driver::ReadArguments(c.options, c.diagnostics);
  std::optional<std::string> under_test = DeviceUnderTest(c);
  if (driver::CompileToIr(c) != PipelineEnd::Done || !arguments || !under_test) return;
  driver::Options options = c.options;
  std::optional<driver::BoundContract> contract;
  ir::Function* program = ChooseProgram(c, *arguments, options, contract);
  auto bound =
      program ? driver::BindProgram(*program, *arguments, options, c.diagnostics) : std::nullopt;
  if (!bound) return;
  auto specs = driver::ResolveSpecs(*c.module, c.options.files[0], *under_test, true, c.options,
                                    c.diagnostics);
  if (specs) c.runtime_specs = driver::RuntimeSpecs(*specs);
  auto code = specs ? CompileAll(c, *specs) : std::nullopt;
  bool runs = code && driver::RunsHere(*code, c.diagnostics);
  driver::Context context = runs ? Load(c, *code) : nullptr;
  if (!context) return;
  driver::RunPlace place{context.get(), *c.module, c.runtime_specs, c.sources, std::move(contract)};
  c.printed += driver::RunAndReport(place, *program, std::move(*bound), c.options, c.diagnostics);
}

}  // namespace

int RunRun(const driver::Options& options) {
  Compilation compilation(options);
  Run(compilation);
  return driver::Finish(compilation);
}

}  // namespace kdl::tools
