#include "targets/simt/tiles/block_copies.h"

#include <algorithm>
#include <utility>

#include "ir/lookup.h"
#include "ir/views.h"
#include "passes/rewriting/element_access.h"

// Loads and stores whole tiles with asynchronous copies:
//
//   %a = load %x[%bi, %bk] {copied = 1}
//   ->
//   loop %p in 0 .. 1 {threads} {
//     async_copy %x to %m tensor[start(bi), start(bk)] buffer[0, 0] sizes(size(bi), size(bk))
//     async_copy_wait (%m) }

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::OnFirstThread;

/// A tile of a tensor, and a buffer for the tile. `axes` are the axes of both, in the order of the tensor's
/// dimensions.
struct BlockCopies::TensorTile {
  const Op* access;
  Value* tensor;
  Value* buffer;
  AxisList axes;
};

namespace {

using Values = passes::Values;

/// Reorders the offsets of an element of a tile to match the given axes, which are those of a buffer.
Values PlaceAlong(const AxisList& axes, const Value* tile, const Values& place) {
  Values in_rows;
  const AxisList& own = tile->type()->axes;
  for (AxisId axis : axes)
    in_rows.push_back(place[static_cast<size_t>(std::ranges::find(own, axis) - own.begin())]);
  return in_rows;
}

/// Returns the dimensions of the tensor that are indexed by blocks.
ir::NumberList DimsOfBlocks(const ir::Access& access, std::span<Value* const> index) {
  ir::NumberList dims;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    for (const ir::AccessTerm& term : access.dims[d].terms) {
      if (index[term.operand]->type()->kind == ir::TypeKind::Block)
        dims.push_back(static_cast<int64_t>(d));
    }
  }
  return dims;
}

}  // namespace

void BlockCopies::Load(const Op* op) {
  Value* tile = op->result();
  AxisList axes = IndexedAxes(op);
  Value* tile_buffer = tiles_.NewBuffer(tile, tile->name());
  bool direct = tiles_.LiesAs(tile, axes);
  TensorTile tensor_tile{op, new_of_(op->operand(0)), direct ? tile_buffer : NewRows(tile, axes),
                         axes};
  OnFirstThread(b_, [&] {
    Copy(tensor_tile, tensor_tile.tensor, tensor_tile.buffer, [] {});
    b_.Create(OpKind::AsyncCopyWait, {{tensor_tile.buffer}, {}, {}}, {});
  });
  if (tiles_.IsInRegisters(tile)) tiles_.Clear(op, tile, tile_buffer);
  if (!direct) {
    tiles_.Walk(op, tile, /*harmless=*/false, [&](const Values& place) {
      tiles_.Store(LoadRow(tensor_tile, tile, place), tile, tile_buffer, place);
    });
  }
  tiles_[tile] = tile_buffer;
}

void BlockCopies::Store(const Op* op) {
  ir::StoreOp store(const_cast<Op*>(op));
  const Value* tile = store.value();
  AxisList axes = IndexedAxes(op);
  bool direct = tiles_.LiesAs(tile, axes);
  TensorTile tensor_tile{op, new_of_(store.tensor()),
                         direct ? tiles_.BufferOf(tile) : NewRows(tile, axes), axes};
  if (!direct) {
    tiles_.Walk(op, tile, /*harmless=*/false, [&](const Values& place) {
      Value* value = tiles_.Load(tile, tiles_.BufferOf(tile), place);
      b_.Create(OpKind::BufferStore,
                {{value}, {tensor_tile.buffer}, PlaceAlong(axes, tile, place), {}}, {});
    });
  }
  OnFirstThread(b_, [&] {
    Copy(tensor_tile, tensor_tile.buffer, tensor_tile.tensor,
         [&] { b_.Create(OpKind::AsyncCopyWait, {{}, {tensor_tile.buffer}, {}}, {}); });
  });
}

Value* BlockCopies::NewRows(const Value* tile, const AxisList& axes) {
  std::vector<int64_t> extents;
  for (AxisId axis : axes) extents.push_back(kernel_.axis(axis).extent->value);
  ir::Type type = b_.types().Buffer(tile->type()->scalar, std::move(extents), ir::Space::Workgroup);
  Value* buffer = b_.Create(OpKind::BufferNew, {}, {type})->result();
  buffer->set_name(tile->name());
  return buffer;
}

Value* BlockCopies::LoadRow(const TensorTile& tensor_tile, const Value* tile, const Values& place) {
  ir::Type type = b_.types().ScalarOf(tile->type()->scalar);
  Values in_rows = PlaceAlong(tensor_tile.axes, tile, place);
  return b_.Create(OpKind::BufferLoad, {{tensor_tile.buffer}, in_rows, {}}, {type})->result();
}

void BlockCopies::Copy(const TensorTile& tensor_tile, Value* from, Value* to,
                       const std::function<void()>& after_each) {
  const ir::Access access = tensor_tile.access->attr<AttrKey::Access>();
  auto operands = IndexOf(tensor_tile.access);
  ir::NumberList dims = DimsOfBlocks(access, operands);
  bool side_by_side = dims.back() + 1 == static_cast<int64_t>(access.dims.size());
  size_t together = side_by_side ? std::min<size_t>(2, dims.size()) : 1;
  Values all;
  for (AxisId axis : tensor_tile.axes) all.push_back(tiles_.FactsAt(tensor_tile.access, axis).size);
  auto first_copied = all.end() - static_cast<std::ptrdiff_t>(together);
  passes::MakeLoops(b_, {all.begin(), first_copied}, [&](const Values& outer) {
    Values index;
    for (Value* operand : operands) index.push_back(IndexAt(tensor_tile, operand, outer));
    Values place = outer;
    for (size_t i = 0; i < together; ++i) place.push_back(b_.I64(0));
    ir::NumberList along(dims.end() - static_cast<std::ptrdiff_t>(together), dims.end());
    b_.Create(
        OpKind::AsyncCopy, {{from}, {to}, index, place, {first_copied, all.end()}, {}}, {},
        {*tensor_tile.access->FindAttr(AttrKey::Access), ir::MakeAttr<AttrKey::Along>(along)});
    after_each();
  });
}

Value* BlockCopies::IndexAt(const TensorTile& tensor_tile, Value* operand, const Values& outer) {
  if (operand->type()->kind != ir::TypeKind::Block)
    return b_.Cast(new_of_(operand), kdl::Scalar::I64);
  AxisId axis = operand->type()->axes[0];
  auto at =
      static_cast<size_t>(std::ranges::find(tensor_tile.axes, axis) - tensor_tile.axes.begin());
  Value* start = tiles_.FactsAt(tensor_tile.access, axis).start;
  return at < outer.size() ? b_.Add(start, outer[at]) : start;
}

}  // namespace kdl::simt
