#include "ir/op.h"

#include <algorithm>

#include "ir/op_info.h"
#include "support/check.h"

namespace kdl::ir {

void Value::ReplaceAllUsesWith(Value* other) {
  KDL_CHECK(other != this, "a value is replaced by itself");
  while (!uses_.empty()) {
    Use use = uses_.back();
    use.user->SetOperand(use.operand, other);
  }
}

void Op::SetOperand(size_t i, Value* value) {
  auto number = static_cast<uint32_t>(i);
  std::vector<Use>& uses = operands_[i]->uses_;
  auto mine = std::find_if(uses.rbegin(), uses.rend(), [&](const Use& use) {
    return use.user == this && use.operand == number;
  });
  KDL_CHECK(mine != uses.rend(), "operand {} of '{}' is not among the uses of its value", i,
            info().spelling);
  uses.erase(std::next(mine).base());
  operands_[i] = value;
  value->uses_.push_back({this, number});
}

std::span<Value* const> Op::Segment(size_t spec) const {
  size_t begin = SegmentBegin(spec);
  return {operands_.data() + begin, segment_ends_[spec] - begin};
}

void Op::DropOperands() {
  for (size_t i = 0; i < operands_.size(); ++i) {
    std::vector<Use>& uses = operands_[i]->uses_;
    std::erase_if(uses, [&](const Use& use) { return use.user == this; });
  }
}

void Op::SetSegment(size_t spec, std::span<Value* const> values) {
  std::vector<Value*> all(operands_.begin(),
                          operands_.begin() + static_cast<ptrdiff_t>(SegmentBegin(spec)));
  all.insert(all.end(), values.begin(), values.end());
  all.insert(all.end(), operands_.begin() + segment_ends_[spec], operands_.end());
  auto grown = static_cast<ptrdiff_t>(all.size()) - static_cast<ptrdiff_t>(operands_.size());
  DropOperands();
  operands_ = std::move(all);
  for (size_t s = spec; s < segment_ends_.size(); ++s)
    segment_ends_[s] += static_cast<uint32_t>(grown);
  for (size_t i = 0; i < operands_.size(); ++i)
    operands_[i]->uses_.push_back({this, static_cast<uint32_t>(i)});
}

const Attr* Op::FindAttr(AttrKey key) const {
  for (const Attr& attr : attrs_) {
    if (attr.key == key) return &attr;
  }
  return nullptr;
}

const AttrValue& Op::Required(AttrKey key) const {
  const Attr* attr = FindAttr(key);
  KDL_CHECK(attr, "'{}' has no attribute '{}'", info().spelling, ir::Spelling(key));
  return attr->value;
}

void Op::SetAttr(Attr attr) {
  RemoveAttr(attr.key);
  auto place = std::find_if(attrs_.begin(), attrs_.end(),
                            [&](const Attr& other) { return other.key > attr.key; });
  attrs_.insert(place, std::move(attr));
}

void Op::RemoveAttr(AttrKey key) {
  std::erase_if(attrs_, [&](const Attr& attr) { return attr.key == key; });
}

void Region::InsertBefore(Op* op, Op* before) {
  op->region_ = this;
  op->next_ = before;
  op->prev_ = before ? before->prev_ : last_;
  (op->prev_ ? op->prev_->next_ : first_) = op;
  (before ? before->prev_ : last_) = op;
}

void Region::Remove(Op* op) {
  (op->prev_ ? op->prev_->next_ : first_) = op->next_;
  (op->next_ ? op->next_->prev_ : last_) = op->prev_;
  op->prev_ = op->next_ = nullptr;
  op->region_ = nullptr;
}

void Region::EraseParam(size_t index) {
  KDL_CHECK(params_[index]->uses().empty(), "region parameter '{}' is erased while it is used",
            params_[index]->name().text());
  params_.erase(params_.begin() + static_cast<ptrdiff_t>(index));
  for (size_t i = index; i < params_.size(); ++i) params_[i]->index_ = static_cast<uint32_t>(i);
}

void Erase(Op* op) {
  for (Region* region : op->regions()) {
    while (region->last()) Erase(region->last());
  }
  for (Value* result : op->results()) {
    KDL_CHECK(result->uses().empty(), "'{}' is erased while its result '{}' is used",
              op->info().spelling, result->name().text());
  }
  op->DropOperands();
  op->operands_.clear();
  if (op->parent_region()) op->parent_region()->Remove(op);
}

}  // namespace kdl::ir
