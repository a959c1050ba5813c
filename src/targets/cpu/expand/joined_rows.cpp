#include "targets/cpu/expand/joined_rows.h"

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

Value* JoinRows(ir::Builder& b, Value* tensor) {
  std::vector<Size> dims = tensor->type()->dims;
  Size length = dims.back();
  dims.pop_back();
  dims.back() = b.types().sizes().Binary(SizeKind::Mul, dims.back(), length);
  ir::Type type = b.types().Tensor(tensor->type()->scalar, dims);
  auto dimension = static_cast<int64_t>(dims.size()) - 1;
  return MakeOne(b, OpKind::JoinRows, {{tensor}}, type,
                 {ir::MakeAttr<AttrKey::Dimension>(dimension)});
}

Value* DoRowsAdjoin(Expander& e, const std::vector<Value*>& tensors) {
  Value* all = e.b.Bool(true);
  for (Value* tensor : tensors) {
    Value* adjoin =
        MakeOne(e.b, OpKind::RowsAdjoin, {{e.Scalar(tensor)}}, e.ScalarType(kdl::Scalar::Bool));
    all = e.b.And(all, adjoin);
  }
  return all;
}

}  // namespace kdl::cpu
