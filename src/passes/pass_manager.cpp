#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "ir/packs.h"
#include "ir/print/printer.h"
#include "ir/verify/verifier.h"
#include "proofs/proofs.h"
#include "support/check.h"
#include "support/contains.h"

namespace kdl::passes {

namespace {

/// Whether a kernel meets the condition that a pipeline file sets for the pass.
bool IsWanted(const Pass& pass, const PassContext& context, const ir::Function& kernel) {
  std::optional<ir::OpKind> needed =
      context.settings ? context.settings->Needed(pass) : std::nullopt;
  if (!needed) return true;
  bool contains = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) { contains |= op->kind() == *needed; });
  return contains;
}

/// The kernels in which a pass that proves something has found nothing to report. It would not find anything in kernels
/// that are alike either, such as instances for other types.
class ProvenKernels {
 public:
  bool Contain(const ir::Function& kernel) const {
    auto is_alike = [&](const ir::Function* other) { return proofs::AreAlike(*other, kernel); };
    return std::ranges::any_of(kernels_, is_alike);
  }
  void Add(const ir::Function& kernel) { kernels_.push_back(&kernel); }

 private:
  std::vector<const ir::Function*> kernels_;
};

/// Runs the pass for one kernel or program. Returns whether the pass may have changed it.
bool RunOn(const Pass& pass, PassContext& context, ir::Function& function, ProvenKernels& proven) {
  if (function.kind == ir::FunctionKind::Program) {
    if (pass.on_program) pass.on_program(context, function);
    return pass.on_program != nullptr;
  }
  bool runs = function.kind == ir::FunctionKind::Kernel && pass.on_kernel &&
              IsWanted(pass, context, function) && !(pass.proves && proven.Contain(function));
  if (!runs) return false;
  size_t reports = context.diagnostics.all().size();
  context.kernel = &function;
  pass.on_kernel(context, function);
  if (pass.proves && context.diagnostics.all().size() == reports) proven.Add(function);
  return true;
}

/// Runs the pass. Returns the functions that it may have changed.
std::vector<ir::Function*> RunOne(const Pass& pass, PassContext& context) {
  if (pass.on_module) {
    pass.on_module(context);
    return context.module.functions();
  }
  ProvenKernels proven;
  std::vector<ir::Function*> changed;
  for (size_t i = 0; i < context.module.functions().size(); ++i) {
    ir::Function* function = context.module.functions()[i];
    if (RunOn(pass, context, *function, proven)) changed.push_back(function);
  }
  return changed;
}

/// Adds the programs, because a changed kernel may no longer fit its launches.
void AddPrograms(const ir::Module& module, std::vector<ir::Function*>& changed) {
  for (ir::Function* function : module.functions()) {
    bool is_new = function->kind == ir::FunctionKind::Program && !Contains(changed, function);
    if (is_new) changed.push_back(function);
  }
}

/// Verifies the functions that a pass may have changed. All programs are verified at the end of a pipeline.
void VerifyAfter(const Pass& pass, const PassContext& context,
                 const std::vector<ir::Function*>& changed) {
  std::vector<std::string> faults = ir::Verify(context.module, changed);
  KDL_CHECK(faults.empty(), "after pass '{}': {} (of {} faults)", pass.name, faults.front(),
            faults.size());
}

}  // namespace

Span PassContext::SpanOf(const ir::Loc& loc) const {
  return sources.FindSpan(loc.file.text(), loc.line, loc.column, loc.length);
}

int64_t PassContext::Value(const PassOption& option) const {
  if (!settings) return option.value;
  Name name;
  if (kernel && ir::IsForStrides(*kernel)) {
    name = ir::OriginalName(*kernel, module.context().names);
  } else if (kernel) {
    name = kernel->name;
  }
  return settings->ValueFor(name, option).value;
}

PipelineEnd RunPipeline(Pipeline pipeline, PassContext& context, const PassOptions& options) {
  for (const Pass* pass : pipeline) {
    DoingScope doing(fmt::format("running pass '{}'", pass->name));
    size_t errors_before = context.diagnostics.error_count();
    auto start = std::chrono::steady_clock::now();
    std::vector<ir::Function*> changed = RunOne(*pass, context);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (options.times) options.times->push_back({pass->name, elapsed.count()});
    if (context.diagnostics.error_count() != errors_before) return PipelineEnd::Failed;
    context.module.after = pass->name;
    if (pass == pipeline.back()) AddPrograms(context.module, changed);
    if (options.verify) VerifyAfter(*pass, context, changed);
    if (options.print && options.prints_after && options.prints_after(*pass)) {
      options.print(fmt::format("// after {}\n{}", pass->name,
                                ir::Print(context.module, {.locs = options.locs})));
    }
    if (options.stop_after == pass->name) return PipelineEnd::Stopped;
  }
  return PipelineEnd::Done;
}

}  // namespace kdl::passes
