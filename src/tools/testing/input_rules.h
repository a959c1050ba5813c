#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interp/contract.h"
#include "ir/contract.h"

namespace kdl::tools {

/// Of a float its value, of an integer its place in the order of its type (driver/draw.h), of a bool 0 or 1.
struct Number {
  double real = 0;
  int64_t integer = 0;
};

/// What elements are at least and at most.
struct Bounds {
  std::optional<Number> low;
  std::optional<Number> high;
};

/// Indices of one dimension, from the first on up to the last.
struct IndexRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  bool Has(int64_t index) const { return first <= index && index <= last; }
};

/// Bounds of the elements whose index is in the ranges. A scalar has an empty index.
struct BoundRule {
  std::vector<IndexRange> index;
  Bounds bounds;
};

/// What `requires` says of one argument in a form that inputs can be made from.
struct InputRule {
  std::vector<BoundRule> bounds;
  bool ascending = false;  ///< along the last dimension
  bool distinct = false;   ///< no two are equal there
};

/// By argument. Requirements of another form are left to be tried.
std::map<uint32_t, InputRule> ReadRules(const ir::Contract& contract,
                                        const interp::ContractData& data);

}  // namespace kdl::tools
