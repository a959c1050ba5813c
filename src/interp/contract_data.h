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

/// The arguments of one run to which a contract refers. They are indexed by the numbers of the arguments. A
/// scalar has no sizes.
struct ContractData {
  std::vector<TensorArgument> now;
  /// The contents of the tensors before the run, laid out as in `now`; null for tensors whose contents were
  /// not kept.
  std::vector<const void*> old;
  std::function<std::optional<int64_t>(Name)> size;
};

/// An element of an argument, for a message.
struct ContractElement {
  uint32_t argument = 0;
  std::vector<int64_t> index;
};

/// A violation of a contract, or an error in it, for a message to the user.
struct ContractFailure {
  Span span;
  std::string text;
  /// Whether the contract itself could not be evaluated, because it divides by 0 or reads an element
  /// outside a tensor.
  bool malformed = false;
  ir::Loc loc = {};  ///< where evaluation failed
  /// For a requirement: the elements that its condition has read.
  std::vector<ContractElement> elements = {};
};

}  // namespace kdl::interp
