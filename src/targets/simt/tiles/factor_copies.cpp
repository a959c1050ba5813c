#include "targets/simt/tiles/factor_copies.h"

#include <algorithm>
#include <utility>

#include "ir/views.h"
#include "support/scalar.h"

// Fetches the factors of a product, or rows that are added to each other, with asynchronous copies:
//
//   %x = elementwise (%i in %bi, %k in %bk) { yield load %a[%i, %k] }
//   … the other factor, then the first other op
//   ->
//   if (the blocks are whole, and rows aligned) {
//     loop %p in 0 .. 512 {threads} { async_copy %a to %x tensor[…] buffer[%p div 4, %p rem 4 * 8] sizes(8) }
//   } else { … element by element }
//   … the other factor ; async_copy_wait %x, … ; the first other op

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeWorkgroupLoop;

namespace {

AxisList LoopAxes(const Op* elementwise) {
  AxisList axes;
  for (const Value* block : elementwise->operands()) axes.push_back(block->type()->axes[0]);
  return axes;
}

size_t AxisPosition(const AxisList& axes, AxisId axis) {
  return static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin());
}

/// If the elementwise loop does nothing but load elements that are known to exist, returns the load,
/// otherwise null.
const Op* OnlyLoad(const Op* elementwise) {
  const Op* load = elementwise->region()->first();
  const Op* end = elementwise->region()->terminator();
  if (load->kind() != OpKind::Load || load->next() != end || end->operands().size() != 1 ||
      end->operand(0) != load->result())
    return nullptr;
  ir::LoadOp view(const_cast<Op*>(load));
  auto bounds_mode = load->attr<AttrKey::BoundsMode>();
  bool is_plain = (bounds_mode == ir::BoundsMode::Clip || bounds_mode == ir::BoundsMode::Proven) &&
                  !view.mask() && !view.otherwise();
  return is_plain ? load : nullptr;
}

}  // namespace

int64_t FactorCopies::CopyLanes(const Value* tile) const {
  return bytes_ / Bytes(tile->type()->scalar);
}

bool FactorCopies::Takes(const Op* op) const {
  if (bytes_ == 0 || op->kind() != OpKind::Elementwise || op->HasAttr(AttrKey::Map)) return false;
  if (!OnlyLoad(op)) return false;
  const Value* tile = op->result();
  AxisId last = tiles_.MemoryOrder(tile).back();
  bool is_fetched = tiles_.IsFactor(tile) || IsStreamedAlong(tile, last) || IsLongRow(tile);
  if (!is_fetched || tile->type()->scalar == kdl::Scalar::Bool || tiles_.IsInRegisters(tile) ||
      tiles_.LiesInPanels(tile))
    return false;
  return LoadedAlong(tile) == last && tiles_.Extent(last) % CopyLanes(tile) == 0;
}

void FactorCopies::Begin(const Op* elementwise, Value* tensor, Value* buffer,
                         const IndexAt& index_at, const std::function<void()>& otherwise) {
  Value* are_whole = HasWholeCopies(elementwise);
  Value* copies = b_.And(are_whole, IsAligned(elementwise, tensor, index_at));
  MakeIf(
      b_, copies, {},
      [&]() -> Values {
        Value* zero = b_.I64(0);
        Value* all = CountCopies(elementwise);
        MakeWorkgroupLoop(b_, {zero, all}, [&](Value* number) {
          CopyPart(elementwise, number, tensor, buffer, index_at);
        });
        return {};
      },
      [&]() -> Values {
        otherwise();
        return {};
      });
  begun_.push_back(buffer);
}

void FactorCopies::Await() {
  if (begun_.empty()) return;
  b_.Create(OpKind::AsyncCopyWait, {std::exchange(begun_, {}), {}, {}}, {});
}

/// Returns whether the tile is a row of which each thread would load several vectors.
bool FactorCopies::IsLongRow(const Value* tile) const {
  constexpr int64_t kLeastBytes = 8 << 10;
  return IsRowOfIteration(tile) &&
         tiles_.Extent(tile->type()->axes[0]) * Bytes(tile->type()->scalar) >= kLeastBytes;
}

/// Emits the number of copies. All blocks are whole, except for that of a row.
Value* FactorCopies::CountCopies(const Op* elementwise) {
  AxisList axes = LoopAxes(elementwise);
  int64_t lanes = CopyLanes(elementwise->result());
  if (axes.size() == 1) return b_.Div(tiles_.FactsAt(elementwise, axes[0]).size, b_.I64(lanes));
  int64_t elements = 1;
  for (AxisId axis : axes) elements *= tiles_.Extent(axis);
  return b_.I64(elements / lanes);
}

/// Emits the condition that the blocks are whole. A row may be shorter if it consists of whole copies.
Value* FactorCopies::HasWholeCopies(const Op* elementwise) {
  AxisList axes = LoopAxes(elementwise);
  if (axes.size() == 1) {
    Value* size = tiles_.FactsAt(elementwise, axes[0]).size;
    return b_.Eq(b_.Rem(size, b_.I64(CopyLanes(elementwise->result()))), b_.I64(0));
  }
  Value* whole = nullptr;
  for (AxisId axis : axes) {
    Value* extent = b_.I64(tiles_.Extent(axis));
    Value* is_whole = b_.Eq(tiles_.FactsAt(elementwise, axis).size, extent);
    whole = whole ? b_.And(whole, is_whole) : is_whole;
  }
  return whole;
}

passes::Values FactorCopies::FirstPoint(const Op* elementwise) {
  Values start;
  for (AxisId axis : LoopAxes(elementwise))
    start.push_back(tiles_.FactsAt(elementwise, axis).start);
  return start;
}

/// Emits the condition that all rows are aligned. This requires that the block's first element is aligned and
/// that, for each axis but the last, the next element along that axis is also aligned.
Value* FactorCopies::IsAligned(const Op* elementwise, Value* tensor, const IndexAt& index_at) {
  const Op* load = OnlyLoad(elementwise);
  AxisList axes = LoopAxes(elementwise);
  auto gap_at = [&](const Values& point) {
    Value* gap = b_.Create(OpKind::AlignGap, {{tensor}, index_at(load, point)}, {b_.I64Type()},
                           {*load->FindAttr(AttrKey::Access),
                            ir::MakeAttr<AttrKey::Lanes>(CopyLanes(elementwise->result()))})
                     ->result();
    return b_.Eq(gap, b_.I64(0));
  };
  Value* aligned = gap_at(FirstPoint(elementwise));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == tiles_.MemoryOrder(elementwise->result()).back()) continue;
    Values next = FirstPoint(elementwise);
    next[i] = b_.Add(next[i], b_.I64(1));
    aligned = b_.And(aligned, gap_at(next));
  }
  return aligned;
}

/// Copies a chunk of a row. A chunk has as many elements as one copy can move, and chunks are numbered in the
/// tile's memory order.
void FactorCopies::CopyPart(const Op* elementwise, Value* number, Value* tensor, Value* buffer,
                            const IndexAt& index_at) {
  const Value* tile = elementwise->result();
  AxisList axes = LoopAxes(elementwise);
  AxisList order = tiles_.MemoryOrder(tile);
  int64_t lanes = CopyLanes(tile);
  Values point = FirstPoint(elementwise);
  Values place(axes.size());
  Value* rest = number;
  for (size_t i = order.size(); i-- > 0;) {
    bool is_last = i + 1 == order.size();
    Value* count = b_.I64(tiles_.Extent(order[i]) / (is_last ? lanes : 1));
    Value* digit = i == 0 ? rest : b_.Rem(rest, count);
    if (i > 0) rest = b_.Div(rest, count);
    if (is_last) digit = b_.Mul(digit, b_.I64(lanes));
    size_t position = AxisPosition(axes, order[i]);
    point[position] = b_.Add(point[position], digit);
    place[AxisPosition(tile->type()->axes, order[i])] = digit;
  }
  const Op* load = OnlyLoad(elementwise);
  auto last = static_cast<int64_t>(tensor->type()->dims.size()) - 1;
  b_.Create(OpKind::AsyncCopy,
            {{tensor},
             {buffer},
             index_at(load, point),
             tiles_.BufferIndex(tile, place),
             {b_.I64(lanes)},
             {}},
            {}, {*load->FindAttr(AttrKey::Access), ir::MakeAttr<AttrKey::Along>({last})});
}

}  // namespace kdl::simt
