#include "driver/compile/module_passes.h"

#include <algorithm>
#include <filesystem>

#include "driver/compile/phases.h"
#include "driver/compile/resume.h"
#include "driver/diagnostics.h"
#include "passes/check_statics.h"
#include "passes/pipelines.h"

namespace kdl::driver {

namespace {

passes::Pipeline PassesOf(const Options& options, const ir::Module& module) {
  bool is_text = std::filesystem::path(options.files[0]).extension() == ".kir";
  return is_text ? TextPasses(module, options) : passes::kModulePipeline;
}

/// Runs the module passes for --unproven: failed proofs are reported as warnings instead of errors.
PipelineEnd RunWithoutProofs(Session& s, ir::Module& module, passes::Pipeline pipeline) {
  for (const passes::Pass* pass : pipeline) {
    DiagnosticEngine refused;
    passes::PassContext context{module, pass->proves ? refused : s.diagnostics, s.sources};
    context.unchecked = s.options.unchecked;
    PipelineEnd end = passes::RunPipeline({&pass, 1}, context, PassOptionsOf(s));
    for (const auto& one : refused.all()) {
      if (one->severity != Severity::Error) continue;  // only proofs are the subject of such a run
      Diagnostic& report = s.diagnostics.Report(diag::Unproven, one->span, one->text, one->id);
      report.notes = one->notes;
    }
    if (end != PipelineEnd::Done && !refused.has_errors()) return end;
  }
  return PipelineEnd::Done;
}

}  // namespace

bool StopsInModulePasses(const Options& options, const ir::Module& module) {
  auto is_last = [&](const passes::Pass* pass) { return pass->name == options.stop_after; };
  return std::ranges::any_of(PassesOf(options, module), is_last);
}

PipelineEnd RunModulePasses(Session& s, ir::Module& module) {
  passes::PassContext context{module, s.diagnostics, s.sources};
  context.unchecked = s.options.unchecked;
  context.keeps_unfused = s.options.verify || s.options.locate_errors;
  passes::Pipeline pipeline = PassesOf(s.options, module);
  if (s.options.unproven) return RunWithoutProofs(s, module, pipeline);
  return passes::RunPipeline(pipeline, context, PassOptionsOf(s));
}

PipelineEnd CheckStatics(Session& s, ir::Module& module) {
  passes::PassContext context{module, s.diagnostics, s.sources};
  passes::ReportFalseStatics(context);
  return s.diagnostics.has_errors() ? PipelineEnd::Failed : PipelineEnd::Done;
}

}  // namespace kdl::driver
