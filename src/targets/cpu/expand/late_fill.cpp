#include "targets/cpu/expand/expander.h"

//   %z = nest { yield %value }                          %z: where the loop does not run, filled after all
//   %s = loop %n in %lo .. %hi carry(%t = %z) {    ->   loop … { where %n == %lo the registers start from %value,
//     %u = contraction %a, %b into %t                              else from the scratch of %t }
//     yield %u }

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// The only use of a value, where it has one.
const ir::Use* OnlyUse(const Value* value) {
  return value->uses().size() == 1 ? &value->uses()[0] : nullptr;
}

}  // namespace

const Op* AccumulatorOf(const Op* loop, size_t carried) {
  const ir::Use* into = OnlyUse(loop->region()->param(carried + 1));
  if (!into || into->user->kind() != OpKind::Contraction || into->user->block() != loop->region())
    return nullptr;
  const Op* contraction = into->user;
  const ir::Use* next = OnlyUse(contraction->result());
  bool accumulates = into->operand == contraction->SegmentBegin(ir::ContractionOp::at_into) &&
                     contraction->attr<ir::AttrKey::Order>() == ir::OrderKind::Chain && next &&
                     next->user == loop->region()->terminator() && next->operand == carried;
  return accumulates ? contraction : nullptr;
}

bool FillsAccumulators(const Op* nest) {
  const Op* yield = nest->region()->first();
  if (nest->results().size() != 1 || yield->kind() != OpKind::Yield) return false;
  const ir::Use* init = OnlyUse(nest->result());
  if (!init || init->user->kind() != OpKind::Loop || init->user->block() != nest->block())
    return false;
  const Op* loop = init->user;
  return AccumulatorOf(loop, init->operand - loop->SegmentBegin(ir::LoopOp::at_inits));
}

const Op* LateFillOf(const Value* init) {
  const Op* fill = init->def();
  return fill && fill->kind() == OpKind::Nest && FillsAccumulators(fill) ? fill : nullptr;
}

}  // namespace kdl::cpu
