#pragma once

#include <string>

#include "driver/compile/front_end.h"

namespace kdl::driver {

/// What the runtime knows the compiled module as, `ops#1f2e3d4c`: its name, and a hash of what was read and of -D. Files of one
/// name in different libraries are different modules, wherever they meet.
std::string RuntimeName(const Session& session, const Lowered& made);

/// The same as a part of symbols: `ops.1f2e3d4c`.
std::string SymbolPrefix(const Session& session, const Lowered& made);

}  // namespace kdl::driver
