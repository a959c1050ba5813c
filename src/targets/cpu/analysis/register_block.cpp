#include "targets/cpu/analysis/register_block.h"

#include <algorithm>

#include "ir/views.h"
#include "targets/cpu/analysis/last_axis.h"

namespace kdl::cpu {

namespace {

/// Whether an operand that walks the columns stands still along `row`.
bool Reuses(const Op& fold, AxisId row, AxisId column) {
  return std::any_of(fold.operands().begin(), fold.operands().end(), [&](const Value* operand) {
    bool is_start = fold.kind() == OpKind::Contraction &&
                    operand == ir::ContractionOp(const_cast<Op*>(&fold)).into();
    return !is_start && HasAxis(operand, column) && !HasAxis(operand, row);
  });
}

RegisterBlock::Shape LargestShape(const KernelShape& kernel, const RegisterBlock& block) {
  int64_t vectors = std::max<int64_t>(kernel.Extent(*block.column) / block.lanes, 1);
  if (!block.row) return {1, std::min<int64_t>(vectors, kernel.facts.vector_registers / 4)};
  int64_t columns = std::min(vectors, kBlockColumns);
  return {std::min(BlockRows(kernel.facts, columns), kernel.Extent(*block.row)), columns};
}

}  // namespace

RegisterBlock RegisterBlock::Of(const KernelShape& kernel, const Op& fold) {
  RegisterBlock block;
  block.outer = kernel.order.Sorted(fold.result()->type()->axes);
  if (block.outer.empty()) return block;
  block.column = block.outer.back();
  block.outer.pop_back();
  block.lanes = kernel.LanesAlong(*block.column, Bytes(fold.attr<AttrKey::Acc>()));
  for (size_t i = block.outer.size(); i-- > 0 && !block.row;) {
    if (!Reuses(fold, block.outer[i], *block.column)) continue;
    block.row = block.outer[i];
    block.outer.erase(block.outer.begin() + static_cast<std::ptrdiff_t>(i));
  }
  block.largest = LargestShape(kernel, block);
  return block;
}

int64_t PanelOf(const KernelShape& kernel, const Value* tile) {
  int64_t panel = 0;
  for (const ir::Use& use : tile->uses()) {
    const Op& fold = *use.user;
    bool is_factor = fold.kind() == OpKind::Contraction && use.operand < ir::ContractionOp::at_into;
    if (!is_factor || fold.attr<AttrKey::Order>() != ir::OrderKind::Chain) return 0;
    RegisterBlock block = RegisterBlock::Of(kernel, fold);
    if (!block.row || !HasAxis(tile, *block.column) || HasAxis(tile, *block.row)) return 0;
    if (kernel.order.Sorted(tile->type()->axes).back() != *block.column) return 0;
    int64_t wanted = block.largest.columns * block.lanes;
    if (panel != 0 && panel != wanted) return 0;
    if (wanted < kernel.LanesAlong(*block.column, Bytes(tile->type()->scalar))) return 0;
    panel = wanted;
  }
  return panel;
}

bool TakesVectors(const KernelShape& kernel, const Op* nest, const RegisterBlock& block) {
  AxisList walked = WalkedAxes(nest);
  size_t axes = block.outer.size() + (block.row ? 2 : 1);
  LastAxis last(nest);
  return nest->results().empty() && walked.size() == axes && walked.back() == *block.column &&
         last.Vectorizes() && kernel.LanesAlong(*block.column, last.Bytes()) == block.lanes;
}

}  // namespace kdl::cpu
