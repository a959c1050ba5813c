#pragma once

#include "sema/model/checked.h"
#include "support/diagnostics.h"

namespace kdl::sema {

/// Reports clauses of contracts that become too large. Fns are inlined into contracts, so the number of
/// calls in a clause is limited. The module must have no errors.
void CheckContractGrowth(const CheckedModule& module, DiagnosticEngine& diagnostics);

}  // namespace kdl::sema
