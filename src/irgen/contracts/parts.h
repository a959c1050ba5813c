#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

/// One of two, of which only that one is evaluated.
std::vector<ir::Value*> GenChoice(FunctionGen& gen, ir::Value* condition,
                                  const std::vector<Scalar>& types, const GenValues& then,
                                  const GenValues& otherwise);
/// What the parts of a value of the type are made in.
std::vector<Scalar> MadeParts(const FunctionGen& gen, const sema::Type& type);
std::vector<ir::Value*> CastParts(FunctionGen& gen, std::vector<ir::Value*> parts,
                                  const std::vector<Scalar>& types);
/// A size as a scalar of this type; of an f64 no bound counts the cast.
ir::Value* GenExactSize(FunctionGen& gen, Size size, Scalar scalar);
/// A new parameter of the clause's function.
ir::Value* AddContractParam(FunctionGen& gen, ir::Type type, Name name, ir::ContractParam param);

}  // namespace kdl::irgen
