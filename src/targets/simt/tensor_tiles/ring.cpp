#include "targets/simt/tensor_tiles/ring.h"

#include "ir/matrix_instruction.h"
#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "support/check.h"
#include "support/scalar.h"

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

namespace {

/// Makes a buffer whose accesses are synchronized by mbarriers.
Value* NewMbarrierOrdered(ir::Builder& b, kdl::Scalar scalar, std::vector<int64_t> extents,
                          Name name) {
  ir::Type type = b.types().Buffer(scalar, std::move(extents), ir::Space::Workgroup);
  Op* buffer = b.Create(OpKind::BufferNew, {}, {type}, {ir::MakeAttr<AttrKey::MbarrierOrdered>(1)});
  buffer->result()->set_name(name);
  return buffer->result();
}

}  // namespace

Value* IterationMaker::Scalar(const Value* old) const {
  auto found = scalars.find(old);
  KDL_CHECK(found != scalars.end(), "'{}' is not a scalar yet", old->name().text());
  return found->second;
}

// -- Mbarriers ------------------------------------------------------------------------------------

Value* SlotMbarriers::New(std::string_view name) {
  return NewMbarrierOrdered(b_, kdl::Scalar::U64, {slots_},
                            b_.module().context().names.Intern(name));
}

void SlotMbarriers::Open(Value* mbarriers, int64_t arrivals) {
  b_.Create(OpKind::MbarrierInit, {{mbarriers}}, {}, {ir::MakeAttr<AttrKey::Arrivals>(arrivals)});
}

void SlotMbarriers::Close(Value* mbarriers) {
  b_.Create(OpKind::MbarrierInvalidate, {{mbarriers}}, {});
}

Value* SlotMbarriers::SlotForIteration(Value* iteration) {
  return b_.Rem(iteration, b_.I64(slots_));
}

void SlotMbarriers::Await(Value* mbarriers, Value* iteration) {
  Value* slot = SlotForIteration(iteration);
  Value* phase = b_.Div(iteration, b_.I64(slots_));
  b_.Create(OpKind::MbarrierWait, {{mbarriers}, {slot}, {phase}}, {});
}

void SlotMbarriers::Arrive(Value* mbarriers, Value* iteration) {
  b_.Create(OpKind::MbarrierArrive, {{mbarriers}, {SlotForIteration(iteration)}}, {});
}

// -- Tensor tiles ---------------------------------------------------------------------------------

TensorTileRing::TensorTileRing(ir::Builder& b, WorkgroupTiles& tiles,
                               const IterationMaker& iteration, const Op* product, size_t factor)
    : b_(b),
      tiles_(tiles),
      iteration_(iteration),
      product_(product),
      factor_(product->operand(factor)),
      tensor_tile_(*TensorTileFactorOf(product, factor)) {}

kdl::Scalar TensorTileRing::scalar() const { return ir::NarrowFactor(factor_)->type()->scalar; }

int64_t TensorTileRing::bytes() const {
  return tiles_.Extent(tensor_tile_.row) * tiles_.Extent(tensor_tile_.column) * Bytes(scalar());
}

Value* TensorTileRing::New(int64_t slots) {
  ring_ = NewMbarrierOrdered(
      b_, scalar(), {slots, tiles_.Extent(tensor_tile_.row), tiles_.Extent(tensor_tile_.column)},
      factor_->name());
  ring_->def()->SetAttr(ir::MakeAttr<AttrKey::Swizzle>(kPanelBytes));
  return ring_;
}

void TensorTileRing::Bring(SlotMbarriers& mbarriers, Value* full, Value* number, int64_t threads,
                           const std::function<void()>& before_tensor_tile,
                           const std::function<void()>& await_free) {
  Value* slot = mbarriers.SlotForIteration(number);
  MakeIf(
      b_, Fits(),
      [&] {
        OnFirstThread(b_, [&] {
          before_tensor_tile();
          FillSlot(slot, full);
        });
      },
      [&] {
        await_free();
        CopyElements(slot, threads);
        OnFirstThread(b_, [&] { mbarriers.Arrive(full, number); });
      });
}

Value* TensorTileRing::Tensor() const {
  return iteration_.Scalar(tensor_tile_.load->operand(ir::LoadOp::at_tensor));
}

ir::Attr TensorTileRing::Along() const {
  return ir::MakeAttr<AttrKey::Along>(
      ir::NumberList{tensor_tile_.row_dimension, tensor_tile_.column_dimension});
}

/// Emits the condition that a tile copy is possible. The tensor's memory must be suitable. Along the reduced
/// axis, the block must either be whole or end where the tensor ends. In the second case, the copy fills the
/// rest with zeros.
Value* TensorTileRing::Fits() {
  AxisId folded = product_->attr<AttrKey::Axes>()[0];
  Value* fits = b_.Create(OpKind::TileCopyFits, {{Tensor()}, {ring_}},
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

Values TensorTileRing::StartPoint() {
  Values start;
  for (const Value* block : tensor_tile_.elementwise->operands())
    start.push_back(tiles_.FactsAt(tensor_tile_.elementwise, block->type()->axes[0]).start);
  return start;
}

/// Returns the load's index operands at a point of the load's elementwise loop.
Values TensorTileRing::IndexAt(const Values& point) {
  for (size_t i = 0; i < point.size(); ++i)
    iteration_.scalars[tensor_tile_.elementwise->region()->param(i)] = point[i];
  Values index;
  for (const Value* old : tensor_tile_.load->Segment(ir::LoadOp::at_index))
    index.push_back(iteration_.Scalar(old));
  return index;
}

void TensorTileRing::FillSlot(Value* slot, Value* full) {
  Values index = IndexAt(StartPoint());
  b_.Create(OpKind::AsyncCopy, {{Tensor()}, {ring_}, index, {slot}, {}, {full}}, {},
            {*tensor_tile_.load->FindAttr(AttrKey::Access), Along()});
}

void TensorTileRing::CopyElements(Value* slot, int64_t threads) {
  Value* zero = b_.I64(0);
  Value* points = b_.I64(tiles_.Extent(tensor_tile_.row) * tiles_.Extent(tensor_tile_.column));
  MakeWorkgroupLoop(b_, {zero, points}, [&](Value* point) {
    Value* columns = b_.I64(tiles_.Extent(tensor_tile_.column));
    Value* row = b_.Div(point, columns);
    Value* column = b_.Rem(point, columns);
    Value* element = ElementAt(row, column);
    b_.Create(OpKind::BufferStore, {{element}, {ring_}, {slot, row, column}, {}}, {});
  });
  Value* all = b_.I64(threads);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value*) { b_.Create(OpKind::ProxyFence, {}, {}); });
  b_.Create(OpKind::Barrier, {}, {});
}

/// Returns the element at the row and column, or zero beyond the end of a block.
Value* TensorTileRing::ElementAt(Value* row, Value* column) {
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
    return {passes::ExpandLoad(b_, passes::ElementAccessOf(tensor_tile_.load, [&](Value* old) {
                                 return iteration_.Scalar(old);
                               }))};
  };
  Value* in_columns = inside(tensor_tile_.column, column);
  return MakeIf(b_, b_.And(inside(tensor_tile_.row, row), in_columns),
                {b_.types().ScalarOf(scalar())}, load,
                [&]() -> Values { return {b_.Bits(scalar(), 0)}; })[0];
}

}  // namespace kdl::simt
