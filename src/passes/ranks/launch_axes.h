#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/fusion/producer.h"
#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/ranks/rank_tensors.h"

namespace kdl::passes {

/// A distributed tensor among the arguments of a launch.
struct RankArgument {
  size_t param = 0;
  Value* tensor = nullptr;
  const ir::RankDistribution* distribution = nullptr;
  bool is_written = false;
};

std::vector<RankArgument> FindRankArguments(const Op* launch, const ir::Function& kernel,
                                            const RankTensors& tensors);

/// A binder of a kernel's `spmd for` whose indices are distributed along an axis of the grid of ranks, as a dimension of this
/// size of the tensors that the kernel writes is.
struct LaunchAxis {
  int64_t axis = 0;
  size_t binder = 0;
  Size size = nullptr;
  int64_t block =
      0;  ///< the length of the blocks in which the dimension is distributed; 0: there are none
  bool operator==(const LaunchAxis&) const = default;
};

/// Returns the name that the kernel of a launch has in the source.
std::string KernelOf(const ir::Module& module, const Op* launch);

/// Reports that the kernel of a launch cannot write a distributed tensor.
void ReportKernel(PassContext& context, const Op* launch, const Value& written,
                  const Obstacle& obstacle);

/// Says that blocks of a kernel read elements of a distributed tensor that they also write, and that other ranks may own.
Obstacle ReadsOfOthers(const ir::Loc& loc, const Value& written);

/// Returns the axes along which the launch is distributed, in ascending order. Reports an error if the tensors that the
/// kernel writes do not determine them.
std::optional<std::vector<LaunchAxis>> FindLaunchAxes(PassContext& context, const Op* launch,
                                                      const ir::Function& kernel,
                                                      const std::vector<RankArgument>& arguments);

}  // namespace kdl::passes
