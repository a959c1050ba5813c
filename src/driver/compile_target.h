#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/compile.h"
#include "driver/compile.h"
#include "driver/devices.h"
#include "ir/module.h"
#include "targets/targets.h"

namespace kdl::driver {

/// The targets that the specs name, each processor once. Reports what is no target.
std::optional<std::vector<targets::Target>> ParseTargets(const std::vector<std::string>& specs,
                                                         DiagnosticEngine& diagnostics);

/// The specs as the runtime reads them: without the keys that only the compiler does. What is no target, which only
/// `build --target` lets through, stays as it is: the runtime may know it.
DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs);

/// The kernels of a module for one target.
struct TargetCode {
  targets::Target target;
  std::optional<codegen::Backend> backend;
  std::unique_ptr<ir::Module> module;  ///< at loop level; `compiled` points into it
  std::string tiled;  ///< KIR with the target's tiles: what the interpreter runs to compare
  codegen::CompiledModule compiled;
};

/// A copy of the compile's module through the target's passes and the code generator. The module passes have run.
PipelineEnd CompileForTarget(Compilation& compilation, targets::Target target,
                             const codegen::CompileOptions& what, TargetCode& code);

/// NAME.host.o: the images of all targets, and their registration.
std::string CompileHostObject(const Compilation& compilation, const std::vector<TargetCode>& codes);

/// `x86-64` in NAME.x86-64.o: the architecture; the processor where several of one architecture are made.
std::string FileTag(const TargetCode& code, const std::vector<TargetCode>& codes);

}  // namespace kdl::driver
