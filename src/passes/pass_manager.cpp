#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <chrono>

#include "ir/print/printer.h"
#include "ir/verify/verifier.h"
#include "support/check.h"

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

void RunOne(const Pass& pass, PassContext& context) {
  if (pass.on_module) return pass.on_module(context);
  for (size_t i = 0; i < context.module.functions().size(); ++i) {
    ir::Function& function = *context.module.functions()[i];
    bool is_kernel = function.kind == ir::FunctionKind::Kernel;
    bool is_program = function.kind == ir::FunctionKind::Program;
    if (is_kernel && pass.on_kernel && IsWanted(pass, context, function))
      pass.on_kernel(context, function);
    if (is_program && pass.on_program) pass.on_program(context, function);
  }
}

void VerifyAfter(const Pass& pass, const PassContext& context) {
  std::vector<std::string> faults = ir::Verify(context.module);
  KDL_CHECK(faults.empty(), "after pass '{}': {} (of {} faults)", pass.name, faults.front(),
            faults.size());
}

}  // namespace

Span PassContext::SpanOf(const ir::Loc& loc) const {
  return sources.FindSpan(loc.file.text(), loc.line, loc.column, loc.length);
}

int64_t PassContext::Value(const PassOption& option) const {
  return settings ? settings->Value(option) : option.value;
}

PipelineEnd RunPipeline(Pipeline pipeline, PassContext& context, const PassOptions& options) {
  for (const Pass* pass : pipeline) {
    DoingScope doing(fmt::format("running pass '{}'", pass->name));
    size_t errors_before = context.diagnostics.error_count();
    auto start = std::chrono::steady_clock::now();
    RunOne(*pass, context);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (options.times) options.times->push_back({pass->name, elapsed.count()});
    if (context.diagnostics.error_count() != errors_before) return PipelineEnd::Failed;
    context.module.after = pass->name;
    if (options.verify) VerifyAfter(*pass, context);
    if (options.print && options.prints_after && options.prints_after(*pass)) {
      options.print(fmt::format("// after {}\n{}", pass->name,
                                ir::Print(context.module, {.locs = options.locs})));
    }
    if (options.stop_after == pass->name) return PipelineEnd::Stopped;
  }
  return PipelineEnd::Done;
}

}  // namespace kdl::passes
