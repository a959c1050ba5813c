#include "targets/simt/tensor_tiles/fetch.h"

#include "ir/lane_map.h"
#include "ir/matrix_instruction.h"
#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "support/check.h"
#include "support/scalar.h"

// The fetch of a factor of 64 rows and columns. The pass pipeline-async-copies starts such copies in earlier
// iterations, and lets the threads wait for them at mbarriers.
//
//   %A = buffer_new {swizzle = 128} : buffer<bf16,[1,64,64]; workgroup>
//   %fits = tile_copy_fits %a to %A
//   if (%fits and …) {
//     loop 0 .. 1 {threads} { async_copy %a to %A tensor[%i, %k] buffer[0] ; async_copy_wait (%A) }
//   } else {
//     loop 0 .. 4096 {threads} { … buffer_store … to %A[0, …] } ; loop {threads} { proxy_fence } ; barrier }

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeWorkgroupLoop;
using passes::OnFirstThread;
using passes::Values;

TensorTileFetch::TensorTileFetch(ir::Builder& b, WorkgroupTiles& tiles, ir::ValueMap& scalars,
                                 const Op* product, size_t factor)
    : b_(b),
      tiles_(tiles),
      scalars_(scalars),
      product_(product),
      factor_(product->operand(factor)),
      tensor_tile_(*TensorTileFactorOf(product, factor)) {}

Value* TensorTileFetch::Emit() {
  ir::Type type = b_.types().Buffer(
      scalar(), {1, tiles_.Extent(tensor_tile_.row), tiles_.Extent(tensor_tile_.column)},
      ir::Space::Workgroup);
  buffer_ = b_.Create(OpKind::BufferNew, {}, {type}, {ir::MakeAttr<AttrKey::Swizzle>(kPanelBytes)})
                ->result();
  buffer_->set_name(factor_->name());
  MakeIf(b_, Fits(), [&] { OnFirstThread(b_, [&] { CopyTile(); }); }, [&] { CopyElements(); });
  return buffer_;
}

kdl::Scalar TensorTileFetch::scalar() const { return ir::NarrowFactor(factor_)->type()->scalar; }

Value* TensorTileFetch::Scalar(const Value* old) const {
  auto found = scalars_.find(old);
  KDL_CHECK(found != scalars_.end(), "'{}' is not a scalar yet", old->name().text());
  return found->second;
}

Value* TensorTileFetch::Tensor() const {
  return Scalar(tensor_tile_.load->operand(ir::LoadOp::at_tensor));
}

ir::Attr TensorTileFetch::Along() const {
  return ir::MakeAttr<AttrKey::Along>(
      ir::NumberList{tensor_tile_.row_dimension, tensor_tile_.column_dimension});
}

/// Emits the condition that a tile copy is possible. The tensor's memory must be suitable. Along the reduced
/// axis, the block must either be whole or end where the tensor ends. In the second case, the copy fills the
/// rest with zeros.
Value* TensorTileFetch::Fits() {
  AxisId folded = product_->attr<AttrKey::Axes>()[0];
  Value* fits = b_.Create(OpKind::TileCopyFits, {{Tensor()}, {buffer_}},
                          {b_.types().ScalarOf(kdl::Scalar::Bool)}, {Along()})
                    ->result();
  const BlockFacts& terms = tiles_.FactsAt(product_, folded);
  Value* whole = b_.Eq(terms.size, b_.I64(tiles_.Extent(folded)));
  auto dimension = static_cast<size_t>(tensor_tile_.row == folded ? tensor_tile_.row_dimension
                                                                  : tensor_tile_.column_dimension);
  Value* end = b_.SizeValue(Tensor()->type()->dims[dimension]);
  Value* ends = b_.Eq(b_.Add(terms.start, terms.size), end);
  return b_.And(fits, b_.Or(whole, ends));
}

Values TensorTileFetch::StartPoint() {
  Values start;
  for (const Value* block : tensor_tile_.elementwise->operands())
    start.push_back(tiles_.FactsAt(tensor_tile_.elementwise, block->type()->axes[0]).start);
  return start;
}

/// Returns the load's index operands at a point of the load's elementwise loop.
Values TensorTileFetch::IndexAt(const Values& point) {
  for (size_t i = 0; i < point.size(); ++i)
    scalars_[tensor_tile_.elementwise->region()->param(i)] = point[i];
  Values index;
  for (const Value* old : tensor_tile_.load->Segment(ir::LoadOp::at_index))
    index.push_back(Scalar(old));
  return index;
}

void TensorTileFetch::CopyTile() {
  Values index = IndexAt(StartPoint());
  b_.Create(OpKind::AsyncCopy, {{Tensor()}, {buffer_}, index, {b_.I64(0)}, {}, {}}, {},
            {*tensor_tile_.load->FindAttr(AttrKey::Access), Along()});
  b_.Create(OpKind::AsyncCopyWait, {{buffer_}, {}, {}}, {});
}

void TensorTileFetch::CopyElements() {
  Value* zero = b_.I64(0);
  Value* points = b_.I64(tiles_.Extent(tensor_tile_.row) * tiles_.Extent(tensor_tile_.column));
  MakeWorkgroupLoop(b_, {zero, points}, [&](Value* point) {
    Value* columns = b_.I64(tiles_.Extent(tensor_tile_.column));
    Value* row = b_.Div(point, columns);
    Value* column = b_.Rem(point, columns);
    Value* element = ElementAt(row, column);
    b_.Create(OpKind::BufferStore, {{element}, {buffer_}, {b_.I64(0), row, column}, {}}, {});
  });
  Value* all = b_.I64(ir::ThreadsOf(ir::MapOf(*product_)));
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value*) { b_.Create(OpKind::ProxyFence, {}, {}); });
  b_.Create(OpKind::Barrier, {}, {});
}

/// Returns the element at the row and column, or zero beyond the end of a block.
Value* TensorTileFetch::ElementAt(Value* row, Value* column) {
  auto inside = [&](AxisId axis, Value* place) {
    return b_.Lt(place, tiles_.FactsAt(tensor_tile_.elementwise, axis).size);
  };
  Values start = StartPoint();
  Values point;
  for (size_t i = 0; i < start.size(); ++i) {
    bool is_row = tensor_tile_.elementwise->operand(i)->type()->axes[0] == tensor_tile_.row;
    point.push_back(b_.Add(start[i], is_row ? row : column));
  }
  auto load = [&]() -> Values {
    IndexAt(point);
    return {passes::ExpandLoad(
        b_, passes::ElementAccessOf(tensor_tile_.load, [&](Value* old) { return Scalar(old); }))};
  };
  Value* in_columns = inside(tensor_tile_.column, column);
  return MakeIf(b_, b_.And(inside(tensor_tile_.row, row), in_columns),
                {b_.types().ScalarOf(scalar())}, load,
                [&]() -> Values { return {b_.Bits(scalar(), 0)}; })[0];
}

}  // namespace kdl::simt
