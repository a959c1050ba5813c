#include "sema/types/tensor_type.h"

#include "sema/types/sizes.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

std::optional<Type> TensorType(FunctionState& state, const syntax::TypeRef& ref) {
  Type type;
  type.kind = TypeKind::Tensor;
  std::optional<Scalar> scalar = ResolveScalar(state, ref.name);
  bool ok = scalar.has_value();
  for (const syntax::Expr* dim : ref.dims) {
    type.dims.push_back(CheckDim(state, dim));
    ok = ok && type.dims.back() != nullptr;
  }
  type.scalar = scalar.value_or(type.scalar);
  ok = CheckRank(state, ref) && ok;
  return ok ? std::optional(std::move(type)) : std::nullopt;
}

}  // namespace kdl::sema
