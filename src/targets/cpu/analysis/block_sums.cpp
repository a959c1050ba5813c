#include "targets/cpu/analysis/block_sums.h"

#include <algorithm>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

namespace {

constexpr int64_t kLargest = int64_t{1} << 28;

bool IsSmallNumber(int64_t number) { return -kLargest <= number && number <= kLargest; }

/// Adds `factor` times `value`. Returns false if a number becomes too large.
bool AddTerm(BlockSum& sum, const Value* value, int64_t factor) {
  auto same = std::ranges::find(sum.terms, value, [](const auto& term) { return term.first; });
  if (same == sum.terms.end()) {
    sum.terms.emplace_back(value, factor);
    return IsSmallNumber(factor);
  }
  same->second += factor;
  bool is_small = IsSmallNumber(same->second);
  if (same->second == 0) sum.terms.erase(same);
  return is_small;
}

/// Adds `factor` times `value`, taken apart into its summands.
bool AddValue(BlockSum& sum, const Value* value, int64_t factor) {
  if (!IsSmallNumber(factor) || value->type()->scalar != Scalar::I64) return false;
  if (auto constant = ConstantOf(value)) {
    if (!IsSmallNumber(*constant)) return false;
    sum.constant += factor * *constant;
    return IsSmallNumber(sum.constant);
  }
  const Op* def = value->def();
  if (!def) return AddTerm(sum, value, factor);
  switch (def->kind()) {
    case OpKind::Add:
      return AddValue(sum, def->operand(0), factor) && AddValue(sum, def->operand(1), factor);
    case OpKind::Sub:
      return AddValue(sum, def->operand(0), factor) && AddValue(sum, def->operand(1), -factor);
    case OpKind::Mul:
      for (size_t i : {size_t{0}, size_t{1}}) {
        auto constant = ConstantOf(def->operand(i));
        if (constant && IsSmallNumber(*constant))
          return AddValue(sum, def->operand(1 - i), factor * *constant);
      }
      break;
    case OpKind::Iota:
      return AddTerm(sum, def->operand(0), factor);
    case OpKind::Broadcast:
      return AddValue(sum, def->operand(0), factor);
    case OpKind::BlockStart:
    case OpKind::BlockSize:
      if (auto made = ir::DynAs<ir::MakeBlockOp>(def->operand(0)->def())) {
        bool is_start = def->kind() == OpKind::BlockStart;
        return AddValue(sum, is_start ? made->start() : made->size(), factor);
      }
      break;
    default:
      break;
  }
  return !IsTileValue(value) && AddTerm(sum, value, factor);
}

/// Adds the least or the greatest index along a block, `factor` times.
bool AddEnd(BlockSum& sum, const Value* block, int64_t factor, bool greatest) {
  auto made = ir::DynAs<ir::MakeBlockOp>(block->def());
  if (!made || !AddValue(sum, made->start(), factor)) return false;
  if ((factor > 0) != greatest) return true;
  sum.constant -= factor;
  return AddValue(sum, made->size(), factor);
}

/// Returns `sum` minus `other`, with the blocks of `sum` replaced by their least or greatest index.
std::optional<BlockSum> EndMinus(const BlockSum& sum, const Value* other, bool greatest) {
  BlockSum rest{{}, sum.constant};
  for (const auto& [value, factor] : sum.terms) {
    bool is_block = value->type()->kind == ir::TypeKind::Block;
    bool ok = is_block ? AddEnd(rest, value, factor, greatest) : AddTerm(rest, value, factor);
    if (!ok) return std::nullopt;
  }
  return AddValue(rest, other, -1) ? std::optional(rest) : std::nullopt;
}

}  // namespace

std::optional<BlockSum> BlockSum::SumOfIndex(const Value* value) {
  BlockSum sum;
  return AddValue(sum, value, 1) ? std::optional(std::move(sum)) : std::nullopt;
}

bool BlockSum::IsWithin(const Value* index, const Value* start, const Value* end) {
  std::optional<BlockSum> sum = SumOfIndex(index);
  std::optional<BlockSum> below = sum ? EndMinus(*sum, start, false) : std::nullopt;
  std::optional<BlockSum> above = sum ? EndMinus(*sum, end, true) : std::nullopt;
  return below && above && below->terms.empty() && above->terms.empty() && below->constant >= 0 &&
         above->constant < 0;
}

std::optional<int64_t> BlockSum::MostOf(const ir::Function& kernel, const Value* end,
                                        const Value* start) {
  BlockSum length;
  if (!AddValue(length, end, 1) || !AddValue(length, start, -1)) return std::nullopt;
  int64_t most = length.constant;
  for (const auto& [value, factor] : length.terms) {
    // The value must be the size of a block, which has at most the extent of its axis.
    auto is_size = [&](const ir::Use& use) {
      return use.user->kind() == OpKind::MakeBlock && use.operand == ir::MakeBlockOp::at_size;
    };
    auto use = std::ranges::find_if(value->uses(), is_size);
    if (use == value->uses().end() || factor < 0) return std::nullopt;
    Size extent = kernel.axis(use->user->result()->type()->axes[0]).extent;
    if (!IsConstant(extent) || !IsSmallNumber(extent->value)) return std::nullopt;
    most += factor * extent->value;
    if (!IsSmallNumber(most)) return std::nullopt;
  }
  return most;
}

}  // namespace kdl::cpu
