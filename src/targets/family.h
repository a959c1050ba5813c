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

/// Something that kernels are compiled for and run on.
struct Target {
  const Family* family = nullptr;
  std::shared_ptr<const passes::TargetFacts> facts;  ///< the family's own record
  std::shared_ptr<const passes::TileSelector> selector;
  std::string spec;         ///< which leads to it alone; targets of one spec have one code
  std::string device;       ///< the spec for the runtime, which the registry fills in
  bool interprets = false;  ///< the device runs KIR text
  bool watches = false;     ///< and checks every access: it may run what no proof has accepted
  std::vector<std::string> files = {};  ///< besides the sources, what its code is made from
};

/// A kind of device spec: what `kernelc targets` lists.
struct TargetKind {
  std::string_view kind;
  /// Keys of a spec, separated by spaces, that change the code; those that the runtime does not know stay here.
  std::string_view keys;
  /// Those that the runtime takes; there are no others. Of a plugin it is the plugin that knows.
  std::string_view runtime_keys;
  /// What the spec names, the lowest level first, or what is wrong with its keys.
  Result<std::vector<Target>> (*make)(const Spec& spec);
  std::string_view summary;
  /// Where the code is a text that the device loads: what `build --emit` calls it.
  std::string_view text = {};
  /// No machine: the interpreter is the device, and runs as it stands the KIR that is the payload (text_code.h).
  bool interpreted = false;
  /// How names of files with the text end; empty: in what it is called.
  std::string_view ending = {};
  /// The key whose file names programs that make or run the code; empty: there is none.
  std::string_view programs_key = {};
};

/// Something that the selector and the passes reckon with, for people to read.
struct Trait {
  std::string name;
  std::string value;
};

/// A target's kernels at the end of the family's pipeline.
struct TargetKernels {
  const ir::Module* module = nullptr;
  std::vector<const ir::Function*> kernels;  ///< those of the module's that it gets code of
  const Target* target = nullptr;
};

/// A family of machines: all that stands below the tile level.
struct Family {
  std::string_view name;  ///< its folder
  std::span<const TargetKind> kinds;
  /// The passes, in three parts that run one after the other after passes::kModulePipeline. The first chooses what the
  /// reference has to compute alike, the second decides the pipes, the third goes on to what `generate` takes.
  passes::Pipeline tiles;
  passes::Pipeline pipes;
  passes::Pipeline loops;
  /// The code of targets of this family that have one architecture: a KernelCode for each kernel, in order, with its
  /// kernel, level, features, and an entry or its place in the payload. Failures are the machine's.
  Result<codegen::CompiledModule> (*generate)(std::span<const TargetKernels> kernels,
                                              const codegen::CompileOptions& options);
  std::span<const ir::MatrixInstruction* const> instructions = {};  ///< that contractions may name
  /// How many bytes its block copies move in a launch of a kernel whose pipes are decided, over the launch's sizes; null: there are
  /// none.
  std::string (*copied_bytes)(ir::Module& module, const ir::Function& kernel) = nullptr;
  /// What a file says of the machine that a spec of one of its kinds names, as text; null: no file does.
  Result<std::string> (*describe)(const Spec& spec) = nullptr;
  /// Of a target of its own, what tiles and code are chosen by; null: nothing is told.
  std::vector<Trait> (*traits)(const passes::TargetFacts& facts) = nullptr;
  /// Whether code of the kernel for a level differs from that for the level which it extends, though its contractions take the
  /// same units; null: it never does.
  bool (*differs)(const ir::Function& kernel, const passes::TargetFacts& facts,
                  const passes::TargetFacts& extended) = nullptr;
};

}  // namespace kdl::targets
