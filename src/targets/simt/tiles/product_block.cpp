#include "targets/simt/tiles/product_block.h"

#include "ir/views.h"

namespace kdl::simt {

using ir::AxisDigits;
using ir::AxisId;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;

void ProductBlock::PlaceFor(Value* thread) {
  for (AxisId axis : axes()) {
    const AxisDigits& digits = map_.at(axis);
    Value* first = tiles_.FirstPlace(thread, digits, threads());
    for (int64_t held = 0; held < digits.held(); ++held)
      places_[axis].push_back(tiles_.HeldPlace(first, digits, held));
  }
}

Value* ProductBlock::IsInside(AxisId axis, Value* place) {
  return b_.Lt(place, tiles_.FactsAt(op_, axis).size);
}

Value* ProductBlock::AreInside(const Values& place) {
  Value* in_columns = IsInside(axes()[1], place[1]);
  return b_.And(IsInside(axes()[0], place[0]), in_columns);
}

void ProductBlock::AtPoints(const std::function<void(const Values& place)>& body, int64_t lanes) {
  const Values& slow = places_.at(axes()[0]);
  const Values& fast = places_.at(axes()[1]);
  for (size_t i = 0; i < slow.size(); ++i) {
    for (size_t j = 0; j < fast.size(); j += static_cast<size_t>(lanes)) {
      tiles_.SetHeld(axes()[0], static_cast<int64_t>(i));
      tiles_.SetHeld(axes()[1], static_cast<int64_t>(j));
      body({slow[i], fast[j]});
    }
  }
}

passes::Values ProductBlock::Load() {
  const Value* into = ir::ContractionOp(const_cast<ir::Op*>(op_)).into();
  kdl::Scalar acc = op_->attr<ir::AttrKey::Acc>();
  Values loaded;
  AtPoints([&](const Values& place) {
    auto load = [&] { return tiles_.Load(into, tiles_.BufferOf(into), place); };
    if (tiles_.IsInRegisters(into)) return loaded.push_back(load());
    // A buffer in workgroup memory may have no elements beyond the block's end.
    loaded.push_back(MakeIf(
        b_, AreInside(place), {b_.types().ScalarOf(acc)}, [&]() -> Values { return {load()}; },
        [&]() -> Values { return {b_.Bits(acc, 0)}; })[0]);
  });
  return loaded;
}

void ProductBlock::Store(const Values& values, Value* target) {
  const Value* result = op_->result();
  size_t at = 0;
  AtPoints([&](const Values& place) {
    Value* value = values[at++];
    auto store = [&] { tiles_.Store(value, result, target, place); };
    tiles_.IsInRegisters(result) ? store() : MakeIf(b_, AreInside(place), store);
  });
}

int64_t ProductBlock::Lanes() const {
  const Value* into = ir::ContractionOp(const_cast<ir::Op*>(op_)).into();
  // Registers are in the order of the tile's axes, so `into` and the result must have the same order of axes.
  bool lie = tiles_.IsInRegisters(into) && tiles_.IsInRegisters(op_->result()) &&
             into->type()->axes == axes();
  return lie ? map_.at(axes()[1]).side : 1;
}

passes::Values ProductBlock::LoadVectors() {
  const Value* into = ir::ContractionOp(const_cast<ir::Op*>(op_)).into();
  Values loaded;
  AtPoints(
      [&](const Values& place) {
        loaded.push_back(tiles_.LoadVector(into, tiles_.BufferOf(into), place, Lanes()));
      },
      Lanes());
  return loaded;
}

void ProductBlock::StoreVectors(const Values& values, Value* target) {
  size_t at = 0;
  AtPoints([&](const Values& place) { tiles_.Store(values[at++], op_->result(), target, place); },
           Lanes());
}

}  // namespace kdl::simt
