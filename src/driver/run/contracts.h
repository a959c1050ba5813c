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

/// A contract, and what its sizes are called in a run.
struct BoundContract {
  const ir::Contract* contract = nullptr;
  const ir::Module* module = nullptr;
  std::vector<Name> dims;             ///< as in BoundProgram
  std::map<Name, int64_t> constants;  ///< `int` generics that have a value
};

/// Where a failure shows: the condition or equation, or what in it has no value.
Span SpanOf(const interp::ContractFailure& failure, const SourceManager& sources);

/// The function's contract, if it has one.
std::optional<BoundContract> FindContract(const std::vector<ir::Contract>& contracts,
                                          const ir::Module& module, const ir::Function& function);

/// A run's data as the evaluator reads it; both programs outlive the result.
interp::ContractData DataOf(const BoundContract& contract, const BoundProgram& before,
                            const BoundProgram& after);

/// Whether the arguments fulfil what the contract requires; reports where they do not.
bool CheckRequirements(const BoundContract& contract, const BoundProgram& before,
                       const SourceManager& sources, DiagnosticEngine& diagnostics);
/// Whether what the run left is what the contract ensures; reports where it is not.
bool CheckEquations(const BoundContract& contract, const BoundProgram& before,
                    const BoundProgram& after, const SourceManager& sources,
                    DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
