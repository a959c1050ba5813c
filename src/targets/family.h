#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/common/compiled.h"
#include "ir/module.h"
#include "passes/pass.h"
#include "passes/target_facts.h"
#include "support/result.h"
#include "targets/spec.h"

namespace kdl::targets {

struct Family;

/// A machine, at one level, for which kernels are compiled and on which they run.
struct Target {
  const Family* family = nullptr;
  std::shared_ptr<const passes::TargetFacts> facts;  ///< the family's own record
  std::shared_ptr<const passes::TileSelector> selector;
  /// The spec that names only this target. Targets with equal specs share their code.
  std::string spec;
  std::string device;       ///< the spec for the runtime; the registry fills it in
  bool interprets = false;  ///< whether the device interprets KIR text
  /// Whether the device also checks accesses, so that it may run kernels that are not proven correct.
  bool sanitizes = false;
  /// The files, other than the sources, that determine the code.
  std::vector<std::string> files = {};
};

/// A kind of device spec, as `kernelc targets` lists it.
struct TargetKind {
  std::string_view kind;
  /// The keys of a spec that change the code, separated by spaces. Keys that are not in `runtime_keys` are
  /// not passed on to the runtime.
  std::string_view keys;
  /// The keys that the runtime accepts, separated by spaces; all other keys are errors. For a plugin, the
  /// plugin decides.
  std::string_view runtime_keys;
  /// Returns the targets that a spec names, the lowest level first. If the spec's keys are wrong, returns the
  /// reason.
  Result<std::vector<Target>> (*make)(const Spec& spec);
  std::string_view summary;
  /// If the code is text that the device loads, the name by which `build --emit` refers to that text;
  /// otherwise empty.
  std::string_view text = {};
  /// Whether the device is the interpreter rather than a machine. The interpreter runs the KIR in the payload
  /// unchanged (text_code.h).
  bool interpreted = false;
  /// The extension of files that contain the text. If empty, it is the same as `text`.
  std::string_view ending = {};
  /// The key whose value is a file that names programs to compile or run the code. It is empty if there is no
  /// such key.
  std::string_view programs_key = {};
};

/// A property of a target that the tile selector and the passes use, as text for users.
struct Trait {
  std::string name;
  std::string value;
};

/// A target's kernels after the family's pipeline.
struct TargetKernels {
  const ir::Module* module = nullptr;
  /// The functions of the module for which to generate code.
  std::vector<const ir::Function*> kernels;
  const Target* target = nullptr;
};

/// A family of machines, with everything below the tile level.
struct Family {
  std::string_view name;  ///< the name of the family's folder
  std::span<const TargetKind> kinds;
  /// The passes, in three parts that run in this order after `passes::kModulePipeline`. The first part
  /// decides what the reference interpreter must compute in the same way. The second part decides the pipes,
  /// and the third part lowers kernels to the form that `generate` accepts.
  passes::Pipeline tiles;
  passes::Pipeline pipes;
  passes::Pipeline loops;
  /// Generates code for targets of this family that share an architecture. The result contains a KernelCode
  /// for each kernel, in the order of `kernels`. Each has the kernel, the level, the features, and either the
  /// entry or the place in the payload. A failure is the fault of the compiling machine, not of the kernel.
  Result<codegen::CompiledModule> (*generate)(std::span<const TargetKernels> kernels,
                                              const codegen::CompileOptions& options);
  std::span<const ir::MatrixInstruction* const> instructions =
      {};  ///< matrix instructions that contractions may name
  /// Returns the number of bytes that block copies move in one launch, as a formula over the launch's sizes.
  /// The kernel's pipes must already be decided. Null if the family has no block copies.
  std::string (*copied_bytes)(ir::Module& module, const ir::Function& kernel) = nullptr;
  /// Returns the text of the file that describes the machine a spec names. Null if no file describes the
  /// family's machines.
  Result<std::string> (*describe)(const Spec& spec) = nullptr;
  /// Returns the properties of one of the family's targets that determine its tiles and code. Null if there
  /// are none to show.
  std::vector<Trait> (*traits)(const passes::TargetFacts& facts) = nullptr;
  /// Returns whether a kernel's code for a level differs from its code for the level that this one extends,
  /// even if its contractions use the same instructions. Null if the code never differs.
  bool (*differs)(const ir::Function& kernel, const passes::TargetFacts& facts,
                  const passes::TargetFacts& extended) = nullptr;
};

}  // namespace kdl::targets
