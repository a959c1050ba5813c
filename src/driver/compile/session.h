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

/// What all phases of a compile share: what is asked for, where they report and print, and the names and types of its
/// modules. Options and families outlive it; it outlives what is compiled.
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
  std::string printed;                 ///< for standard output
  std::vector<passes::PassRun> times;  ///< of phases and passes, in the order in which they ran
};

/// Whether to go on; Failed where errors have been reported, Stopped after what --stop-after names.
using passes::PipelineEnd;

/// Standard output and error of a command: what it prints, the times of --time-passes, then the diagnostics. Gives the exit
/// code.
int Finish(const Session& session);

}  // namespace kdl::driver
