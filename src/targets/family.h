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

/// A machine, at one level, that kernels are compiled for and run on.
struct Target {
  const Family* family = nullptr;
  std::shared_ptr<const passes::TargetFacts> facts;  ///< the family's own record
  std::shared_ptr<const passes::TileSelector> selector;
  /// The spec that names only this target. Targets with equal specs share their code.
  std::string spec;
  std::string device;       ///< the spec for the runtime; the registry fills it in
  bool interprets = false;  ///< whether the device interprets KIR text
  /// The device also checks accesses, so it may run kernels that are not proven correct.
  bool sanitizes = false;
  std::vector<std::string> files = {};  ///< files besides the sources that determine the code
};

/// A kind of device spec, as `kernelc targets` lists it.
struct TargetKind {
  std::string_view kind;
  /// Space-separated keys of a spec that change the code. Those that are not in `runtime_keys` are not passed
  /// on to the runtime.
  std::string_view keys;
  /// Space-separated keys that the runtime accepts; all others are errors. For a plugin, the plugin decides.
  std::string_view runtime_keys;
  /// Returns the targets that a spec names, the lowest level first, or says what is wrong with its keys.
  Result<std::vector<Target>> (*make)(const Spec& spec);
  std::string_view summary;
  /// If the code is text that the device loads, the name of that text for `build --emit`; otherwise empty.
  std::string_view text = {};
  /// Whether the device is the interpreter rather than a machine. It runs the KIR of the payload unchanged
  /// (text_code.h).
  bool interpreted = false;
  /// The extension of files that contain the text. Empty: the same as `text`.
  std::string_view ending = {};
  /// The key whose value is a file that names programs to compile or run the code. Empty: there is no such
  /// key.
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
  std::vector<const ir::Function*> kernels;  ///< the module's functions to generate code for
  const Target* target = nullptr;
};

/// A family of machines: everything below the tile level.
struct Family {
  std::string_view name;  ///< its folder
  std::span<const TargetKind> kinds;
  /// The passes, in three parts that run in this order after passes::kModulePipeline. The first decides what
  /// the reference interpreter must compute in the same way, the second decides the pipes, and the third
  /// lowers kernels to what `generate` accepts.
  passes::Pipeline tiles;
  passes::Pipeline pipes;
  passes::Pipeline loops;
  /// Generates code for targets of this family that share an architecture. The result has a KernelCode for
  /// each kernel, in order, with its kernel, level, features, and its entry or its place in the payload. A
  /// failure is the compiling machine's fault, not the kernel's.
  Result<codegen::CompiledModule> (*generate)(std::span<const TargetKernels> kernels,
                                              const codegen::CompileOptions& options);
  std::span<const ir::MatrixInstruction* const> instructions =
      {};  ///< matrix instructions that contractions may name
  /// Returns the bytes that block copies move in one launch, as a formula over the launch's sizes. The
  /// kernel's pipes must be decided. Null: the family has no block copies.
  std::string (*copied_bytes)(ir::Module& module, const ir::Function& kernel) = nullptr;
  /// Returns the text of the file that describes the machine a spec names. Null: no file describes the
  /// family's machines.
  Result<std::string> (*describe)(const Spec& spec) = nullptr;
  /// Returns the properties of one of the family's targets that decide its tiles and code. Null: there are
  /// none to show.
  std::vector<Trait> (*traits)(const passes::TargetFacts& facts) = nullptr;
  /// Returns whether a kernel's code for a level differs from its code for the level that this one extends,
  /// even if its contractions use the same instructions. Null: it never does.
  bool (*differs)(const ir::Function& kernel, const passes::TargetFacts& facts,
                  const passes::TargetFacts& extended) = nullptr;
};

}  // namespace kdl::targets
