#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// A violation of one rule.
struct Fault {
  const Function* function;
  const Op* op;      ///< null if the rule is about the function itself
  std::string text;  ///< what is wrong, without the location
};

/// Checks the rules that must be true between any two passes:
///   structure    operands, attributes, results and regions are as ops.def lists them; the terminator of a
///                region is its last op and its only terminator; use lists match operands
///   scope        a value is used after its definition, in the same region or in a nested one; where a tile
///                is used, a block of each of its axes is in scope (except in fns, which map over the caller's axes)
///   types        the rules of each op (verify_types.h); a fn calls only fns that come before it, so there
///                is no recursion
///   signature    the parameters of a body are the dims, then the params; sizes use only dims and generics
std::vector<Fault> FindFaults(const Module& module);

/// Returns the violations as sentences that name the function and the op; empty if there are none.
std::vector<std::string> Verify(const Module& module);
/// The same for some functions of the module.
std::vector<std::string> Verify(const Module& module, std::span<Function* const> functions);

/// Checks that a kernel contains only loops over scalars and scratch memory. Returns a sentence for each
/// remainder of the tile level: tiles, ops on tiles, and accesses that are not proven or access more than
/// single elements.
std::vector<std::string> VerifyLoopLevel(const Function& function);

}  // namespace kdl::ir
