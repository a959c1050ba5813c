#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

/// Generates a choice between two lists of values. Only the chosen list is evaluated.
std::vector<ir::Value*> GenChoice(FunctionGen& gen, ir::Value* condition,
                                  const std::vector<Scalar>& types, const GenValues& then,
                                  const GenValues& otherwise);
/// Returns the scalar types in which the contract computes the parts of a value: the elements of a tuple,
/// otherwise the value itself.
std::vector<Scalar> MadeParts(const FunctionGen& gen, const sema::Type& type);
std::vector<ir::Value*> CastParts(FunctionGen& gen, std::vector<ir::Value*> parts,
                                  const std::vector<Scalar>& types);
/// Returns a size as a scalar of the given type. The conversion to f64 adds nothing to the error bound.
ir::Value* GenExactSize(FunctionGen& gen, Size size, Scalar scalar);
/// Adds a parameter to the clause's function.
ir::Value* AddContractParam(FunctionGen& gen, ir::Type type, Name name, ir::ContractParam param);

}  // namespace kdl::irgen
