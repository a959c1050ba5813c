#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the type `f32[M, 4]`, whose dimensions are sizes, or reports an error and returns
/// nothing.
std::optional<Type> TensorType(FunctionState& state, const syntax::TypeRef& ref);

}  // namespace kdl::sema
