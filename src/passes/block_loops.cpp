#include "passes/block_loops.h"

#include <utility>
#include <vector>

#include "ir/views.h"
#include "support/check.h"

namespace kdl::passes {

Op* MakeLoopInPlace(ir::Builder& b, Op* op, Value* lo, Value* hi, Value* step) {
  std::vector<Value*> inits;
  if (op->kind() == OpKind::For) {
    auto old = ir::ForOp(op).inits();
    inits.assign(old.begin(), old.end());
  }
  std::vector<ir::Type> types;
  for (const Value* init : inits) types.push_back(init->type());
  Op* loop = b.Create(OpKind::Loop, {{lo}, {hi}, {step}, inits}, std::move(types));
  if (op->HasAttr(AttrKey::Breaks)) loop->SetAttr(ir::MakeAttr<AttrKey::Breaks>(1));
  if (op->HasAttr(AttrKey::Ahead))
    loop->SetAttr(ir::MakeAttr<AttrKey::Ahead>(op->attr<AttrKey::Ahead>()));
  b.AddParam(loop->region(), b.types().ScalarOf(Scalar::I64), {});
  for (size_t i = 0; i < inits.size(); ++i) {
    Value* old = op->region()->param(i + 1);
    old->ReplaceAllUsesWith(b.AddParam(loop->region(), old->type(), old->name()));
    loop->result(i)->set_name(op->result(i)->name());
    op->result(i)->ReplaceAllUsesWith(loop->result(i));
  }
  b.SetInsertionPoint(loop->region());
  return loop;
}

CoreShare ShareOf(ir::Builder& b, Value* core, Value* total, Value* core_num) {
  Value* share = b.Binary(OpKind::Div, total, core_num);
  Value* more = b.Binary(OpKind::Rem, total, core_num);
  Value* before = b.Binary(OpKind::Mul, core, share);
  Value* begin = b.Binary(OpKind::Add, before, b.Binary(OpKind::Min, core, more));
  Value* one_more = b.Binary(OpKind::Add, share, b.I64(1));
  Value* own = b.Select(b.Binary(OpKind::Lt, core, more), one_more, share);
  return {begin, b.Binary(OpKind::Add, begin, own)};
}

Op* MakeShareLoop(ir::Builder& b, Op* op, Value* core, Value* total, Value* core_num) {
  CoreShare share = ShareOf(b, core, total, core_num);
  return MakeLoopInPlace(b, op, share.begin, share.end, b.I64(1));
}

int64_t BlockExtent(const ir::Function& kernel, const Value* binder) {
  if (binder->type()->kind != ir::TypeKind::Blk) return 1;
  Size extent = kernel.axis(binder->type()->axes[0]).extent;
  KDL_CHECK(IsConstant(extent) && extent->value > 0,
            "blocks of {}: select-tiles runs before they are dealt", ToString(extent));
  return extent->value;
}

}  // namespace kdl::passes
