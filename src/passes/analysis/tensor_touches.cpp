#include "passes/analysis/tensor_touches.h"

#include "ir/op_info.h"
#include "support/check.h"

namespace kdl::passes {

namespace {

using ir::Effect;

void AddTouch(const ir::Op* op, uint32_t operand, Effect effect, std::vector<Touch>& touches) {
  ir::Value* value = op->operand(operand);
  bool changes = effect == Effect::Change || effect == Effect::Accumulate;
  bool reads = effect == Effect::Read || changes;
  bool writes = effect == Effect::Write || changes;
  bool is_touch = value->type()->kind == ir::TypeKind::Tensor && (reads || writes);
  if (is_touch) touches.push_back({operand, value, reads, writes});
}

/// Returns how a kernel accesses a parameter with this direction.
Effect EffectOf(ir::Direction direction) {
  return direction == ir::Direction::In    ? Effect::Read
         : direction == ir::Direction::Out ? Effect::Write
                                           : Effect::Change;
}

const ir::Function* CalleeOf(const ir::Module& module, const ir::Op* op) {
  if (op->kind() != OpKind::Launch) return nullptr;
  Name name = op->attr<ir::AttrKey::Callee>();
  const ir::Function* kernel = module.FindFunction(name);
  KDL_CHECK(kernel, "'{}' is launched, but is not in the module", name.text());
  return kernel;
}

size_t AfterSegment(const ir::Op* op) { return ir::OperandWith(op->kind(), Effect::Awaits); }

}  // namespace

std::vector<Touch> TouchesOf(const ir::Module& module, const ir::Op* op) {
  std::vector<Touch> touches;
  if (!op->info().is_ordered()) return touches;
  const ir::Function* kernel = CalleeOf(module, op);
  const auto& operands = op->info().operands;
  for (size_t s = 0; s < operands.size(); ++s) {
    auto first = static_cast<uint32_t>(op->SegmentBegin(s));
    for (uint32_t i = 0; i < op->Segment(s).size(); ++i) {
      Effect effect = operands[s].effect;
      if (effect == Effect::ByCallee) effect = EffectOf(kernel->params[i].direction);
      AddTouch(op, first + i, effect, touches);
    }
  }
  return touches;
}

bool IsQueued(const ir::Op* op) {
  return op->info().is_ordered() && !op->results().empty() &&
         op->results().back()->type()->kind == ir::TypeKind::Event;
}

bool IsHostAccess(const ir::Op* op) { return op->info().is_ordered() && !IsQueued(op); }

ir::Value* EventOf(const ir::Op* op) { return op->results().back(); }

std::span<ir::Value* const> AfterOf(const ir::Op* op) { return op->Segment(AfterSegment(op)); }

void SetAfter(ir::Op* op, std::span<ir::Value* const> events) {
  op->SetSegment(AfterSegment(op), events);
}

SwapClasses::SwapClasses(const ir::Function& program) {
  ir::Walk(program.body, [&](const ir::Op* op) {
    if (op->kind() != OpKind::Swap) return;
    std::vector<const ir::Value*> all = MembersOf(op->operand(0));
    for (const ir::Value* other : MembersOf(op->operand(1))) {
      if (!Contains(all, other)) all.push_back(other);
    }
    for (const ir::Value* tensor : all) members_[tensor] = all;
  });
}

std::vector<const ir::Value*> SwapClasses::MembersOf(const ir::Value* tensor) const {
  auto known = members_.find(tensor);
  return known == members_.end() ? std::vector{tensor} : known->second;
}

}  // namespace kdl::passes
