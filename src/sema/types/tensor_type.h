#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns a type such as `f32[M, 4]`, whose dimensions are sizes. Returns nothing after reporting
/// an error.
std::optional<Type> TensorType(FunctionState& state, const syntax::TypeRef& ref);

}  // namespace kdl::sema
