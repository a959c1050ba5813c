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

/// What an `expect` of a test says: a requirement, or an equation.
ir::Contract GenerateExpectation(const sema::CheckedFunction& checked,
                                 const sema::ExpectInfo& expect, const ArgumentNumber& argument);

}  // namespace kdl::irgen
