#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/contract.h"
#include "irgen/contracts/argument_number.h"
#include "irgen/walk/function_gen.h"

// A clause of a contract becomes a function. It is generated like the functions of kernels, with these
// differences. Tensors are read element by element. The index names that the clause binds are i64 values. A
// value that a condition makes unnecessary is not evaluated. Reductions become loops, and called fns are
// inlined. The function computes only values: carry_bounds.h adds the error bounds.
namespace kdl::irgen {

using IndexNames = std::vector<const sema::Entity*>;

/// State that all clauses of one contract share.
struct ContractTables {
  ir::Contract& contract;
  const ArgumentNumber& argument;
  std::unordered_map<const sema::Entity*, uint32_t> auxiliaries = {};
};

/// The state while a single clause is generated.
struct ContractScope {
  ContractTables& tables;
  ir::Clause& clause;
  IndexNames around = {};  ///< the index names that have values at the insertion point
  std::map<std::pair<const sema::Entity*, bool>, ir::Value*> tensors = {};
};

/// Generates values at the current insertion point.
using GenValues = std::function<std::vector<ir::Value*>()>;

}  // namespace kdl::irgen
