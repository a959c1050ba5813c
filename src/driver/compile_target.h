#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/llvm/compile.h"
#include "driver/compile.h"
#include "driver/devices.h"
#include "ir/module.h"
#include "targets/family.h"

namespace kdl::driver {

/// Whether no device runs what the proofs refuse without a watch: with --unproven all of them have one. Reported.
bool MayBeUnproven(Compilation& compilation, const DeviceSpecs& specs);

/// The targets that the specs name, each processor once, those of one architecture side by side. Reports what is no
/// target.
std::optional<std::vector<targets::Target>> ParseTargets(const std::vector<std::string>& specs,
                                                         Compilation& compilation);

/// The specs as the runtime reads them: without the keys that only the compiler does. What is no target, which only
/// `build --target` lets through, stays as it is: the runtime may know it.
DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs, const targets::Registry& families);

/// The kernels of a module for one target.
struct TargetCode {
  targets::Target target;
  std::unique_ptr<ir::Module>
      tiled;  ///< with the target's tiles: what the interpreter runs to compare
  std::unique_ptr<ir::Module> module;  ///< at loop level
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
  const ir::Module* reached = nullptr;  ///< by the last pass that ran: a target's, or the compile's
};

/// The first part of CompileForTargets: a copy of the compile's module for each target, up to where its pipes are decided;
/// then the compile's own programs, which keep the memory for them.
PipelineEnd DecidePipes(Compilation& compilation, std::vector<targets::Target> targets, Code& code);

/// A copy of the compile's module through the passes of each target, then all copies through the code generators of
/// their families. The module passes have run.
PipelineEnd CompileForTargets(Compilation& compilation, std::vector<targets::Target> targets,
                              codegen::CompileOptions what, Code& code);

/// The code that this machine runs; null, which is reported, where there is none.
const Part* OwnPart(const Code& code, DiagnosticEngine& diagnostics);

/// The architectures that the code's programs can run on; kernelc's own where all code is for devices.
std::vector<std::string> HostArchs(const Code& code);

/// NAME.host.o for a host: the images of all devices and their registration. Nothing after a report.
std::optional<std::string> CompileHostObject(Compilation& compilation, Code& code,
                                             std::string_view arch);

}  // namespace kdl::driver
