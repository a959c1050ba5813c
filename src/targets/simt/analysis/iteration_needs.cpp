#include "targets/simt/analysis/iteration_needs.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::simt {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool ChangesMemory(const ir::Region* region, const Value* memory) {
  bool changes = false;
  ir::Walk(region, [&](const Op* op) {
    for (size_t s = 0; s < op->info().operands.size(); ++s) {
      ir::Effect effect = op->info().operands[s].effect;
      if (effect == ir::Effect::Read || effect == ir::Effect::Shows) continue;
      for (const Value* operand : op->Segment(s))
        changes |= operand->type()->kind == ir::TypeKind::Tensor && ir::MemoryOf(operand) == memory;
    }
  });
  return changes;
}

bool AddSlice(const Op* loop, const Op* op, std::vector<Op*>& slice) {
  for (Value* used : passes::OutsideOperands(op)) {
    Op* def = used->def();
    if (used->type()->kind == ir::TypeKind::Buffer || passes::MadeIn(used) != loop->region())
      continue;
    if (!def) {
      if (used != loop->region()->param(0)) return false;
      continue;
    }
    if (std::ranges::find(slice, def) != slice.end()) continue;
    bool repeats = def->regions().empty() &&
                   (def->info().has(ir::kPure) || def->info().has(ir::kElementwise) ||
                    def->kind() == OpKind::AlignGap || def->kind() == OpKind::TileCopyFits);
    if (!repeats || !AddSlice(loop, def, slice)) return false;
    slice.push_back(def);
  }
  return true;
}

}  // namespace kdl::simt
