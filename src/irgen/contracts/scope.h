#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/contract.h"
#include "irgen/contracts/argument_number.h"
#include "irgen/walk/function_gen.h"

// A clause of a contract is generated as a function is, with these differences: tensors are read by element, names that it
// binds are i64 values, what a condition does not need is not evaluated, reductions are loops, and the fns that it calls are
// a part of it. What is made holds values alone: carry_bounds.h adds their bounds.
namespace kdl::irgen {

using IndexNames = std::vector<const sema::Entity*>;

/// What the clauses of one contract share.
struct ContractTables {
  ir::Contract& contract;
  const ArgumentNumber& argument;
  std::unordered_map<const sema::Entity*, uint32_t> auxiliaries = {};
};

/// One clause while it is made.
struct ContractScope {
  ContractTables& tables;
  ir::Clause& clause;
  IndexNames around = {};  ///< those that have a value here
  std::map<std::pair<const sema::Entity*, bool>, ir::Value*> tensors = {};
};

/// What is made at the place where it is needed.
using GenValues = std::function<std::vector<ir::Value*>()>;

}  // namespace kdl::irgen
