#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interp/contract.h"
#include "ir/contract.h"

namespace kdl::tools {

/// A number: for a float its value; for an integer its position in the order of its type
/// (driver/run/draw.h); for a bool 0 or 1.
struct Number {
  double real = 0;
  int64_t integer = 0;
};

/// Lower and upper bounds of elements, both inclusive.
struct Bounds {
  std::optional<Number> low;
  std::optional<Number> high;
};

/// The indices of one dimension from `first` to `last`, both inclusive.
struct IndexRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  bool Has(int64_t index) const { return first <= index && index <= last; }
};

/// Bounds for the elements whose indices are in the ranges. The index of a scalar is empty.
struct BoundRule {
  std::vector<IndexRange> index;
  Bounds bounds;
};

/// The requirements for one argument in a form that inputs can be generated from.
struct InputRule {
  std::vector<BoundRule> bounds;
  bool ascending = false;  ///< along the last dimension
  bool distinct = false;   ///< all elements differ along the last dimension
};

/// Returns the rule of each argument. Requirements in any other form must be met by trial and
/// error.
std::map<uint32_t, InputRule> ReadRules(const ir::Contract& contract,
                                        const interp::ContractData& data);

}  // namespace kdl::tools
