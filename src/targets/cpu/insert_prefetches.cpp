#include <algorithm>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/split_reduction.h"

// insert-prefetches: makes each block of rows prefetch its share of the next panel (a group of packed
// columns). In the last iteration, it also prefetches the memory to which the block will store. Only the
// largest blocks of rows and columns prefetch, because smaller blocks occur only near the end.
//
//   split %p in %j { if %few { } else { %y = elementwise { load %b[%k, %p] } ; store_tile %y to %h }
//     split %c in %p { split %r in %i {
//       if %ahead { elementwise (… in %share of %k, … in %next) { prefetch %b[…] {intent = read_later} } } else { }
//       if %stores { elementwise (… in %r, … in %c) { prefetch %c[…] {intent = write} } } else { }
//       %u = contraction …
//       if %last { elementwise { … store … to %c[…] } } else { store_tile %u … } } } }

namespace kdl::cpu {

namespace {

/// Returns the accesses of the given kind whose indices do not depend on other ops in the elementwise loop.
std::vector<const Op*> PlainAccesses(const Op* elementwise, OpKind kind) {
  auto made_here = [&](const Value* index) {
    return index->def() && index->def()->parent_region() == elementwise->region();
  };
  std::vector<const Op*> accesses;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == kind && std::ranges::none_of(IndexOf(op), made_here)) accesses.push_back(op);
  }
  return accesses;
}

/// Returns the elementwise loop in the region, or null if there is none. A region with such a loop contains
/// only that loop, and loads and stores of its tiles.
const Op* ElementwiseLoopIn(const ir::Region* region) {
  const Op* elementwise = nullptr;
  for (const Op* op : *region) {
    if (op->kind() == OpKind::Elementwise) elementwise = op;
  }
  return elementwise;
}

/// Returns the `if` around the op if its first region is marked as likely, otherwise null.
const Op* WaysAround(const Op* op) {
  const Op* parent = op->parent_region()->parent();
  return parent && parent->kind() == OpKind::If && parent->HasAttr(AttrKey::Likely) ? parent
                                                                                    : nullptr;
}

/// Returns the `split` whose body contains the op, either directly or inside a likely `if`; otherwise returns
/// null.
Op* SplitAround(const Op* op) {
  if (const Op* ways = WaysAround(op)) op = ways;
  Op* parent = op->parent_region()->parent();
  return parent && parent->kind() == OpKind::Split ? parent : nullptr;
}

class Prefetcher {
 public:
  Prefetcher(ir::Module& module, ir::Function& kernel, Op* contraction)
      : b_(module), kernel_(kernel), contraction_(contraction), rows_(SplitAround(contraction)) {
    columns_ = rows_ ? SplitAround(rows_) : nullptr;
    panels_ = columns_ ? SplitAround(columns_) : nullptr;
  }

  void InsertPrefetches() {
    if (!columns_ || IsRare()) return;
    first_ = contraction_;
    while (first_->prev()) first_ = first_->prev();
    b_.set_loc(contraction_->loc());
    if (panels_) AskForPanel();
    AskForStores();
  }

 private:
  bool IsRare() const {
    const Op* ways = WaysAround(columns_);
    return ways && columns_->parent_region() == ways->region(1);
  }

  static Value* SplitBlock(const Op* split) { return split->region()->param(0); }
  static int64_t Most(const Op* split) { return split->attr<AttrKey::Sizes>()[0]; }

  /// Emits the condition that this is one of the largest blocks. The other blocks are few and need no code
  /// for prefetches.
  Value* IsLargest() {
    auto has_most = [&](const Op* split) {
      return b_.Eq(b_.BlockSize(SplitBlock(split)), b_.I64(Most(split)));
    };
    Value* columns = has_most(columns_);
    Value* rows = has_most(rows_);
    return b_.And(columns, rows);
  }

  /// Makes a block inside `block`, over a new axis with extent `extent`.
  Value* MakeBlock(const Value* block, int64_t extent, Value* start, Value* size) {
    AxisId whole = block->type()->axes[0];
    AxisId axis = kernel_.AddAxis(
        {kernel_.axis(whole).name, b_.types().sizes().Constant(extent), nullptr, whole});
    return b_.Make(OpKind::MakeBlock, {start, size, b_.I64(0)}, b_.types().Block(axis));
  }

  /// Emits prefetches of all elements that these accesses of the elementwise loop would touch if it ran over
  /// `blocks`.
  void Ask(const Op* elementwise, const std::vector<const Op*>& accesses,
           const std::vector<Value*>& blocks, ir::IntentKind intent) {
    Op* asking = b_.Create(OpKind::Elementwise, {blocks}, {});
    ir::ValueMap map;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Value* point = elementwise->region()->param(i);
      map[point] = b_.AddParam(asking->region(), point->type(), point->name());
    }
    FillRegion(b_, asking->region(), [&]() -> Values {
      for (const Op* access : accesses) {
        Values index;
        for (Value* value : IndexOf(access)) index.push_back(Mapped(map, value));
        b_.Create(OpKind::Prefetch, {{TensorOf(access)}, index}, {},
                  {ir::MakeAttr<AttrKey::Access>(access->attr<AttrKey::Access>()),
                   ir::MakeAttr<AttrKey::Intent>(intent)});
      }
      return {};
    });
  }

  /// Returns the `if` that packs a single panel, unless there are few rows. It is in the body of the `split`
  /// into panels.
  const Op* PackingBranch() const {
    for (const Op* op : *panels_->region()) {
      if (op->kind() == OpKind::If && ElementwiseLoopIn(op->region(1))) return op;
    }
    return nullptr;
  }

  void AskForPanel() {
    const Op* branch = PackingBranch();
    const Op* elementwise = branch ? ElementwiseLoopIn(branch->region(1)) : nullptr;
    if (!elementwise || elementwise->operands().size() != 2 || !LastAxis(elementwise).Vectorizes())
      return;
    std::vector<const Op*> loads = PlainAccesses(elementwise, OpKind::Load);
    if (loads.empty() || elementwise->operand(1) != SplitBlock(panels_)) return;
    Value* of_row = ShareOfRow(elementwise->operand(0));
    b_.SetInsertionPoint(first_);
    MakeIf(b_, b_.Select(branch->operand(0), b_.Bool(false), IsLargest()), [&] {
      Value* columns = SplitBlock(columns_);
      Value* width = b_.BlockSize(columns);
      Value* next = b_.Add(b_.BlockStart(columns), width);
      Value* share = Share(elementwise->operand(0), of_row);
      Ask(elementwise, loads,
          {share, MakeBlock(panels_->operand(0), Most(columns_), next, b_.BlockSize(columns))},
          ir::IntentKind::ReadLater);
    });
  }

  /// Emits how many elements of `block` each row must prefetch so that the rows of the largest row blocks
  /// together prefetch all of it.
  Value* ShareOfRow(Value* block) {
    b_.SetInsertionPoint(rows_);
    Value* one = b_.I64(1);
    Value* least = b_.Sub(b_.BlockSize(rows_->operand(0)), b_.I64(Most(rows_) - 1));
    Value* rows = b_.Max(least, one);
    Value* last = b_.Sub(b_.Add(b_.BlockSize(block), rows), one);
    return b_.Div(last, rows);
  }

  /// Returns the part of `block` that the current block of rows prefetches.
  Value* Share(Value* block, Value* of_row) {
    Value* all = rows_->operand(0);
    Value* rows = SplitBlock(rows_);
    Value* size = b_.BlockSize(block);
    auto share = [&](Value* row) { return b_.Min(b_.Mul(of_row, row), size); };
    Value* first = b_.BlockStart(all);
    Value* before = b_.Sub(b_.BlockStart(rows), first);
    Value* lo = share(before);
    Value* hi = share(b_.Add(before, b_.BlockSize(rows)));
    int64_t extent = kernel_.axis(block->type()->axes[0]).extent->value;
    Value* rest = b_.Sub(hi, lo);
    return MakeBlock(block, extent, b_.Add(b_.BlockStart(block), lo), rest);
  }

  void AskForStores() {
    for (const Op* follower : FollowersOf(contraction_)) {
      const Op* elementwise =
          follower->kind() == OpKind::If ? ElementwiseLoopIn(follower->region(0)) : nullptr;
      std::vector<const Op*> stores;
      if (elementwise) stores = PlainAccesses(elementwise, OpKind::Store);
      if (stores.empty()) continue;
      b_.SetInsertionPoint(first_);
      MakeIf(b_, b_.And(follower->operand(0), IsLargest()),
             [&] { Ask(elementwise, stores, elementwise->operands(), ir::IntentKind::Write); });
    }
  }

  ir::Builder b_;
  ir::Function& kernel_;
  Op* contraction_;
  Op* rows_;
  Op* columns_ = nullptr;
  Op* panels_ = nullptr;
  Op* first_ = nullptr;
};

}  // namespace

void RunInsertPrefetches(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Contraction))
    Prefetcher(context.module, kernel, op).InsertPrefetches();
}

}  // namespace kdl::cpu
