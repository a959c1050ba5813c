#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "passes/pass_manager.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "targets/registry.h"

namespace kdl::driver {

/// State shared by all phases of a compile: what is requested, where to report and print, and the
/// names and types of its modules. Options and families outlive the session. The session outlives
/// what is compiled.
struct Session {
  Session(const Options& o, const targets::Registry& f) : options(o), families(f) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options;
  const targets::Registry& families;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  Names names;
  ir::Context context{names, families.instructions()};
  std::string printed;                 ///< text for standard output
  std::vector<passes::PassRun> times;  ///< of phases and passes, in the order in which they ran
};

/// Whether to continue: Failed after errors, which have been reported; Stopped after the pass of
/// --stop-after.
using passes::PipelineEnd;

/// Writes the output of a command: what it prints, the times of --time-passes, then the
/// diagnostics. Returns the exit code.
int Finish(const Session& session);

}  // namespace kdl::driver
