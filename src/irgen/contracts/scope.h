#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/contract.h"
#include "irgen/contracts/argument_number.h"
#include "irgen/walk/function_gen.h"

// A clause of a contract is generated like a function, with these differences: tensors are read element by
// element; the index names that it binds are i64 values; what a condition does not need is not evaluated;
// reductions become loops; and the fns that it calls are inlined. The generated function computes only
// values: carry_bounds.h adds the bounds.
namespace kdl::irgen {

using IndexNames = std::vector<const sema::Entity*>;

/// What the clauses of one contract share.
struct ContractTables {
  ir::Contract& contract;
  const ArgumentNumber& argument;
  std::unordered_map<const sema::Entity*, uint32_t> auxiliaries = {};
};

/// The state while one clause is generated.
struct ContractScope {
  ContractTables& tables;
  ir::Clause& clause;
  IndexNames around = {};  ///< the index names that have a value here
  std::map<std::pair<const sema::Entity*, bool>, ir::Value*> tensors = {};
};

/// Generates values at the place where they are needed.
using GenValues = std::function<std::vector<ir::Value*>()>;

}  // namespace kdl::irgen
