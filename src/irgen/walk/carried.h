#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

// Turns vars, which are mutable variables, into SSA values: a loop carries the vars that it assigns, and a
// branch yields the vars that it assigns.

namespace kdl::irgen {

using Vars = std::vector<const sema::Entity*>;

/// Returns the vars that the statements assign but do not declare, in the order of declaration.
Vars AssignedOutside(const FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);
/// Returns the vars that a loop with this `body` carries. The loop must be the one that was opened last. If a
/// `break` may leave the loop, the first var is the bool that tells whether the loop continues.
Vars CarriedBy(FunctionGen& gen, const syntax::BlockStmt& body);
/// Returns the current values of the vars. A var that is a tuple has one value for each element of the tuple.
std::vector<ir::Value*> Present(const FunctionGen& gen, const Vars& vars);
/// Sets the current values of the vars. The values must be in the order in which Present returns them.
void SetPresent(FunctionGen& gen, const Vars& vars, std::span<ir::Value* const> values);
std::vector<ir::Type> ValueTypes(const std::vector<ir::Value*>& values);
void Yield(FunctionGen& gen, const Vars& vars);
/// Sets the current values of the vars to the results of `op`, starting with result number `first`.
void TakeResults(FunctionGen& gen, const Vars& vars, ir::Op* op, size_t first = 0);
/// Adds a region parameter for each carried value, after the existing parameters. These parameters become the
/// current values of the vars.
void CarryInto(FunctionGen& gen, ir::Region* region, const Vars& vars,
               const std::vector<ir::Value*>& inits);

}  // namespace kdl::irgen
