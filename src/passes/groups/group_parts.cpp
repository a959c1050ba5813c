#include "passes/groups/group_parts.h"

#include <algorithm>
#include <cstdint>

#include "ir/busy_cores.h"
#include "ir/eval/eval.h"
#include "ir/groups.h"
#include "ir/tensor_view.h"
#include "ir/value_size.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

using ir::MakeAttr;

namespace {

/// Returns the loop variable that is the whole index of a dimension, if there is such a variable.
std::optional<size_t> BinderAt(const Op* spmd, ir::UpdateOp update, size_t dim) {
  ir::Access access = update->attr<AttrKey::Access>();
  const ir::AccessDim& index = access.dims[dim];
  if (index.terms.size() != 1 || !IsConstant(index.offset, 0)) return std::nullopt;
  if (!IsConstant(index.terms[0].coefficient, 1)) return std::nullopt;
  const std::vector<Value*>& binders = spmd->region()->params();
  auto found = std::find(binders.begin(), binders.end(), update.index()[index.terms[0].operand]);
  if (found == binders.end()) return std::nullopt;
  return found - binders.begin();
}

/// Returns the loop variable that splits a dimension into tiles, so that each element is in exactly one block
/// of the variable.
std::optional<size_t> BinderThatTiles(const ir::Function& kernel, SizeTable& sizes, const Op* spmd,
                                      const std::vector<ir::UpdateOp>& updates, size_t dim) {
  std::optional<size_t> binder = BinderAt(spmd, updates[0], dim);
  if (!binder) return std::nullopt;
  auto same = [&](ir::UpdateOp update) { return BinderAt(spmd, update, dim) == binder; };
  if (!std::all_of(updates.begin(), updates.end(), same)) return std::nullopt;
  Size lo = ir::SizeOfValue(kernel, sizes, spmd->operand(2 * *binder));
  Size hi = ir::SizeOfValue(kernel, sizes, spmd->operand(2 * *binder + 1));
  bool whole = lo && IsConstant(lo, 0) && hi == updates[0].tensor()->type()->dims[dim];
  return whole ? binder : std::nullopt;
}

bool Touches(const Op* op, const Value* tensor) {
  return AnyIn(op, [&](const Op* at) {
    return std::ranges::any_of(at->operands(), [&](const Value* operand) {
      return operand->type()->kind == ir::TypeKind::Tensor &&
             ir::MemoryOf(operand) == ir::MemoryOf(tensor);
    });
  });
}

}  // namespace

Value* LoadAt(ir::Builder& builder, Value* tensor, const Place& place, const ir::AxisList& axes) {
  ir::Type type = builder.types().Tile(tensor->type()->scalar, axes);
  Op* load = builder.Create(OpKind::Load, {{tensor}, place.index, {}, {}}, {type},
                            {MakeAttr<AttrKey::Access>(place.access),
                             MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)});
  return load->result();
}

void StoreAt(ir::Builder& builder, Value* value, Value* tensor, const Place& place) {
  value = builder.Cast(value, tensor->type()->scalar);
  builder.Create(OpKind::Store, {{value}, {tensor}, place.index, {}}, {},
                 {MakeAttr<AttrKey::Access>(place.access),
                  MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)});
}

GroupParts::GroupParts(ir::Function& kernel, const Op* spmd,
                       const std::vector<ir::UpdateOp>& updates, SizeTable& sizes, bool at_once)
    : kernel_(kernel),
      spmd_(spmd),
      tensor_(updates[0].tensor()),
      how_(updates[0]->attr<AttrKey::How>()),
      at_once_(at_once),
      tiled_(tensor_->type()->dims.size()) {
  std::vector<size_t> cutting;
  for (size_t d = 0; d < tiled_.size(); ++d) {
    tiled_[d] = BinderThatTiles(kernel, sizes, spmd, updates, d);
    // If one loop variable indexes two dimensions, blocks cover only the diagonal. In this case, only the
    // first of these dimensions is split.
    auto before = tiled_.begin() + static_cast<std::ptrdiff_t>(d);
    if (tiled_[d] && std::find(tiled_.begin(), before, tiled_[d]) != before) tiled_[d].reset();
    if (tiled_[d]) cutting.push_back(*tiled_[d]);
  }
  std::sort(cutting.begin(), cutting.end());
  if (!cutting.empty()) first_ = last_ = cutting[0];
  for (size_t b : cutting)
    if (b == last_) ++last_;
  at_once_ = at_once && first_ == 0;
  Size rounds = ir::BlocksOfBinders(kernel, sizes, spmd, 0, first_);
  tiles_size_ = ir::BlocksOfBinders(kernel, sizes, spmd, first_, last_);
  if (!tiles_size_ || !rounds) last_ = first_;
  for (std::optional<size_t>& binder : tiled_)
    if (binder && (*binder < first_ || *binder >= last_)) binder.reset();
  if (!has_tiles()) return;
  // There are at most 256 groups. With 256 of them, a group has the blocks of at most steps / 256 + 1 steps.
  // It visits one step more if it begins in the middle of a step.
  Size steps = sizes.Binary(SizeKind::Mul, rounds, tiles_size_);
  Size inner = sizes.Binary(SizeKind::FloorDiv, steps, sizes.Constant(ir::kMostGroups));
  Size met = sizes.Binary(SizeKind::Add, inner, sizes.Constant(2));
  most_steps_ = sizes.Binary(SizeKind::Min, met, tiles_size_);
}

Scalar GroupParts::acc() const {
  Scalar scalar = tensor_->type()->scalar;
  return IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
}

uint64_t GroupParts::identity() const { return ir::UpdateIdentity(how_, acc()); }

std::vector<Size> GroupParts::PartDims(SizeTable& sizes) const {
  std::vector<Size> dims = tensor_->type()->dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!tiled_[d]) continue;
    ir::Type binder = spmd_->region()->param(*tiled_[d])->type();
    bool is_block = binder->kind == ir::TypeKind::Block;
    Size extent = is_block ? kernel_.axis(binder->axes[0]).extent : sizes.Constant(1);
    dims[d] = sizes.Binary(SizeKind::Min, dims[d], extent);
  }
  return dims;
}

/// With `at_once`, only tiles that groups share need slots for partial results. A group shares at most one
/// tile with the group before it and one with the group after it, so groups + min(groups, tiles) slots are
/// enough.
Size GroupParts::Slots(SizeTable& sizes, Size groups) const {
  if (!has_tiles()) return groups;
  if (!at_once_) return sizes.Binary(SizeKind::Mul, groups, most_steps_);
  return sizes.Binary(SizeKind::Add, groups, sizes.Binary(SizeKind::Min, groups, tiles_size_));
}

void GroupParts::Make(ir::Builder& builder, GroupBlocks& blocks) {
  SizeTable& sizes = builder.types().sizes();
  std::vector<Size> dims = PartDims(sizes);
  dims.insert(dims.begin(), Slots(sizes, blocks.most_groups()));
  memory_ = builder.Make(OpKind::LaunchTensor, {}, builder.types().Tensor(acc(), dims),
                         {MakeAttr<AttrKey::Name>(tensor_->name())});
  if (!has_tiles()) return;
  rounds_ = blocks.Count(0, first_);
  tiles_ = blocks.Count(first_, last_);
  if (!at_once_) steps_ = builder.SizeValue(most_steps_);
  depth_ = blocks.Count(last_, spmd_->region()->params().size());
}

void GroupParts::UseMemory(Value* memory) {
  memory_ = memory;
  first_ = last_ = 0;
  tiled_.assign(tiled_.size(), std::nullopt);
}

Value* GroupParts::Slot(ir::Builder& builder, const GroupBlocks& blocks, Value* group,
                        Value* first_step, Value* tile) const {
  if (!has_tiles()) return group;
  if (at_once_) {
    // If there are few tiles, the slot is group + tile. Pairs that are in use have different sums: from one
    // pair (group, tile) to the next, at least one of the two numbers increases and none decreases.
    Value* is_later = builder.Lt(first_step, tile);
    Value* two_each = builder.Add(group, builder.Cast(is_later, Scalar::I64));
    Value* few = builder.Le(tiles_, blocks.groups());
    return builder.Add(group, builder.Select(few, tile, two_each));
  }
  Value* before = builder.Mul(group, steps_);
  Value* steps = builder.Sub(tile, first_step);
  return builder.Add(before, builder.Rem(steps, tiles_));
}

Place GroupParts::InPart(ir::Builder& builder, const Place& place, Value* slot,
                         const std::vector<Value*>& binders) const {
  SizeTable& sizes = builder.types().sizes();
  Place in_part;
  auto term = [&](int64_t coefficient, Value* operand) {
    in_part.index.push_back(operand);
    return ir::AccessTerm{sizes.Constant(coefficient),
                          static_cast<uint32_t>(in_part.index.size() - 1)};
  };
  in_part.access.dims.push_back({{term(1, slot)}, sizes.Constant(0)});
  for (size_t d = 0; d < tiled_.size(); ++d) {
    ir::AccessDim dim{{}, sizes.Constant(0)};
    if (!tiled_[d]) {
      dim = place.access.dims[d];
      for (ir::AccessTerm& of_dim : dim.terms)
        of_dim.operand = term(1, place.index[of_dim.operand]).operand;
    } else if (Value* binder = binders[*tiled_[d]]; binder->type()->kind == ir::TypeKind::Block) {
      Value* start = builder.BlockStart(binder);
      dim.terms = {term(1, binder), term(-1, start)};
    }
    in_part.access.dims.push_back(dim);
  }
  return in_part;
}

bool IsOpenBefore(const ir::Function& kernel, const Op* spmd, const Value* tensor) {
  for (const Op* op = spmd->prev(); op; op = op->prev()) {
    if (op->kind() == OpKind::Sync) return false;
    if (Touches(op, tensor)) return true;
  }
  return spmd->parent_region() != kernel.body;
}

}  // namespace kdl::passes
