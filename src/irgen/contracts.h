#pragma once

#include <functional>
#include <vector>

#include "ir/contract.h"
#include "sema/checked.h"

namespace kdl::irgen {

/// The contracts of the kernels and programs that have one, in the order of the functions.
std::vector<ir::Contract> GenerateContracts(const sema::CheckedModule& checked);

/// Which argument of the contract a parameter or local name is.
using ArgumentNumber = std::function<uint32_t(const sema::Entity*)>;

/// Adds what `requires` and `ensures` say to a contract.
void AddContract(const sema::CheckedFunction& checked, const ArgumentNumber& argument,
                 ir::Contract& contract);

}  // namespace kdl::irgen
