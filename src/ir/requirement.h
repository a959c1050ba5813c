#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace kdl::ir {

bool Holds(CompareKind compare, int64_t left, int64_t right);

/// What to say of a `require` that sizes break: its text, then its sides, their values and the dimensions that the sizes in them
/// come from. `left` and `right` stand for the values.
std::string RequirementMessage(const Function& function, const Op* require, std::string_view left,
                               std::string_view right);

/// The same for who learns the values later: `{index}` and `{bound}` stand for them, as in the message of a trap.
std::string RequirementTemplate(const Function& function, const Op* require);

}  // namespace kdl::ir
