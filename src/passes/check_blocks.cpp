#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/op_kind.h"
#include "passes/analysis/visible_sizes.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

// check-blocks: warns of results that depend on an `auto` block size, by more than the rounding of sums. Reductions, scans, and
// reads of other elements of a tile see one block of an `spmd` loop at a time. They are left out in a `for` loop, which can carry
// something from block to block, and where `reduce` and `atomic` combine what the blocks have found.

namespace kdl::passes {

namespace {

/// Returns the first `auto` constant in the size of the blocks of this axis, if the blocks are those of an spmd loop.
std::optional<Name> AutoBlockSize(const ir::Function& kernel, AxisId axis) {
  bool is_of_spmd = std::ranges::any_of(OpsOfKind(kernel, OpKind::Spmd), [&](const Op* loop) {
    return std::ranges::any_of(loop->region()->params(), [&](const Value* block) {
      return block->type()->kind == ir::TypeKind::Block && block->type()->axes[0] == axis;
    });
  });
  if (!is_of_spmd) return std::nullopt;
  for (const ir::Generic& generic : kernel.generics) {
    bool is_auto = generic.is_auto && generic.values.empty();
    auto is_it = [&](Name name) { return name == generic.name; };
    if (is_auto && MentionsNumber(kernel.axis(axis).extent, is_it)) return generic.name;
  }
  return std::nullopt;
}

/// Returns whether a result of the op, or a value that is computed from it, is stored.
bool IsStored(const Op* op) {
  std::unordered_set<const Op*> known = {op};
  std::vector<const Op*> open = {op};
  while (!open.empty()) {
    const Op* next = open.back();
    open.pop_back();
    for (const Value* result : next->results()) {
      for (const ir::Use& use : result->uses()) {
        if (use.user->kind() == OpKind::Store) return true;
        if (use.user->regions().empty() && known.insert(use.user).second) open.push_back(use.user);
      }
    }
  }
  return false;
}

/// Returns how the op sees its block, or an empty string if its result does not show where blocks end.
std::string_view SeesBlock(const Op* op) {
  switch (op->kind()) {
    case OpKind::Scan:
      return "scan";
    case OpKind::Gather:
      return "access";
    case OpKind::Reduce:
    case OpKind::MultiReduce:
    case OpKind::Contraction:
      return IsStored(op) ? "reduction" : "";
    default:
      return "";
  }
}

}  // namespace

void RunCheckBlocks(PassContext& context, ir::Function& kernel) {
  for (const Op* op : OpsIn(kernel.body, [](const Op* op) { return !SeesBlock(op).empty(); })) {
    for (AxisId axis : op->attr<AttrKey::Axes>()) {
      std::optional<Name> size = AutoBlockSize(kernel, axis);
      if (!size) continue;
      context.diagnostics
          .Report(diag::BlocksShow, context.SpanOf(op->loc()), size->text(), SeesBlock(op))
          .Help(fmt::format("give the size of the block a value, as in `{}: int = 1024`",
                            size->text()));
      break;
    }
  }
}

}  // namespace kdl::passes
