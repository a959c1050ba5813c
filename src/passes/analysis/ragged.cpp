#include "passes/analysis/ragged.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace kdl::passes {

namespace {

const Op* WithoutCast(const Value* value) {
  const Op* def = value->def();
  if (def && def->kind() == OpKind::Cast && IsInteger(def->operand(0)->type()->scalar))
    def = def->operand(0)->def();
  return def;
}

/// Whether an op loads off[binder + offset] of an `in` table.
bool Loads(const Op* op, const Value* binder, int64_t offset) {
  if (!op || op->kind() != OpKind::Load || !IsInput(op->operand(0))) return false;
  std::optional<AccessView> view = AccessOf(const_cast<Op*>(op));
  ir::Access access = view->access();
  if (access.dims.size() != 1 || access.dims[0].terms.size() != 1 || view->mask) return false;
  const ir::AccessTerm& term = access.dims[0].terms[0];
  return view->index[term.operand] == binder && IsConstant(term.coefficient, 1) &&
         IsConstant(access.dims[0].offset, offset) && !view->has_else();
}

}  // namespace

std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms) {
  std::vector<Ragged> found;
  ir::Walk(kernel.body, [&](Op* walk) {
    if (walk->kind() != OpKind::Spmd || Around(walk, OpKind::Stage)) return;
    ir::Walk(walk->region(), [&](Op* loop) {
      bool counts = loop->kind() == OpKind::For || loop->kind() == OpKind::Loop;
      if (!counts) return;
      const Op* from = WithoutCast(loop->operand(0));
      const Op* to = WithoutCast(loop->operand(1));
      for (const Value* binder : walk->region()->params()) {
        bool is_scalar = binder->type()->kind != ir::TypeKind::Blk;
        if (!is_scalar || !Loads(from, binder, 0) || !Loads(to, binder, 1)) continue;
        if (from->operand(0) != to->operand(0)) continue;
        AtomId lower = terms.ScalarOf(from->result());
        bool known = std::ranges::any_of(found, [&](const Ragged& r) { return r.lower == lower; });
        if (known) continue;
        found.push_back({walk, binder, const_cast<Op*>(from), const_cast<Op*>(to), lower,
                         terms.ScalarOf(to->result())});
      }
    });
  });
  return found;
}

}  // namespace kdl::passes
