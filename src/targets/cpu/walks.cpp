#include "targets/cpu/walks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "ir/views.h"
#include "passes/analysis/axis_order.h"
#include "passes/rewriting/block_loops.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/block_work.h"
#include "targets/cpu/analysis/own_elements.h"
#include "targets/cpu/tile_selector.h"

namespace kdl::cpu {

namespace {

/// Whether the op has its effect once for each block, regardless of the block's length along the axis. This
/// is the case if the op prints, or updates an element that does not depend on the axis.
bool CountsBlocks(const Op* op, ir::AxisId axis) {
  if (op->kind() == OpKind::Print) return true;
  return op->kind() == OpKind::Update &&
         std::ranges::none_of(op->operands(), [&](const Value* operand) {
           return Contains(operand->type()->axes, axis);
         });
}

}  // namespace

bool IsFree(const ir::Function& kernel, const Value* binder) {
  if (binder->type()->kind != ir::TypeKind::Block) return false;
  ir::AxisId axis = binder->type()->axes[0];
  auto is_child = [&](const ir::Axis& other) { return other.parent == axis; };
  if (std::any_of(kernel.axes.begin(), kernel.axes.end(), is_child)) return false;
  if (!HaveOwnElements({binder})) return false;
  if (AnyBelow(binder->parent_region(), [&](const Op* op) { return CountsBlocks(op, axis); }))
    return false;
  return !AnyBelow(kernel.body, [&](const Op* op) {
    const ir::Attr* folded = op->FindAttr(ir::AttrKey::Axes);
    if (folded && Contains(std::get<ir::AxisList>(folded->value), axis)) return true;
    bool asks = op->kind() == OpKind::BlockStart || op->kind() == OpKind::BlockSize ||
                op->kind() == OpKind::BlockIndex;
    return asks && op->operand(0) == binder;
  });
}

namespace {

/// Returns the outermost dimension of any stored tensor that the binder (an induction variable of the spmd)
/// indexes. Returns SIZE_MAX if there is none.
size_t StoredDimension(Op* op, const Value* binder) {
  size_t least = SIZE_MAX;
  ir::Walk(op->region(), [&](Op* inner) {
    auto store = ir::DynAs<ir::StoreOp>(inner);
    if (!store) return;
    ir::Access access = inner->attr<ir::AttrKey::Access>();
    for (size_t d = 0; d < access.dims.size(); ++d) {
      for (const ir::AccessTerm& term : access.dims[d].terms) {
        if (store->index()[term.operand] == binder) least = std::min(least, d);
      }
    }
  });
  return least;
}

/// Whether blocks store only short contiguous runs, because the binder that indexes the last dimension has
/// short blocks.
bool IsNarrow(const ir::Function& kernel, Op* op) {
  constexpr int64_t kRunBytes = 1024;
  const std::vector<Value*>& binders = op->region()->params();
  bool narrow = false;
  ir::Walk(op->region(), [&](Op* inner) {
    auto store = ir::DynAs<ir::StoreOp>(inner);
    if (!store) return;
    ir::Access access = inner->attr<ir::AttrKey::Access>();
    if (access.dims.empty()) return;
    for (const ir::AccessTerm& term : access.dims.back().terms) {
      const Value* index = store->index()[term.operand];
      bool walks = Contains(binders, index);
      if (!walks || index->type()->kind != ir::TypeKind::Block) continue;
      Size extent = kernel.axis(index->type()->axes[0]).extent;
      int64_t bytes = Bytes(store->tensor()->type()->scalar);
      narrow = narrow || (IsConstant(extent) && extent->value * bytes < kRunBytes);
    }
  });
  return narrow;
}

/// Returns the size in bits of the narrowest elements that the op stores, at most 32.
int64_t ElementBits(const Op* op) {
  int64_t bits = 32;
  ir::Walk(op->region(), [&](const Op* inner) {
    if (inner->kind() != OpKind::Store) return;
    bits =
        std::min<int64_t>(bits, 8 * Bytes(inner->operand(ir::StoreOp::at_value)->type()->scalar));
  });
  return bits;
}

/// Returns the smallest efficient length of a block: two vectors along the axis that is vectorized, or a few
/// rows along any other axis.
int64_t Granule(const Op* op, const Value* binder, const AxisOrder& order,
                const ProcessorFacts& facts) {
  constexpr int64_t kRows = 8;
  if (binder->type()->kind != ir::TypeKind::Block) return 1;
  ir::AxisList axes;
  for (const Value* param : op->region()->params()) {
    if (param->type()->kind == ir::TypeKind::Block) axes.push_back(param->type()->axes[0]);
  }
  bool is_last = order.Sorted(axes).back() == binder->type()->axes[0];
  return is_last ? 2 * facts.vector_bits / ElementBits(op) : kRows;
}

/// Returns the smallest multiple of the granule for which it is worth waking a thread.
int64_t WorthwhileGranule(const KernelShape& kernel, const Op* op, const Value* binder,
                          int64_t granule) {
  int64_t length = LeastWorthwhileLength(kernel, op, binder);
  return (length + granule - 1) / granule * granule;
}

/// Whether the value is available before the spmd.
bool IsBefore(const Value* value, const Op* spmd) {
  for (const Op* op = spmd; op; op = op->parent_region()->parent()) {
    if (op->parent_region() == passes::MadeIn(value)) return true;
  }
  return false;
}

/// Returns the loops in the spmd whose iterations reduce chunks of the binder's rows in 64-lane order, that
/// is, with 64 partial results.
std::vector<Iterations> RowLoops(const ir::Function& kernel, Op* spmd, const Value* binder) {
  if (binder->type()->kind != ir::TypeKind::Block) return {};
  std::vector<Iterations> iterations;
  std::set<const Op*> loops;
  ir::AxisId row = binder->type()->axes[0];
  ir::Walk(spmd->region(), [&](Op* fold) {
    const ir::Attr* order = fold->FindAttr(ir::AttrKey::Order);
    bool by_rows = order && fold->results().size() == 1 &&
                   fold->attr<ir::AttrKey::Order>() == ir::OrderKind::Lanes64 &&
                   Contains(fold->result()->type()->axes, row);
    Op* loop = fold->parent_region()->parent();
    if (!by_rows || !loop || loop->kind() != OpKind::For || !loops.insert(loop).second) return;
    const Value* iteration = loop->region()->param(0);
    bool folds_iterations = iteration->type()->kind == ir::TypeKind::Block &&
                            Contains(fold->attr<ir::AttrKey::Axes>(), iteration->type()->axes[0]);
    ir::ForOp bounds(loop);
    auto is_known = [&](const Value* end) { return ConstantOf(end) || IsBefore(end, spmd); };
    if (folds_iterations && is_known(bounds.lo()) && is_known(bounds.hi()))
      iterations.push_back({bounds.lo(), bounds.hi(), BlockExtent(kernel, iteration)});
  });
  return iterations;
}

/// Returns the axes that cover whole dimensions, with the sizes of the dimensions.
std::map<ir::AxisId, Value*> WholeDimensions(const ir::Function& kernel, const Op* spmd) {
  std::map<ir::AxisId, Value*> sizes;
  ir::Walk(kernel.body, [&](Op* op) {
    if (IsWholeDimension(op) && IsBefore(op->operand(1), spmd))
      sizes[op->result()->type()->axes[0]] = op->operand(1);
  });
  return sizes;
}

bool IsSequentialContraction(const Op* op) {
  return op->kind() == OpKind::Contraction &&
         op->attr<ir::AttrKey::Order>() != ir::OrderKind::Lanes64;
}

/// Returns the tiles in the spmd whose rows along the binder's axis cover whole dimensions. Contractions select
/// blocks for the largest sizes, so there are none in kernels with contractions.
RowTiles RowTilesOf(const ir::Function& kernel, Op* spmd, const Value* binder,
                    const AxisOrder& order) {
  bool is_row = binder->type()->kind == ir::TypeKind::Block;
  if (!is_row || AnyBelow(kernel.body, IsSequentialContraction)) return {};
  ir::AxisId row = binder->type()->axes[0];
  const std::map<ir::AxisId, Value*> whole = WholeDimensions(kernel, spmd);
  std::set<ir::Type> types;
  RowTiles rows;
  ir::Walk(spmd->region(), [&](Op* op) {
    for (const Value* result : op->results()) {
      ir::Type type = result->type();
      if (!ir::IsTile(type) || !Contains(type->axes, row) || !types.insert(type).second) continue;
      RowTile tile{Bytes(type->scalar), {}};
      for (ir::AxisId axis : type->axes) {
        if (axis == row) continue;
        if (auto found = whole.find(axis); found != whole.end()) {
          tile.sizes.push_back(found->second);
        } else if (Size extent = kernel.axis(axis).extent; IsConstant(extent)) {
          tile.bytes *= extent->value;
        }
      }
      if (tile.sizes.empty()) continue;
      if (order.Sorted(type->axes).back() == row) rows.are_vectorized = true;
      rows.tiles.push_back(std::move(tile));
    }
  });
  return rows;
}

/// Whether a product in the spmd has rows along the binder's axis. Shorter blocks would load its factors more often.
bool HasProductOf(const Op* spmd, const Value* binder) {
  if (binder->type()->kind != ir::TypeKind::Block) return false;
  return AnyBelow(spmd->region(), [&](const Op* op) {
    return op->kind() == OpKind::Contraction &&
           Contains(op->result()->type()->axes, binder->type()->axes[0]);
  });
}

/// The facts about a kernel and its processor that determine the order of blocks.
struct KernelFacts {
  const ir::Function& kernel;
  const ProcessorFacts& target;
  AxisOrder order;
  Rereads rereads;
};

/// Returns the common block order of spmds over the same domain. Processors also fetch the cache lines next
/// to those that a core writes, so cores slow each other down unless they store whole rows.
Walk BlockOrderOf(const KernelFacts& facts, const std::vector<Op*>& ops) {
  size_t binders = ops[0]->region()->params().size();
  std::vector<size_t> stored(binders, SIZE_MAX);
  Walk walk{std::vector<size_t>(binders),
            std::vector<bool>(binders, true),
            std::vector<int64_t>(binders, 1),
            std::vector<std::vector<Rereads::Rows>>(binders),
            std::vector<std::vector<Iterations>>(binders),
            std::vector<RowTiles>(binders)};
  for (Op* op : ops) {
    walk.narrow = walk.narrow || IsNarrow(facts.kernel, op);
    for (size_t b = 0; b < binders; ++b) {
      const Value* binder = op->region()->param(b);
      stored[b] = std::min(stored[b], StoredDimension(op, binder));
      walk.free[b] = walk.free[b] && IsFree(facts.kernel, binder);
      walk.granule[b] = std::max(walk.granule[b], Granule(op, binder, facts.order, facts.target));
      for (const Rereads::Rows& rows : facts.rereads.rows()) {
        if (rows.block == binder && !HasProductOf(op, binder)) walk.rereads[b].push_back(rows);
      }
      if (ops.size() != 1) continue;
      walk.row_loops[b] = RowLoops(facts.kernel, op, binder);
      walk.row_tiles[b] = RowTilesOf(facts.kernel, op, binder, facts.order);
      const RowTiles& rows = walk.row_tiles[b];
      if (!rows.tiles.empty() && !rows.are_vectorized) walk.granule[b] = 1;
      if (!walk.narrow && rows.tiles.empty() && walk.rereads[b].empty() &&
          walk.row_loops[b].empty())
        walk.granule[b] = WorthwhileGranule({facts.kernel, facts.target, facts.order}, op, binder,
                                            walk.granule[b]);
    }
  }
  for (size_t b = 0; b < binders && ops.size() > 1; ++b) {
    std::vector<const Value*> alike;
    for (const Op* op : ops) alike.push_back(op->region()->param(b));
    walk.free[b] = walk.free[b] && HaveOwnElements(alike);
  }
  std::iota(walk.order.begin(), walk.order.end(), 0);
  std::sort(walk.order.begin(), walk.order.end(),
            [&](size_t a, size_t b) { return std::pair(stored[a], a) < std::pair(stored[b], b); });
  return walk;
}

}  // namespace

Walks BlockOrdersOf(const ir::Function& kernel, const ProcessorFacts& target) {
  const KernelFacts facts{kernel, target, AxisOrder(kernel), Rereads(kernel)};
  std::map<Name, std::vector<Op*>> domains;
  Walks walks;
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) {
    if (op->HasAttr(ir::AttrKey::Domain)) {
      domains[op->attr<ir::AttrKey::Domain>()].push_back(op);
    } else {
      walks.emplace_back(op, BlockOrderOf(facts, {op}));
    }
  }
  for (const auto& [name, ops] : domains) {
    Walk walk = BlockOrderOf(facts, ops);
    for (Op* op : ops) walks.emplace_back(op, walk);
  }
  return walks;
}

}  // namespace kdl::cpu
