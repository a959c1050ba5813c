#pragma once

#include <optional>

#include "sema/walk/state.h"

// Tables of constants, which are indexed like tensors: `const W: f32[5] = [1.0, 4.0, 6.0, 4.0, 1.0];`.

namespace kdl::sema {

/// Evaluates a const whose type has constant dimensions, and sets the type and elements of its entity.
/// Returns false after reporting an error.
bool EvaluateTable(FunctionState& state, const syntax::ConstItem& item, Entity& entity);

/// Returns the element that an access reads from a table, or nothing if an index is not constant.
std::optional<Constant> TableElement(const IndexInfo& index);

}  // namespace kdl::sema
