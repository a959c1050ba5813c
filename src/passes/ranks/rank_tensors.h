#pragma once

#include <map>
#include <vector>

#include "ir/attr.h"
#include "ir/module.h"
#include "passes/names.h"
#include "passes/pass_manager.h"

namespace kdl::passes {

/// The tensors of a program that are distributed over the ranks of a device.
struct RankTensors {
  Name device;
  std::vector<const Value*> all;  ///< in program order

  /// For each dimension of a tensor, the axis of the grid of ranks along which it is distributed, or -1.
  std::map<const Value*, ir::NumberList> axes;

  bool empty() const { return all.empty(); }
  /// Returns null if the tensor is not distributed.
  const ir::NumberList* AxesOf(const Value* tensor) const;
};
RankTensors FindRankTensors(const ir::Function& program);

/// Returns whether the program uses its distributed tensors only in ways that are supported, and no other device. Reports
/// an error for each other use.
bool CheckUses(PassContext& context, const ir::Function& program, const RankTensors& tensors);

}  // namespace kdl::passes
