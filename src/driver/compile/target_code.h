#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/common/compiled.h"
#include "driver/compile/session.h"
#include "driver/compile/wanted_targets.h"
#include "ir/module.h"
#include "passes/remarks.h"
#include "targets/family.h"

namespace kdl::driver {

/// The kernels of a module for one target.
struct TargetCode {
  targets::Target target;
  /// The module after the target's tiles are chosen. The interpreter runs it as the reference.
  std::unique_ptr<ir::Module> tiled;
  std::unique_ptr<ir::Module> module;  ///< the module at loop level
  StageLists lists;                    ///< the passes for the target
  passes::Pipeline loops;              ///< the last passes, which still have to run
  passes::PassSettings settings;       ///< from the file of --pipeline and from schedules
  /// The kernels that get code: exported kernels and those that a launch can run on the target.
  std::set<Name> kernels;
  passes::RemarkSink remarks;  ///< receives remarks if the session wants them
};

/// The code for the targets of one family and architecture.
struct Part {
  std::vector<const TargetCode*> targets;
  codegen::CompiledModule compiled;
};

/// The code of a module for all targets. Later members point into earlier ones, so the members must
/// be moved together.
struct Code {
  PipelineEnd end = PipelineEnd::Done;
  std::deque<TargetCode> targets = {};
  std::vector<Part> parts = {};
  /// Keyed by architecture and by whether KIR is embedded.
  std::map<std::pair<std::string, bool>, std::string> host_objects = {};
  /// The module after the last pass that ran for a target. Null if none ran.
  const ir::Module* reached = nullptr;
};

/// Returns a tile selector that wraps the selector of a target. If this function is empty, the
/// target's own selector is used.
using SelectorAround =
    std::function<std::shared_ptr<const passes::TileSelector>(const targets::Target&)>;

/// Copies the module for each target and runs the passes up to the one that decides its pipes. Then
/// runs the passes on the programs of `module` itself, because programs allocate the memory for
/// pipes. The module passes must already have run. With `shows_passes`, copies all functions, not
/// only those that get code.
Code DecidePipes(Session& session, ir::Module& module, const std::vector<WantedTarget>& targets,
                 const SelectorAround& around, bool shows_passes);

/// Runs the remaining passes on each target's copy of the module.
Code LowerToLoops(Session& session, Code decided);

/// Runs the code generators on the result of LowerToLoops.
Code GenerateCode(Session& session, Code lowered, const codegen::CompileOptions& what);

}  // namespace kdl::driver
