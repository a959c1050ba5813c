#include "ir/eval.h"
#include "passes/expand/accumulate.h"

// reduce: each element of the result starts from the fold's identity and takes in the value's elements over the folded
// axes.

namespace kdl::passes {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

Accumulation ReduceAccumulation(Expander& e, const ir::Op* op) {
  ir::ReduceOp reduce(const_cast<ir::Op*>(op));
  auto fold = op->attr<AttrKey::Fold>();
  auto acc = op->attr<AttrKey::Acc>();
  OpKind combine = ir::CombineOf(fold);
  auto step = [&e, combine](const Values& sum, const Values& terms) -> Values {
    return {e.b.Binary(combine, sum[0], terms[0])};
  };
  return {op,
          op->attr<AttrKey::Axes>(),
          {reduce.value()},
          {acc},
          Bytes(acc),
          nullptr,
          {e.b.Bits(acc, ir::FoldIdentity(fold, acc))},
          step,
          step};
}

}  // namespace kdl::passes
