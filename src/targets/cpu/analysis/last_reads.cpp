#include "targets/cpu/analysis/last_reads.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "ir/views.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

namespace {

/// A sum of values and a constant.
struct SumTerms {
  std::vector<const Value*> values;
  int64_t constant = 0;
};

void AddTerms(const Value* value, SumTerms& sum) {
  if (auto constant = ir::ConstantOf(value)) {
    sum.constant += *constant;
  } else if (value->def() && value->def()->kind() == OpKind::Add) {
    for (const Value* operand : value->def()->operands()) AddTerms(operand, sum);
  } else {
    sum.values.push_back(value);
  }
}

/// Whether the index is that of the block's last element or, for scans from the end, of its first one.
bool IsEndIndex(const Value* index, const Value* block, ir::DirectionKind direction) {
  const Op* maker = block->def();
  if (!maker || maker->kind() != OpKind::MakeBlock) return false;
  SumTerms found;
  AddTerms(index, found);
  SumTerms end;
  AddTerms(maker->operand(0), end);
  if (direction == ir::DirectionKind::Up) {
    AddTerms(maker->operand(1), end);
    --end.constant;
  }
  return found.constant == end.constant && std::ranges::is_permutation(found.values, end.values);
}

bool ReadsEnd(const Op* op, ir::AxisId axis, const Value* block, ir::DirectionKind direction) {
  return op->kind() == OpKind::Gather && op->attr<ir::AttrKey::Axes>() == ir::AxisList{axis} &&
         IsEndIndex(op->Segment(ir::GatherOp::at_index)[0], block, direction);
}

}  // namespace

bool IsReadOnlyAtEnd(const Op* elementwise, const Value* result, ir::AxisId axis,
                     ir::DirectionKind direction) {
  auto block = std::ranges::find_if(elementwise->operands(), [&](const Value* operand) {
    return operand->type()->axes[0] == axis;
  });
  if (result->uses().size() != 1) return false;
  const Op* store = result->uses()[0].user;
  if (store->kind() != OpKind::StoreTile) return false;
  const Value* tile_buffer = store->Segment(ir::StoreTileOp::at_tile_buffer)[0];
  return std::ranges::all_of(tile_buffer->uses(), [&](const ir::Use& use) {
    if (use.user == store) return true;
    bool is_load = use.user->kind() == OpKind::LoadTile && use.user->operands().size() == 1;
    return is_load && std::ranges::all_of(use.user->result()->uses(), [&](const ir::Use& read) {
             return read.operand == 0 && ReadsEnd(read.user, axis, *block, direction);
           });
  });
}

}  // namespace kdl::cpu
