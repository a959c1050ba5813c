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

/// A machine at one instruction-set level, such as x86-64-v3. Kernels are compiled for a target and run on
/// it.
struct Target {
  const Family* family = nullptr;
  /// The machine's properties, in a type that the family defines.
  std::shared_ptr<const passes::TargetFacts> facts;
  std::shared_ptr<const passes::TileSelector> selector;
  /// The device spec that names only this target, as text. Targets with equal specs share their code.
  std::string spec;
  std::string device;       ///< the device spec that the runtime receives; set by the registry
  bool interprets = false;  ///< whether the device interprets KIR (the compiler's IR)
  /// Whether the device also checks accesses, so that it may run kernels that are not proven correct.
  bool sanitizes = false;
  /// The files, other than source files, on which the generated code depends.
  std::vector<std::string> files = {};
};

/// A kind of device spec. The command `kernelc targets` lists all kinds.
struct TargetKind {
  std::string_view kind;
  /// The keys of a spec that affect code generation, separated by spaces. Of these, only the keys that are
  /// also in `runtime_keys` are passed on to the runtime.
  std::string_view keys;
  /// The keys that the runtime accepts, separated by spaces. A key that is in neither list is an error,
  /// except in the spec of a plugin, which checks its keys itself.
  std::string_view runtime_keys;
  /// Returns the targets that a spec names, from the lowest instruction-set level to the highest. If the
  /// spec's keys are wrong, returns the reason.
  Result<std::vector<Target>> (*make)(const Spec& spec);
  std::string_view summary;
  /// If the device loads its code as text, the name of the text's format in the option `--emit` of `kernelc
  /// build`. Otherwise empty.
  std::string_view text = {};
  /// Whether the device is the interpreter rather than a machine. The interpreter runs the KIR that an image
  /// contains, without compiling it (text_code.h).
  bool interpreted = false;
  /// The extension of files that contain this text. If empty, `text` is also the extension.
  std::string_view ending = {};
  /// The key whose value is the path of a file that names the programs with which code is compiled or run.
  /// Empty if there is no such key.
  std::string_view programs_key = {};
};

/// A property of a target that the tile selector and the passes use, as text for users.
struct Trait {
  std::string name;
  std::string value;
  /// If the value is a number, a variable for it in pipeline files. Otherwise empty.
  std::string variable = {};
  int64_t number = 0;
};

/// The kernels for one target, after the passes of the target's family.
struct TargetKernels {
  const ir::Module* module = nullptr;
  /// The functions of the module for which to generate code.
  std::vector<const ir::Function*> kernels;
  const Target* target = nullptr;
};

/// A family of similar machines, such as CPUs, with the passes and the code generation for them.
struct Family {
  std::string_view name;  ///< the name of the family's folder
  std::span<const TargetKind> kinds;
  /// The first of three lists of passes, which run one after another, after `passes::kModulePipeline`. These
  /// passes make the decisions that the reference interpreter must share, because they affect results.
  passes::Pipeline tiles;
  /// The second list, which determines how pipes are implemented.
  passes::Pipeline pipes;
  /// The third list, which lowers kernels to the form that `generate` accepts.
  passes::Pipeline loops;
  /// Generates code for targets of this family that share an architecture. The result contains a KernelCode
  /// for each kernel, in the order of `kernels`. Each KernelCode states the kernel, its level and required
  /// features, and either its entry symbol or its position in the payload. An error means that something is
  /// wrong on the machine that compiles, not in the kernel.
  Result<codegen::CompiledModule> (*generate)(std::span<const TargetKernels> kernels,
                                              const codegen::CompileOptions& options);
  /// Matrix instructions that contractions may name.
  std::span<const ir::MatrixInstruction* const> instructions = {};
  /// Returns the number of bytes that block copies move in one launch, as a formula in the launch's sizes.
  /// Must be called after the passes in `pipes`. Null if the family has no block copies.
  std::string (*copied_bytes)(ir::Module& module, const ir::Function& kernel) = nullptr;
  /// Returns the text of the file that describes the machine named by a spec. Null if the family's machines
  /// are not described by files.
  Result<std::string> (*describe)(const Spec& spec) = nullptr;
  /// Returns the properties of one of the family's targets that determine its tiles and code. Null if there
  /// are none to show.
  std::vector<Trait> (*traits)(const passes::TargetFacts& facts) = nullptr;
  /// Returns whether a kernel has different code for the level that `facts` describes than for the level
  /// `extended`, which that level extends. Contractions with different instructions need not be considered.
  /// Null if the code never differs.
  bool (*differs)(const ir::Function& kernel, const passes::TargetFacts& facts,
                  const passes::TargetFacts& extended) = nullptr;
  /// The facts that `generate` relies on, with the reasons.
  passes::Few<passes::Need> code_needs = {};
};

}  // namespace kdl::targets
