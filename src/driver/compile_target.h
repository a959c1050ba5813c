#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/common/compiled.h"
#include "driver/compile.h"
#include "driver/wanted_targets.h"
#include "ir/module.h"
#include "targets/family.h"

namespace kdl::driver {

/// The kernels of a module for one target.
struct TargetCode {
  targets::Target target;
  std::unique_ptr<ir::Module>
      tiled;  ///< with the target's tiles: what the interpreter runs to compare
  std::unique_ptr<ir::Module> module;  ///< at loop level
  passes::Pipeline loops;              ///< what its family's last passes are, and has to run
  /// Those of the module's kernels that get code: exported ones, and what a launch can put on the target.
  std::set<Name> kernels;
};

/// The code for the targets of one family and one architecture.
struct Part {
  std::vector<const TargetCode*> targets;
  codegen::CompiledModule compiled;
};

/// The kernels for all targets. Later members point into earlier ones.
struct Code {
  std::deque<TargetCode> targets;
  std::vector<Part> parts;
  std::map<std::pair<std::string, bool>, std::string>
      host_objects;                     ///< by architecture, and whether KIR is in it
  const ir::Module* reached = nullptr;  ///< by the last pass that ran: a target's, or the compile's
};

/// The first part of CompileForTargets: a copy of the compile's module for each target, up to where its pipes are decided;
/// then the compile's own programs, which keep the memory for them.
PipelineEnd DecidePipes(Compilation& compilation, std::vector<WantedTarget> targets, Code& code);

/// A copy of the compile's module through the passes of each target, then all copies through the code generators of
/// their families. The module passes have run.
PipelineEnd CompileForTargets(Compilation& compilation, std::vector<WantedTarget> targets,
                              codegen::CompileOptions what, Code& code);

}  // namespace kdl::driver
