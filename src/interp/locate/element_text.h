#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "interp/locate/op_pair.h"

namespace kdl::interp {

/// Those elements of an operand from which one element of an op's result is computed.
struct OperandPart {
  const ir::Value* value = nullptr;
  size_t count = 0;
  bool has_nan = false;
  bool has_infinity = false;
  double largest = 0;        ///< the element with the largest magnitude
  double largest_exact = 0;  ///< the same element in f64
  std::string largest_at;  ///< its indices along the axes over which it is reduced, such as `k = 5`
};

/// Returns the parts of the float operands from which element number `element` of the result is computed.
std::vector<OperandPart> OperandParts(const OpPair& op, size_t element);

/// Returns the name of the variable that a value belongs to; empty if it has none.
std::string_view VariableOf(const ir::Value& value);

/// Returns the indices of an element of the result and of the loops around it, such as `i = 3, k = 32 .. 63`.
std::string IndicesOf(const OpPair& op, size_t element);

std::string NumberText(double value);

}  // namespace kdl::interp
