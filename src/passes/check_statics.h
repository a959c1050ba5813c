#pragma once

#include "passes/pass_manager.h"

namespace kdl::passes {

/// Reports the static assertions in kernels that are false for every target, because they only depend on
/// numbers and on integer parameters whose values are known. check-statics reports the others.
void ReportFalseStatics(PassContext& context);

}  // namespace kdl::passes
