#include "proofs/deciding.h"

#include <algorithm>
#include <span>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "proofs/accesses.h"
#include "proofs/value_numbers.h"

namespace kdl::proofs {

namespace {

using ir::Effect;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

/// Whether the operands with the effect `Value` matter only if a result does, or if what is stored does.
bool OnlyMovesOrComputes(const Op* op) {
  if (op->info().has(ir::kPure) || op->info().has(ir::kElementwise)) return true;
  switch (op->kind()) {
    case OpKind::Load:
    case OpKind::Store:
    case OpKind::Update:
    case OpKind::Gather:
    case OpKind::MultiReduce:
    case OpKind::Scan:
    case OpKind::Yield:
      return true;
    default:
      return false;
  }
}

/// Returns the number of operands before the carried values of a loop or `if`.
size_t OperandsBeforeCarried(const Op* op) {
  switch (op->kind()) {
    case OpKind::For:
      return ir::ForOp::at_inits;
    case OpKind::Loop:
      return ir::LoopOp::at_inits;
    case OpKind::If:
      return 1;
    default:
      return 0;
  }
}

bool CarriesOneByOne(const Op* op) {
  return op->kind() == OpKind::For || op->kind() == OpKind::Loop || op->kind() == OpKind::While ||
         op->kind() == OpKind::If;
}

}  // namespace

bool EndsByValue(const Op* loop) {
  return loop->kind() == OpKind::While || loop->HasAttr(ir::AttrKey::Breaks);
}

DecidingValues::DecidingValues(const ir::Function& function) {
  ir::Walk(function.body, [this](const Op* op) { AddRoots(op); });
  while (!open_.empty()) {
    const Value* value = open_.back();
    open_.pop_back();
    AddSources(value);
  }
}

bool DecidingValues::ContainAny(const std::vector<Value*>& values) const {
  return std::ranges::any_of(values, [this](const Value* value) { return Contain(value); });
}

void DecidingValues::AddAll(std::span<Value* const> values) {
  for (const Value* value : values) Add(value);
}

void DecidingValues::Add(const Value* value) {
  if (values_.insert(value).second) open_.push_back(value);
}

void DecidingValues::AddRoots(const Op* op) {
  if (CarriesOneByOne(op)) {
    AddAll(std::span<Value* const>(op->operands()).first(OperandsBeforeCarried(op)));
    if (EndsByValue(op)) AddCarried(op, 0);
    return;
  }
  bool moves = OnlyMovesOrComputes(op);
  for (size_t spec = 0; spec < op->segments(); ++spec) {
    if (!moves || op->info().operands[spec].effect != Effect::Value) AddAll(op->Segment(spec));
  }
}

void DecidingValues::AddSources(const Value* value) {
  const Op* op = value->def();
  if (!op) return AddSourcesOfParam(value);
  if (CarriesOneByOne(op)) return AddCarried(op, value->index());
  if (op->kind() == OpKind::Load && !IsInput(op->operand(0))) AddStored(op->operand(0));
  AddAll(op->operands());
  for (const Region* region : op->regions()) AddAll(region->terminator()->operands());
}

void DecidingValues::AddSourcesOfParam(const Value* param) {
  const Op* op = param->parent_region()->parent();
  if (!op) return;  // a parameter of the function
  if (!CarriesOneByOne(op)) {
    AddAll(op->operands());
    for (const Region* region : op->regions()) AddAll(region->terminator()->operands());
    return;
  }
  size_t binders = op->kind() == OpKind::While ? 0 : 1;
  if (param->index() >= binders) AddCarried(op, param->index() - binders);
}

void DecidingValues::AddCarried(const Op* op, size_t number) {
  for (const Region* region : op->regions()) Add(region->terminator()->operand(number));
  if (op->kind() == OpKind::If) return;
  Add(op->operand(OperandsBeforeCarried(op) + number));
}

void DecidingValues::AddStored(const Value* tensor) {
  const Value* memory = ir::MemoryOf(tensor);
  if (!stored_.insert(memory).second) return;
  for (const AccessView& view : AccessesOf(memory)) {
    if (view.op->kind() != OpKind::Load) AddAll(view.op->operands());
  }
}

}  // namespace kdl::proofs
