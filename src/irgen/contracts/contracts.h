#pragma once

#include <unordered_map>

#include "ir/contract.h"
#include "irgen/contracts/argument_number.h"
#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::irgen {

/// Generates the contracts of all kernels that have one, in source order.
ir::Contracts GenerateContracts(const sema::CheckedModule& checked, const SourceManager& sources,
                                ir::Context& context);

/// Generates the requirement or equation in an `expect` statement of a test. `sizes` maps size names to their
/// values in the test.
ir::Contract GenerateExpectation(const sema::CheckedFunction& checked,
                                 const sema::ExpectInfo& expect, const SourceManager& sources,
                                 const std::unordered_map<Name, Size>& sizes,
                                 const ArgumentNumber& argument, ir::Module& module);

}  // namespace kdl::irgen
