#include "passes/block_range.h"

namespace kdl::passes {

BlockRange::BlockRange(ir::Builder& builder, Value* lo, Value* hi, Value* size)
    : builder_(&builder), lo_(lo), hi_(hi), size_(size) {
  std::optional<int64_t> first = ConstantOf(lo);
  // Between numbers that are not negative a difference fits into an i64.
  scalar_ = first && *first >= 0 ? Scalar::I64 : Scalar::U64;
}

Value* BlockRange::Count() {
  Value* count = Distance(lo_, hi_);
  if (ConstantOf(size_) != 1) {
    Value* one = Int(1);
    Value* last = builder_->Binary(OpKind::Sub, count, one);
    Value* before_last = builder_->Binary(OpKind::Div, last, Size());
    count = builder_->Binary(OpKind::Add, before_last, one);
  }
  return IfAny(AsI64(count));
}

Value* BlockRange::Start(Value* index) {
  Value* offset = index;
  if (ConstantOf(size_) != 1) offset = builder_->Binary(OpKind::Mul, index, size_);
  return builder_->Binary(OpKind::Add, lo_, offset);
}

Value* BlockRange::SizeAt(Value* start) {
  Value* rest = Distance(start, hi_);
  return AsI64(builder_->Binary(OpKind::Min, rest, Size()));
}

Value* BlockRange::IndexOf(Value* start) {
  Value* offset = Distance(lo_, start);
  return AsI64(builder_->Binary(OpKind::Div, offset, Size()));
}

Value* BlockRange::IfAny(Value* number) {
  Value* has_any = builder_->Binary(OpKind::Lt, lo_, hi_);
  return builder_->Select(has_any, number, builder_->I64(0));
}

Value* BlockRange::Distance(Value* from, Value* to) {
  Value* end = builder_->Cast(to, scalar_);
  return builder_->Binary(OpKind::Sub, end, builder_->Cast(from, scalar_));
}

}  // namespace kdl::passes
