#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the source name of a tensor in a program. A slice or view has the name of the underlying tensor,
/// and the result of a transfer has the name of the tensor that was copied.
std::string_view SourceName(const Value* tensor);

/// Returns the device on which a caller should put an argument for `param` if the choice is free. If the
/// parameter is declared with `on`, this is the device that it names. Otherwise, it is the first device that
/// uses the argument or, if none does, the module's first device. Returns the empty name if the module has no
/// devices.
Name CallersDevice(const Module& module, const Function& program, const Value* param);

/// How a dimension of a tensor is distributed over ranks.
struct RankDimension {
  int64_t axis =
      -1;  ///< the axis of the grid of ranks, kAllRanks, or -1 if the dimension is not distributed
  int64_t block =
      0;  ///< the length of the blocks that the ranks own in turn; 0: they own adjacent indices

  bool is_distributed() const { return axis != -1; }
  bool operator==(const RankDimension&) const = default;
};
/// The dimensions of a tensor; empty if it is not distributed.
using RankDistribution = std::vector<RankDimension>;

/// Returns how the tensor of an `alloc` is distributed.
RankDistribution DistributionOfAlloc(const Op* alloc);
/// Returns how a parameter of a program is distributed: the program only copies it to tensors that are distributed in this way,
/// and back. It is the same before and after distribute-launches.
RankDistribution DistributionOfParam(const Value* param);

}  // namespace kdl::ir
