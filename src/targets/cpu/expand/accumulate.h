#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// What reductions and contractions have in common: each element of the result starts from a value and
/// accumulates a term for each point of the reduced axes, one after the other.
struct Accumulation {
  const ir::Op* op;
  ir::AxisList folded;               ///< in loop order, the last one innermost
  std::vector<ir::Value*> operands;  ///< what terms are computed from: old tiles or scalars
  kdl::Scalar acc;                   ///< type of the accumulator
  ir::Value* into;                   ///< initial values of elements; null: the identity
  ir::Value* identity;               ///< initial value of a lane
  /// Combines the accumulators of two lanes.
  std::function<ir::Value*(ir::Value* acc, ir::Value* other)> combine;
  /// Returns the accumulator after one more term, whose factors have the types that the instruction needs.
  std::function<ir::Value*(ir::Value* acc, const Values& terms)> step;
  const ir::MatrixInstruction* instruction =
      nullptr;                ///< executes several terms per step; null: single terms
  ir::Value* plus = nullptr;  ///< added to each element; null: nothing
};

/// Returns the accumulation of a reduction or contraction, or of an elementwise loop's reduce_in_loop.
Accumulation AccumulationOf(Expander& e, const ir::Op* op);

/// Expands a reduction or contraction whose result is a block that fits into registers, where it then stays.
/// Terms are accumulated in ascending order, with one accumulator for each element.
void AccumulateBlock(Expander& e, const Accumulation& what);

/// Expands a reduction in 64-lane order. Element n of the last reduced axis's block goes to lane n mod 64;
/// lanes are then combined at distances of 32, 16, 8, 4, 2 and 1.
void AccumulateLanes(Expander& e, const Accumulation& what);

}  // namespace kdl::cpu
