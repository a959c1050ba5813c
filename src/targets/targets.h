#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/target_facts.h"
#include "support/result.h"
#include "targets/spec.h"

namespace kdl::targets {

/// Something that kernels are compiled for and run on.
struct Target {
  ir::TargetFacts facts;
  std::unique_ptr<const ir::TileSelector> selector;
  std::string device;  ///< the spec for the runtime: without the keys that only the compiler reads
};

/// A row of the table: what `kernelc targets` lists.
struct TargetKind {
  std::string_view kind;
  std::string_view keys;
  Result<std::vector<Target>> (*make)(const Spec& spec);
  std::string_view summary;
};

std::span<const TargetKind> TargetKinds();

/// The architecture of the machine that kernelc runs on: `x86-64`.
std::string_view OwnArch();

/// The targets that a spec names, the lowest level first; the same code for all but the processor.
/// `host?isa=x86-64-v3&threads=4` is one; `host` and `debug?seed=7` are every level of kernelc's own architecture, of
/// which the runtime takes the best that the processor has.
Result<std::vector<Target>> ParseTargets(std::string_view text);

}  // namespace kdl::targets
