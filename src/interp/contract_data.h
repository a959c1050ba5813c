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

/// The arguments of one run to which a contract refers, by argument number. A scalar has no sizes.
struct ContractData {
  std::vector<TensorArgument> now;
  /// The contents before the run, laid out as in `now`; null if they were not kept.
  std::vector<const void*> old;
  std::function<std::optional<int64_t>(Name)> size;
};

/// An element of an argument.
struct ContractElement {
  uint32_t argument = 0;
  std::vector<int64_t> index;
};

/// What is wrong, for a message.
struct ContractFailure {
  Span span;
  std::string text;
  /// Whether the contract itself could not be evaluated: it divides by 0 or reads outside.
  bool malformed = false;
  ir::Loc loc = {};                            ///< where it could not be evaluated
  std::vector<ContractElement> elements = {};  ///< of a requirement: the elements that it read
};

}  // namespace kdl::interp
