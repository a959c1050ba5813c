#include "targets/simt/tensor_tiles/group_product.h"

#include <algorithm>
#include <utility>

#include "ir/lane_map.h"
#include "ir/views.h"
#include "targets/simt/analysis/mma_shapes.h"

// The matrix instructions for a block of terms normally accumulate onto the result. If the instruction adds
// less exactly than the type of the result, its sums start from 0 instead, and threads add these sums to the
// result:
//
//   … = mma %A, %B … into (%acc) ; … ; mma_commit ; mma_wait (%acc)
//   … = mma %A, %B … into (0) ; … ; mma_commit ; mma_wait (%part) ; %acc = %acc + %part

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::Values;

namespace {

/// Calls `at` for each register, with the register's number and its index in the buffer.
void AtRegisters(ir::Builder& b, const Value* registers,
                 const std::function<void(size_t number, const Values& index)>& at) {
  size_t number = 0;
  for (int64_t i = 0; i < registers->type()->dims[0]->value; ++i) {
    for (int64_t j = 0; j < registers->type()->dims[1]->value; ++j)
      at(number++, {b.I64(i), b.I64(j)});
  }
}

}  // namespace

Value* RegistersFor(ir::Builder& b, const WorkgroupTiles& tiles, const Op* product, Value* target) {
  const ir::MatrixInstruction& instruction = *NamedMmaShape(product)->instruction;
  if (instruction.apart == 0 && tiles.IsInRegisters(product->result())) return target;
  ir::LaneMap map = ir::MapOf(*product);
  ir::Type type =
      b.types().Buffer(instruction.acc, {map[0].held(), map[1].held()}, ir::Space::Scratch);
  return b.Create(OpKind::BufferNew, {}, {type})->result();
}

Values LoadRegisters(ir::Builder& b, Value* registers) {
  ir::Type type = b.types().ScalarOf(registers->type()->scalar);
  Values loaded;
  AtRegisters(b, registers, [&](size_t, const Values& index) {
    loaded.push_back(b.Create(OpKind::BufferLoad, {{registers}, index, {}}, {type})->result());
  });
  return loaded;
}

void StoreRegisters(ir::Builder& b, const Values& values, Value* registers) {
  AtRegisters(b, registers, [&](size_t number, const Values& index) {
    b.Create(OpKind::BufferStore, {{values[number]}, {registers}, index, {}}, {});
  });
}

GroupProduct::GroupProduct(ir::Builder& b, WorkgroupTiles& tiles, const Op* product, Value* thread,
                           const StepFactor& rows, const StepFactor& columns)
    : b_(b),
      tiles_(tiles),
      product_(product),
      instruction_(*NamedMmaShape(product)->instruction),
      thread_(thread),
      rows_(rows),
      columns_(columns),
      terms_(tiles.Extent(product->attr<AttrKey::Axes>()[0])) {}

void GroupProduct::AddAndWait(Value* registers) {
  Await(MmaSteps(0, terms_, LoadRegisters(b_, registers)), registers);
}

void GroupProduct::MultiplyAndWait(ProductBlock& block, Value* registers, Value* target) {
  if (instruction_.apart > 0) return MultiplyApart(block, registers, target);
  Await(MmaSteps(0, terms_, block.Load()), registers);
  if (registers != target) block.Store(LoadRegisters(b_, registers), target);
}

void GroupProduct::MultiplyApart(ProductBlock& block, Value* registers, Value* target) {
  Values sums = block.Load();
  for (int64_t first = 0; first < terms_; first += instruction_.apart) {
    int64_t end = std::min(first + instruction_.apart, terms_);
    Values zeros(sums.size(), b_.Bits(instruction_.acc, 0));
    Await(MmaSteps(first, end, std::move(zeros)), registers);
    Values made = LoadRegisters(b_, registers);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = b_.Add(sums[i], made[i]);
  }
  block.Store(sums, target);
}

Values GroupProduct::MmaSteps(int64_t first, int64_t end, Values sums) {
  for (int64_t term = first; term < end; term += instruction_.depth) sums = MmaStep(term, sums);
  return sums;
}

Values GroupProduct::MmaStep(int64_t term, const Values& sums) {
  std::vector<ir::Type> types;
  for (const Value* sum : sums) types.push_back(sum->type());
  Values place = {thread_, b_.I64(term)};
  for (AxisId axis : product_->result()->type()->axes)
    place.push_back(tiles_.FactsAt(product_, axis).size);
  ir::NumberList folded = {rows_.has_terms_in_rows ? 1 : 0, columns_.has_terms_in_rows ? 1 : 0};
  Op* step = b_.Create(
      OpKind::Mma, {{rows_.ring}, {columns_.ring}, place, {rows_.slot, columns_.slot}, sums}, types,
      {*product_->FindAttr(AttrKey::Instruction), *product_->FindAttr(AttrKey::Map),
       ir::MakeAttr<AttrKey::Folded>(std::move(folded))});
  return step->results();
}

void GroupProduct::Await(const Values& sums, Value* registers) {
  StoreRegisters(b_, sums, registers);
  b_.Create(OpKind::MmaCommit, {}, {});
  b_.Create(OpKind::MmaWait, {{registers}}, {}, {ir::MakeAttr<AttrKey::Ahead>(0)});
}

}  // namespace kdl::simt
