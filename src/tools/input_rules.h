#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interp/contract.h"
#include "ir/contract.h"

namespace kdl::tools {

/// Of a float its value, of another scalar its number.
struct Number {
  double real = 0;
  int64_t integer = 0;
};

/// An end of an interval.
struct Limit {
  Number value;
  bool open = false;  ///< the value itself is outside; of floats only
};

/// What `requires` says of one argument in a form that inputs can be made from.
struct InputRule {
  std::optional<Limit> low;
  std::optional<Limit> high;
  bool ascending = false;                                      ///< along the last dimension
  bool distinct = false;                                       ///< no two are equal there
  std::vector<std::pair<std::vector<int64_t>, Number>> fixed;  ///< elements
};

/// By argument. Requirements of another form are left to be tried.
std::map<uint32_t, InputRule> ReadRules(const ir::Contract& contract,
                                        const interp::ContractData& data);

}  // namespace kdl::tools
