#include "driver/compile/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "driver/compile/phases.h"
#include "driver/diagnostics.h"
#include "passes/pipelines.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

/// Returns the position of the pass with this name, or the end of the pipeline.
passes::Pipeline::iterator Find(passes::Pipeline pipeline, std::string_view name) {
  return std::ranges::find_if(pipeline, [&](const passes::Pass* p) { return p->name == name; });
}

}  // namespace

bool CheckStanding(Session& s, ir::Module& module) {
  if (!s.options.trust_ir) {
    module.after.clear();
    module.target.clear();
  }
  if (module.after.empty() || module.after == kIrgen) return true;
  std::vector<passes::Pipeline> known = {passes::kModulePipeline, passes::kProgramPipeline};
  if (!module.target.empty()) {
    Result<std::vector<targets::Target>> target = s.families.ParseTargets(module.target);
    if (target.ok()) {
      const targets::Family& family = *(*target)[0].family;
      StageLists lists = ListsOf(family);
      known.insert(known.end(), lists.begin(), lists.end());
    }
  }
  for (passes::Pipeline pipeline : known) {
    if (Find(pipeline, module.after) != pipeline.end()) return true;
  }
  std::string where =
      module.target.empty() ? "for all targets" : fmt::format("for '{}'", module.target);
  s.diagnostics.Report(diag::TextOfNowhere, {}, module.after, where)
      .Help("to print KIR after a pass for one target, give only one --target");
  return false;
}

passes::Pipeline TextPasses(const ir::Module& module, const Options& options) {
  passes::Pipeline all = passes::kModulePipeline;
  if (!options.trust_ir || module.after == kIrgen) return all;
  if (module.after.empty()) return passes::kTrustedPipeline;
  auto found = Find(all, module.after);
  // If the last pass that ran was a pass of a target, no module passes remain.
  if (found == all.end()) return {};
  return {found + 1, all.end()};
}

bool MayResume(Session& s, std::string_view after, const targets::Family& family) {
  auto has_pass = [&](const StageLists& lists) {
    return std::ranges::any_of(
        lists, [&](passes::Pipeline list) { return Find(list, after) != list.end(); });
  };
  if (!has_pass(ListsOf(family)) || has_pass(s.pipeline->lists())) return true;
  s.diagnostics.Report(diag::PipelineResume, {}, after, s.pipeline->paths()[0]);
  return false;
}

Name DeviceOfAddedLaunch(const ir::Module& module, const Options& options) {
  passes::Pipeline left = TextPasses(module, options);
  bool resolves = std::ranges::count(left, &passes::kResolveDevices) != 0;
  if (resolves) return Name();
  // A module without devices gets one of this name.
  if (module.devices.empty()) return module.context().names.Intern(targets::kOwnKind);
  return module.devices[0].name;
}

std::vector<passes::Pipeline> After(std::vector<passes::Pipeline> pipelines,
                                    std::string_view after) {
  for (size_t i = 0; i < pipelines.size(); ++i) {
    auto found = Find(pipelines[i], after);
    if (found == pipelines[i].end()) continue;
    pipelines[i] = {found + 1, pipelines[i].end()};
    std::fill_n(pipelines.begin(), i, passes::Pipeline());
    break;
  }
  return pipelines;
}

}  // namespace kdl::driver
