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
#include "targets/family.h"

namespace kdl::driver {

/// The kernels of a module for one target.
struct TargetCode {
  targets::Target target;
  /// With the target's tiles; the reference that the interpreter runs.
  std::unique_ptr<ir::Module> tiled;
  std::unique_ptr<ir::Module> module;  ///< at loop level
  passes::Pipeline loops;              ///< the family's last passes, which still have to run
  /// The kernels that get code: exported ones and those that a launch can run on the target.
  std::set<Name> kernels;
};

/// The code for the targets of one family and architecture.
struct Part {
  std::vector<const TargetCode*> targets;
  codegen::CompiledModule compiled;
};

/// The code of a module for all targets. Later members point into earlier ones, and must be moved
/// together with them.
struct Code {
  PipelineEnd end = PipelineEnd::Done;
  std::deque<TargetCode> targets = {};
  std::vector<Part> parts = {};
  /// By architecture, and by whether KIR is embedded.
  std::map<std::pair<std::string, bool>, std::string> host_objects = {};
  /// The module after the last pass that ran for a target, or null.
  const ir::Module* reached = nullptr;
};

/// Wraps a target's tile selector. If empty, that selector is used.
using SelectorAround =
    std::function<std::shared_ptr<const passes::TileSelector>(const targets::Target&)>;

/// Copies the module for each target and runs the passes until its pipes are decided. Then runs the
/// passes of the module's own programs, which allocate the memory for pipes. The module passes must
/// have run. With `shows_passes`, all functions are copied, not only those that get code.
Code DecidePipes(Session& session, ir::Module& module, const std::vector<WantedTarget>& targets,
                 const SelectorAround& around, bool shows_passes);

/// Runs the remaining passes on the copies, and the code generators of their families.
Code GenerateCode(Session& session, Code decided, const codegen::CompileOptions& what);

}  // namespace kdl::driver
