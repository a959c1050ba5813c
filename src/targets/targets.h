#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

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
  Result<Target> (*make)(const Spec& spec);
  std::string_view summary;
};

std::span<const TargetKind> TargetKinds();

/// The target that a spec names: `host`, `host?isa=x86-64-v3&threads=4`, `debug?seed=7`.
Result<Target> ParseTarget(std::string_view text);

}  // namespace kdl::targets
