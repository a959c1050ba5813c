#pragma once

#include <set>
#include <string>
#include <utility>

#include "driver/run/contracts.h"

namespace kdl::tools {

/// Wrong outputs that a contract should reject. An output is replaced by all 0, by all 1, or by a
/// copy of an input of its type and shape. Or its first, second or last element is changed, which a
/// contract for only a part of the output accepts. A mutant is finished when a contract has
/// rejected it for any data.
class Mutants {
 public:
  /// Tries the remaining mutants of a run whose outputs the contract accepts. A mutant that changes
  /// nothing is not tried.
  void Try(const driver::BoundContract& contract, const driver::BoundProgram& before,
           const driver::BoundProgram& after);
  /// Returns the mutants that were always accepted, as `y = 0, z with another last element`.
  std::string Accepted() const;

 private:
  void TryOne(const driver::BoundContract& contract, const driver::BoundProgram& before,
              const driver::BoundProgram& after, size_t output, const std::string& what,
              driver::HostTensor mutant);

  std::set<std::string> tried_;
  std::set<std::string> refused_;
};

}  // namespace kdl::tools
