#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// One broken rule.
struct Fault {
  const Function* function;
  const Op* op;      ///< null: the function itself
  std::string text;  ///< what is wrong, without saying where
};

/// What holds between any two passes:
///   structure    operands, attributes, results and regions as ops.def lists them; every region
///   ends with its one
///                terminator; use lists agree with operands
///   scope        a value is used after its definition, in its block or a nested one; a tile
///   stands where a block of each
///                of its axes is in scope (fns excepted, which map over their caller's)
///   types        of every op (verify_types.h); a fn calls only fns that stand before it, so none reaches itself
///   signature    a body's parameters are the dims, then the params; sizes name dims and generics
///   only
std::vector<Fault> FindFaults(const Module& module);

/// The faults as sentences that name function and op. Empty: all is well.
std::vector<std::string> Verify(const Module& module);

/// What is left of tile level in a kernel that should be loops over scalars and scratch: tiles, ops
/// that speak of them, accesses that are not proven or not of single elements.
std::vector<std::string> VerifyLoopLevel(const Function& function);

}  // namespace kdl::ir
