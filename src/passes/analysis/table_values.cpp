#include "passes/analysis/table_values.h"

#include "ir/eval.h"
#include "ir/views.h"

namespace kdl::passes {

std::optional<std::vector<int64_t>> TableValues(const ir::Value* value) {
  auto load = ir::DynAs<ir::LoadOp>(const_cast<ir::Op*>(value->def()));
  Scalar scalar = value->type()->scalar;
  if (!load || load->mask() || load->otherwise() || !IsInteger(scalar) || scalar == Scalar::U64)
    return std::nullopt;
  const ir::Op* table = load->tensor()->def();
  if (!table || table->kind() != ir::OpKind::Table) return std::nullopt;
  std::vector<int64_t> values;
  for (uint64_t bits : table->attr<ir::AttrKey::Elements>())
    values.push_back(static_cast<int64_t>(ir::EvaluateCast(scalar, Scalar::I64, bits)));
  return values;
}

}  // namespace kdl::passes
