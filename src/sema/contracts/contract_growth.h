#pragma once

#include "sema/model/checked.h"
#include "support/diagnostics.h"

namespace kdl::sema {

/// Contracts have the bodies of the fns that they call in place of the calls: each clause stays within a number of these. Of
/// a module without errors.
void CheckContractGrowth(const CheckedModule& module, DiagnosticEngine& diagnostics);

}  // namespace kdl::sema
