#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

/// The order in which one step of an instruction adds its terms.
enum class StepOrder : uint8_t {
  Forward,   ///< the op `term` (below) adds one term after another to the accumulator
  Backward,  ///< like Forward, but from the last term to the first
  /// Rounded products are added in pairs of neighbors, then the sums are added in pairs, and so on. The last
  /// sum is added to the accumulator.
  Pairs,
  /// For one pair after another, the two rounded products are added, and their sum is added to the
  /// accumulator.
  PairsInSequence,
  /// The op `term` sums the even terms and the odd terms separately, starting from +0. The two sums are
  /// added, and the result is added to the accumulator.
  TwoSequences,
  Any,  ///< for integers, whose sum is the same in any order
};

/// Describes the properties of a matrix instruction on which its results depend. Each family of targets has a
/// table of these. The attribute `instruction` of a contraction names an entry, so that the interpreter
/// computes exactly what the machine does. A contraction without this attribute adds its terms one by one,
/// each with an fma.
struct MatrixInstruction {
  std::string_view name;
  Scalar a;  ///< the type of the elements of a
  Scalar b;
  Scalar acc;
  /// The number of terms of a step: neighbors along the last reduced axis, counted from the start of its
  /// block. Terms beyond the end of the block have +0 for both factors.
  int depth;
  StepOrder order;
  /// Whether a subnormal factor or accumulator is replaced by a zero of the same sign.
  bool flushes;
  /// The op that computes the accumulator after one term from (a, b, acc), where a and b have the type of
  /// acc. It is mul for Pairs and Any.
  OpKind term;
  /// Whether the machine adds the terms of a step in an undocumented order. If so, this description is only a
  /// model, so results are compared only with contracts, not bit for bit.
  bool modelled = false;
  /// Whether products and sums of f32 are rounded as in round_odd.h; allowed only with Pairs
  /// or PairsInSequence.
  bool to_odd = false;
  /// How many neighboring terms of a step must be adjacent in memory where the instruction reads its factors;
  /// 0: all of them.
  int group = 0;
  /// If not 0, the instruction can also compute whole tiles of accumulators. In this case, it reads a
  /// multiple of this number of groups of terms from each row and from each column.
  int tile_groups = 0;
  /// Whether the instruction is asynchronous: GPU threads continue while it reads its factors, and wait for
  /// its steps later.
  bool goes_on = false;
  /// If 0, steps add their terms directly to the accumulator. Otherwise, this many terms of a block are first
  /// added to a separate sum, which starts from +0. The sum is then rounded to the type of acc and added to
  /// the accumulator. This limits the error of instructions whose own additions are less exact.
  int apart = 0;
  /// Whether the instruction reads only the tf32 part of f32 factors. If so, the instruction is used only for
  /// products that request tf32.
  bool of_tf32 = false;
};

inline constexpr int kMaxInstructionDepth = 32;
/// The maximum number of rows in a tile of accumulators.
inline constexpr int64_t kMostTileRows = 16;

/// Returns whether the description is consistent.
bool IsSound(const MatrixInstruction& instruction);

inline int TermsPerGroup(const MatrixInstruction& instruction) {
  return instruction.group == 0 ? instruction.depth : instruction.group;
}

/// Returns the number of the term that a step adds at position `iteration`.
inline int TermAt(const MatrixInstruction& instruction, int iteration) {
  return instruction.order == StepOrder::Backward ? instruction.depth - 1 - iteration : iteration;
}

/// Adds the terms in the order Pairs: replaces pairs of neighbors by `add(a, b)` until one term is left, and
/// returns that term. The number of terms must be a power of two.
template <class T, class Add>
T InPairs(std::vector<T> terms, const Add& add) {
  for (; terms.size() > 1; terms.resize(terms.size() / 2)) {
    for (size_t i = 0; 2 * i < terms.size(); ++i) terms[i] = add(terms[2 * i], terms[2 * i + 1]);
  }
  return terms[0];
}

/// Returns the factor before it was cast to the accumulator's type.
Value* NarrowFactor(Value* factor);

/// Returns whether the factor was explicitly rounded to tf32, which means that tf32 is precise enough for
/// the product.
bool IsTf32(const Value* factor);

/// Returns whether the instruction can compute the contraction in one sequence of steps. The instruction's
/// types must be able to represent integer factors. One factor may have the wrong signedness if the terms of
/// the other factor can be summed to correct the result.
bool Suits(const MatrixInstruction& instruction, const Op& contraction);

/// Returns whether the instruction can compute the contraction and its types can represent all possible
/// values of the factors.
bool AcceptsAsTheyAre(const MatrixInstruction& instruction, const Op& contraction);

/// Returns the first suitable instruction with the narrowest factors, preferring one that accepts the
/// factors unchanged. Returns null if no instruction is suitable.
const MatrixInstruction* BestInstruction(std::span<const MatrixInstruction* const> instructions,
                                         const Op& contraction);

/// The integer factors before their casts, in the order of the instruction's operands. For at most one of
/// them, the signedness may differ from that of the operand: its `moves_` flag is set, because it must be
/// shifted into the range of the operand's type.
struct FittedFactors {
  Value* a;
  Value* b;
  bool moves_a = false;
  bool moves_b = false;
};
/// Returns the factors that an integer instruction reads for the contraction, or nothing if the instruction
/// cannot compute it.
std::optional<FittedFactors> FitFactors(const MatrixInstruction& instruction,
                                        const Op& contraction);

/// Returns the accumulator after adding a sum that the instruction has computed separately.
uint64_t TakeSum(const MatrixInstruction& instruction, uint64_t acc, uint64_t sum);

/// For the order TwoSequences: adds a pair of terms to the two sums of the instruction. `acc` is the sum with
/// number `chain` (0 or 1) before this step; returns the same sum after it.
uint64_t RunSequence(const MatrixInstruction& instruction, int chain, uint64_t acc,
                     const uint64_t* a, const uint64_t* b);

/// Returns the accumulator after a step of `depth` terms, whose factors have the type of acc.
uint64_t RunStep(const MatrixInstruction& instruction, uint64_t acc, const uint64_t* a,
                 const uint64_t* b);

}  // namespace kdl::ir
