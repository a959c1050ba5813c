#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

/// In which order a step adds its terms.
enum class StepOrder : uint8_t {
  Forward,   ///< the first one first, each by `term` onto what is there
  Backward,  ///< the last one first
  Pairs,  ///< products, each rounded, are added in pairs of neighbours, then sums are; the accumulator takes the last sum
  /// Two products, each rounded, are added, and the accumulator takes the sum, pair after pair.
  PairsInSequence,
  /// Even terms and odd ones in chains of their own, which start from +0, each by `term`; the accumulator takes the sum of both.
  TwoSequences,
  Any,  ///< integers: the sum is the same in each order
};

/// What multiplies and adds, as its results show it. A family of targets has a table of them; the attribute `unit` of a
/// contraction names a row, so that the interpreter computes what the machine does. A contraction that names none takes
/// its terms one by one, an fma each.
struct MatrixInstruction {
  std::string_view name;
  Scalar a;  ///< its elements, and those of b
  Scalar b;
  Scalar acc;
  /// Terms of a step: neighbours along the last folded axis, counted from where its block starts. After the block's end
  /// both factors are +0, and count.
  int depth;
  StepOrder order;
  bool flushes;  ///< a subnormal factor or accumulator is taken as the zero of its sign
  OpKind term;   ///< (a, b, acc): the accumulator after one term; a and b as acc. Pairs, Any: mul
  /// The machine adds a step's terms in an order of its own, which nobody has written down: what stands here is a model, and
  /// results are held against contracts.
  bool modelled = false;
  bool to_odd =
      false;  ///< products and sums of f32 are rounded as round_odd.h says; only where order is one of pairs
  /// So many of a step's terms, neighbours, stand side by side where factors lie for an instruction; 0: all.
  int group = 0;
  /// It also takes tiles of accumulators, of so many groups of each row and column, or a multiple of that; 0: it does not.
  int tile_groups = 0;
  /// Threads go on while it reads factors, and wait for its steps later.
  bool goes_on = false;
  /// Of a block's terms it sums up so many, from +0 on, and the accumulator takes their sum, rounded as its type is, before the next
  /// ones: what the unit itself adds up is less exact; 0: its steps go on from the accumulator.
  int apart = 0;
  /// It sees of its factors' f32 what tf32 has: only products that ask for that take it.
  bool of_tf32 = false;
};

inline constexpr int kMaxInstructionDepth = 32;
/// A tile of accumulators has no more rows.
inline constexpr int64_t kMostTileRows = 16;

/// Whether the row says something that can be done.
bool IsSound(const MatrixInstruction& instruction);

inline int GroupOf(const MatrixInstruction& instruction) {
  return instruction.group == 0 ? instruction.depth : instruction.group;
}

/// Of a chain's terms in a step the one that comes at `turn`.
inline int TermAt(const MatrixInstruction& instruction, int iteration) {
  return instruction.order == StepOrder::Backward ? instruction.depth - 1 - iteration : iteration;
}

/// Folds `depth` terms, a power of two, as Pairs says: `add(a, b)` of neighbours, until one is left, which is returned.
template <class T, class Add>
T InPairs(std::vector<T> terms, const Add& add) {
  for (; terms.size() > 1; terms.resize(terms.size() / 2)) {
    for (size_t i = 0; 2 * i < terms.size(); ++i) terms[i] = add(terms[2 * i], terms[2 * i + 1]);
  }
  return terms[0];
}

/// What is multiplied, as it was before a cast to the accumulator's type.
Value* NarrowFactor(Value* factor);

/// Whether the factor was rounded to tf32, which says that this is enough for the product.
bool IsTf32(const Value* factor);

/// Whether the unit multiplies what the contraction does, in one chain. Of integers it takes those that go into its factors as
/// they are, and those of which one goes there but for its sign, where the other one sums up.
bool Suits(const MatrixInstruction& instruction, const Op& contraction);

/// Whether it does, and all numbers that the factors may be are numbers of the unit's.
bool AcceptsAsTheyAre(const MatrixInstruction& instruction, const Op& contraction);

/// Of the units that suit, the first one with the narrowest factors, one that takes them as they are where there is one. Null: none
/// suits.
const MatrixInstruction* BestInstruction(std::span<const MatrixInstruction* const> instructions,
                                         const Op& contraction);

/// Factors of integers, as narrow as they come, in the unit's order; of which one may go there but for its sign.
struct FittedFactors {
  Value* a;
  Value* b;
  bool moves_a = false;
  bool moves_b = false;
};
/// How an integers' unit takes them; nothing: not at all.
std::optional<FittedFactors> FitFactors(const MatrixInstruction& instruction,
                                        const Op& contraction);

/// The accumulator after a sum that the unit has made apart from it.
uint64_t TakeSum(const MatrixInstruction& instruction, uint64_t acc, uint64_t sum);

/// One of a unit's two chains after the terms that it takes of a group, a pair.
uint64_t RunSequence(const MatrixInstruction& instruction, int chain, uint64_t acc,
                     const uint64_t* a, const uint64_t* b);

/// The accumulator after a step: `depth` terms, of factors as acc.
uint64_t RunStep(const MatrixInstruction& instruction, uint64_t acc, const uint64_t* a,
                 const uint64_t* b);

}  // namespace kdl::ir
