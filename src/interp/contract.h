#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "interp/contract_data.h"
#include "ir/contract.h"

namespace kdl::interp {

/// Returns at most `most` violations of requirements, each with the index values for which it occurs.
std::vector<ContractFailure> BrokenRequirements(const ir::Contract& contract,
                                                const ContractData& data, size_t most);

/// Returns the first violated equation, with the element that has the largest error.
std::optional<ContractFailure> BrokenEquation(const ir::Contract& contract,
                                              const ContractData& data);

/// Returns the approximate number of terms that BrokenEquation evaluates for these sizes.
double TermCount(const ir::Contract& contract,
                 const std::function<std::optional<int64_t>(Name)>& size);

}  // namespace kdl::interp
