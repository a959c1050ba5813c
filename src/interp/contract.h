#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "interp/run.h"
#include "ir/contract.h"
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

/// The values of a requirement's indices for which it does not hold, at most `most` in all.
std::vector<ContractFailure> BrokenRequirements(const ir::Contract& contract,
                                                const ContractData& data, size_t most);

/// The first equation that does not hold, at its worst element.
std::optional<ContractFailure> BrokenEquation(const ir::Contract& contract,
                                              const ContractData& data);

/// How many terms BrokenEquation evaluates at these sizes, about.
double TermsOf(const ir::Contract& contract,
               const std::function<std::optional<int64_t>(Name)>& size);

}  // namespace kdl::interp
