#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the requirements that a launch or call checks before anything else. Requirements that come after
/// the first effect of a program are checked when the program reaches them.
std::vector<const Op*> RequirementsOf(const Function& function);

/// Returns whether a size may be negative. Sizes of tensors are not negative, but integer parameters, numbers
/// that a program computes, and differences may be negative.
bool MayBeNegative(const Function& function, Size size);

bool Holds(CompareKind compare, int64_t left, int64_t right);

/// Returns the part of a requirement's text that states its right or left side, such as `M * N` in `M * N < 8`. Returns
/// the whole text if that part is not clear.
std::string_view SideSource(const Op* require, bool is_right);

/// Returns the message for a violated `require`: its text, both sides with their values, and the dimensions
/// from which the sizes come. `left` and `right` are the values as text.
std::string RequirementMessage(const Function& function, const Op* require, std::string_view left,
                               std::string_view right);

/// Returns the message for a violated `require` with the placeholders `{index}` and `{bound}` in place of the
/// values, as in the message of a trap.
std::string RequirementTemplate(const Function& function, const Op* require);

}  // namespace kdl::ir
