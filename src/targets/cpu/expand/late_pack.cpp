#include <algorithm>

#include "passes/rewrite.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/expander.h"

// What a contraction's register blocks walk by panels of columns is packed panel by panel, right before the rows pass
// over it: the panel is in the nearest cache then, and its scratch is small enough to stay there.
//
//   %y = nest { %e = load %b[%k, %j] ; yield %e }        loop over the panels of columns {
//   put %y to %h ; … ; %b = get %h                    ->    the nest, for this panel alone
//   %u = contraction %a, %b into %t                         register blocks down the rows }

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

/// Whether the op changes tensors.
bool ChangesMemory(const Op* op) {
  if (op->info().has(ir::kPure) || IsPlacing(op)) return false;
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

/// The nest that makes what stands in the home, and nothing else does.
const Op* OnlyMaker(const Value* home) {
  const Op* maker = nullptr;
  for (const ir::Use& use : home->uses()) {
    if (use.user->kind() == OpKind::Get) continue;
    if (maker || use.user->kind() != OpKind::Put) return nullptr;
    maker = use.user->operand(0)->def();
  }
  return maker && maker->kind() == OpKind::Nest ? maker : nullptr;
}

}  // namespace

const Op* LatePackOf(const Expander& e, const Value* tile) {
  const Op* get = tile->def();
  if (!get || get->kind() != OpKind::Get || tile->uses().size() != 1) return nullptr;
  const Value* home = get->operand(0);
  const Op* nest = OnlyMaker(home);
  if (!nest || nest->results().size() != 1 || home->uses().size() != 2) return nullptr;
  if (home->type()->panel == 0 || !CanWait(nest)) return nullptr;
  const Op* contraction = tile->uses()[0].user;
  if (contraction->block() != nest->block() || ChangesMemoryBetween(nest, contraction))
    return nullptr;
  RegisterBlock block = RegisterBlock::Of(e, *contraction);
  bool fits = home->type()->panel % (block.largest.columns * block.lanes) == 0;
  return fits && block.outer.empty() ? nest : nullptr;
}

bool IsLatePack(const Expander& e, const Op* nest) {
  const Op* put = nest->next();
  if (nest->results().size() != 1 || !put || put->kind() != OpKind::Put) return false;
  return std::ranges::any_of(put->operand(1)->uses(), [&](const ir::Use& use) {
    return use.user->kind() == OpKind::Get && LatePackOf(e, use.user->result()) == nest;
  });
}

}  // namespace kdl::cpu
