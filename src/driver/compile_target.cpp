#include "driver/compile_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "codegen/llvm/host_module.h"
#include "driver/diagnostics.h"
#include "driver/phases.h"
#include "driver/runtime_name.h"
#include "driver/wrap_kernel.h"
#include "ir/builder.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "support/check.h"
#include "passes/pipelines.h"
#include "targets/hosts.h"

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
    code.reference = fmt::format("{}.{}", kernel.name.text(), code.level);
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

/// What the interpreter runs in place of a part's kernels, to which it gives their names in the text.
std::string InterpretedText(const Compilation& c, Part& part) {
  std::unique_ptr<ir::Module> all = CopyModule(*part.targets[0]->tiled);
  TakePrograms(*c.module, *all);
  AddPrograms(*all, c.runtime_specs);
  std::span<codegen::KernelCode> codes = part.compiled.kernels;
  size_t kernels = codes.size() / part.targets.size();
  for (size_t level = 1; level < part.targets.size(); ++level) {
    AddLevel(*part.targets[level], *part.targets[level - 1], *all,
             codes.subspan(level * kernels, kernels));
  }
  return ir::Print(*all, {.locs = true});
}

bool EmbedsIr(const Compilation& c, const Code& code) {
  return c.options.embed_ir || c.options.check || std::ranges::any_of(code.targets, [](const TargetCode& one) {
           return one.target.interprets;
         });
}

bool SameCode(const targets::Target& a, const targets::Target& b) {
  return a.family == b.family && a.facts->arch == b.facts->arch &&
         a.facts->level == b.facts->level && a.facts->split_units == b.facts->split_units &&
         a.facts->pipes_on_chip == b.facts->pipes_on_chip;
}

bool InOnePart(const targets::Target& a, const targets::Target& b) {
  return a.family == b.family && a.facts->arch == b.facts->arch;
}

passes::PipeMode PipesOf(const Options& options) {
  if (options.pipes == "buffered") return passes::PipeMode::Buffered;
  return options.pipes == "fused" ? passes::PipeMode::Fused : passes::PipeMode::Auto;
}

passes::PassContext ContextOf(Compilation& c, const TargetCode& code) {
  return {*code.module,
          c.diagnostics,
          c.sources,
          code.target.facts.get(),
          code.target.selector.get(),
          PipesOf(c.options)};
}

/// The target's tiles and pipes.
PipelineEnd RunPipePasses(Compilation& c, targets::Target target, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", target.facts->level));
  code.target = std::move(target);
  code.module = CopyModule(*c.module);
  passes::PassContext context = ContextOf(c, code);
  passes::PassOptions pass_options = PassOptionsOf(c);
  PipelineEnd end = passes::RunPipeline(code.target.family->tiles, context, pass_options);
  if (end != PipelineEnd::Done) return end;
  code.tiled = CopyModule(*code.module);
  return passes::RunPipeline(code.target.family->pipes, context, pass_options);
}

PipelineEnd RunProgramPasses(Compilation& c, const Code& code) {
  passes::PassContext context{*c.module, c.diagnostics, c.sources};
  for (const TargetCode& one : code.targets) context.variants.push_back(one.module.get());
  return passes::RunPipeline(passes::kProgramPipeline, context, PassOptionsOf(c));
}

PipelineEnd RunLoopPasses(Compilation& c, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", code.target.facts->level));
  if (code.target.facts->pipes_on_chip) {
    c.diagnostics.Report(diag::PipesOnChip, {}, code.target.device)
        .Help("leave pipes=chip away, or look at the passes with --emit ir --stop-after=PASS");
    return PipelineEnd::Failed;
  }
  passes::PassContext context = ContextOf(c, code);
  return passes::RunPipeline(code.target.family->loops, context, PassOptionsOf(c));
}

/// Those of one part side by side, and of these the one first that asks least of a processor.
std::vector<targets::Target> Ordered(std::vector<targets::Target> targets) {
  auto asks = [](const targets::Target& t) { return std::popcount(t.facts->required_features); };
  std::vector<targets::Target> ordered;
  for (targets::Target& target : targets) {
    auto of_part = [&](const targets::Target& t) { return InOnePart(t, target); };
    auto begin = std::find_if(ordered.begin(), ordered.end(), of_part);
    auto end = std::find_if_not(begin, ordered.end(), of_part);
    auto place = std::find_if(begin, end, [&](const targets::Target& t) {
      return asks(target) < asks(t);
    });
    ordered.insert(place, std::move(target));
  }
  return ordered;
}

/// Makes the code of a part, whose targets are known.
bool Generate(Compilation& c, Part& part, const codegen::CompileOptions& what) {
  const targets::Family& family = *part.targets[0]->target.family;
  std::vector<targets::TargetKernels> kernels;
  for (const TargetCode* one : part.targets) kernels.push_back({one->module.get(), &one->target});
  Result<codegen::CompiledModule> compiled = family.generate(kernels, what);
  if (compiled.ok()) {
    part.compiled = std::move(*compiled);
  } else {
    Report(compiled.failure(), c.diagnostics);
  }
  return compiled.ok();
}

}  // namespace

bool MayBeUnproven(Compilation& c, const DeviceSpecs& specs) {
  if (!c.options.unproven) return true;
  auto is_watched = [&](std::string_view text) {
    Result<std::vector<targets::Target>> targets = c.families.ParseTargets(text);
    return targets.ok() && (*targets)[0].watches;
  };
  for (const auto& [name, list] : specs) {
    if (std::ranges::all_of(SplitList(list), is_watched)) continue;
    c.diagnostics
        .Report(diag::OptionNeedsOption, {}, "--unproven", "--target 'reference?watch=races'")
        .Help("only the interpreter, which checks each access, runs what is not proven");
    return false;
  }
  return true;
}

std::optional<std::vector<targets::Target>> ParseTargets(const std::vector<std::string>& specs,
                                                         Compilation& c) {
  std::vector<targets::Target> chosen;
  for (const std::string& text : specs) {
    Result<std::vector<targets::Target>> named = c.families.ParseTargets(text);
    if (!named.ok()) {
      Report(named.failure(), c.diagnostics);
      return std::nullopt;
    }
    for (targets::Target& target : *named) {
      auto same = std::find_if(chosen.begin(), chosen.end(),
                               [&](const targets::Target& t) { return SameCode(t, target); });
      if (same == chosen.end()) {
        chosen.push_back(std::move(target));
      } else {
        same->interprets |= target.interprets;
      }
    }
  }
  return Ordered(std::move(chosen));
}

DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs, const targets::Registry& families) {
  DeviceSpecs stripped;
  for (const auto& [name, spec] : specs) {
    std::string list;
    for (std::string_view one : SplitList(spec)) {
      Result<std::vector<targets::Target>> targets = families.ParseTargets(one);
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
                              codegen::CompileOptions what, Code& code) {
  PipelineEnd end = DecidePipes(c, std::move(targets), code);
  if (end != PipelineEnd::Done) return end;
  for (TargetCode& one : code.targets) {
    end = RunLoopPasses(c, one);
    code.reached = one.module.get();
    if (end != PipelineEnd::Done) return end;
  }
  PhaseTimer timer(c, "codegen");
  what.prefix = SymbolPrefix(c);
  what.opt_level = static_cast<int>(*c.options.opt_level);
  for (const TargetCode& one : code.targets) {
    bool joins = !code.parts.empty() && InOnePart(code.parts.back().targets[0]->target, one.target);
    if (!joins) code.parts.emplace_back();
    code.parts.back().targets.push_back(&one);
  }
  for (Part& part : code.parts) {
    if (!Generate(c, part, what)) return PipelineEnd::Failed;
  }
  return PipelineEnd::Done;
}

const Part* OwnPart(const Code& code, DiagnosticEngine& diagnostics) {
  for (const Part& part : code.parts) {
    if (part.compiled.arch == targets::OwnArch()) return &part;
  }
  diagnostics.Report(diag::OtherArch, {}, code.parts[0].compiled.arch, targets::OwnArch());
  return nullptr;
}

std::vector<std::string> HostArchs(const Code& code) {
  std::vector<std::string> archs;
  for (const Part& part : code.parts) {
    if (targets::HostProcessor(part.compiled.arch)) archs.push_back(part.compiled.arch);
  }
  if (archs.empty()) archs.emplace_back(targets::OwnArch());
  return archs;
}

std::optional<std::string> CompileHostObject(Compilation& c, Code& code, std::string_view arch) {
  std::optional<codegen::Processor> host = targets::HostProcessor(arch);
  KDL_CHECK(host, "no programs run on {}", arch);
  Result<codegen::Backend> backend =
      codegen::Backend::Create(*host, static_cast<int>(*c.options.opt_level));
  if (!backend.ok()) {
    Report(backend.failure(), c.diagnostics);
    return std::nullopt;
  }
  std::vector<codegen::CompiledModule*> devices;
  std::string kir;
  for (Part& part : code.parts) {
    bool is_host = part.compiled.arch == arch;
    if (!is_host && targets::HostProcessor(part.compiled.arch)) continue;  // another host's
    devices.push_back(&part.compiled);
    if (is_host && EmbedsIr(c, code)) kir = InterpretedText(c, part);
  }
  return codegen::CompileHostModule(*backend, RuntimeName(c), c.names, devices, kir);
}

}  // namespace kdl::driver
