#include <algorithm>
#include <bit>

#include "ir/comparisons.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/lane_integers.h"

// Conditions on the index along the last axis. Indices are i64, but the elements that the conditions select may be
// narrower. So a chunk compares the numbers of its lanes, in integers as wide as a lane. In these examples, a chunk has
// 8 lanes and begins at %first:
//
//   lt %j, %n                       ->  lt (lane numbers), min(max(%n - %first, 0), 8) : i32
//   eq (rem (add %i, %j), 2), %k    ->  eq (and (%i + %first + lane numbers), 1), %k : i32
//
// If all chunks of a row begin at multiples of the divisor, they have the same remainders, which are computed before
// the loop over the row.

namespace kdl::cpu {

namespace {

/// Indices and the bounds with which they are compared are at most this large, so that their differences do not
/// overflow.
constexpr int64_t kLargestIndex = int64_t{1} << 62;

/// Returns the integers that are as wide as a lane of a vector.
Scalar LaneScalar(const ProcessorFacts& facts, int64_t lanes) {
  return IntegerOfBytes(facts.vector_bits / 8 / lanes);
}

bool IsEquality(const Op* op) { return op->kind() == OpKind::Eq || op->kind() == OpKind::Ne; }

/// Returns the divisor if it is a power of two that fits into the narrowest integers, otherwise 0.
int64_t NarrowDivisor(const Op* remainder) {
  constexpr int64_t kMost = 64;
  int64_t divisor = ConstantOf(remainder->operand(1)).value_or(0);
  bool fits =
      divisor > 0 && divisor <= kMost && std::has_single_bit(static_cast<uint64_t>(divisor));
  return fits ? divisor : 0;
}

/// Returns the value if it is between the limits, and otherwise the nearer one of them.
Value* Clamped(ir::Builder& b, Value* value, int64_t least, int64_t most) {
  if (auto constant = ConstantOf(value)) return b.I64(std::clamp(*constant, least, most));
  return b.Max(b.Min(value, b.I64(most)), b.I64(least));
}

}  // namespace

/// Whether the value is a sum of indices of the loop and small constants, so that it does not wrap around.
bool ElementwiseLoopBody::IsSumOfIndices(const Value* value) const {
  constexpr int64_t kLargest = int64_t{1} << 28;
  if (auto constant = ConstantOf(value)) return -kLargest <= *constant && *constant <= kLargest;
  if (Contains(elementwise_->region()->params(), value)) return true;
  const Op* def = value->def();
  bool adds = def && (def->kind() == OpKind::Add || def->kind() == OpKind::Sub) &&
              def->parent_region() == elementwise_->region();
  return adds && IsSumOfIndices(def->operand(0)) && IsSumOfIndices(def->operand(1));
}

bool ElementwiseLoopBody::IsNarrowRemainder(const Op* op) const {
  if (op->kind() != OpKind::Rem || op->result()->type()->scalar != Scalar::I64) return false;
  if (NarrowDivisor(op) == 0 || last_.IsUniform(op->operand(0)) || !last_.StepOf(op->operand(0)))
    return false;
  return std::ranges::all_of(op->result()->uses(), [&](const ir::Use& use) {
    return IsEquality(use.user) && last_.IsUniform(use.user->operand(1 - use.operand));
  });
}

bool ElementwiseLoopBody::IsNarrowComparison(const Op* op, int64_t lanes) const {
  if (lanes == 1 || !ir::IsComparison(op->kind())) return false;
  if (op->operand(0)->type()->scalar != Scalar::I64) return false;
  size_t varying = last_.IsUniform(op->operand(0)) ? 1 : 0;
  const Value* index = op->operand(varying);
  if (last_.IsUniform(index) || !last_.IsUniform(op->operand(1 - varying))) return false;
  if (index->def() && IsNarrowRemainder(index->def())) return true;
  return LaneScalar(e_.facts, lanes) != Scalar::I64 && last_.StepOf(index) == 1 &&
         IsSumOfIndices(index);
}

Value* ElementwiseLoopBody::NarrowRemainder(const Op* op) {
  if (auto found = remainders_.find(op); found != remainders_.end()) return found->second;
  Scalar scalar = LaneScalar(e_.facts, chunk_.lanes);
  Value* numbers = e_.b.Make(OpKind::LaneNumbers, {}, e_.VectorType(Scalar::I64, chunk_.lanes));
  Value* steps = e_.b.Mul(Permuted(numbers), e_.b.I64(*last_.StepOf(op->operand(0))));
  Value* first = e_.b.Cast(AtPoint(op->operand(0), 0), scalar);
  steps = e_.b.Cast(steps, scalar);
  Value* sum = e_.b.Add(e_.b.Splat(first, chunk_.lanes), steps);
  return e_.b.And(sum, e_.b.Int(scalar, NarrowDivisor(op) - 1));
}

Value* ElementwiseLoopBody::NarrowComparison(const Op* op) {
  size_t varying = last_.IsUniform(op->operand(0)) ? 1 : 0;
  Value* index = op->operand(varying);
  Value* bound = At(op->operand(1 - varying));
  OpKind kind = varying == 0 ? op->kind() : ir::Mirrored(op->kind());
  Scalar scalar = LaneScalar(e_.facts, chunk_.lanes);
  if (index->def() && IsNarrowRemainder(index->def())) {
    // No remainder is equal to the divisor, which stands for all values that are not remainders.
    Value* divisor = e_.b.I64(NarrowDivisor(index->def()));
    Value* is_small = e_.b.Lt(bound, divisor);
    Value* exists = e_.b.And(e_.b.Ge(bound, e_.b.I64(0)), is_small);
    Value* wanted = e_.b.Cast(e_.b.Select(exists, bound, divisor), scalar);
    return e_.b.Binary(kind, At(index), wanted);
  }
  Value* near = Clamped(e_.b, bound, -kLargestIndex, kLargestIndex);
  Value* distance = e_.b.Sub(near, AtPoint(index, 0));
  Value* limit = e_.b.Cast(Clamped(e_.b, distance, -1, chunk_.lanes), scalar);
  Value* numbers = e_.b.Make(OpKind::LaneNumbers, {}, e_.VectorType(Scalar::I64, chunk_.lanes));
  return e_.b.Binary(kind, e_.b.Cast(Permuted(numbers), scalar), limit);
}

void ElementwiseLoopBody::HoistRemainders(Value* first, int64_t lanes) {
  remainders_.clear();
  auto repeats = [&](const Op* op) {
    return lanes > 1 && IsNarrowRemainder(op) &&
           lanes * *last_.StepOf(op->operand(0)) % NarrowDivisor(op) == 0;
  };
  if (!ir::AnyIn(elementwise_, repeats)) return;
  Locally([&] {
    position_[axes_.back()] = first;
    MapPoint(axes_.size() - 1);
    chunk_ = {lanes};
    for (const Op* op : *elementwise_->region()) {
      if (repeats(op)) remainders_[op] = NarrowRemainder(op);
    }
  });
}

}  // namespace kdl::cpu
