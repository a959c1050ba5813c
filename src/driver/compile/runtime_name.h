#pragma once

#include <string>

#include "driver/compile/front_end.h"

namespace kdl::driver {

/// Returns the name of the compiled module in the runtime, such as `ops#1f2e3d4c`. It consists of
/// the module's name and a hash of the sources and the -D options, so that modules of the same name
/// from different libraries can be used together.
std::string RuntimeName(const Session& session, const Lowered& made);

/// Returns the module's name in the runtime in the form used as a symbol prefix: `ops.1f2e3d4c`.
std::string SymbolPrefix(const Session& session, const Lowered& made);

}  // namespace kdl::driver
