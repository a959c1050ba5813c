#include "passes/groups/group_blocks.h"

#include <algorithm>

#include "ir/busy_cores.h"
#include "ir/op_kind.h"

namespace kdl::passes {

namespace {

/// Returns the number of blocks of these variables as a size, or null.
Size BlocksOf(const ir::Function& kernel, SizeTable& sizes, const ir::Op* spmd,
              const std::vector<size_t>& variables) {
  Size blocks = sizes.Constant(1);
  for (size_t b : variables) {
    Size some = ir::BlocksOfBinders(kernel, sizes, spmd, b, b + 1);
    if (!some) return nullptr;
    blocks = sizes.Binary(SizeKind::Mul, blocks, some);
  }
  return blocks;
}

}  // namespace

GroupBlocks::GroupBlocks(ir::Builder& builder, const ir::Function& kernel, const ir::Op* spmd,
                         GroupShape shape, int64_t enough_groups)
    : builder_(builder),
      spmd_(spmd),
      shape_(shape),
      enough_groups_(enough_groups),
      variables_(ir::GroupVariablesOf(spmd)) {
  const std::vector<Value*>& params = spmd->region()->params();
  for (size_t b = 0; b < params.size(); ++b) {
    bool is_block = params[b]->type()->kind == ir::TypeKind::Block;
    Value* extent = is_block ? builder.SizeValue(kernel.axis(params[b]->type()->axes[0]).extent)
                             : builder.I64(1);
    ranges_.emplace_back(builder, spmd->operand(2 * b), spmd->operand(2 * b + 1), extent);
    counts_.push_back(ranges_.back().Count());
  }
  SetBounds(kernel);
  tiles_ = Count(distributed());
  combined_ = Count(variables_.combined);
  Value* all = tiles_;
  if (distributed() != variables_.outer) all = builder.Mul(all, Count(variables_.outer));
  if (distributed() != variables_.inner) all = builder.Mul(all, Count(variables_.inner));
  combined_ = builder.Select(builder.Eq(all, builder.I64(0)), builder.I64(0), combined_);
  Value* up = builder.Add(combined_, builder.I64(ir::kLeastBlocks - 1));
  Value* segments = builder.Div(up, builder.I64(ir::kLeastBlocks));
  segments_ = builder.Min(segments, builder.I64(ir::kMostSegments));
  if (shape == GroupShape::Tiles)
    ShareTiles();
  else
    ShareSegments();
  groups_ = builder.Mul(tile_ranges_, parts_);
}

const std::vector<size_t>& GroupBlocks::distributed() const {
  return variables_.outer.empty() ? variables_.inner : variables_.outer;
}

/// A tile is cut into parts only if there are fewer tiles than enough groups, and then there are at most twice as many
/// groups. So a part of one of t tiles has less than 2^(t + 1) of the 256 segments.
void GroupBlocks::SetBounds(const ir::Function& kernel) {
  SizeTable& sizes = builder_.types().sizes();
  Size combined = BlocksOf(kernel, sizes, spmd_, variables_.combined);
  Size tiles = BlocksOf(kernel, sizes, spmd_, distributed());
  Size most = sizes.Constant(2 * enough_groups_);
  Size levels = sizes.Constant(ir::kMostLevels + 1);
  most_segments_ = combined ? ir::SegmentCount(sizes, combined) : sizes.Constant(ir::kMostSegments);
  Size groups =
      tiles ? sizes.Binary(SizeKind::Mul, sizes.Binary(SizeKind::Min, tiles, most), most_segments_)
            : most;
  most_groups_ = sizes.Binary(SizeKind::Min, groups, most);
  if (tiles) {
    Size more = sizes.Binary(SizeKind::Add, tiles, sizes.Constant(1));
    levels = sizes.Binary(SizeKind::Min, more, levels);
  }
  most_levels_ = sizes.Binary(SizeKind::Min, most_segments_, levels);
}

/// The number of segments of a part is a power of two, so that each part is a subtree of the tree that combines
/// the segments.
void GroupBlocks::ShareTiles() {
  Value* one = builder_.I64(1);
  Value* enough = builder_.I64(enough_groups_);
  Value* most = builder_.I64(2 * enough_groups_);
  Value* span = one;
  for (int64_t wider = 2; wider <= ir::kMostSegments; wider *= 2) {
    Value* up = builder_.Add(segments_, builder_.I64(wider / 2 - 1));
    Value* parts = builder_.Div(up, builder_.I64(wider / 2));
    Value* many = builder_.Gt(builder_.Mul(tiles_, parts), most);
    span = builder_.Select(many, builder_.I64(wider), span);
  }
  Value* all = builder_.Max(segments_, one);
  span_ = builder_.Select(builder_.Ge(tiles_, enough), all, span);
  Value* up = builder_.Add(segments_, builder_.Sub(span_, one));
  parts_ = builder_.Div(up, span_);
  tile_ranges_ = builder_.Min(tiles_, enough);
}

void GroupBlocks::ShareSegments() {
  Value* one = builder_.I64(1);
  span_ = one;
  parts_ = segments_;
  tile_ranges_ = one;
  if (shape_ == GroupShape::WholeSegments || distributed().empty()) return;
  Value* some = builder_.Max(segments_, one);
  Value* up = builder_.Add(some, builder_.I64(enough_groups_ - 1));
  tile_ranges_ = builder_.Min(tiles_, builder_.Div(up, some));
}

Value* GroupBlocks::Count(const std::vector<size_t>& variables) {
  Value* product = nullptr;
  for (size_t b : variables) product = product ? builder_.Mul(product, counts_[b]) : counts_[b];
  return product ? product : builder_.I64(1);
}

/// Returns floor(number * total / ranges), without overflow.
Value* GroupBlocks::Begin(Value* number, Value* total, Value* ranges) {
  Value* divisor = builder_.Max(ranges, builder_.I64(1));
  Value* whole = builder_.Mul(number, builder_.Div(total, divisor));
  Value* rest = builder_.Mul(number, builder_.Rem(total, divisor));
  return builder_.Add(whole, builder_.Div(rest, divisor));
}

NumberRange GroupBlocks::Distributed(Value* group) {
  Value* range = builder_.Div(group, builder_.Max(parts_, builder_.I64(1)));
  Value* next = builder_.Add(range, builder_.I64(1));
  Value* begin = Begin(range, tiles_, tile_ranges_);
  return {begin, Begin(next, tiles_, tile_ranges_)};
}

NumberRange GroupBlocks::Outer(Value* group) {
  if (!variables_.outer.empty() && shape_ != GroupShape::WholeSegments) return Distributed(group);
  return {builder_.I64(0), Count(variables_.outer)};
}

NumberRange GroupBlocks::Inner(Value* group) {
  bool distributed = variables_.outer.empty() && shape_ != GroupShape::WholeSegments;
  if (!variables_.inner.empty() && distributed) return Distributed(group);
  return {builder_.I64(0), Count(variables_.inner)};
}

NumberRange GroupBlocks::Segments(Value* group) {
  Value* part = builder_.Rem(group, builder_.Max(parts_, builder_.I64(1)));
  Value* begin = builder_.Mul(part, span_);
  return {begin, builder_.Min(builder_.Add(begin, span_), segments_)};
}

NumberRange GroupBlocks::Combined(Value* segment) {
  Value* next = builder_.Add(segment, builder_.I64(1));
  Value* begin = Begin(segment, combined_, segments_);
  return {begin, Begin(next, combined_, segments_)};
}

void GroupBlocks::SetValues(const std::vector<size_t>& variables, Value* number,
                            std::vector<Value*>& values) {
  if (!number) return;
  Value* rest = number;
  for (size_t i = variables.size(); i-- > 0;) {
    size_t b = variables[i];
    Value* index = i == 0 ? rest : builder_.Rem(rest, counts_[b]);
    if (i > 0) rest = builder_.Div(rest, counts_[b]);
    const Value* variable = spmd_->region()->param(b);
    Value* value = ranges_[b].Start(index);
    if (variable->type()->kind == ir::TypeKind::Block) {
      value = builder_.Make(OpKind::MakeBlock, {value, ranges_[b].SizeAt(value), index},
                            variable->type());
    }
    value->set_name(variable->name());
    values[b] = value;
  }
}

std::vector<Value*> GroupBlocks::VariableValues(Value* outer, Value* combined, Value* inner) {
  std::vector<Value*> values(counts_.size());
  SetValues(variables_.outer, outer, values);
  SetValues(variables_.combined, combined, values);
  SetValues(variables_.inner, inner, values);
  return values;
}

}  // namespace kdl::passes
