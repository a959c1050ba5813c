#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "interp/run.h"
#include "ir/op.h"
#include "support/source.h"

namespace kdl::interp {

/// What a contract speaks of in one run, by argument number. A scalar has no sizes.
struct ContractData {
  std::vector<TensorArgument> now;
  std::vector<const void*> old;  ///< before the run, laid out as `now`; null where nothing is kept
  std::function<std::optional<int64_t>(Name)> size;
};

/// An element of an argument.
struct ContractElement {
  uint32_t argument = 0;
  std::vector<int64_t> index;
};

/// What is wrong, as a message says it.
struct ContractFailure {
  Span span;
  std::string text;
  bool malformed =
      false;  ///< the contract itself could not be evaluated: it divides by 0 or reads outside
  ir::Loc loc = {};                            ///< of what is malformed
  std::vector<ContractElement> elements = {};  ///< of a requirement: those that it read
};

}  // namespace kdl::interp
