#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Reports unknown attributes, and attributes with wrong arguments. Returns false if one of them is the second operand of
/// a product of matrices, as in `a @ b`, so that the statement means something else.
bool CheckAttributes(FunctionState& state, const std::vector<syntax::Attribute>& attributes);

/// Returns the attribute with this name, or null.
const syntax::Attribute* FindAttribute(const std::vector<syntax::Attribute>& attributes,
                                       std::string_view name);

/// Returns the number that is the only argument of the attribute. Returns nothing if the argument is wrong,
/// which CheckAttributes reports.
std::optional<int64_t> AttributeNumber(FunctionState& state, const syntax::Attribute& attribute);

}  // namespace kdl::sema
