#include "proofs/summands.h"

#include "ir/op_kind.h"

namespace kdl::proofs {

namespace {

constexpr size_t kMostSummands = 8;

/// Adds the summands of a value. Sums of other types wrap at other numbers than the index.
void AddSummands(const Value* value, std::vector<const Value*>& summands) {
  if (summands.size() > kMostSummands) return;
  const Op* def = value->def();
  bool is_sum = def && def->kind() == OpKind::Add && ir::IsScalar(value->type()) &&
                value->type()->scalar == Scalar::I64;
  if (!is_sum) return summands.push_back(value);
  AddSummands(def->operand(0), summands);
  AddSummands(def->operand(1), summands);
}

}  // namespace

std::vector<const Value*> SummandsOf(const AccessView& view, const ir::AccessDim& dim) {
  std::vector<const Value*> summands;
  if (!IsConstant(dim.offset, 0)) return {};
  for (const ir::AccessTerm& term : dim.terms) {
    if (!IsConstant(term.coefficient, 1)) return {};
    AddSummands(view.index[term.operand], summands);
  }
  return summands.size() > kMostSummands ? std::vector<const Value*>() : summands;
}

}  // namespace kdl::proofs
