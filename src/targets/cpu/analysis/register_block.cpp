#include "targets/cpu/analysis/register_block.h"

#include <algorithm>
#include <span>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/last_axis.h"

namespace kdl::cpu {

namespace {

/// Whether some operand has the axis `column` but not the axis `row`.
bool Reuses(const Op& fold, AxisId row, AxisId column) {
  size_t terms = fold.kind() == OpKind::Contraction ? 2 : fold.operands().size();
  return std::ranges::any_of(std::span(fold.operands()).first(terms), [&](const Value* operand) {
    return HasAxis(operand, column) && !HasAxis(operand, row);
  });
}

RegisterBlock::Shape LargestShape(const KernelShape& kernel, const RegisterBlock& block) {
  int64_t vectors = std::max<int64_t>(kernel.Extent(*block.column) / block.lanes, 1);
  if (!block.row) return {1, std::min<int64_t>(vectors, kernel.facts.vector_registers / 4)};
  int64_t columns = std::min(vectors, kBlockColumns);
  return {std::min(BlockRows(kernel.facts, columns), kernel.Extent(*block.row)), columns};
}

}  // namespace

RegisterBlock RegisterBlock::ChooseFor(const KernelShape& kernel, const Op& fold) {
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

namespace {

/// Returns the number of adjacent elements along the axis `along` that an instruction reads as a group.
/// Returns 1 if the elementwise loop that makes the tile cannot store groups contiguously, or if the
/// processor does not have the instruction. Register blocks read the tile along `column`.
int64_t TileGroup(const KernelShape& kernel, const ir::MatrixInstruction* instruction,
                  const Op* elementwise, AxisId along, AxisId column) {
  bool by_rows = elementwise && elementwise->kind() == OpKind::Elementwise &&
                 elementwise->results().size() == 1 && WalkedAxes(elementwise).back() == column &&
                 Contains(WalkedAxes(elementwise), along) && LastAxis(elementwise).Vectorizes();
  if (!by_rows || !IsNative(kernel.facts, instruction)) return 1;
  for (const Op* op : *elementwise->region()) {
    if (passes::MayTrap(op) || op->kind() == OpKind::Store || op->kind() == OpKind::ReduceInLoop ||
        op->kind() == OpKind::ScanInLoop)
      return 1;
  }
  return ir::TermsPerGroup(*instruction);
}

/// Returns the panels in which one reduction or contraction reads the tile.
Panel WantedBy(const KernelShape& kernel, const ir::Context& context, const Op& fold,
               const Value* tile) {
  RegisterBlock block = RegisterBlock::ChooseFor(kernel, fold);
  const ir::MatrixInstruction* instruction = ir::InstructionOf(fold, context);
  AxisList axes = kernel.order.Sorted(tile->type()->axes);
  AxisId along = fold.attr<AttrKey::Axes>().back();
  bool is_made = tile->def() && tile->def()->kind() == OpKind::Elementwise;
  if (axes.back() == along && is_made && IsNative(kernel.facts, instruction))
    return {0, ir::TermsPerGroup(*instruction)};
  if (!block.row || !HasAxis(tile, *block.column) || HasAxis(tile, *block.row)) return {};
  if (axes.back() != *block.column) return {};
  Panel panel{block.largest.columns * block.lanes, 1};
  if (axes.size() >= 2 && axes[axes.size() - 2] == along)
    panel.group = TileGroup(kernel, instruction, tile->def(), along, *block.column);
  bool narrow = panel.columns < kernel.LanesAlong(*block.column, Bytes(tile->type()->scalar));
  return narrow && panel.group == 1 ? Panel() : panel;
}

/// Whether L1 can keep the tile's cache lines until all of their elements have been read. The rows of a
/// register block read only a few elements of each line, and the rows of the next block read the next
/// elements. Each term needs one line.
bool LinesStayInCache(const KernelShape& kernel, const Op& fold, const Value* tile) {
  constexpr int64_t kShare = 4;  // a quarter of L1, because the columns' panel uses half of it
  int64_t lines = 1;
  for (AxisId axis : fold.attr<AttrKey::Axes>()) {
    if (HasAxis(tile, axis)) lines *= kernel.Extent(axis);
  }
  return lines * kernel.facts.cache_line_bytes <= kernel.facts.l1_bytes / kShare;
}

}  // namespace

Panel PanelOf(const KernelShape& kernel, const ir::Context& context, const Value* tile) {
  std::optional<Panel> panel;
  for (const ir::Use& use : tile->uses()) {
    const Op& fold = *use.user;
    bool is_factor = fold.kind() == OpKind::Contraction && use.operand < ir::ContractionOp::at_into;
    if (!is_factor || fold.attr<AttrKey::Order>() != ir::OrderKind::Sequential) return {};
    Panel wanted = WantedBy(kernel, context, fold, tile);
    if (wanted != panel.value_or(wanted)) return {};
    panel = wanted;
  }
  return panel.value_or(Panel());
}

std::optional<Splat> SplatOf(const KernelShape& kernel, const Value* tile) {
  std::optional<Splat> splat;
  for (const ir::Use& use : tile->uses()) {
    const Op& fold = *use.user;
    bool is_factor = fold.kind() == OpKind::Contraction && use.operand < ir::ContractionOp::at_into;
    if (!is_factor || fold.attr<AttrKey::Order>() != ir::OrderKind::Sequential ||
        fold.HasAttr(AttrKey::Instruction))
      return {};
    std::optional<AxisId> column = RegisterBlock::ChooseFor(kernel, fold).column;
    AxisId along = fold.attr<AttrKey::Axes>().back();
    if (!column || HasAxis(tile, *column) || !HasAxis(tile, along)) return {};
    if (splat && splat->along != along) return {};
    bool others_cached = !splat || splat->cached_as_it_lies;
    splat = {along, others_cached && LinesStayInCache(kernel, fold, tile)};
  }
  return splat;
}

bool UsesVectors(const KernelShape& kernel, const Op* elementwise, const RegisterBlock& block) {
  AxisList walked = WalkedAxes(elementwise);
  size_t axes = block.outer.size() + (block.row ? 2 : 1);
  LastAxis last(elementwise);
  return elementwise->results().empty() && walked.size() == axes &&
         walked.back() == *block.column && last.Vectorizes() &&
         kernel.LanesAlong(*block.column, last.Bytes()) == block.lanes;
}

}  // namespace kdl::cpu
