#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interp/contract.h"
#include "ir/contract.h"

namespace kdl::tools {

/// A bound for elements. For a float, it is the value. For an integer, it is the position in the
/// order of the type (see driver/run/draw.h). For a bool, it is 0 or 1.
struct Number {
  double real = 0;
  int64_t integer = 0;
};

/// The lower and upper bounds of elements, both inclusive.
struct Bounds {
  std::optional<Number> low;
  std::optional<Number> high;
};

/// The indices from `first` to `last` in one dimension, both inclusive.
struct IndexRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  bool Has(int64_t index) const { return first <= index && index <= last; }
};

/// Bounds for the elements whose indices are in the given ranges. For a scalar, `index` is empty.
struct BoundRule {
  std::vector<IndexRange> index;
  Bounds bounds;
};

/// The requirements on one argument, in a form from which inputs can be generated.
struct InputRule {
  std::vector<BoundRule> bounds;
  bool ascending = false;  ///< along the last dimension
  bool distinct = false;   ///< all elements differ along the last dimension
};

/// Returns the rule for each argument. Requirements that an InputRule cannot express are not
/// included, and must be met by trial and error.
std::map<uint32_t, InputRule> ReadRules(const ir::Contract& contract,
                                        const interp::ContractData& data);

}  // namespace kdl::tools
