#include "ir/eval.h"
#include "passes/expand/accumulate.h"

// reduce: each element of the result starts from the fold's identity and takes in the value's elements over the folded
// axes.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

/// By FoldKind.
constexpr OpKind kCombine[] = {OpKind::Add, OpKind::Mul, OpKind::Max,
                               OpKind::Min, OpKind::Or,  OpKind::And};

}  // namespace

Accumulation ReduceAccumulation(Expander& e, const ir::Op* op) {
  ir::ReduceOp reduce(const_cast<ir::Op*>(op));
  auto fold = op->attr<AttrKey::Fold>();
  auto acc = op->attr<AttrKey::Acc>();
  OpKind combine = kCombine[static_cast<size_t>(fold)];
  return {op,
          op->attr<AttrKey::Axes>(),
          {reduce.value()},
          acc,
          nullptr,
          e.b.Bits(acc, ir::FoldIdentity(fold, acc)),
          combine,
          [&e, combine](Value* sum, const Values& terms) {
            return e.b.Binary(combine, sum, terms[0]);
          }};
}

}  // namespace kdl::passes
