#include "driver/compile_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/llvm/images.h"
#include "driver/diagnostics.h"
#include "driver/phases.h"
#include "driver/wrap_kernel.h"
#include "ir/builder.h"
#include "ir/printer.h"
#include "support/check.h"

namespace kdl::driver {

namespace {

std::unique_ptr<ir::Module> CopyModule(const ir::Module& module) {
  auto copy = std::make_unique<ir::Module>(module.context());
  copy->name = module.name;
  copy->devices = module.devices;
  for (const ir::Function* function : module.functions())
    ir::CloneFunction(*function, *copy, function->name);
  return copy;
}

void Report(const Failure& failure, DiagnosticEngine& diagnostics) {
  if (failure.kind == FailureKind::Environment) {
    diagnostics.Report(diag::MachineFailed, {}, failure.message);
  } else {
    diagnostics.Report(diag::UnknownTarget, {}, failure.message)
        .Help("`kernelc targets` lists the targets");
  }
}

/// The module as text that runs without a compiler: with a program for each kernel where it has no program, its devices
/// as the runtime knows them.
std::string PrintWithPrograms(ir::Module& module, const DeviceSpecs& specs) {
  std::vector<ir::Function*> own = module.functions();
  std::vector<ir::Device> own_devices = module.devices;
  for (ir::Device& device : module.devices) {
    auto spec = specs.find(device.name.str());
    if (spec != specs.end()) device.spec = spec->second;
  }
  auto is_program = [](const ir::Function* f) { return f->kind == ir::FunctionKind::Program; };
  if (std::none_of(own.begin(), own.end(), is_program)) {
    for (const ir::Function* function : own) {
      if (function->kind == ir::FunctionKind::Kernel)
        WrapKernel(module, *function, module.devices[0].name);
    }
  }
  std::string text = ir::Print(module, {.locs = true});
  module.functions() = std::move(own);
  module.devices = std::move(own_devices);
  return text;
}

bool SameCode(const ir::TargetFacts& a, const ir::TargetFacts& b) {
  return a.triple == b.triple && a.cpu == b.cpu && a.features == b.features;
}

}  // namespace

std::optional<std::vector<targets::Target>> ParseTargets(const std::vector<std::string>& specs,
                                                         DiagnosticEngine& diagnostics) {
  std::vector<targets::Target> chosen;
  for (const std::string& text : specs) {
    Result<targets::Target> target = targets::ParseTarget(text);
    if (!target.ok()) {
      Report(target.failure(), diagnostics);
      return std::nullopt;
    }
    bool is_new = std::none_of(chosen.begin(), chosen.end(), [&](const targets::Target& t) {
      return SameCode(t.facts, target->facts);
    });
    if (is_new) chosen.push_back(std::move(*target));
  }
  return chosen;
}

DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs) {
  DeviceSpecs stripped;
  for (const auto& [name, spec] : specs) {
    std::string list;
    for (std::string_view one : SplitList(spec)) {
      Result<targets::Target> target = targets::ParseTarget(one);
      list += (list.empty() ? "" : ",") + (target.ok() ? target->device : std::string(one));
    }
    stripped[name] = list;
  }
  return stripped;
}

PipelineEnd CompileForTarget(Compilation& c, targets::Target target,
                             const codegen::CompileOptions& what, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", target.facts.cpu));
  code.target = std::move(target);
  code.module = CopyModule(*c.module);
  passes::PassContext context{*code.module, c.diagnostics, c.sources, &code.target.facts,
                              code.target.selector.get()};
  passes::PassOptions pass_options = PassOptionsOf(c);
  PipelineEnd end = passes::RunPipeline(passes::kVariantPipeline, context, pass_options);
  if (end != PipelineEnd::Done) return end;
  code.tiled = PrintWithPrograms(*code.module, c.runtime_specs);
  end = passes::RunPipeline(passes::kLoweringPipeline, context, pass_options);
  if (end != PipelineEnd::Done) return end;

  PhaseTimer timer(c, "codegen");
  Result<codegen::Backend> backend =
      codegen::Backend::Create(code.target.facts, static_cast<int>(*c.options.opt_level));
  if (!backend.ok()) {
    Report(backend.failure(), c.diagnostics);
    return PipelineEnd::Failed;
  }
  code.backend = std::move(*backend);
  Result<codegen::CompiledModule> compiled =
      codegen::CompileKernels(*code.backend, *code.module, what);
  if (!compiled.ok()) {
    Report(compiled.failure(), c.diagnostics);
    return PipelineEnd::Failed;
  }
  code.compiled = std::move(*compiled);
  return PipelineEnd::Done;
}

std::string CompileHostObject(const Compilation& c, const std::vector<TargetCode>& codes) {
  std::vector<codegen::ImagePart> parts;
  for (const TargetCode& code : codes) parts.push_back({&code.compiled, &code.target.facts});
  return codegen::CompileImages(*codes[0].backend, c.module->name.text(), parts, codes[0].tiled);
}

std::string FileTag(const TargetCode& code, const std::vector<TargetCode>& codes) {
  auto same_arch = [&](const TargetCode& other) {
    return other.target.facts.arch == code.target.facts.arch;
  };
  return std::count_if(codes.begin(), codes.end(), same_arch) > 1 ? code.target.facts.cpu
                                                                  : code.target.facts.arch;
}

}  // namespace kdl::driver
