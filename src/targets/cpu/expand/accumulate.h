#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// What reductions and contractions have in common: each element of the result starts from a value and takes in, one
/// after the other, a term for each point of the folded axes.
struct Accumulation {
  const ir::Op* op;
  ir::AxisList folded;               ///< in the order of the walk, last fastest
  std::vector<ir::Value*> operands;  ///< what a term is made of: old tiles or scalars
  kdl::Scalar acc;                   ///< of the accumulator
  ir::Value* into;                   ///< where elements start; null: from the identity
  ir::Value* identity;               ///< what lanes start from
  /// Of the accumulators of two lanes.
  std::function<ir::Value*(ir::Value* acc, ir::Value* other)> combine;
  /// The accumulator after one more term, whose factors are as the unit wants them.
  std::function<ir::Value*(ir::Value* acc, const Values& terms)> step;
  const ir::MatrixInstruction* instruction = nullptr;  ///< whose steps it takes; null: term by term
  ir::Value* plus = nullptr;  ///< what is added to each element; null: nothing
};

/// Of a reduction or contraction, or of a elementwise loop's reduce_in_loop.
Accumulation AccumulationOf(Expander& e, const ir::Op* op);

/// In ascending order, one accumulator an element, of a reduction or contraction whose result is a block that fits the registers:
/// that is where it stands then.
void AccumulateBlock(Expander& e, const Accumulation& what);

/// Element n of the last folded axis's block goes to lane n mod 64; lanes then fold 32, 16, 8, 4, 2, 1.
void AccumulateLanes(Expander& e, const Accumulation& what);

}  // namespace kdl::cpu
