#include "passes/groups/group_parts.h"

#include <algorithm>
#include <cstdint>

#include "ir/eval/eval.h"
#include "ir/tensor_view.h"
#include "passes/groups/kept_variables.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

using ir::MakeAttr;

namespace {

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
                       const std::vector<ir::UpdateOp>& updates)
    : kernel_(kernel),
      spmd_(spmd),
      tensor_(updates[0].tensor()),
      how_(updates[0]->attr<AttrKey::How>()) {
  for (size_t d = 0; d < tensor_->type()->dims.size(); ++d) {
    std::optional<size_t> variable = VariableOfDimension(spmd, updates, d);
    // If one loop variable is the index of two dimensions, blocks cover only the diagonal. In this case, only
    // the first of these dimensions counts.
    bool is_known = variable && Contains(variable_of_, variable);
    variable_of_.push_back(is_known ? std::nullopt : variable);
  }
}

Scalar GroupParts::acc() const {
  Scalar scalar = tensor_->type()->scalar;
  return IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
}

uint64_t GroupParts::identity() const { return ir::UpdateIdentity(how_, acc()); }

Value* GroupParts::Combined(ir::Builder& builder, Value* a, Value* b) const {
  return builder.Binary(ir::CombineOf(how_), a, b);
}

void GroupParts::SetShape(const GroupBlocks& blocks) {
  has_tiles_ = blocks.shape() == GroupShape::Tiles;
  tiled_ = variable_of_;
  for (std::optional<size_t>& variable : tiled_) {
    bool is_distributed = variable && blocks.shape() != GroupShape::WholeSegments &&
                          Contains(blocks.distributed(), *variable);
    if (!is_distributed) variable.reset();
  }
}

std::vector<Size> GroupParts::SlotDims(SizeTable& sizes) const {
  std::vector<Size> dims = tensor_->type()->dims;
  for (size_t d = 0; has_tiles_ && d < dims.size(); ++d) {
    if (!tiled_[d]) continue;
    ir::Type variable = spmd_->region()->param(*tiled_[d])->type();
    bool is_block = variable->kind == ir::TypeKind::Block;
    Size extent = is_block ? kernel_.axis(variable->axes[0]).extent : sizes.Constant(1);
    dims[d] = sizes.Binary(SizeKind::Min, dims[d], extent);
  }
  return dims;
}

void GroupParts::Make(ir::Builder& builder, const GroupBlocks& blocks) {
  SizeTable& sizes = builder.types().sizes();
  SetShape(blocks);
  Size slots = blocks.most_segments();
  if (has_tiles_) {
    levels_ = blocks.most_levels();
    slots = sizes.Binary(SizeKind::Mul, blocks.most_groups(), levels_);
  }
  std::vector<Size> dims = SlotDims(sizes);
  dims.insert(dims.begin(), slots);
  memory_ = builder.Make(OpKind::LaunchTensor, {}, builder.types().Tensor(acc(), dims),
                         {MakeAttr<AttrKey::Name>(tensor_->name())});
}

void GroupParts::UseMemory(Value* memory, const GroupBlocks& blocks) {
  memory_ = memory;
  SetShape(blocks);
}

Value* GroupParts::FirstSlot(ir::Builder& builder, Value* group) const {
  return builder.Mul(group, builder.SizeValue(levels_));
}

Place GroupParts::InSlot(ir::Builder& builder, const Place& place, Value* slot,
                         const std::vector<Value*>& variables) const {
  SizeTable& sizes = builder.types().sizes();
  Place in_slot;
  auto term = [&](int64_t coefficient, Value* operand) {
    in_slot.index.push_back(operand);
    return ir::AccessTerm{sizes.Constant(coefficient),
                          static_cast<uint32_t>(in_slot.index.size() - 1)};
  };
  in_slot.access.dims.push_back({{term(1, slot)}, sizes.Constant(0)});
  for (size_t d = 0; d < tiled_.size(); ++d) {
    ir::AccessDim dim{{}, sizes.Constant(0)};
    if (!has_tiles_ || !tiled_[d]) {
      dim = place.access.dims[d];
      for (ir::AccessTerm& of_dim : dim.terms)
        of_dim.operand = term(1, place.index[of_dim.operand]).operand;
    } else if (Value* variable = variables[*tiled_[d]];
               variable->type()->kind == ir::TypeKind::Block) {
      Value* start = builder.BlockStart(variable);
      dim.terms = {term(1, variable), term(-1, start)};
    }
    in_slot.access.dims.push_back(dim);
  }
  return in_slot;
}

bool IsOpenBefore(const ir::Function& kernel, const Op* spmd, const Value* tensor) {
  for (const Op* op = spmd->prev(); op; op = op->prev()) {
    if (op->kind() == OpKind::Sync) return false;
    if (Touches(op, tensor)) return true;
  }
  return spmd->parent_region() != kernel.body;
}

}  // namespace kdl::passes
