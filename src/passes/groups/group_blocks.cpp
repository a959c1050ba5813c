#include "passes/groups/group_blocks.h"

#include "ir/busy_cores.h"
#include "ir/groups.h"
#include "ir/op_kind.h"

namespace kdl::passes {

/// If the bounds of the domain are sizes, the numbers of blocks and groups are sizes, too.
GroupBlocks::GroupBlocks(ir::Builder& builder, const ir::Function& kernel, const ir::Op* spmd)
    : builder_(builder), binders_(spmd->region()->params()) {
  for (size_t b = 0; b < binders_.size(); ++b) {
    bool is_block = binders_[b]->type()->kind == ir::TypeKind::Block;
    Value* extent = is_block ? builder.SizeValue(kernel.axis(binders_[b]->type()->axes[0]).extent)
                             : builder.I64(1);
    ranges_.emplace_back(builder, spmd->operand(2 * b), spmd->operand(2 * b + 1), extent);
    counts_.push_back(ranges_.back().Count());
  }
  blocks_ = Count(0, binders_.size());
  SizeTable& sizes = builder.types().sizes();
  most_groups_ = sizes.Constant(ir::kMostGroups);
  if (Size known = ir::BlocksOfDomain(kernel, sizes, spmd)) {
    most_groups_ = sizes.Binary(SizeKind::Min, known, most_groups_);
    groups_ = builder.SizeValue(most_groups_);
  } else {
    groups_ = builder.Min(blocks_, builder.I64(ir::kMostGroups));
  }
  divisor_ = builder.Max(groups_, builder.I64(1));
  share_ = builder.Div(blocks_, divisor_);
  more_ = builder.Rem(blocks_, divisor_);
}

Value* GroupBlocks::Count(size_t from, size_t to) {
  Value* product = nullptr;
  for (size_t b = from; b < to; ++b)
    product = product ? builder_.Mul(product, counts_[b]) : counts_[b];
  return product ? product : builder_.I64(1);
}

Value* GroupBlocks::FirstBlockOf(Value* group) {
  Value* whole = builder_.Mul(group, share_);
  Value* rest = builder_.Mul(group, more_);
  return builder_.Add(whole, builder_.Div(rest, divisor_));
}

Value* GroupBlocks::GroupOfBlock(Value* block) {
  Value* one = builder_.I64(1);
  Value* after = builder_.Add(block, one);
  Value* scaled = builder_.Mul(after, groups_);
  Value* before = builder_.Sub(scaled, one);
  return builder_.Div(before, builder_.Max(blocks_, one));
}

std::vector<Value*> GroupBlocks::BinderValues(Value* number) {
  std::vector<Value*> numbers(binders_.size());
  Value* rest = number;
  for (size_t b = binders_.size(); b-- > 0;) {
    numbers[b] = b == 0 ? rest : builder_.Rem(rest, counts_[b]);
    if (b > 0) rest = builder_.Div(rest, counts_[b]);
  }
  std::vector<Value*> values;
  for (size_t b = 0; b < binders_.size(); ++b) {
    Value* value = ranges_[b].Start(numbers[b]);
    if (binders_[b]->type()->kind == ir::TypeKind::Block) {
      value = builder_.Make(OpKind::MakeBlock, {value, ranges_[b].SizeAt(value), numbers[b]},
                            binders_[b]->type());
    }
    value->set_name(binders_[b]->name());
    values.push_back(value);
  }
  return values;
}

}  // namespace kdl::passes
