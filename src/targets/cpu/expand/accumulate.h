#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// What reductions and contractions have in common: each element of the result starts from a value and
/// accumulates a term for each point of the reduced axes, one after another.
struct Accumulation {
  const ir::Op* op;
  ir::AxisList folded;  ///< the reduced axes in loop order, the last one innermost
  /// The tiles or scalars from which terms are computed. They are values of the kernel's body before
  /// expansion.
  std::vector<ir::Value*> operands;
  kdl::Scalar acc;  ///< the type of the accumulator
  /// The initial values of the elements; null if they are the identity.
  ir::Value* into;
  ir::Value* identity;  ///< the identity of the reduction, from which lanes start
  /// Combines the accumulators of two lanes.
  std::function<ir::Value*(ir::Value* acc, ir::Value* other)> combine;
  /// Returns the accumulator after one more term. The factors in `terms` have the types that the instruction
  /// needs.
  std::function<ir::Value*(ir::Value* acc, const Values& terms)> step;
  /// The instruction that processes several terms per step; null if terms are processed one at a time.
  const ir::MatrixInstruction* instruction = nullptr;
  ir::Value* plus = nullptr;  ///< a value that is added to each element; null if there is none
};

/// Returns the accumulation of a reduction or contraction, or of a `reduce_in_loop` in an elementwise loop.
Accumulation AccumulationOf(Expander& e, const ir::Op* op);

/// Whether the reduction adds integers of at most 32 bits. Their order does not matter, and the accumulators may
/// have as many lanes as a vector of terms, although they then need several registers. LLVM finds instructions
/// that add several neighboring terms to one lane.
bool AddsIntegers(const Accumulation& what);

/// Expands a reduction or contraction whose result is a block that fits into registers, and leaves the result
/// in registers. Terms are accumulated in ascending order, with one accumulator for each element.
void AccumulateBlock(Expander& e, const Accumulation& what);

/// Expands a reduction in 64-lane order. Lane n mod 64 accumulates element n of the last reduced axis's
/// block. The lanes are then combined at distances of 32, 16, 8, 4, 2 and 1.
void AccumulateLanes(Expander& e, const Accumulation& what);

}  // namespace kdl::cpu
