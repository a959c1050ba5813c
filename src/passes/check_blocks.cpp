#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/visible_sizes.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

// check-blocks: warns of results that depend on an `auto` block size, by more than the rounding of sums.
//
//   y[i] = x[i] / max(x[i] over i)   a reduction, a scan, or a read of another element of a tile sees one block of an `spmd` loop.
//                                    In a `for` loop, which can carry something from block to block, there is no warning. Nor is
//                                    there one if `reduce` or `atomic` combines what the blocks have found.
//   reduce n[0] += 1                 is executed once for each block. `reduce n[0] += i.size` has the same result for all sizes.
//   y[i] = B                         the size itself, or the place of a block, is stored.

namespace kdl::passes {

namespace {

/// Returns the first `auto` constant in a size.
std::optional<Name> AutoConstantIn(const ir::Function& kernel, Size size) {
  for (const ir::Generic& generic : kernel.generics) {
    bool is_chosen = generic.is_auto && generic.values.empty() && generic.choices.size() != 1;
    auto is_it = [&](Name name) { return name == generic.name; };
    if (is_chosen && MentionsNumber(size, is_it)) return generic.name;
  }
  return std::nullopt;
}

/// Returns the first `auto` constant in the size of the blocks of this axis, if the blocks are those of an spmd loop.
std::optional<Name> AutoBlockSize(const ir::Function& kernel, AxisId axis) {
  bool is_of_spmd = std::ranges::any_of(OpsOfKind(kernel, OpKind::Spmd), [&](const Op* loop) {
    return std::ranges::any_of(loop->region()->params(), [&](const Value* block) {
      return block->type()->kind == ir::TypeKind::Block && block->type()->axes[0] == axis;
    });
  });
  return is_of_spmd ? AutoConstantIn(kernel, kernel.axis(axis).extent) : std::nullopt;
}

/// Returns whether a result of the op, or a value that is computed from it, is stored. `is_store` says which uses are stores, and
/// `is_followed` which ops compute with it.
template <typename IsStore, typename IsFollowed>
bool IsStored(const Op* op, const IsStore& is_store, const IsFollowed& is_followed) {
  std::unordered_set<const Op*> known = {op};
  std::vector<const Op*> open = {op};
  while (!open.empty()) {
    const Op* next = open.back();
    open.pop_back();
    for (const Value* result : next->results()) {
      for (const ir::Use& use : result->uses()) {
        if (use.user->kind() == OpKind::Store && is_store(use)) return true;
        bool follows = use.user->regions().empty() && is_followed(use);
        if (follows && known.insert(use.user).second) open.push_back(use.user);
      }
    }
  }
  return false;
}

bool IsReductionStored(const Op* op) {
  auto all = [](const ir::Use&) { return true; };
  return IsStored(op, all, all);
}

bool IsLoopIndex(const Value* value) {
  return value->def() == nullptr && value->parent_region()->parent() != nullptr;
}

/// Returns whether a number is part of a value that is stored in a parameter. Its use in an index, in a condition, or in the
/// place of a block, such as b * B, has no effect on what is computed.
bool IsNumberStored(const Op* op) {
  auto is_value = [](const ir::Use& use) {
    ir::StoreOp store(use.user);
    const Op* memory = ir::MemoryOf(store.tensor())->def();
    return use.user->operand(use.operand) == store.value() && memory == nullptr;
  };
  auto is_computed = [](const ir::Use& use) {
    const Op* user = use.user;
    if (!user->info().has(ir::kPure) || user->result()->type()->scalar == Scalar::Bool)
      return false;
    bool is_place =
        user->kind() == OpKind::Mul && std::ranges::any_of(user->operands(), IsLoopIndex);
    return user->info().has(ir::kElementwise) && !is_place;
  };
  return IsStored(op, is_value, is_computed);
}

/// Returns whether a value may differ from block to block of this axis. Results of ops with regions may.
class BlockDependence {
 public:
  explicit BlockDependence(AxisId axis) : axis_(axis) {}

  bool Has(const Value* value) {
    if (Contains(value->type()->axes, axis_)) return true;
    const Op* op = value->def();
    if (op == nullptr || !known_.insert(op).second) return false;
    if (!op->regions().empty()) return true;
    if (op->HasAttr(AttrKey::Axes) && Contains(op->attr<AttrKey::Axes>(), axis_)) return true;
    return std::ranges::any_of(op->operands(), [&](const Value* operand) { return Has(operand); });
  }

 private:
  AxisId axis_;
  std::unordered_set<const Op*> known_;
};

/// Returns whether the update, which adds or multiplies, does the same in each block of the axis, once for each block.
bool IsOncePerBlock(const Op* update, AxisId axis) {
  BlockDependence dependence(axis);
  for (const Value* operand : update->operands())
    if (dependence.Has(operand)) return false;
  const Op* around = update->parent_region()->parent();
  for (; around->kind() != OpKind::Spmd; around = around->parent_region()->parent()) {
    for (const Value* operand : around->operands())
      if (dependence.Has(operand)) return false;
    if (around->kind() == OpKind::While) return false;
  }
  return true;
}

/// What shows where blocks end.
struct Shown {
  Name size;  ///< the `auto` constant
  std::string_view how;
};

class BlockCheck {
 public:
  explicit BlockCheck(const ir::Function& kernel) : kernel_(kernel) {}

  std::optional<Shown> ShownBy(const Op* op) const {
    if (op->HasAttr(AttrKey::Append)) return std::nullopt;
    switch (op->kind()) {
      case OpKind::Scan:
        return OfAxes(op, "this scan sees one block at a time");
      case OpKind::Gather:
        return OfAxes(op, "this access sees one block at a time");
      case OpKind::Reduce:
      case OpKind::MultiReduce:
      case OpKind::Contraction:
        if (!IsReductionStored(op)) return std::nullopt;
        return OfAxes(op, "this reduction sees one block at a time");
      case OpKind::Update:
        return OfUpdate(op);
      case OpKind::SizeOf:
        return OfNumber(op, AutoConstantIn(kernel_, op->attr<AttrKey::Size>()));
      case OpKind::BlockStart:
      case OpKind::BlockSize:
      case OpKind::BlockIndex:
        return OfNumber(op, AutoBlockSize(kernel_, op->operand(0)->type()->axes[0]));
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<Shown> OfAxes(const Op* op, std::string_view how) const {
    for (AxisId axis : op->attr<AttrKey::Axes>())
      if (std::optional<Name> size = AutoBlockSize(kernel_, axis)) return Shown{*size, how};
    return std::nullopt;
  }

  std::optional<Shown> OfUpdate(const Op* update) const {
    ir::UpdateKind how = update->attr<AttrKey::How>();
    bool counts =
        how == ir::UpdateKind::Add || how == ir::UpdateKind::Mul || how == ir::UpdateKind::Xor;
    const Op* loop = counts ? SpmdAround(update) : nullptr;
    if (loop == nullptr) return std::nullopt;
    for (const Value* binder : loop->region()->params()) {
      if (binder->type()->kind != ir::TypeKind::Block) continue;
      AxisId axis = binder->type()->axes[0];
      std::optional<Name> size = AutoBlockSize(kernel_, axis);
      if (size && IsOncePerBlock(update, axis))
        return Shown{*size, "this happens once for each block"};
    }
    return std::nullopt;
  }

  static std::optional<Shown> OfNumber(const Op* op, std::optional<Name> size) {
    if (!size || !IsNumberStored(op)) return std::nullopt;
    return Shown{*size, "this number is part of what is stored"};
  }

  static const Op* SpmdAround(const Op* op) {
    const Op* around = op->parent_region()->parent();
    while (around != nullptr && around->kind() != OpKind::Spmd)
      around = around->parent_region()->parent();
    return around;
  }

  const ir::Function& kernel_;
};

}  // namespace

void RunCheckBlocks(PassContext& context, ir::Function& kernel) {
  BlockCheck check(kernel);
  ir::Walk(kernel.body, [&](const Op* op) {
    std::optional<Shown> shown = check.ShownBy(op);
    if (!shown) return;
    context.diagnostics
        .Report(diag::BlocksShow, context.SpanOf(op->loc()), shown->size.text(), shown->how)
        .Help(fmt::format("give the size of the block a value, as in `{}: int = 1024`",
                          shown->size.text()));
  });
}

}  // namespace kdl::passes
