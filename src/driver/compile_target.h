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

/// Whether no device runs what the proofs refuse without a watch: with --unproven all of them have one. Reported.
bool MayBeUnproven(const Options& options, const DeviceSpecs& specs, DiagnosticEngine& diagnostics);

/// The targets that the specs name, each processor once. Reports what is no target.
std::optional<std::vector<targets::Target>> ParseTargets(const std::vector<std::string>& specs,
                                                         DiagnosticEngine& diagnostics);

/// The specs as the runtime reads them: without the keys that only the compiler does. What is no target, which only
/// `build --target` lets through, stays as it is: the runtime may know it.
DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs);

/// The kernels of a module for one target.
struct TargetCode {
  targets::Target target;
  std::unique_ptr<ir::Module>
      tiled;  ///< with the target's tiles: what the interpreter runs to compare
  std::unique_ptr<ir::Module> module;  ///< at loop level
};

/// The kernels for all targets, which have one architecture. Later members point into earlier ones.
struct Code {
  std::vector<TargetCode> targets;
  std::optional<codegen::Backend> backend;
  codegen::CompiledModule compiled;
  std::string
      kir;  ///< what the interpreter runs: programs, and the kernels of each level that has its own
  const ir::Module* reached = nullptr;  ///< by the last pass that ran: a target's, or the compile's

  /// `x86-64` in NAME.x86-64.o.
  const std::string& arch() const { return backend->facts().arch; }
};

/// The first part of CompileForTargets: a copy of the compile's module for each target, up to where its pipes are decided;
/// then the compile's own programs, which keep the memory for them.
PipelineEnd DecidePipes(Compilation& compilation, std::vector<targets::Target> targets, Code& code);

/// A copy of the compile's module through the passes of each target, then all copies through the code generator. The
/// module passes have run.
PipelineEnd CompileForTargets(Compilation& compilation, std::vector<targets::Target> targets,
                              const codegen::CompileOptions& what, Code& code);

/// Whether this machine runs the code; reports where it does not.
bool RunsHere(const Code& code, DiagnosticEngine& diagnostics);

/// NAME.host.o: the images, and their registration.
std::string CompileHostObject(const Compilation& compilation, const Code& code);

}  // namespace kdl::driver
