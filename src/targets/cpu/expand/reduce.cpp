#include "ir/eval.h"
#include "targets/cpu/expand/accumulate.h"

// reduce: each element of the result starts from the fold's identity and takes in the value's elements over the folded
// axes.

namespace kdl::cpu {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

Accumulation Singles(Expander& e, const ir::Op* op, Value* value) {
  auto fold = op->attr<AttrKey::Fold>();
  auto acc = op->attr<AttrKey::Acc>();
  OpKind combine = ir::CombineOf(fold);
  auto together = [&e, combine](Value* a, Value* b) { return e.b.Binary(combine, a, b); };
  return {
      op,       op->attr<AttrKey::Axes>(),
      {value},  acc,
      nullptr,  e.b.Bits(acc, ir::FoldIdentity(fold, acc)),
      together, [together](Value* sum, const Values& terms) { return together(sum, terms[0]); }};
}

}  // namespace kdl::cpu
