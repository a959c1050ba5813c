#pragma once

#include <set>
#include <string>
#include <utility>

#include "driver/run/contracts.h"

namespace kdl::tools {

/// Wrong outputs ("mutants") that a contract should reject. In some mutants, an output is replaced
/// by all zeros, by all ones, or by a copy of an input of the same type and shape. In others, its first,
/// second or last element is changed; a contract that covers only a part of the output accepts such
/// a mutant. A mutant is killed once the contract has rejected it for at least one set of data.
class Mutants {
 public:
  /// Tries the remaining mutants of a run whose outputs the contract accepts. Mutants that are
  /// equal to the correct output are not tried.
  void Try(const driver::BoundContract& contract, const driver::BoundProgram& before,
           const driver::BoundProgram& after);
  /// Returns the mutants that were accepted every time, such as `y = 0, z with another last
  /// element`.
  std::string Accepted() const;

 private:
  void TryOne(const driver::BoundContract& contract, const driver::BoundProgram& before,
              const driver::BoundProgram& after, size_t output, const std::string& what,
              driver::HostTensor mutant);

  std::set<std::string> tried_;
  std::set<std::string> refused_;
};

}  // namespace kdl::tools
