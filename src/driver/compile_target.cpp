#include "driver/compile_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "codegen/llvm/images.h"
#include "driver/diagnostics.h"
#include "driver/phases.h"
#include "driver/runtime_name.h"
#include "driver/wrap_kernel.h"
#include "ir/builder.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "support/check.h"
#include "targets/spec.h"

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

/// Makes the module one that runs without a compiler: with a program for each kernel where it has no program, its devices
/// as the runtime knows them.
void AddPrograms(ir::Module& module, const DeviceSpecs& specs) {
  for (ir::Device& device : module.devices) {
    auto spec = specs.find(device.name.str());
    if (spec != specs.end()) device.spec = spec->second;
  }
  const std::vector<ir::Function*> own = module.functions();
  auto is_program = [](const ir::Function* f) { return f->kind == ir::FunctionKind::Program; };
  if (std::any_of(own.begin(), own.end(), is_program)) return;
  for (const ir::Function* function : own) {
    if (function->kind == ir::FunctionKind::Kernel)
      WrapKernel(module, *function, module.devices[0].name);
  }
}

/// Tiles may differ from level to level, and with them results. Adds the kernels of a level to what the interpreter runs,
/// `into`, where they differ from those of the level below; `codes` are of this level.
void AddLevel(const TargetCode& level, const TargetCode& below, ir::Module& into,
              std::span<codegen::KernelCode> codes) {
  Names& names = into.context().names;
  for (codegen::KernelCode& code : codes) {
    const ir::Function& kernel = *level.tiled->FindFunction(code.kernel->name);
    code.reference.clear();
    if (ir::Difference(kernel, *below.tiled->FindFunction(kernel.name)).empty()) continue;
    code.reference = fmt::format("{}.{}", kernel.name.text(), level.target.facts.cpu);
    ir::CloneFunction(kernel, into, names.Intern(code.reference));
  }
}

/// The programs as `from` has them: with the memory for their pipes.
void TakePrograms(const ir::Module& from, ir::Module& into) {
  auto is_program = [](const ir::Function* f) { return f->kind == ir::FunctionKind::Program; };
  std::erase_if(into.functions(), is_program);
  for (const ir::Function* function : from.functions()) {
    if (is_program(function)) ir::CloneFunction(*function, into, function->name);
  }
}

/// Gives the kernels their names in the text, too.
std::string InterpretedText(const Compilation& c, Code& code) {
  std::unique_ptr<ir::Module> all = CopyModule(*code.targets[0].tiled);
  TakePrograms(*c.module, *all);
  AddPrograms(*all, c.runtime_specs);
  std::span<codegen::KernelCode> codes = code.compiled.kernels;
  size_t kernels = codes.size() / code.targets.size();
  for (size_t level = 1; level < code.targets.size(); ++level) {
    AddLevel(code.targets[level], code.targets[level - 1], *all,
             codes.subspan(level * kernels, kernels));
  }
  return ir::Print(*all, {.locs = true});
}

/// Targets of several architectures take an object and a registration each.
bool HaveOneArch(const std::vector<targets::Target>& targets, DiagnosticEngine& diagnostics) {
  for (const targets::Target& target : targets) {
    if (target.facts.arch == targets[0].facts.arch) continue;
    diagnostics.Report(diag::SeveralArchs, {}, targets[0].facts.arch, target.facts.arch)
        .Help("build for one after the other, each with its own -o DIR");
    return false;
  }
  return true;
}

bool SameCode(const ir::TargetFacts& a, const ir::TargetFacts& b) {
  return a.triple == b.triple && a.cpu == b.cpu && a.tune == b.tune && a.features == b.features &&
         a.split_units == b.split_units && a.pipes_on_chip == b.pipes_on_chip;
}

passes::PipeMode PipesOf(const Options& options) {
  if (options.pipes == "buffered") return passes::PipeMode::Buffered;
  return options.pipes == "fused" ? passes::PipeMode::Fused : passes::PipeMode::Auto;
}

passes::PassContext ContextOf(Compilation& c, const TargetCode& code) {
  return {
      *code.module,      c.diagnostics, c.sources, &code.target.facts, code.target.selector.get(),
      PipesOf(c.options)};
}

/// The target's tiles and pipes.
PipelineEnd RunPipePasses(Compilation& c, targets::Target target, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", target.facts.cpu));
  code.target = std::move(target);
  code.module = CopyModule(*c.module);
  passes::PassContext context = ContextOf(c, code);
  passes::PassOptions pass_options = PassOptionsOf(c);
  PipelineEnd end = passes::RunPipeline(passes::kVariantPipeline, context, pass_options);
  if (end != PipelineEnd::Done) return end;
  code.tiled = CopyModule(*code.module);
  return passes::RunPipeline(passes::kPipePipeline, context, pass_options);
}

PipelineEnd RunProgramPasses(Compilation& c, const Code& code) {
  passes::PassContext context{*c.module, c.diagnostics, c.sources};
  for (const TargetCode& one : code.targets) context.variants.push_back(one.module.get());
  return passes::RunPipeline(passes::kProgramPipeline, context, PassOptionsOf(c));
}

PipelineEnd RunLoopPasses(Compilation& c, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", code.target.facts.cpu));
  if (code.target.facts.pipes_on_chip) {
    c.diagnostics.Report(diag::PipesOnChip, {}, code.target.device)
        .Help("leave pipes=chip away, or look at the passes with --emit ir --stop-after=PASS");
    return PipelineEnd::Failed;
  }
  passes::PassContext context = ContextOf(c, code);
  return passes::RunPipeline(passes::kLoopPipeline, context, PassOptionsOf(c));
}

/// By what they ask of a processor, the least first.
std::vector<targets::Target> Ordered(std::vector<targets::Target> targets) {
  auto asks_less = [](const targets::Target& a, const targets::Target& b) {
    return std::popcount(a.facts.required_features) < std::popcount(b.facts.required_features);
  };
  std::vector<targets::Target> ordered;
  for (targets::Target& target : targets) {
    auto place = std::upper_bound(ordered.begin(), ordered.end(), target, asks_less);
    ordered.insert(place, std::move(target));
  }
  return ordered;
}

}  // namespace

bool MayBeUnproven(const Options& options, const DeviceSpecs& specs,
                   DiagnosticEngine& diagnostics) {
  if (!options.unproven) return true;
  auto is_watched = [](std::string_view text) {
    Result<targets::Spec> spec = targets::ParseSpec(text);
    auto races = std::pair<std::string, std::string>("watch", "races");
    return spec.ok() && spec->kind == "reference" &&
           std::ranges::find(spec->options, races) != spec->options.end();
  };
  for (const auto& [name, list] : specs) {
    if (std::ranges::all_of(SplitList(list), is_watched)) continue;
    diagnostics
        .Report(diag::OptionNeedsOption, {}, "--unproven", "--target 'reference?watch=races'")
        .Help("only the interpreter, which checks each access, runs what is not proven");
    return false;
  }
  return true;
}

std::optional<std::vector<targets::Target>> ParseTargets(const std::vector<std::string>& specs,
                                                         DiagnosticEngine& diagnostics) {
  std::vector<targets::Target> chosen;
  for (const std::string& text : specs) {
    Result<std::vector<targets::Target>> named = targets::ParseTargets(text);
    if (!named.ok()) {
      Report(named.failure(), diagnostics);
      return std::nullopt;
    }
    for (targets::Target& target : *named) {
      bool is_new = std::none_of(chosen.begin(), chosen.end(), [&](const targets::Target& t) {
        return SameCode(t.facts, target.facts);
      });
      if (is_new) chosen.push_back(std::move(target));
    }
  }
  if (!HaveOneArch(chosen, diagnostics)) return std::nullopt;
  return Ordered(std::move(chosen));
}

DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs) {
  DeviceSpecs stripped;
  for (const auto& [name, spec] : specs) {
    std::string list;
    for (std::string_view one : SplitList(spec)) {
      Result<std::vector<targets::Target>> targets = targets::ParseTargets(one);
      list += (list.empty() ? "" : ",") + (targets.ok() ? (*targets)[0].device : std::string(one));
    }
    stripped[name] = list;
  }
  return stripped;
}

PipelineEnd DecidePipes(Compilation& c, std::vector<targets::Target> targets, Code& code) {
  for (targets::Target& target : targets) {
    TargetCode& one = code.targets.emplace_back();
    PipelineEnd end = RunPipePasses(c, std::move(target), one);
    code.reached = one.module.get();
    if (end != PipelineEnd::Done) return end;
  }
  code.reached = c.module.get();
  return RunProgramPasses(c, code);
}

PipelineEnd CompileForTargets(Compilation& c, std::vector<targets::Target> targets,
                              const codegen::CompileOptions& what, Code& code) {
  PipelineEnd end = DecidePipes(c, std::move(targets), code);
  if (end != PipelineEnd::Done) return end;
  for (TargetCode& one : code.targets) {
    end = RunLoopPasses(c, one);
    code.reached = one.module.get();
    if (end != PipelineEnd::Done) return end;
  }
  PhaseTimer timer(c, "codegen");
  Result<codegen::Backend> backend = codegen::Backend::Create(
      code.targets[0].target.facts, static_cast<int>(*c.options.opt_level));
  if (!backend.ok()) {
    Report(backend.failure(), c.diagnostics);
    return PipelineEnd::Failed;
  }
  code.backend = std::move(*backend);
  std::vector<codegen::KernelSource> sources;
  for (const TargetCode& one : code.targets)
    sources.push_back({one.module.get(), &one.target.facts});
  codegen::CompileOptions named = what;
  named.prefix = SymbolPrefix(c);
  Result<codegen::CompiledModule> compiled = codegen::CompileKernels(*code.backend, sources, named);
  if (!compiled.ok()) {
    Report(compiled.failure(), c.diagnostics);
    return PipelineEnd::Failed;
  }
  code.compiled = std::move(*compiled);
  code.kir = InterpretedText(c, code);
  return PipelineEnd::Done;
}

bool RunsHere(const Code& code, DiagnosticEngine& diagnostics) {
  if (code.arch() == targets::OwnArch()) return true;
  diagnostics.Report(diag::OtherArch, {}, code.arch(), targets::OwnArch());
  return false;
}

std::string CompileHostObject(const Compilation& c, const Code& code) {
  return codegen::CompileImages(*code.backend, RuntimeName(c), code.compiled.kernels, code.kir);
}

}  // namespace kdl::driver
