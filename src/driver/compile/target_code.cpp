#include "driver/compile/target_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "driver/compile/phases.h"
#include "driver/compile/resume.h"
#include "driver/compile/schedule_use.h"
#include "driver/diagnostics.h"
#include "ir/builder.h"
#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "ir/packs.h"
#include "ir/views.h"
#include "passes/pipelines.h"
#include "support/check.h"

namespace kdl::driver {

namespace {

using Takes = std::function<bool(const ir::Function&)>;
bool AcceptsAll(const ir::Function&) { return true; }

std::unique_ptr<ir::Module> CopyModule(const ir::Module& module, const Takes& takes = AcceptsAll) {
  auto copy = std::make_unique<ir::Module>(module.context());
  copy->name = module.name;
  copy->devices = module.devices;
  copy->after = module.after;
  copy->target = module.target;
  for (const ir::Function* function : module.functions()) {
    if (takes(*function)) ir::CloneFunction(*function, *copy, function->name);
  }
  return copy;
}

passes::PipeMode RequestedPipeMode(const Options& options) {
  if (options.pipes == "buffered") return passes::PipeMode::Buffered;
  return options.pipes == "fused" ? passes::PipeMode::Fused : passes::PipeMode::Auto;
}

passes::PassContext ContextOf(Session& s, TargetCode& code) {
  return {.module = *code.module,
          .diagnostics = s.diagnostics,
          .sources = s.sources,
          .facts = code.target.facts.get(),
          .selector = code.target.selector.get(),
          .pipes = RequestedPipeMode(s.options),
          .keeps_tiles = s.options.opt_level == 0 && code.target.facts->shows_variables,
          .remarks = s.wants_remarks ? &code.remarks : nullptr,
          .settings = &code.settings};
}

/// Returns the kernels of a module that need code for a target: exported kernels, and those that a
/// launch can run on one of the devices. In a module without programs, returns all kernels.
std::set<Name> KernelsFor(const ir::Module& module, const std::set<std::string>& devices) {
  std::set<Name> launched;
  bool has_programs = false;
  for (const ir::Function* function : module.functions()) {
    if (function->kind != ir::FunctionKind::Program) continue;
    has_programs = true;
    ir::Walk(function->body, [&](const ir::Op* op) {
      if (op->kind() != ir::OpKind::Launch) return;
      bool reaches =
          devices.contains(kAnyDevice) || devices.contains(op->attr<ir::AttrKey::Device>().str());
      if (reaches) launched.insert(op->attr<ir::AttrKey::Callee>());
    });
  }
  std::set<Name> kernels;
  for (const ir::Function* function : module.functions()) {
    bool gets_code = !has_programs || function->exported || launched.contains(function->name);
    if (function->kind == ir::FunctionKind::Kernel && gets_code) kernels.insert(function->name);
  }
  return kernels;
}

/// Returns whether the kernel is only launched by programs of the module, and always on one core.
bool IsOnOneCore(const ir::Module& module, Name kernel) {
  bool is_launched = false;
  bool has_one = !module.FindFunction(kernel)->exported;
  for (const ir::Function* function : module.functions()) {
    if (function->kind != ir::FunctionKind::Program) continue;
    ir::Walk(function->body, [&](ir::Op* op) {
      if (op->kind() != ir::OpKind::Launch || op->attr<ir::AttrKey::Callee>() != kernel) return;
      const ir::Value* cores = ir::LaunchOp(op).cores();
      has_one = has_one && cores && ir::ConstantOf(cores) == 1;
      is_launched = true;
    });
  }
  return is_launched && has_one;
}

/// Whether the kernel needs its own code for `target`. It can otherwise share the code for
/// `extended`, whose instruction-set level is the one that `target` extends. It needs its own code
/// if a contraction uses different matrix instructions on the two targets, or if the target family
/// gives another reason.
bool Differs(const ir::Function& kernel, const targets::Target& target,
             const targets::Target& extended) {
  bool differs =
      target.family->differs && target.family->differs(kernel, *target.facts, *extended.facts);
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() != ir::OpKind::Contraction) return;
    const ir::MatrixInstruction* instruction = ir::BestInstruction(target.facts->native, *op);
    differs |= instruction != ir::BestInstruction(extended.facts->native, *op);
  });
  return differs;
}

/// Returns the kernels to compile for a target. If the target's instruction-set level extends the
/// level of another target, kernels whose code would be the same are compiled only for that other
/// target.
std::set<Name> CompiledKernels(const ir::Module& module, const WantedTarget& wanted,
                               std::span<const WantedTarget> all) {
  std::set<Name> kernels = KernelsFor(module, wanted.devices);
  const passes::TargetFacts& facts = *wanted.target.facts;
  auto extended = std::ranges::find_if(all, [&](const WantedTarget& other) {
    return InOnePart(other.target, wanted.target) && other.target.facts->level == facts.extends &&
           std::ranges::includes(other.devices, wanted.devices);
  });
  if (extended == all.end()) return kernels;
  std::erase_if(kernels, [&](Name kernel) {
    return !Differs(*module.FindFunction(kernel), wanted.target, extended->target);
  });
  return kernels;
}

/// Copies the module without the kernels that get no code for this target, because those kernels
/// might exceed the target's limits. They stay in the original module, since programs may launch
/// them on other devices.
std::unique_ptr<ir::Module> ModuleFor(const ir::Module& module, const TargetCode& code) {
  return CopyModule(module, [&](const ir::Function& function) {
    return function.kind == ir::FunctionKind::Fn || code.kernels.contains(function.name);
  });
}

/// Returns the passes for the target. Also takes the settings of the pipeline file and of schedules.
std::optional<StageLists> TakeLists(Session& s, TargetCode& code) {
  const targets::Family& family = *code.target.family;
  auto apply = [&] { return ApplySchedules(s, code.target, code.kernels, code.settings); };
  if (!s.pipeline || &s.pipeline->family() != &family)
    return apply() ? std::optional(ListsOf(family)) : std::nullopt;
  if (!MayResume(s, code.module->after, family)) return std::nullopt;
  auto settings = s.pipeline->SettingsFor(code.target, s.diagnostics);
  if (!settings) return std::nullopt;
  code.settings = std::move(*settings);
  return apply() ? std::optional(s.pipeline->lists()) : std::nullopt;
}

/// Also compiles the kernels that a pass has added to those of the target.
void TakeAdded(TargetCode& code) {
  for (const ir::Function* function : code.module->functions()) {
    bool is_added = function->kind == ir::FunctionKind::Kernel && ir::IsForStrides(*function);
    if (is_added &&
        code.kernels.contains(ir::OriginalName(*function, code.module->context().names)))
      code.kernels.insert(function->name);
  }
}

/// Runs the passes that choose the target's tile sizes and pipes.
PipelineEnd RunPipePasses(Session& s, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", code.target.facts->level));
  code.module->target = code.target.spec;
  std::optional<StageLists> lists = TakeLists(s, code);
  if (!lists) return PipelineEnd::Failed;
  std::vector<passes::Pipeline> left = After({lists->begin(), lists->end()}, code.module->after);
  code.lists = *lists;
  code.loops = left[2];
  passes::PassContext context = ContextOf(s, code);
  passes::PassOptions pass_options = PassOptionsOf(s);
  PipelineEnd end = passes::RunPipeline(left[0], context, pass_options);
  if (end != PipelineEnd::Done) return end;
  TakeAdded(code);
  code.tiled = CopyModule(*code.module);
  return passes::RunPipeline(left[1], context, pass_options);
}

PipelineEnd RunProgramPasses(Session& s, ir::Module& module, const Code& code) {
  passes::PassContext context{module, s.diagnostics, s.sources};
  for (const TargetCode& one : code.targets) context.variants.push_back(one.module.get());
  PipelineEnd end = passes::RunPipeline(After({passes::kProgramPipeline}, module.after)[0], context,
                                        PassOptionsOf(s));
  // The memory for pipes was sized for this single target.
  if (code.targets.size() == 1) module.target = code.targets[0].target.spec;
  return end;
}

PipelineEnd RunLoopPasses(Session& s, TargetCode& code) {
  DoingScope doing(fmt::format("compiling for {}", code.target.facts->level));
  if (code.target.facts->pipes_on_chip) {
    s.diagnostics.Report(diag::PipesOnChip, {}, code.target.device)
        .Help("omit pipes=chip, or look at the passes with --emit ir --stop-after=PASS");
    return PipelineEnd::Failed;
  }
  passes::PassContext context = ContextOf(s, code);
  return passes::RunPipeline(code.loops, context, PassOptionsOf(s));
}

/// Generates the code for one part, that is, for the targets of one family and architecture. Its
/// targets must already be set.
bool Generate(Session& s, Part& part, const codegen::CompileOptions& what) {
  const targets::Family& family = *part.targets[0]->target.family;
  std::vector<targets::TargetKernels> kernels;
  for (const TargetCode* one : part.targets) {
    targets::TargetKernels& of_target = kernels.emplace_back();
    of_target.module = one->module.get();
    of_target.target = &one->target;
    for (const ir::Function* function : one->module->functions()) {
      if (one->kernels.contains(function->name)) of_target.kernels.push_back(function);
    }
  }
  Result<codegen::CompiledModule> compiled = family.generate(kernels, what);
  if (!compiled.ok()) {
    s.diagnostics.Report(diag::MachineFailed, {}, compiled.failure().message);
    return false;
  }
  part.compiled = std::move(*compiled);
  size_t wanted = 0;
  for (const targets::TargetKernels& one : kernels) wanted += one.kernels.size();
  KDL_CHECK(part.compiled.kernels.size() == wanted,
            "family '{}' generated code for {} of {} kernels", family.name,
            part.compiled.kernels.size(), wanted);
  return true;
}

}  // namespace

Code DecidePipes(Session& s, ir::Module& module, const std::vector<WantedTarget>& targets,
                 const SelectorAround& around, bool shows_passes) {
  Code code;
  for (const WantedTarget& wanted : targets) {
    std::set<Name> kernels = CompiledKernels(module, wanted, targets);
    if (kernels.empty() && !wanted.target.facts->extends.empty()) continue;
    TargetCode& one = code.targets.emplace_back();
    one.target = wanted.target;
    if (around) one.target.selector = around(one.target);
    one.kernels = std::move(kernels);
    one.module = shows_passes ? CopyModule(module) : ModuleFor(module, one);
    for (Name kernel : one.kernels) {
      if (IsOnOneCore(module, kernel)) one.remarks.SetOnOneCore(kernel);
    }
    code.reached = one.module.get();
    code.end = RunPipePasses(s, one);
    if (code.end != PipelineEnd::Done) return code;
  }
  code.reached = nullptr;
  code.end = RunProgramPasses(s, module, code);
  return code;
}

Code LowerToLoops(Session& s, Code code) {
  for (TargetCode& one : code.targets) {
    code.reached = one.module.get();
    code.end = RunLoopPasses(s, one);
    if (code.end != PipelineEnd::Done) break;
  }
  return code;
}

Code GenerateCode(Session& s, Code code, const codegen::CompileOptions& what) {
  PhaseTimer timer(s, "codegen");
  for (const TargetCode& one : code.targets) {
    bool joins = !code.parts.empty() && InOnePart(code.parts.back().targets[0]->target, one.target);
    if (!joins) code.parts.emplace_back();
    code.parts.back().targets.push_back(&one);
  }
  for (Part& part : code.parts) {
    if (Generate(s, part, what)) continue;
    code.end = PipelineEnd::Failed;
    break;
  }
  return code;
}

}  // namespace kdl::driver
