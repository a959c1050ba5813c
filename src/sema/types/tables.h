#pragma once

#include <optional>

#include "sema/walk/state.h"

// `const W: f32[5] = [1.0, 4.0, 6.0, 4.0, 1.0];`: tables of constants, indexed as tensors are.

namespace kdl::sema {

/// The type of a const whose type has dimensions, which are constants, and its elements; false where it is faulty, reported.
bool EvaluateTable(FunctionState& state, const syntax::ConstItem& item, Entity& entity);

/// The element of a table that is read at indices which are all constants; nothing for another access.
std::optional<Constant> TableElement(const IndexInfo& index);

}  // namespace kdl::sema
