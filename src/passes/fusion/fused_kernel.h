#pragma once

#include <optional>
#include <set>
#include <vector>

#include "passes/fusion/producer.h"

namespace kdl::passes {

/// A launch that is fused with others.
struct FusedMember {
  Op* launch = nullptr;
  const ir::Function* kernel = nullptr;
  std::optional<Producer> producer;  ///< nothing only for the last launch
};

/// The launches of a `fuse`, in order.
struct FusedGroup {
  std::vector<FusedMember> members;
  /// Tensors of the program that only these launches use. They are not stored.
  std::set<const Value*> internal;
};

/// A kernel that does the work of several launches, and its arguments.
struct FusedLaunch {
  ir::Function* kernel = nullptr;
  std::vector<Value*> arguments;
};

/// Adds a kernel for the launches to the module: the last kernel, with the bodies of the others in place of the
/// loads of what they write. If that is impossible, returns nothing and states why.
std::optional<FusedLaunch> BuildFusedKernel(ir::Module& module, const FusedGroup& group,
                                            Obstacle& obstacle);

}  // namespace kdl::passes
