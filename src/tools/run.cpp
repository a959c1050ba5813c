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
#include "driver/open_outputs.h"
#include "driver/resume.h"
#include "driver/run_program.h"
#include "driver/select.h"
#include "driver/wrap_kernel.h"
#include "tools/commands.h"
#include "tools/draw_inputs.h"
#include "tools/load.h"

namespace kdl::tools {

namespace {

using driver::Compilation;
using driver::PipelineEnd;

/// The options without what the data has given to the program's integer parameters, where they are no sizes of it any more.
driver::Options WithoutData(const Compilation& c, const ir::Function& program) {
  driver::Options left = c.options;
  std::erase_if(left.set, [&](const std::string& text) {
    return std::ranges::any_of(c.from_data, [&](const sema::Define& define) {
      bool is_size =
          std::ranges::any_of(program.dims, [&](Name dim) { return dim.text() == define.name; });
      return text.substr(0, text.find('=')) == define.name && !is_size;
    });
  });
  return left;
}

/// A kernel that is run by itself, and its contract.
struct OnlyKernel {
  const ir::Function* kernel = nullptr;
  std::optional<driver::BoundContract> contract;
};

/// The program to run, alone in the module with what it launches. Null after a report. `options`
/// loses the values that became constants.
ir::Function* ChooseProgram(Compilation& c, const std::vector<driver::ArgumentSpec>& arguments,
                            driver::Options& options, OnlyKernel& only) {
  ir::Function* chosen =
      driver::SelectFunction(*c.module, c.options.files[0], arguments, c.options, c.diagnostics);
  if (chosen && chosen->kind == ir::FunctionKind::Kernel) {
    if (!driver::BindGenerics(*chosen, arguments, c.options, c.diagnostics)) return nullptr;
    options = driver::WithoutConstants(c.options, *chosen);
    only = {chosen, driver::FindContract(c.contracts.list, *c.module, *chosen)};
    chosen =
        driver::WrapKernel(*c.module, *chosen, driver::DeviceOfAddedLaunch(*c.module, c.options));
  }
  if (!chosen) return nullptr;
  if (!c.from_data.empty()) options = WithoutData(c, *chosen);
  if (c.options.core_num) driver::SetCoreNum(*c.module, *chosen, *c.options.core_num);
  driver::KeepOnly(*c.module, {chosen});
  return chosen;
}

/// What the data gives to integer parameters of the program, for which its launches are made; nothing: it runs as it is
/// compiled.
std::vector<sema::Define> FromData(Compilation& c,
                                   const std::vector<driver::ArgumentSpec>& arguments) {
  if (!c.from_data.empty()) return {};
  const ir::Function* chosen =
      driver::SelectFunction(*c.module, c.options.files[0], arguments, c.options, c.diagnostics);
  bool is_program = chosen && chosen->kind == ir::FunctionKind::Program;
  return is_program ? driver::GenericsFromData(*chosen, arguments, c.options, c.diagnostics)
                    : std::vector<sema::Define>();
}

/// Gives what FromData gives, and has done nothing then.
std::vector<sema::Define> Run(Compilation& c) {
  auto arguments = driver::ReadArguments(c.options, c.diagnostics);
  std::optional<std::string> under_test = driver::OnlyTarget(c.options, c.diagnostics);
  if (driver::CompileToIr(c) != PipelineEnd::Done || !arguments || !under_test) return {};
  if (std::vector<sema::Define> defines = FromData(c, *arguments);
      !defines.empty() || c.diagnostics.has_errors())
    return defines;
  driver::Options options = c.options;
  OnlyKernel only;
  ir::Function* program = ChooseProgram(c, *arguments, options, only);
  auto bound = program
                   ? driver::BindProgram(*c.module, *program, *arguments, options, c.diagnostics)
                   : std::nullopt;
  if (!bound || !driver::MayWriteOutputs(*bound, *arguments, c.files_read, c.diagnostics))
    return {};
  if (only.contract && !DrawUngiven(*only.contract, *only.kernel, c.sources, *bound, c.diagnostics))
    return {};
  auto specs = driver::ResolveSpecs(*c.module, c.options.files[0], *under_test, true, c.options,
                                    c.diagnostics);
  if (specs) c.runtime_specs = driver::RuntimeSpecs(*specs, c.families);
  auto code = specs ? CompileAll(c, *specs) : std::nullopt;
  driver::Context context = code ? Load(c, *code) : nullptr;
  if (!context) return {};
  driver::RunPlace place{context.get(), *c.module,         c.runtime_specs,
                         c.sources,     &c.contracts.list, std::move(only.contract)};
  for (const driver::TargetCode& target : code->targets)
    driver::AddKernelsOfOwnOrder(*target.tiled, place.own_orders);
  c.printed += driver::RunAndReport(place, *program, std::move(*bound), c.options, c.diagnostics);
  return {};
}

}  // namespace

int RunRun(const driver::Options& options, const targets::Registry& families) {
  Compilation compilation(options, families);
  std::vector<sema::Define> from_data = Run(compilation);
  if (from_data.empty()) return driver::Finish(compilation);
  Compilation with_data(options, families);
  with_data.from_data = std::move(from_data);
  Run(with_data);
  return driver::Finish(with_data);
}

}  // namespace kdl::tools
