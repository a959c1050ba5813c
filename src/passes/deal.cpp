#include "ir/views.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/check.h"

// deal: blocks become numbers. Core c of n takes the blocks c, c + n, c + 2n … of an spmd, numbered with the leftmost
// binder outermost; a `for` over blocks walks their starts.
//
//   spmd (%i: blk<i> in %lo .. %hi) { … }      ->   %count = the blocks of lo .. hi
//                                                   loop %n in core_id .. %count step core_num {
//                                                     %start = lo + n * extent
//                                                     %i = make_blk %start, min(extent, hi - start), n ; … }
//   for %k: blk<k> in %lo .. %hi { … }         ->   loop %start in %lo .. %hi step extent { %k = make_blk … }
//
// All of it is exact for every lo and hi: where lo may be negative, hi - lo is taken as a u64.

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// lo .. hi in blocks of `extent`: how many there are, and make_blk's facts for each.
class BlockRange {
 public:
  BlockRange(ir::Builder& builder, Value* lo, Value* hi, int64_t extent)
      : builder_(builder), lo_(lo), hi_(hi), extent_(extent) {
    std::optional<int64_t> first = ConstantOf(lo);
    // Between numbers that are not negative a difference fits into an i64.
    scalar_ = first && *first >= 0 ? Scalar::I64 : Scalar::U64;
  }

  /// Blocks in the range; 0 where hi <= lo.
  Value* Count() {
    Value* count = Distance(lo_, hi_);
    if (extent_ != 1) {
      Value* one = Int(1);
      Value* last = builder_.Binary(OpKind::Sub, count, one);
      Value* before_last = builder_.Binary(OpKind::Div, last, Int(extent_));
      count = builder_.Binary(OpKind::Add, before_last, one);
    }
    count = AsI64(count);
    Value* runs = builder_.Binary(OpKind::Lt, lo_, hi_);
    return builder_.Select(runs, count, builder_.I64(0));
  }

  /// Where block `index` starts.
  Value* Start(Value* index) {
    Value* offset = index;
    if (extent_ != 1) offset = builder_.Binary(OpKind::Mul, index, builder_.I64(extent_));
    return builder_.Binary(OpKind::Add, lo_, offset);
  }

  /// The elements of the block at `start` that exist.
  Value* SizeAt(Value* start) {
    Value* rest = Distance(start, hi_);
    return AsI64(builder_.Binary(OpKind::Min, rest, Int(extent_)));
  }

  Value* IndexOf(Value* start) {
    Value* offset = Distance(lo_, start);
    return AsI64(builder_.Binary(OpKind::Div, offset, Int(extent_)));
  }

 private:
  Value* Int(int64_t value) { return builder_.Int(scalar_, value); }
  Value* AsI64(Value* value) { return builder_.Cast(value, Scalar::I64); }
  Value* Distance(Value* from, Value* to) {
    Value* end = builder_.Cast(to, scalar_);
    return builder_.Binary(OpKind::Sub, end, builder_.Cast(from, scalar_));
  }

  ir::Builder& builder_;
  Value* lo_;
  Value* hi_;
  int64_t extent_;
  Scalar scalar_;
};

class Dealer {
 public:
  Dealer(ir::Module& module, ir::Function& kernel) : kernel_(kernel), builder_(module) {}

  void Spmd(Op* op);
  void For(Op* op);

 private:
  int64_t ExtentOf(const Value* binder) const;
  Value* MakeBlk(Value* start, Value* size, Value* index, const Value* binder);
  /// A name that says what the number is for: `i.count`.
  void SetName(Value* value, const Value* binder, std::string_view what);
  Op* MakeLoop(Op* op, Value* lo, Value* hi, Value* step);

  ir::Function& kernel_;
  ir::Builder builder_;
};

int64_t Dealer::ExtentOf(const Value* binder) const {
  if (binder->type()->kind != ir::TypeKind::Blk) return 1;
  Size extent = kernel_.axis(binder->type()->axes[0]).extent;
  KDL_CHECK(IsConstant(extent) && extent->value > 0, "blocks of {}: select-tiles runs before deal",
            ToString(extent));
  return extent->value;
}

void Dealer::SetName(Value* value, const Value* binder, std::string_view what) {
  if (binder->name().empty() || !value->name().empty() || !value->def()) return;
  std::string name = binder->name().str() + "." + std::string(what);
  value->set_name(builder_.module().context().names.Intern(name));
}

Value* Dealer::MakeBlk(Value* start, Value* size, Value* index, const Value* binder) {
  SetName(size, binder, "size");
  Value* blk = builder_.Make(OpKind::MakeBlk, {start, size, index}, binder->type());
  blk->set_name(binder->name());
  return blk;
}

/// A loop in place of `op`, which its carried values pass through as before.
Op* Dealer::MakeLoop(Op* op, Value* lo, Value* hi, Value* step) {
  std::vector<Value*> inits;
  if (op->kind() == OpKind::For) {
    auto old = ir::ForOp(op).inits();
    inits.assign(old.begin(), old.end());
  }
  std::vector<ir::Type> types;
  for (const Value* init : inits) types.push_back(init->type());
  Op* loop = builder_.Create(OpKind::Loop, {{lo}, {hi}, {step}, inits}, std::move(types));
  builder_.AddParam(loop->region(), builder_.types().ScalarOf(Scalar::I64), {});
  for (size_t i = 0; i < inits.size(); ++i) {
    Value* old = op->region()->param(i + 1);
    old->ReplaceAllUsesWith(builder_.AddParam(loop->region(), old->type(), old->name()));
    loop->result(i)->set_name(op->result(i)->name());
    op->result(i)->ReplaceAllUsesWith(loop->result(i));
  }
  builder_.SetInsertionPoint(loop->region());
  return loop;
}

void Dealer::Spmd(Op* op) {
  const std::vector<Value*> binders = op->region()->params();
  builder_.SetInsertionPoint(op);
  builder_.set_loc(op->loc());
  ir::Type i64 = builder_.types().ScalarOf(Scalar::I64);
  std::vector<BlockRange> ranges;
  std::vector<Value*> counts;
  Value* total = nullptr;
  for (size_t b = 0; b < binders.size(); ++b) {
    ranges.emplace_back(builder_, op->operand(2 * b), op->operand(2 * b + 1), ExtentOf(binders[b]));
    counts.push_back(ranges.back().Count());
    SetName(counts.back(), binders[b], "count");
    total = total ? builder_.Binary(OpKind::Mul, total, counts.back()) : counts.back();
  }
  Value* core_id = builder_.Make(OpKind::CoreId, {}, i64);
  Value* core_num = builder_.Make(OpKind::CoreNum, {}, i64);
  Op* loop = MakeLoop(op, core_id, total, core_num);

  Value* rest = loop->region()->param(0);
  std::vector<Value*> numbers(binders.size());
  for (size_t b = binders.size(); b-- > 0;) {
    numbers[b] = b == 0 ? rest : builder_.Binary(OpKind::Rem, rest, counts[b]);
    if (b > 0) rest = builder_.Binary(OpKind::Div, rest, counts[b]);
  }
  for (size_t b = 0; b < binders.size(); ++b) {
    Value* value = ranges[b].Start(numbers[b]);
    if (binders[b]->type()->kind == ir::TypeKind::Blk) {
      SetName(value, binders[b], "start");
      value = MakeBlk(value, ranges[b].SizeAt(value), numbers[b], binders[b]);
    } else {
      value->set_name(binders[b]->name());
    }
    binders[b]->ReplaceAllUsesWith(value);
  }
  MoveOps(op->region(), loop->region());
  ir::Erase(op);
}

void Dealer::For(Op* op) {
  ir::ForOp loop_over_blocks(op);
  Value* binder = op->region()->param(0);
  int64_t extent = ExtentOf(binder);
  builder_.SetInsertionPoint(op);
  builder_.set_loc(op->loc());
  BlockRange range(builder_, loop_over_blocks.lo(), loop_over_blocks.hi(), extent);
  Op* loop = MakeLoop(op, loop_over_blocks.lo(), loop_over_blocks.hi(), builder_.I64(extent));
  Value* start = loop->region()->param(0);
  start->set_name(binder->name().empty()
                      ? Name()
                      : builder_.module().context().names.Intern(binder->name().str() + ".start"));
  Value* size = range.SizeAt(start);
  Value* blk = MakeBlk(start, size, range.IndexOf(start), binder);
  binder->ReplaceAllUsesWith(blk);
  MoveOps(op->region(), loop->region());
  ir::Erase(op);
}

}  // namespace

void RunDeal(PassContext& context, ir::Function& kernel) {
  Dealer dealer(context.module, kernel);
  for (Op* op : OpsOfKind(kernel, OpKind::For)) dealer.For(op);
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) dealer.Spmd(op);
}

}  // namespace kdl::passes
