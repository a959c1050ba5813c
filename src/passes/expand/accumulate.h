#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "passes/expand/expander.h"

namespace kdl::passes {

/// What reductions and contractions have in common: each element of the result starts from a value and takes in, one
/// after the other, a term for each point of the folded axes.
struct Accumulation {
  const ir::Op* op;
  ir::AxisList folded;               ///< in the order of the walk, last fastest
  std::vector<ir::Value*> operands;  ///< what a term is made of: old tiles or scalars
  std::vector<kdl::Scalar> accs;     ///< of the accumulators: one for each result
  int64_t bytes;                     ///< of the widest scalar that a step computes with
  ir::Value* into = nullptr;  ///< where elements start, of one accumulator; null: from its identity
  Values identities;          ///< what lanes start from
  /// Of the accumulators of two lanes.
  std::function<Values(const Values& accs, const Values& others)> combine;
  /// The accumulators after one more term.
  std::function<Values(const Values& accs, const Values& terms)> step;
};

// reduce.cpp, contract.cpp; combine.cpp: of a fold that vectors can run
Accumulation ReduceAccumulation(Expander& e, const ir::Op* op);
Accumulation ContractAccumulation(Expander& e, const ir::Op* op);
Accumulation FoldAccumulation(Expander& e, const ir::Op* op);

/// Of a reduction, contraction or fold.
Accumulation AccumulationOf(Expander& e, const ir::Op* op);

/// In ascending order, one accumulator an element (a reduction or contraction): blocks of the result stay in registers while the folded axes pass.
void AccumulateChain(Expander& e, const Accumulation& what);

/// Element n of the last folded axis's block goes to lane n mod 64; lanes then fold 32, 16, 8, 4, 2, 1.
void AccumulateLanes(Expander& e, const Accumulation& what);

}  // namespace kdl::passes
