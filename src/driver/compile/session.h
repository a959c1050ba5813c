#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/pipelines/pipeline_file.h"
#include "driver/warnings.h"
#include "ir/module.h"
#include "passes/pass_manager.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "targets/registry.h"

namespace kdl::driver {

struct ScheduleFile;

/// State shared by all phases of a compilation: the options, the diagnostics, the printed text, and
/// the names and types of its modules. The options and families must outlive the session. The
/// session must outlive everything that is compiled in it.
struct Session {
  Session(const Options& o, const targets::Registry& f)
      : options(o), wants_remarks(!o.remarks.empty() || o.perf), families(f) {
    DiagnosticEngine checked;  // problems have been reported when the options were read
    SetWarnings(options.warnings, diagnostics, checked);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options;
  bool wants_remarks = false;  ///< whether passes report what makes kernels slow
  const targets::Registry& families;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  Names names;
  ir::Context context{names, families.instructions()};
  /// The file of --pipeline; null without one.
  std::unique_ptr<PipelineFile> pipeline;
  /// The schedules of --tuned, or those that `kernelc tune` tries; null without any.
  std::shared_ptr<ScheduleFile> schedules;
  /// Returns the contents of an imported file that an editor has changed but not saved, or null. May be empty.
  std::function<const std::string*(const std::string& path)> unsaved;
  std::string printed;                 ///< text for standard output
  std::vector<passes::PassRun> times;  ///< times of phases and passes, in execution order
};

/// Whether compilation continues: Done if it does, Failed after reported errors, and Stopped after
/// the pass that --stop-after names.
using passes::PipelineEnd;

/// Writes the output of a command: the printed text, then the times of --time-passes, then the
/// diagnostics. Returns the exit code.
int Finish(const Session& session);

}  // namespace kdl::driver
