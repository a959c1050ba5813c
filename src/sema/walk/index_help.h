#pragma once

#include <string>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Says how to index a tensor that is used as a whole: by the ranges over its dimensions that are visible or, if there are
/// none, in a loop over its blocks. `rest` follows the index.
std::string HelpForIndexing(const FunctionState& state, const Entity& tensor,
                            std::string_view rest = {});

}  // namespace kdl::sema
