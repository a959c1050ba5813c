#include "driver/compile/compile.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "driver/compile/module_passes.h"
#include "driver/compile/output_names.h"
#include "driver/compile/perf_remarks.h"
#include "driver/compile/phases.h"
#include "driver/compile/runtime_name.h"
#include "driver/compile/schedule_use.h"
#include "driver/diagnostics.h"
#include "driver/files.h"

namespace kdl::driver {

namespace {

Compilation Ended(Compilation made, PipelineEnd end) {
  made.end = end;
  return made;
}

/// Returns a function that applies `around` to tile selectors that use the session's schedules. Without
/// schedules, returns `around` itself.
SelectorAround AroundSchedules(Session& s, const SelectorAround& around) {
  if (!s.schedules) return around;
  return [&s, around](targets::Target target) {
    target.selector = ScheduledSelector(s, target);
    return around ? around(target) : target.selector;
  };
}

/// Whether the requested outputs include the KIR after a target-specific pass. If they do, the
/// passes of a target run on the whole module.
bool ShowsPasses(const Options& options, const Emits& emits) {
  return emits.Has(Emit::Ir) || !options.stop_after.empty() || !options.print_after.empty();
}

codegen::CompileOptions CodeOptions(const Session& s, const Compilation& made, const Emits& emits) {
  codegen::CompileOptions what{
      .object = true, .assembly = emits.Has(Emit::Asm), .llvm_ir = emits.Has(Emit::Llvm)};
  what.prefix = SymbolPrefix(s, made);
  what.opt_level = static_cast<int>(*s.options.opt_level);
  what.lines = s.options.lines;
  what.observes_blocks = s.options.profile == "blocks";
  what.sanitizes_addresses = s.options.sanitize == "address";
  what.variables = &made.variables;
  if (!s.options.lines) return what;
  what.folder = FolderInOutputs(s.options);
  what.gdb_script = GdbScript(s.options);
  return what;
}

void NoteFiles(const std::vector<WantedTarget>& targets, std::vector<std::string>& files_read) {
  for (const WantedTarget& wanted : targets) {
    for (const std::string& file : wanted.target.files) {
      if (std::ranges::find(files_read, file) == files_read.end()) files_read.push_back(file);
    }
    AddInputs(wanted.target.files);
  }
}

/// Reads the file of --pipeline, if there is one. On error, reports it and returns false.
bool ReadPipeline(Session& s, Compilation& made) {
  if (s.options.pipeline.empty()) return true;
  s.pipeline = PipelineFile::Read(s.options.pipeline, s.families, s.sources, s.diagnostics);
  if (!s.pipeline) return false;
  const std::vector<std::string>& paths = s.pipeline->paths();
  made.files_read.insert(made.files_read.end(), paths.begin(), paths.end());
  return true;
}

/// Whether the passes of the file of --pipeline run for one of the targets. Reports an error if not.
bool UsesPipeline(Session& s, const std::vector<WantedTarget>& targets) {
  if (!s.pipeline || targets.empty()) return true;
  const targets::Family& family = s.pipeline->family();
  if (std::ranges::any_of(
          targets, [&](const WantedTarget& wanted) { return wanted.target.family == &family; }))
    return true;
  s.diagnostics.Report(diag::PipelineUnused, {}, s.pipeline->paths()[0], family.name);
  return false;
}

/// Returns the targets of the module's devices. On error, reports it and returns nothing.
std::optional<std::vector<WantedTarget>> ChooseTargets(Session& s, const CompileRequest& request,
                                                       Compilation& made) {
  auto devices = AssignDevices(s, *made.module, request.places);
  if (!devices || !MayBeUnproven(s, devices->compiled)) return std::nullopt;
  made.devices = devices->at_run;
  for (DeviceSpecs& specs : made.devices) {
    for (auto& [device, list] : specs) list = SpecsInOutputs(s.options, s.families, list);
  }
  auto targets = TargetsOfDevices(s, *made.module, *devices, request.emits);
  if (targets) NoteFiles(*targets, made.files_read);
  if (targets && !UsesPipeline(s, *targets)) return std::nullopt;
  return targets;
}

/// Generates code for a module after its passes have run.
Code CompileForTargets(Session& s, const CompileRequest& request, Compilation& made,
                       const std::vector<WantedTarget>& targets) {
  if (targets.empty() && request.until == Until::Code) return {};
  Code code = DecidePipes(s, *made.module, targets, AroundSchedules(s, request.around),
                          ShowsPasses(s.options, request.emits));
  ReportUnknown(s);
  if (code.end == PipelineEnd::Done && request.until >= Until::Loops)
    code = LowerToLoops(s, std::move(code));
  if (!s.options.remarks.empty()) ReportRemarks(s, code);
  if (code.end == PipelineEnd::Done && request.until == Until::Code)
    code = GenerateCode(s, std::move(code), CodeOptions(s, made, request.emits));
  if (code.end != PipelineEnd::Done || s.options.stop_after.empty()) return code;
  s.diagnostics.Report(diag::PassOfOthers, {}, s.options.stop_after, targets[0].target.spec);
  code.end = PipelineEnd::Failed;
  return code;
}

}  // namespace

Compilation Compile(Session& s, CompileRequest request) {
  if (!CheckPassNames(s) || !CheckPrefixMap(s.options, s.diagnostics)) return {};
  if (!request.text) request.text = ReadSource(s);
  if (!request.text) return {};
  Compilation made{LowerToIr(s, std::move(*request.text), request.defines, request.emits)};
  if (!made.ok() || request.until == Until::Ir) return made;
  if (!ReadScheduleFile(s, *made.module)) return Ended(std::move(made), PipelineEnd::Failed);
  if (!s.options.tuned.empty()) made.files_read.push_back(s.options.tuned);
  if (request.edit && !request.edit(made)) {
    bool failed = s.diagnostics.has_errors();
    return Ended(std::move(made), failed ? PipelineEnd::Failed : PipelineEnd::Stopped);
  }
  if (!ReadPipeline(s, made)) return Ended(std::move(made), PipelineEnd::Failed);
  std::optional<std::vector<WantedTarget>> targets(std::in_place);
  // Report device errors before the proofs run, because the proofs take time.
  if (request.until > Until::ModulePasses && !StopsInModulePasses(s.options, *made.module))
    targets = ChooseTargets(s, request, made);
  if (!targets) return Ended(std::move(made), PipelineEnd::Failed);
  made.end = RunModulePasses(s, *made.module);
  if (!made.ok()) return made;
  if (request.until == Until::ModulePasses) {
    made.end = CheckStatics(s, *made.module);
    return made;
  }
  made.code = CompileForTargets(s, request, made, *targets);
  made.end = made.code.end;
  return made;
}

}  // namespace kdl::driver
