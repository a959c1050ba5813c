#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ir/printer.h"
#include "ir/verifier.h"
#include "passes/passes.h"
#include "support/check.h"

namespace kdl::passes {

namespace {

using ModulePass = void (*)(PassContext&);
using KernelPass = void (*)(PassContext&, ir::Function&);

struct PassEntry {
  ModulePass on_module = nullptr;
  KernelPass on_kernel = nullptr;
};

#define KDL_ENTRY_Module(kind) PassEntry{Run##kind, nullptr},
#define KDL_ENTRY_Kernel(kind) PassEntry{nullptr, Run##kind},
constexpr PassEntry kEntries[] = {
#define KDL_PASS(kind, name, unit, needs, gives, summary) KDL_ENTRY_##unit(kind)
#include "passes/passes.def"
};
#undef KDL_ENTRY_Module
#undef KDL_ENTRY_Kernel

void RunOne(PassKind kind, PassContext& context) {
  const PassEntry& entry = kEntries[static_cast<size_t>(kind)];
  if (entry.on_module) return entry.on_module(context);
  for (size_t i = 0; i < context.module.functions().size(); ++i) {
    ir::Function& function = *context.module.functions()[i];
    if (function.kind == ir::FunctionKind::Kernel) entry.on_kernel(context, function);
  }
}

void VerifyAfter(PassKind kind, const PassContext& context) {
  std::vector<std::string> faults = ir::Verify(context.module);
  KDL_CHECK(faults.empty(), "after pass '{}': {} (of {} faults)", Info(kind).name, faults.front(),
            faults.size());
}

}  // namespace

std::optional<PassKind> PassFromName(std::string_view name) {
  for (const PassInfo& info : kPasses) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

Span PassContext::SpanOf(const ir::Loc& loc) const {
  return sources.FindSpan(loc.file.text(), loc.line, loc.column, loc.length);
}

PipelineEnd RunPipeline(std::span<const PassKind> pipeline, PassContext& context,
                        const PassOptions& options) {
  for (PassKind kind : pipeline) {
    const PassInfo& info = Info(kind);
    DoingScope doing(fmt::format("running pass '{}'", info.name));
    size_t errors_before = context.diagnostics.error_count();
    auto start = std::chrono::steady_clock::now();
    RunOne(kind, context);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (options.times) options.times->push_back({info.name, elapsed.count()});
    if (context.diagnostics.error_count() != errors_before) return PipelineEnd::Failed;
    if (options.verify) VerifyAfter(kind, context);
    bool asked = std::find(options.print_after.begin(), options.print_after.end(), kind) !=
                 options.print_after.end();
    if (asked && options.print) {
      options.print(fmt::format("// after {}\n{}", info.name,
                                ir::Print(context.module, {.locs = options.locs})));
    }
    if (options.stop_after == kind) return PipelineEnd::Stopped;
  }
  return PipelineEnd::Done;
}

}  // namespace kdl::passes
