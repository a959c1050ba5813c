#include "targets/cpu/analysis/kept_tiles.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "targets/cpu/analysis/last_axis.h"

namespace kdl::cpu {

bool IsElementHere(const Op* elementwise, const Value* value) {
  const Op* def = value->def();
  if (!def || def->kind() != OpKind::Element || def->parent_region() != elementwise->region())
    return false;
  return ReadsOwnPoints(elementwise, def) &&
         def->operand(0)->type()->axes.size() == elementwise->operands().size();
}

namespace {

void FindKept(const Op* elementwise, const Value* value, int depth, std::vector<Value*>& found) {
  const Op* def = value->def();
  if (IsElementHere(elementwise, value)) {
    if (!Contains(found, def->operand(0))) found.push_back(def->operand(0));
  } else if (def && def->kind() == OpKind::Select &&
             def->parent_region() == elementwise->region() && depth < kDeepestChoice) {
    FindKept(elementwise, def->operand(1), depth + 1, found);
    FindKept(elementwise, def->operand(2), depth + 1, found);
  }
}

}  // namespace

std::vector<Value*> KeptTiles(const Op* elementwise, size_t i) {
  std::vector<Value*> found;
  const Value* yielded = elementwise->region()->terminator()->operand(i);
  if (yielded->def() && yielded->def()->kind() == OpKind::Select)
    FindKept(elementwise, yielded, 0, found);
  std::erase_if(found,
                [&](const Value* tile) { return tile->type() != elementwise->result(i)->type(); });
  return found;
}

}  // namespace kdl::cpu
