#include "passes/rewriting/block_loops.h"

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

namespace kdl::passes {

BlockRange::BlockRange(ir::Builder& builder, Value* lo, Value* hi, Value* size)
    : builder_(&builder), lo_(lo), hi_(hi), size_(size) {
  std::optional<int64_t> first = ConstantOf(lo);
  // If `lo` is not negative, the difference between `hi` and `lo` fits into an i64. Otherwise, it needs a
  // u64.
  scalar_ = first && *first >= 0 ? Scalar::I64 : Scalar::U64;
}

Value* BlockRange::Count() {
  Value* count = Distance(lo_, hi_);
  if (ConstantOf(size_) != 1) {
    Value* one = Int(1);
    Value* last = builder_->Sub(count, one);
    Value* before_last = builder_->Div(last, Size());
    count = builder_->Add(before_last, one);
  }
  return IfAny(AsI64(count));
}

Value* BlockRange::Start(Value* index) {
  Value* offset = index;
  if (ConstantOf(size_) != 1) offset = builder_->Mul(index, size_);
  return builder_->Add(lo_, offset);
}

Value* BlockRange::SizeAt(Value* start) {
  Value* rest = Distance(start, hi_);
  return AsI64(builder_->Min(rest, Size()));
}

Value* BlockRange::BlockIndex(Value* start) {
  Value* offset = Distance(lo_, start);
  return AsI64(builder_->Div(offset, Size()));
}

Value* BlockRange::IfAny(Value* number) {
  Value* has_any = builder_->Lt(lo_, hi_);
  return builder_->Select(has_any, number, builder_->I64(0));
}

Value* BlockRange::Distance(Value* from, Value* to) {
  Value* end = builder_->Cast(to, scalar_);
  return builder_->Sub(end, builder_->Cast(from, scalar_));
}

Op* MakeLoopInPlace(ir::Builder& b, Op* op, Value* lo, Value* hi, Value* step) {
  std::vector<Value*> inits;
  if (op->kind() == OpKind::For) {
    auto old = ir::ForOp(op).inits();
    inits.assign(old.begin(), old.end());
  }
  Op* loop = b.Create(OpKind::Loop, {{lo}, {hi}, {step}, inits}, TypesOf(inits));
  if (op->HasAttr(AttrKey::Breaks)) loop->SetAttr(ir::MakeAttr<AttrKey::Breaks>(1));
  if (op->HasAttr(AttrKey::Ahead))
    loop->SetAttr(ir::MakeAttr<AttrKey::Ahead>(op->attr<AttrKey::Ahead>()));
  b.AddParam(loop->region(), b.I64Type(), {});
  for (size_t i = 0; i < inits.size(); ++i) {
    Value* old = op->region()->param(i + 1);
    old->ReplaceAllUsesWith(b.AddParam(loop->region(), old->type(), old->name()));
    loop->result(i)->set_name(op->result(i)->name());
    op->result(i)->ReplaceAllUsesWith(loop->result(i));
  }
  b.SetInsertionPoint(loop->region());
  return loop;
}

CoreShare CoreShareOf(ir::Builder& b, Value* core, Value* total, Value* core_num) {
  Value* share = b.Div(total, core_num);
  Value* more = b.Rem(total, core_num);
  Value* before = b.Mul(core, share);
  Value* begin = b.Add(before, b.Min(core, more));
  Value* one_more = b.Add(share, b.I64(1));
  Value* own = b.Select(b.Lt(core, more), one_more, share);
  return {begin, b.Add(begin, own)};
}

Op* MakeShareLoop(ir::Builder& b, Op* op, Value* core, Value* total, Value* core_num) {
  CoreShare share = CoreShareOf(b, core, total, core_num);
  return MakeLoopInPlace(b, op, share.begin, share.end, b.I64(1));
}

void StateBusyCores(ir::Builder& b, ir::Function& kernel, const ir::LeastLength& least_length) {
  std::optional<std::vector<Size>> most = ir::MostBlocks(kernel, b.types().sizes(), least_length);
  if (!most) return;
  b.SetInsertionPoint(kernel.body->first());
  b.set_loc(kernel.loc);
  std::vector<Size> stated;
  for (Size blocks : *most) {
    if (Contains(stated, blocks)) continue;
    b.Create(OpKind::BusyCores, {}, {}, {ir::MakeAttr<AttrKey::Size>(blocks)});
    stated.push_back(blocks);
  }
}

int64_t BlockExtent(const ir::Function& kernel, const Value* binder) {
  if (binder->type()->kind != ir::TypeKind::Block) return 1;
  Size extent = kernel.axis(binder->type()->axes[0]).extent;
  KDL_CHECK(
      IsConstant(extent) && extent->value > 0,
      "the block size {} is not a constant: select-tiles must run before blocks are distributed",
      ToString(extent));
  return extent->value;
}

}  // namespace kdl::passes
