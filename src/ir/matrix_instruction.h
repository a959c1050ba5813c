#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

/// The order in which one step of the instruction adds its terms.
enum class StepOrder : uint8_t {
  Forward,   ///< starting with the first term, each added to the accumulator by `term`
  Backward,  ///< starting with the last term, each added to the accumulator by `term`
  /// Rounded products are added in pairs of neighbours, then the sums of pairs are added in pairs, and so
  /// on. The last sum is added to the accumulator.
  Pairs,
  /// The two rounded products of a pair are added, and their sum is added to the accumulator, one pair
  /// after another.
  PairsInSequence,
  /// Even terms and odd terms are summed separately, each sum starting from +0 and using `term`. Both sums
  /// are added, and the result is added to the accumulator.
  TwoSequences,
  Any,  ///< integers: the sum is the same in any order
};

/// A matrix instruction, described as far as its results depend on how it works. Each family of targets has
/// a table of these. The attribute `instruction` of a contraction names one, so that the interpreter
/// computes what the machine does. A contraction without that attribute adds its terms one by one, each
/// with an fma.
struct MatrixInstruction {
  std::string_view name;
  Scalar a;  ///< the types of the elements of a and b
  Scalar b;
  Scalar acc;
  /// The number of terms of a step: neighbours along the last reduced axis, counted from the start of its
  /// block. Terms after the end of the block are computed with both factors +0.
  int depth;
  StepOrder order;
  bool
      flushes;  ///< whether a subnormal factor or accumulator is replaced by a zero of the same sign
  /// The op that computes the accumulator after one term from (a, b, acc), where a and b have the type of
  /// acc. For Pairs and Any it is mul.
  OpKind term;
  /// The machine adds the terms of a step in an undocumented order. This description is a model of that
  /// order, and results are compared with contracts only.
  bool modelled = false;
  /// Whether products and sums of f32 are rounded as in round_odd.h; allowed only with Pairs
  /// or PairsInSequence.
  bool to_odd = false;
  /// How many neighbouring terms of a step must be adjacent in memory where the instruction reads its
  /// factors; 0: all of them.
  int group = 0;
  /// If not 0, the instruction can also compute whole tiles of accumulators. It then reads this number of
  /// groups of terms, or a multiple of it, from each row and from each column.
  int tile_groups = 0;
  /// Whether the instruction is asynchronous: GPU threads continue while it reads its factors, and wait for
  /// its steps later.
  bool goes_on = false;
  /// If not 0, this many terms of a block are first added to +0; the sum, rounded to the type of acc, is
  /// then added to the accumulator. This is for instructions whose own additions are less exact. If 0,
  /// steps add to the accumulator directly.
  int apart = 0;
  /// Whether the instruction reads only the tf32 part of f32 factors. It is then used only for products
  /// that ask for tf32.
  bool of_tf32 = false;
};

inline constexpr int kMaxInstructionDepth = 32;
/// The largest number of rows of a tile of accumulators.
inline constexpr int64_t kMostTileRows = 16;

/// Returns whether the description is consistent.
bool IsSound(const MatrixInstruction& instruction);

inline int TermsPerGroup(const MatrixInstruction& instruction) {
  return instruction.group == 0 ? instruction.depth : instruction.group;
}

/// Returns which term of a step is added at position `iteration` in its order.
inline int TermAt(const MatrixInstruction& instruction, int iteration) {
  return instruction.order == StepOrder::Backward ? instruction.depth - 1 - iteration : iteration;
}

/// Adds the terms in the order Pairs: replaces neighbours by `add(a, b)` until one term is left, and
/// returns that term. The number of terms must be a power of two.
template <class T, class Add>
T InPairs(std::vector<T> terms, const Add& add) {
  for (; terms.size() > 1; terms.resize(terms.size() / 2)) {
    for (size_t i = 0; 2 * i < terms.size(); ++i) terms[i] = add(terms[2 * i], terms[2 * i + 1]);
  }
  return terms[0];
}

/// Returns the factor as it was before a cast to the accumulator's type.
Value* NarrowFactor(Value* factor);

/// Returns whether the factor was explicitly rounded to tf32, which means that tf32 is precise enough for
/// the product.
bool IsTf32(const Value* factor);

/// Returns whether the instruction can compute the contraction in one sequence of steps. Integer factors
/// must be convertible to the instruction's types without change. One of them may have another signedness,
/// if the other factor can be summed.
bool Suits(const MatrixInstruction& instruction, const Op& contraction);

/// Returns whether the instruction suits the contraction and its types contain every possible value of
/// the factors.
bool AcceptsAsTheyAre(const MatrixInstruction& instruction, const Op& contraction);

/// Returns the first suitable instruction with the narrowest factors, preferring one that accepts the
/// factors unchanged. Returns null if no instruction is suitable.
const MatrixInstruction* BestInstruction(std::span<const MatrixInstruction* const> instructions,
                                         const Op& contraction);

/// Integer factors as they were before their casts, in the order of the instruction's operands. One of them
/// may differ in signedness from the instruction's operand.
struct FittedFactors {
  Value* a;
  Value* b;
  bool moves_a = false;
  bool moves_b = false;
};
/// Returns the factors that an integer instruction reads for the contraction, or nothing if it cannot
/// compute it.
std::optional<FittedFactors> FitFactors(const MatrixInstruction& instruction,
                                        const Op& contraction);

/// Returns the accumulator after the addition of a sum that the instruction has computed separately.
uint64_t TakeSum(const MatrixInstruction& instruction, uint64_t acc, uint64_t sum);

/// Returns one of an instruction's two sums (`chain` says which) after it has added its terms of one group,
/// which is a pair.
uint64_t RunSequence(const MatrixInstruction& instruction, int chain, uint64_t acc,
                     const uint64_t* a, const uint64_t* b);

/// Returns the accumulator after a step of `depth` terms, whose factors have the type of acc.
uint64_t RunStep(const MatrixInstruction& instruction, uint64_t acc, const uint64_t* a,
                 const uint64_t* b);

}  // namespace kdl::ir
