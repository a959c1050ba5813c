#include "passes/ragged_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/builder.h"
#include "passes/check_bounds.h"
#include "passes/structured.h"

namespace kdl::passes {

namespace {

using ir::MakeAttr;

/// What a walk over the binder's range goes from and to.
Value* FromOf(const Ragged& ragged) { return ragged.walk->operand(2 * ragged.binder->index()); }
Value* ToOf(const Ragged& ragged) { return ragged.walk->operand(2 * ragged.binder->index() + 1); }

bool Asserts(const ir::Block* block, Name text) {
  for (const Op* op : *block) {
    if (op->kind() == OpKind::Assert && op->attr<AttrKey::Text>() == text) return true;
  }
  return false;
}

/// Whether an op is, or has in it, one of these bounds.
bool Has(const Op* op, const Value* from, const Value* to) {
  bool has = std::ranges::equal(op->operands(), std::array{from, to});
  for (const ir::Block* region : op->regions()) {
    for (const Op* inner : *region) has = has || Has(inner, from, to);
  }
  return has;
}

/// In front of the walk, for the same bounds; several tables may have their checks there, and other walks.
bool HasCheck(const Ragged& ragged, Name text) {
  for (const Op* op = ragged.walk->prev(); op; op = op->prev()) {
    for (const ir::Block* region : op->regions()) {
      if (Asserts(region, text) && Has(op, FromOf(ragged), ToOf(ragged))) return true;
    }
  }
  return false;
}

void Assert(ir::Builder& builder, Value* holds, Name text) {
  builder.Create(OpKind::Assert, {{holds}, {}}, {}, {MakeAttr<AttrKey::Text>(text)});
}

std::string_view SourceOf(const Op* load) { return load->attr<AttrKey::Text>().text(); }

/// A copy of a load of the table, at another index; what is known where the load stands need not hold here.
Value* LoadAt(ir::Builder& builder, const Op* load, const Value* binder, Value* index) {
  ir::ValueMap map;
  map[binder] = index;
  Op* copy = Clone(load, builder, map);
  copy->SetAttr(MakeAttr<AttrKey::Edge>(ir::EdgeKind::Guard));
  return copy->result();
}

}  // namespace

void CheckThatItAscends(PassContext& context, const Ragged& ragged) {
  ir::Module& module = context.module;
  Name text = module.context().names.Intern(
      fmt::format("{} <= {}", SourceOf(ragged.from), SourceOf(ragged.to)));
  if (HasCheck(ragged, text)) return;
  ir::Builder builder(module);
  builder.SetInsertionPoint(ragged.walk);
  builder.set_loc(ragged.to->loc());
  Value* lo = FromOf(ragged);
  Value* hi = ToOf(ragged);
  Op* walk =
      builder.Create(OpKind::Spmd, {{lo, hi}}, {}, {MakeAttr<AttrKey::Deal>(ir::DealKind::Static)});
  Value* number = builder.AddParam(walk->region(), ragged.binder->type(), ragged.binder->name());
  builder.SetInsertionPoint(walk->region());
  Value* from = LoadAt(builder, ragged.from, ragged.binder, number);
  Value* to = LoadAt(builder, ragged.to, ragged.binder, number);
  Assert(builder, builder.Le(from, to), text);
  builder.Create(OpKind::Yield, {{}}, {});
  CheckBoundsIn(context, walk);
}

void CheckThatItIsWhole(PassContext& context, const Ragged& ragged, Size size) {
  ir::Module& module = context.module;
  std::string_view table = ragged.from->operand(0)->name().text();
  Name starts = module.context().names.Intern(
      fmt::format("the first of '{}' is 0, so that all of the output is written", table));
  Name ends = module.context().names.Intern(fmt::format(
      "the last of '{}' is {}, so that all of the output is written", table, ToString(size)));
  Name in_order = module.context().names.Intern(fmt::format(
      "the parts of '{}' are walked in order, so that all of the output is written", table));
  if (HasCheck(ragged, ends)) return;
  ir::Builder builder(module);
  builder.SetInsertionPoint(ragged.walk);
  builder.set_loc(ragged.to->loc());
  Value* lo = FromOf(ragged);
  Value* hi = ToOf(ragged);
  Value* core = builder.CoreId();
  Value* is_first = builder.Eq(core, builder.I64(0));
  Op* branch = MakeBranch(builder, is_first);
  builder.SetInsertionPoint(branch->region(0)->terminator());
  // the load of off[e] at hi: a table of one element more than blocks has it
  Value* from = builder.Cast(LoadAt(builder, ragged.from, ragged.binder, lo), Scalar::I64);
  Value* to = builder.Cast(LoadAt(builder, ragged.from, ragged.binder, hi), Scalar::I64);
  Assert(builder, builder.Le(lo, hi), in_order);
  Assert(builder, builder.Eq(from, builder.I64(0)), starts);
  Value* length = builder.Make(OpKind::SizeOf, {}, lo->type(), {MakeAttr<AttrKey::Size>(size)});
  Assert(builder, builder.Eq(to, length), ends);
  CheckBoundsIn(context, branch);
}

}  // namespace kdl::passes
