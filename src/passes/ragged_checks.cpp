#include "passes/ragged_checks.h"

#include <fmt/format.h>

#include "ir/builder.h"

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::MakeAttr;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Where the walk's bounds are; several tables may have their checks there.
bool HasCheck(const Op* walk, Name text) {
  for (const Op* op = walk->prev(); op; op = op->prev()) {
    for (const ir::Block* region : op->regions()) {
      for (const Op* inner : *region) {
        bool same = inner->kind() == OpKind::Assert && inner->attr<AttrKey::Text>() == text;
        if (same) return true;
      }
    }
  }
  return false;
}

void Assert(ir::Builder& builder, Value* holds, Name text) {
  builder.Create(OpKind::Assert, {{holds}, {}}, {}, {MakeAttr<AttrKey::Text>(text)});
}

std::string_view TextOf(const Op* load) { return load->attr<AttrKey::Text>().text(); }

size_t NumberOf(const Ragged& ragged) { return ragged.binder->index(); }

/// A copy of a load of the table, at another index; what is known where the load stands need not hold here.
Value* LoadAt(ir::Builder& builder, const Op* load, const Value* binder, Value* index) {
  ir::ValueMap map;
  map[binder] = index;
  Op* copy = Clone(load, builder, map);
  copy->SetAttr(MakeAttr<AttrKey::Edge>(ir::EdgeKind::Guard));
  return copy->result();
}

}  // namespace

void CheckThatItAscends(ir::Module& module, const Ragged& ragged) {
  Name text = module.context().names.Intern(
      fmt::format("{} <= {}", TextOf(ragged.from), TextOf(ragged.to)));
  if (HasCheck(ragged.walk, text)) return;
  ir::Builder builder(module);
  builder.SetInsertionPoint(ragged.walk);
  builder.set_loc(ragged.to->loc());
  Value* lo = ragged.walk->operand(2 * NumberOf(ragged));
  Value* hi = ragged.walk->operand(2 * NumberOf(ragged) + 1);
  Op* walk =
      builder.Create(OpKind::Spmd, {{lo, hi}}, {}, {MakeAttr<AttrKey::Deal>(ir::DealKind::Static)});
  Value* number = builder.AddParam(walk->region(), ragged.binder->type(), ragged.binder->name());
  builder.SetInsertionPoint(walk->region());
  Value* from = LoadAt(builder, ragged.from, ragged.binder, number);
  Value* to = LoadAt(builder, ragged.to, ragged.binder, number);
  Assert(builder, builder.Binary(OpKind::Le, from, to), text);
  builder.Create(OpKind::Yield, {{}}, {});
}

void CheckThatItIsWhole(ir::Module& module, const Ragged& ragged, Size size) {
  std::string_view table = ragged.from->operand(0)->name().text();
  Name starts = module.context().names.Intern(
      fmt::format("the first of '{}' is 0, so that all of the output is written", table));
  Name ends = module.context().names.Intern(fmt::format(
      "the last of '{}' is {}, so that all of the output is written", table, ToString(size)));
  if (HasCheck(ragged.walk, ends)) return;
  ir::Builder builder(module);
  builder.SetInsertionPoint(ragged.walk);
  builder.set_loc(ragged.to->loc());
  Value* lo = ragged.walk->operand(2 * NumberOf(ragged));
  Value* hi = ragged.walk->operand(2 * NumberOf(ragged) + 1);
  Value* core = builder.Make(OpKind::CoreId, {}, lo->type());
  Value* is_first = builder.Binary(OpKind::Eq, core, builder.I64(0));
  Op* branch = builder.Create(OpKind::If, {{is_first}}, {});
  builder.SetInsertionPoint(branch->region(0));
  // the load of off[e] at hi: a table of one element more than blocks has it
  Value* from = builder.Cast(LoadAt(builder, ragged.from, ragged.binder, lo), Scalar::I64);
  Value* to = builder.Cast(LoadAt(builder, ragged.from, ragged.binder, hi), Scalar::I64);
  Assert(builder, builder.Binary(OpKind::Eq, from, builder.I64(0)), starts);
  Value* length = builder.Make(OpKind::SizeOf, {}, lo->type(), {MakeAttr<AttrKey::Size>(size)});
  Assert(builder, builder.Binary(OpKind::Eq, to, length), ends);
  builder.Create(OpKind::Yield, {{}}, {});
  builder.SetInsertionPoint(branch->region(1));
  builder.Create(OpKind::Yield, {{}}, {});
}

}  // namespace kdl::passes
