#pragma once

#include "codegen/common/source_variables.h"
#include "sema/model/checked.h"
#include "support/names.h"
#include "support/source.h"

namespace kdl::driver {

/// Returns the variables of all fns and kernels. The result does not refer to the syntax tree.
codegen::SourceVariables CollectVariables(const sema::CheckedModule& checked,
                                          const SourceManager& sources, Names& names);

}  // namespace kdl::driver
