#include "proofs/value_numbers.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/tensor_view.h"

namespace kdl::proofs {

namespace {

bool IsKnown(const Op* op) {
  if (!op->regions().empty()) return false;
  if (op->kind() == OpKind::Load) return IsInput(op->operand(0));
  return op->info().has(ir::kPure) || op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
}

/// Whether two ops have the same attributes. Texts are ignored because they matter only for messages; the
/// bounds mode is ignored because it does not change elements that exist.
bool SameAttrs(const Op* a, const Op* b) {
  auto says = [](const ir::Attr& attr) {
    return attr.key != AttrKey::Text && attr.key != AttrKey::BoundsMode;
  };
  if (std::ranges::count_if(a->attrs(), says) != std::ranges::count_if(b->attrs(), says))
    return false;
  return std::ranges::all_of(a->attrs(), [&](const ir::Attr& attr) {
    const ir::Attr* other = b->FindAttr(attr.key);
    return !says(attr) || (other && *other == attr);
  });
}

}  // namespace

bool IsInput(const Value* tensor) {
  tensor = ir::MemoryOf(tensor);
  if (tensor->def()) return tensor->def()->kind() == OpKind::Table;
  const ir::Region* region = tensor->parent_region();
  if (!region || !region->function()) return false;
  return std::ranges::any_of(region->function()->params, [&](const ir::Param& param) {
    return param.value == tensor && param.direction == ir::Direction::In;
  });
}

bool AreEqualIf(const Value* a, const Value* b, const std::map<const Value*, const Value*>& equal) {
  if (auto known = equal.find(a); known != equal.end()) return known->second == b;
  if (a == b) return true;
  const Op* left = a->def();
  const Op* right = b->def();
  bool are_alike = left && right && IsKnown(left) && left->kind() == right->kind() &&
                   a->type() == b->type() && a->index() == b->index() && SameAttrs(left, right);
  return are_alike && std::ranges::equal(left->operands(), right->operands(),
                                         [&](const Value* one, const Value* other) {
                                           return AreEqualIf(one, other, equal);
                                         });
}

const Value* ValueNumbers::FirstEqual(const Value* value) {
  const Op* def = value->def();
  if (!def || !IsKnown(def)) return value;
  auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  std::vector<const Value*> operands;
  for (const Value* operand : def->operands()) operands.push_back(FirstEqual(operand));
  auto& alike = alike_[Key{def->kind(), value->type(), value->index(), std::move(operands)}];
  auto same =
      std::ranges::find_if(alike, [&](const Value* other) { return SameAttrs(def, other->def()); });
  const Value* first = same == alike.end() ? value : *same;
  if (first == value) alike.push_back(value);
  known_.emplace(value, first);
  return first;
}

}  // namespace kdl::proofs
