#pragma once

#include <map>
#include <optional>
#include <vector>

#include "driver/run/arguments.h"
#include "interp/contract.h"
#include "ir/contract.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

/// A contract, and the sizes and constants that its names denote in a run.
struct BoundContract {
  const ir::Contract* contract = nullptr;
  const ir::Module* module = nullptr;
  std::vector<Name> dims;             ///< in the order of BoundProgram::dims
  std::map<Name, int64_t> constants;  ///< `int` generics that have a value
};

/// Returns the source position of a failure: the position of the condition or equation that failed,
/// or of the subexpression that has no value.
Span FailureSpan(const interp::ContractFailure& failure, const SourceManager& sources);

/// Returns the function's contract, or nothing if it has none.
std::optional<BoundContract> FindContract(const std::vector<ir::Contract>& contracts,
                                          const ir::Module& module, const ir::Function& function);

/// Returns the data of a run in the form that the evaluator uses. `before` and `after` must outlive
/// the result.
interp::ContractData EvaluatorData(const BoundContract& contract, const BoundProgram& before,
                                   const BoundProgram& after);

/// Whether the arguments meet the contract's requirements. Reports those that are not met.
bool CheckRequirements(const BoundContract& contract, const BoundProgram& before,
                       const SourceManager& sources, DiagnosticEngine& diagnostics);
/// Whether the results of the run meet the contract's equations. Reports those that are not met.
bool CheckEquations(const BoundContract& contract, const BoundProgram& before,
                    const BoundProgram& after, const SourceManager& sources,
                    DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
