#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Reports attributes of which nothing is known, and such whose arguments are not theirs.
void CheckAttributes(FunctionState& state, const std::vector<syntax::Attribute>& attributes);

/// The attribute of that name; null: there is none.
const syntax::Attribute* FindAttribute(const std::vector<syntax::Attribute>& attributes,
                                       std::string_view name);

/// The number that stands alone in the attribute's parentheses; none, reported by CheckAttributes, where it is no such
/// number.
std::optional<int64_t> NumberOf(FunctionState& state, const syntax::Attribute& attribute);

}  // namespace kdl::sema
