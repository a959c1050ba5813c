#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the requirements that a launch or call checks before anything else. Those of a program that come
/// after its first effect are checked when it reaches them.
std::vector<const Op*> RequirementsOf(const Function& function);

/// Returns whether a size may be negative. Sizes of tensors are not; integer parameters, numbers of a program
/// and differences may be.
bool MayBeNegative(const Function& function, Size size);

bool Holds(CompareKind compare, int64_t left, int64_t right);

/// Returns the message for a violated `require`: its text, then both sides with their values and the
/// dimensions that their sizes come from. `left` and `right` are the texts of the values.
std::string RequirementMessage(const Function& function, const Op* require, std::string_view left,
                               std::string_view right);

/// The same with the placeholders `{index}` and `{bound}` for the values, as in the message of a trap.
std::string RequirementTemplate(const Function& function, const Op* require);

}  // namespace kdl::ir
