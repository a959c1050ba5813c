#pragma once

#include <optional>
#include <string>

#include "driver/compile/compile.h"

namespace kdl::tools {

/// Compiles the kernels that --kernel names for the targets in the options. By default, stops once
/// the tile sizes and the layout of the pipes are known. If there is a text, it replaces the contents
/// of the file. `emits` are the forms of code that are generated.
driver::Compilation DecideTargets(driver::Session& session, driver::SelectorAround around = {},
                                  driver::Until until = driver::Until::Pipes,
                                  std::optional<std::string> text = {}, driver::Emits emits = {});

}  // namespace kdl::tools
