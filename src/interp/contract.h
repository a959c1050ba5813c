#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "interp/contract_data.h"
#include "ir/contract.h"

namespace kdl::interp {

/// The values of a requirement's indices for which it does not hold, at most `most` in all.
std::vector<ContractFailure> BrokenRequirements(const ir::Contract& contract,
                                                const ContractData& data, size_t most);

/// The first equation that does not hold, at its worst element.
std::optional<ContractFailure> BrokenEquation(const ir::Contract& contract,
                                              const ContractData& data);

/// How many terms BrokenEquation evaluates at these sizes, about.
double TermsOf(const ir::Contract& contract,
               const std::function<std::optional<int64_t>(Name)>& size);

}  // namespace kdl::interp
