#pragma once

#include <optional>

#include "sema/walk/state.h"

// Tables of constants, which are indexed like tensors: `const W: f32[5] = [1.0, 4.0, 6.0, 4.0,
// 1.0];`.

namespace kdl::sema {

/// Evaluates a const whose type has constant dimensions: its type and its elements. Returns false
/// after an error, which is reported.
bool EvaluateTable(FunctionState& state, const syntax::ConstItem& item, Entity& entity);

/// Returns the element of a table that is read at constant indices, or nothing if the indices are
/// not constant.
std::optional<Constant> TableElement(const IndexInfo& index);

}  // namespace kdl::sema
