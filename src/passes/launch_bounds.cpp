#include "passes/launch_bounds.h"

#include "ir/builder.h"
#include "ir/tensor_view.h"

namespace kdl::passes {

using ir::CompareKind;
using ir::MakeAttr;

bool LaunchBounds::Add(const AccessView& view, const OpenIndex& open) {
  bool is_argument = ir::MemoryOf(view.tensor)->def() == nullptr;  // other sizes may use core_num
  bool eligible = function_.kind == ir::FunctionKind::Kernel && is_argument &&
                  view.op->kind() != OpKind::Update && reach_.IsAlways(view);
  std::optional<Size> any = eligible ? AnyTurn(view) : std::nullopt;
  if (!any) return false;
  Poly index = terms_.OfIndex(view, open.dim);
  std::optional<Poly> least = reach_.Extreme(index, false);
  std::optional<Poly> most = reach_.Extreme(index, true);
  std::optional<Size> from = least ? SizeOf(*least) : std::nullopt;
  std::optional<Size> to = most ? SizeOf(*most + 1) : std::nullopt;
  if (!from || !to) return false;
  SizeTable& sizes = module_.types().sizes();
  if (open.below)
    Require(view, open, sizes.Binary(SizeKind::Mul, *any, *from), CompareKind::Ge,
            sizes.Constant(0));
  if (open.above) {
    Size behind = sizes.Binary(SizeKind::Mul, *any, *to);
    Require(view, open, sizes.Binary(SizeKind::Sub, behind, sizes.Constant(1)), CompareKind::Lt,
            view.tensor->type()->dims[open.dim]);
  }
  return true;
}

/// 1 where all loops around the access have turns, else 0.
std::optional<Size> LaunchBounds::AnyTurn(const AccessView& view) {
  SizeTable& sizes = module_.types().sizes();
  std::optional<std::vector<Poly>> turns = reach_.Turns(view);
  if (!turns) return std::nullopt;
  Size any = sizes.Constant(1);
  for (const Poly& count : *turns) {
    if (std::optional<int64_t> known = count.AsConstant(); known && *known > 0) continue;
    std::optional<Size> size = SizeOf(count);
    if (!size) return std::nullopt;
    Size most = *size;
    PointSet below = instances_.Launch() & instances_.Compare(CompareKind::Lt, count, 0);
    if (!instances_.WithFacts(below).IsSurelyEmpty()) {
      Size negative = sizes.Binary(SizeKind::Min, *size, sizes.Constant(0));
      most = sizes.Binary(SizeKind::Sub, *size, negative);
    }
    any = sizes.Binary(SizeKind::Mul, any, sizes.Binary(SizeKind::Min, sizes.Constant(1), most));
  }
  return any;
}

std::optional<Size> LaunchBounds::SizeOf(const Poly& poly) {
  if (!reach_.IsOfLaunch(poly)) return std::nullopt;
  SizeTable& sizes = module_.types().sizes();
  Size sum = sizes.Constant(poly.constant());
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (monomial.empty()) continue;
    Size product = sizes.Constant(coefficient);
    for (AtomId atom : monomial)
      product = sizes.Binary(SizeKind::Mul, product, sizes.Symbol(terms_.Facts(atom).symbol));
    sum = sizes.Binary(SizeKind::Add, sum, product);
  }
  return sum;
}

/// Once for all accesses that say the same.
void LaunchBounds::Require(const AccessView& view, const OpenIndex& open, Size index,
                           CompareKind compare, Size bound) {
  Name text = view.op->attr<AttrKey::Text>();
  for (Op* op : *function_.body) {
    if (op->kind() == OpKind::Require) {
      bool same = op->attr<AttrKey::Left>() == index && op->attr<AttrKey::Compare>() == compare &&
                  op->attr<AttrKey::Right>() == bound && op->attr<AttrKey::Text>() == text;
      if (same) return;
      continue;
    }
    ir::Builder builder(module_);
    builder.SetInsertionPoint(op);
    builder.set_loc(view.op->loc());
    const Op* require =
        builder.Create(OpKind::Require, {}, {},
                       {MakeAttr<AttrKey::Left>(index), MakeAttr<AttrKey::Compare>(compare),
                        MakeAttr<AttrKey::Right>(bound), MakeAttr<AttrKey::Text>(text),
                        MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(open.dim))});
    if (!open.is_wrong) instances_.Require(require);  // else no launch is left to speak of
    return;
  }
}

}  // namespace kdl::passes
