#pragma once

#include <cstdint>

#include "ir/contract.h"

namespace kdl::interp {

/// A value of a contract. Which half counts follows from the node's type: a bool is 0 or 1.
struct ContractValue {
  double real = 0;
  int64_t integer = 0;
  /// A of the tolerance, above 0 for floats only: how far, in units of a rounding, a computation of the value in another
  /// precision may be off.
  double error = 0;
};

ContractValue RealValue(double real, double error);
ContractValue IntegerValue(int64_t integer);

/// The number as an integer type holds it.
int64_t Wrapped(Scalar scalar, int64_t value);
/// bits and from_bits: of a value as the float type holds it, and of the integer that is its pattern.
ContractValue PatternOf(Scalar scalar, const ContractValue& value);
ContractValue OfPattern(Scalar integer, const ContractValue& pattern);

/// map(operands), operands of the type `operand`; an integer divisor is not 0.
ContractValue EvaluateMap(ir::ContractMap map, Scalar operand, Scalar result,
                          const ContractValue* operands);

/// a * b where 0 times infinity is 0: an error that nothing multiplies stays away.
double ErrorProduct(double derivative, double error);

}  // namespace kdl::interp
