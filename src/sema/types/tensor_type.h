#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// `f32[M, 4]`, with sizes; nothing, reported, where a part is faulty.
std::optional<Type> TensorType(FunctionState& state, const syntax::TypeRef& ref);

}  // namespace kdl::sema
