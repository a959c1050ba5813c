#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

using ir::AttrKey;
using ir::OpKind;

Accumulation AccumulationOf(Expander& e, const ir::Op* op) {
  return op->kind() == OpKind::Reduce ? ReduceAccumulation(e, op) : ContractAccumulation(e, op);
}

void ExpandFold(Expander& e, const ir::Op* op) {
  if (e.taken_along.contains(op)) return;
  Accumulation what = AccumulationOf(e, op);
  bool lanes = op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
  lanes ? AccumulateLanes(e, what) : AccumulateChain(e, what);
}

}  // namespace kdl::cpu
