#include "passes/rewrite.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/expand/last_axis.h"
#include "targets/cpu/expand/register_block.h"

// What a contraction's register blocks walk by panels of columns is packed panel by panel, right before the rows pass
// over it: the panel is in the nearest cache then, and its scratch is small enough to stay there.
//
//   %y = nest { %e = load %b[%k, %j] ; yield %e }       loop over the panels of columns {
//   %u = contraction %x, %y into %t                    ->    the nest, for this panel alone
//                                                         register blocks down the rows }

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Runs with the same result at any time at which what it loads has not changed, without a trap.
bool CanWait(const Op* nest) {
  for (const Op* op : *nest->region()) {
    if (op->kind() == OpKind::Store || op->kind() == OpKind::Element ||
        op->kind() == OpKind::FoldIn || MayTrap(op))
      return false;
  }
  return true;
}

bool ChangesMemory(const Op* op) {
  if (op->info().has(ir::kPure)) return false;
  if (op->kind() != OpKind::Nest) return true;
  for (const Op* inner : *op->region()) {
    if (inner->kind() == OpKind::Store) return true;
  }
  return false;
}

bool ChangesMemoryBetween(const Op* first, const Op* last) {
  for (const Op* op = first->next(); op != last; op = op->next()) {
    if (!op || ChangesMemory(op)) return true;
  }
  return false;
}

}  // namespace

const Op* LatePackOf(const Expander& e, const Value* tile) {
  const Op* nest = tile->def();
  if (!nest || nest->kind() != OpKind::Nest || nest->results().size() != 1) return nullptr;
  if (tile->uses().size() != 1 || PanelOf(e, tile) == 0 || !CanWait(nest)) return nullptr;
  const Op* contraction = tile->uses()[0].user;
  if (contraction->block() != nest->block() || ChangesMemoryBetween(nest, contraction))
    return nullptr;
  return RegisterBlock::Of(e, *contraction).outer.empty() ? nest : nullptr;
}

bool IsLatePack(const Expander& e, const Op* nest) {
  return nest->results().size() == 1 && LatePackOf(e, nest->result());
}

}  // namespace kdl::cpu
