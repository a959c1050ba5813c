#pragma once

#include "driver/compile/compile.h"

namespace kdl::tools {

/// A compile for the targets that the options name, up to where their tiles and pipes are decided, of the kernels that
/// --kernel names.
driver::Compilation DecideTargets(driver::Session& session, driver::SelectorAround around = {});

}  // namespace kdl::tools
