#include "passes/checks/launch_bounds.h"

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "passes/names.h"

namespace kdl::passes {

using ir::CompareKind;
using ir::MakeAttr;
using proofs::AccessView;
using proofs::OpenIndex;

bool LaunchBounds::Add(const AccessView& view, const OpenIndex& open) {
  // If the tensor is not an argument, its size may depend on `core_num`, which the check before the launch
  // does not know.
  bool is_argument = ir::MemoryOf(view.tensor)->def() == nullptr;
  bool eligible = function_.kind == ir::FunctionKind::Kernel && is_argument &&
                  view.op->kind() != OpKind::Update;
  std::optional<proofs::IndexEnds> ends =
      eligible ? inside_.FindIndexEnds(view, open.dim) : std::nullopt;
  if (!ends) return false;
  SizeTable& sizes = module_.types().sizes();
  if (open.below)
    Require(view, open, sizes.Binary(SizeKind::Mul, ends->any, ends->from), CompareKind::Ge,
            sizes.Constant(0));
  if (open.above) {
    Size after = sizes.Binary(SizeKind::Mul, ends->any, ends->to);
    Require(view, open, sizes.Binary(SizeKind::Sub, after, sizes.Constant(1)), CompareKind::Lt,
            view.tensor->type()->dims[open.dim]);
  }
  return true;
}

/// Adds the condition, unless another access has already added the same condition.
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
    // If the index is always out of bounds, no launch passes the check. Proofs must not assume that a launch
    // has passed it.
    if (!open.outside) inside_.Require(require);
    return;
  }
}

}  // namespace kdl::passes
