#include <cstdint>
#include <limits>
#include <optional>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"

// narrow-indices: finds the first index at which a condition is true, as argmax does, with 32 bits instead of
// 64, so that a vector has as many indices as conditions. The complement of an index relative to the block's
// start is largest for the first index, and 0 is less than all of them:
//
//   %s = select %hit, iota(%c), 9223372036854775807 ; %first = reduce min %s over c
//   ->
//   %s = select %hit, not(iota(%c) - start), 0 : u32 ; %m = reduce max %s over c
//   %first = select %m == 0, 9223372036854775807, start + not(%m)

namespace kdl::cpu {

namespace {

struct FirstIndex {
  Value* hit;
  Value* index;
  Value* none;  ///< the result if no condition is true
};

/// Returns the parts of a reduction that finds the first index at which a condition is true. Returns nothing
/// for other reductions.
std::optional<FirstIndex> FirstIndexOf(const ir::Function& kernel, const Op* fold) {
  const Op* select = fold->operand(0)->def();
  bool fits = fold->attr<AttrKey::Reduction>() == ir::ReductionKind::Min &&
              fold->attr<AttrKey::Axes>().size() == 1 &&
              fold->attr<AttrKey::Order>() == ir::OrderKind::Lanes64 && select &&
              select->kind() == OpKind::Select && select->result()->uses().size() == 1;
  if (!fits) return std::nullopt;
  Value* index = select->operand(1);
  Value* none = select->operand(2);
  bool counts = index->def() && index->def()->kind() == OpKind::Iota &&
                index->type()->axes == fold->attr<AttrKey::Axes>() &&
                ir::ConstantOf(none) == std::numeric_limits<int64_t>::max();
  if (!counts) return std::nullopt;
  Size extent = kernel.axis(index->type()->axes[0]).extent;
  bool is_short = IsConstant(extent) && extent->value < std::numeric_limits<uint32_t>::max();
  return is_short ? std::optional(FirstIndex{select->operand(0), index, none}) : std::nullopt;
}

void Narrow(ir::Builder& b, Op* fold, const FirstIndex& first) {
  b.StandAt(fold);
  Value* start = b.BlockStart(first.index->def()->operand(0));
  Value* narrow_start = b.Cast(start, Scalar::U32);
  // With all axes of the condition, so that one elementwise loop computes both. The condition itself may lack the index's.
  Value* indices = b.Broadcast(first.index, fold->operand(0)->type()->axes);
  Value* distance = b.Sub(b.Cast(indices, Scalar::U32), narrow_start);
  Value* key = b.Unary(OpKind::Not, distance);
  Value* zero = b.Int(Scalar::U32, 0);
  Value* keys = b.Select(first.hit, key, zero);
  ir::Type type = b.types().Tile(Scalar::U32, fold->result()->type()->axes);
  Value* largest = b.Make(OpKind::Reduce, {keys}, type,
                          {ir::MakeAttr<AttrKey::Reduction>(ir::ReductionKind::Max),
                           ir::MakeAttr<AttrKey::Axes>(fold->attr<AttrKey::Axes>()),
                           ir::MakeAttr<AttrKey::Acc>(Scalar::U32),
                           ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
  Value* is_none = b.Eq(largest, zero);
  Value* offset = b.Cast(b.Unary(OpKind::Not, largest), Scalar::I64);
  Value* index = b.Add(offset, start);
  fold->result()->ReplaceAllUsesWith(b.Select(is_none, first.none, index));
  Op* select = fold->operand(0)->def();
  ir::Erase(fold);
  ir::Erase(select);
}

}  // namespace

void RunNarrowIndices(PassContext& context, ir::Function& kernel) {
  ir::Builder b(context.module);
  for (Op* fold : passes::OpsOfKind(kernel, OpKind::Reduce)) {
    if (auto first = FirstIndexOf(kernel, fold)) Narrow(b, fold, *first);
  }
}

}  // namespace kdl::cpu
