#pragma once

#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/rereads.h"

namespace kdl::cpu {

/// Estimates how long an elementwise loop takes. Computing and accessing memory overlap, so the longer of the
/// two determines the time.
struct LoopCost {
  double body = 0;    ///< cycles to compute the body once, for a vector or for an element
  double memory = 0;  ///< cycles for the memory traffic of an element
  double lanes = 1;   ///< the number of elements in a full vector
  double runs = 0;    ///< the number of elements that are computed in a launch

  /// Returns the number of cycles in a launch if the body takes `more` cycles longer, and runs once for
  /// `elements` elements.
  double Cycles(double elements, double more = 0) const {
    double computing = (body + more) / elements;
    return runs * (computing > memory ? computing : memory);
  }
};

LoopCost CostOfLoop(const KernelShape& kernel, const Rereads& rereads, const ir::Op* elementwise,
                    const LastAxis& last);

/// Returns the estimated number of cycles that a launch of the kernel needs at least, on one core. The
/// kernel's tiles must not have become loops yet.
double LeastCycles(const KernelShape& kernel);

/// Returns the number of cycles of an op that works on a vector with elements of at most `bytes` bytes.
double OpCycles(const KernelShape& kernel, const ir::Op* op, int64_t bytes);

}  // namespace kdl::cpu
