#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

// check-blocks: warns of results that depend on an `auto` block size, by more than rounding. Scans, and reads of other
// elements of a tile, see one block of an `spmd` loop at a time. A `for` loop can carry something from block to block, so
// they are left out there.

namespace kdl::passes {

namespace {

/// Returns the constant that is the size of the blocks of this axis, if it is `auto` and the blocks are those of an spmd loop.
std::optional<Name> AutoBlockSize(const ir::Function& kernel, AxisId axis) {
  Size extent = kernel.axis(axis).extent;
  if (!extent || extent->kind != SizeKind::Symbol) return std::nullopt;
  bool is_auto = std::ranges::any_of(kernel.generics, [&](const ir::Generic& generic) {
    return generic.name == extent->symbol && generic.is_auto && generic.values.empty();
  });
  bool is_of_spmd = std::ranges::any_of(OpsOfKind(kernel, OpKind::Spmd), [&](const Op* loop) {
    return std::ranges::any_of(loop->region()->params(), [&](const Value* block) {
      return block->type()->kind == ir::TypeKind::Block && block->type()->axes[0] == axis;
    });
  });
  return is_auto && is_of_spmd ? std::optional(extent->symbol) : std::nullopt;
}

}  // namespace

void RunCheckBlocks(PassContext& context, ir::Function& kernel) {
  auto sees_one_block = [](const Op* op) {
    return op->kind() == OpKind::Scan || op->kind() == OpKind::Gather;
  };
  for (const Op* op : OpsIn(kernel.body, sees_one_block)) {
    for (AxisId axis : op->attr<AttrKey::Axes>()) {
      std::optional<Name> size = AutoBlockSize(kernel, axis);
      if (!size) continue;
      context.diagnostics
          .Report(diag::BlocksShow, context.SpanOf(op->loc()), size->text(),
                  op->kind() == OpKind::Scan ? "scan" : "access")
          .Help(fmt::format("give the size of the block a value, as in `{}: int = 1024`",
                            size->text()));
    }
  }
}

}  // namespace kdl::passes
