#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// What a launch or call is asked before anything else: of a program those after its first effect are asked when it comes
/// to them.
std::vector<const Op*> RequirementsOf(const Function& function);

/// Sizes of tensors are not; integer parameters, numbers of a program, and what is subtracted, may be.
bool MayBeNegative(const Function& function, Size size);

bool Holds(CompareKind compare, int64_t left, int64_t right);

/// What to say of a `require` that sizes break: its text, then its sides, their values and the dimensions that the sizes in them
/// come from. `left` and `right` stand for the values.
std::string RequirementMessage(const Function& function, const Op* require, std::string_view left,
                               std::string_view right);

/// The same for who learns the values later: `{index}` and `{bound}` stand for them, as in the message of a trap.
std::string RequirementTemplate(const Function& function, const Op* require);

}  // namespace kdl::ir
