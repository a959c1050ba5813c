#pragma once

#include <vector>

#include "passes/fusion/copier.h"
#include "passes/fusion/producer.h"

namespace kdl::passes {

/// A tensor that a producer writes, and the parameter of the fused kernel that stands for it.
struct InlinedTensor {
  const ProducedTensor* tensor = nullptr;
  Value* param = nullptr;
};

/// Replaces all loads of the tensors by the values that the producer computes. The values that several loads of a
/// region need are computed once, before the first of them. `copier` knows what the producer computes before its
/// loop. Returns false, and states why, if a load cannot be replaced.
bool InlineReads(ir::Module& module, ir::Function& kernel, const Producer& producer,
                 const std::vector<InlinedTensor>& tensors, const Copier& copier,
                 Obstacle& obstacle);

}  // namespace kdl::passes
