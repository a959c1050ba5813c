#pragma once

#include <map>
#include <vector>

#include "ir/module.h"
#include "ir/program_tensors.h"
#include "passes/names.h"
#include "passes/pass_manager.h"

namespace kdl::passes {

/// The tensors of a program that are distributed over the ranks of a device.
struct RankTensors {
  Name device;
  std::vector<const Value*> all;  ///< in program order

  std::map<const Value*, ir::RankDistribution> distributions;

  bool empty() const { return all.empty(); }
  /// Returns null if the tensor is not distributed.
  const ir::RankDistribution* FindDistribution(const Value* tensor) const;
};
RankTensors FindRankTensors(const ir::Function& program);

/// Warns if a program without distributed tensors uses a device with ranks.
void WarnIfShared(PassContext& context, const ir::Function& program);

/// Returns whether the program uses its distributed tensors only in ways that are supported, and no other device. Reports
/// an error for each other use.
bool CheckUses(PassContext& context, const ir::Function& program, const RankTensors& tensors);

}  // namespace kdl::passes
