#pragma once

#include <set>
#include <string>
#include <utility>

#include "driver/run/contracts.h"

namespace kdl::tools {

/// Wrong outputs that a contract has to tell from right ones: each output all 0, all 1, a copy of an input of its type and
/// shape, or with another first, second or last element, of which a contract for a part says nothing. A mutant is done with
/// once a contract has refused it on any data.
class Mutants {
 public:
  /// Tries those that are left against a run that the contract accepts. A mutant that changes nothing is not tried.
  void Try(const driver::BoundContract& contract, const driver::BoundProgram& before,
           const driver::BoundProgram& after);
  /// `y = 0, z with another last element`: those that were tried and accepted each time.
  std::string Accepted() const;

 private:
  void TryOne(const driver::BoundContract& contract, const driver::BoundProgram& before,
              const driver::BoundProgram& after, size_t output, const std::string& what,
              driver::HostTensor mutant);

  std::set<std::string> tried_;
  std::set<std::string> refused_;
};

}  // namespace kdl::tools
