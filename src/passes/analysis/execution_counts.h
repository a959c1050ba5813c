#pragma once

#include "ir/module.h"

namespace kdl::passes {

/// Estimates how often ops of a kernel run in a launch with one core. Sizes that are not constant are taken to
/// be 1024.
///
/// Returns the number of times that the op runs: once for each iteration of the loops around it, and once for
/// each point of an elementwise loop around it.
double EstimateRuns(const ir::Op* op);

/// Returns the estimated number of elements of a block.
double EstimateBlockSize(const ir::Value* block);

/// Returns the estimated number of points of an elementwise loop.
double EstimatePoints(const ir::Op* elementwise);

}  // namespace kdl::passes
