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

/// The kernels for all targets. Later members point into earlier ones, and move with them.
struct Code {
  PipelineEnd end = PipelineEnd::Done;
  std::deque<TargetCode> targets = {};
  std::vector<Part> parts = {};
  std::map<std::pair<std::string, bool>, std::string> host_objects =
      {};                               ///< by architecture, and whether KIR is in it
  const ir::Module* reached = nullptr;  ///< by the last pass that ran for a target; null: none did
};

/// Puts a selector of tiles around a target's own; empty: that one decides.
using SelectorAround =
    std::function<std::shared_ptr<const passes::TileSelector>(const targets::Target&)>;

/// A copy of the module for each target, up to where its pipes are decided; then the module's own programs, which keep the
/// memory for them. The module passes have run. With `shows_passes` all functions are copied, not only those that get code.
Code DecidePipes(Session& session, ir::Module& module, const std::vector<WantedTarget>& targets,
                 const SelectorAround& around, bool shows_passes);

/// The copies through the rest of their passes and the code generators of their families.
Code GenerateCode(Session& session, Code decided, const codegen::CompileOptions& what);

}  // namespace kdl::driver
