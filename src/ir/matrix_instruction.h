#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

/// The order in which a step adds its terms.
enum class StepOrder : uint8_t {
  Forward,   ///< the first term first, each added to the accumulator by `term`
  Backward,  ///< the last term first
  /// Rounded products are added in pairs of neighbours, then their sums, and so on; the last sum is added to
  /// the accumulator.
  Pairs,
  /// Two rounded products are added, and their sum is added to the accumulator, one pair after the other.
  PairsInSequence,
  /// Even and odd terms form two sequences, each starting from +0 and using `term`. The sum of both is added
  /// to the accumulator.
  TwoSequences,
  Any,  ///< integers: the sum is the same in any order
};

/// A matrix instruction, as far as its results show how it works. Each family of targets has a table of
/// these. The attribute `instruction` of a contraction names one, so that the interpreter computes what the
/// machine does. A contraction without it adds its terms one by one, each with an fma.
struct MatrixInstruction {
  std::string_view name;
  Scalar a;  ///< the types of the elements of a and b
  Scalar b;
  Scalar acc;
  /// The number of terms of a step: neighbours along the last reduced axis, counted from the start of its
  /// block. After the end of the block both factors are +0, and these terms are computed, too.
  int depth;
  StepOrder order;
  bool flushes;  ///< whether a subnormal factor or accumulator is replaced by a zero of its sign
  /// The op (a, b, acc) that returns the accumulator after one term, where a and b have the type of acc. For
  /// Pairs and Any it is mul.
  OpKind term;
  /// The machine adds the terms of a step in an undocumented order. This description is a model of it, and
  /// results are compared with contracts only.
  bool modelled = false;
  /// Whether products and sums of f32 are rounded as in round_odd.h; only with one of the orders of pairs.
  bool to_odd = false;
  /// How many neighbouring terms of a step are adjacent in memory where an instruction reads factors; 0: all.
  int group = 0;
  /// If not 0, the instruction also computes whole tiles of accumulators, with this number of groups (or a
  /// multiple) from each row and column.
  int tile_groups = 0;
  /// It is asynchronous: GPU threads continue while it reads its factors, and wait for its steps later.
  bool goes_on = false;
  /// It adds this many terms of a block to +0 first; the sum, rounded to the type of acc, is then added to
  /// the accumulator. Used if the instruction's own additions are less exact. 0: steps add to the accumulator
  /// directly.
  int apart = 0;
  /// It reads only the tf32 part of f32 factors, so it is used only for products that ask for tf32.
  bool of_tf32 = false;
};

inline constexpr int kMaxInstructionDepth = 32;
/// The most rows of a tile of accumulators.
inline constexpr int64_t kMostTileRows = 16;

/// Returns whether the description is consistent.
bool IsSound(const MatrixInstruction& instruction);

inline int TermsPerGroup(const MatrixInstruction& instruction) {
  return instruction.group == 0 ? instruction.depth : instruction.group;
}

/// Returns which term of a step a sequence adds at position `iteration`.
inline int TermAt(const MatrixInstruction& instruction, int iteration) {
  return instruction.order == StepOrder::Backward ? instruction.depth - 1 - iteration : iteration;
}

/// Adds `depth` terms, a power of two, in the order Pairs: replaces neighbours by `add(a, b)` until one is
/// left, and returns it.
template <class T, class Add>
T InPairs(std::vector<T> terms, const Add& add) {
  for (; terms.size() > 1; terms.resize(terms.size() / 2)) {
    for (size_t i = 0; 2 * i < terms.size(); ++i) terms[i] = add(terms[2 * i], terms[2 * i + 1]);
  }
  return terms[0];
}

/// Returns the factor before a cast to the accumulator's type.
Value* NarrowFactor(Value* factor);

/// Returns whether the factor was explicitly rounded to tf32, which means that tf32 is precise enough for the
/// product.
bool IsTf32(const Value* factor);

/// Returns whether the instruction can compute the contraction in sequential order. Integer factors fit if
/// they can be converted without change. One of them may also fit except for its sign, if the other factor
/// can be summed.
bool Suits(const MatrixInstruction& instruction, const Op& contraction);

/// Returns whether it suits and each possible value of the factors is a value of the instruction's types.
bool AcceptsAsTheyAre(const MatrixInstruction& instruction, const Op& contraction);

/// Returns the first suitable instruction with the narrowest factors, preferring one that accepts the factors
/// unchanged. Null if none is suitable.
const MatrixInstruction* BestInstruction(std::span<const MatrixInstruction* const> instructions,
                                         const Op& contraction);

/// Integer factors before their casts, in the order of the instruction's operands. One of them may fit except
/// for its sign.
struct FittedFactors {
  Value* a;
  Value* b;
  bool moves_a = false;
  bool moves_b = false;
};
/// Returns how an integer instruction uses the factors, or nothing if it cannot.
std::optional<FittedFactors> FitFactors(const MatrixInstruction& instruction,
                                        const Op& contraction);

/// Returns the accumulator after adding a sum that the instruction has computed separately.
uint64_t TakeSum(const MatrixInstruction& instruction, uint64_t acc, uint64_t sum);

/// Returns the sum of one of an instruction's two sequences after its terms of a group, which is a pair.
uint64_t RunSequence(const MatrixInstruction& instruction, int chain, uint64_t acc,
                     const uint64_t* a, const uint64_t* b);

/// Returns the accumulator after a step of `depth` terms, whose factors have the type of acc.
uint64_t RunStep(const MatrixInstruction& instruction, uint64_t acc, const uint64_t* a,
                 const uint64_t* b);

}  // namespace kdl::ir
