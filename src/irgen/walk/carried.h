#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

// Vars become values: a loop carries the vars that it assigns, and a branch yields the vars that
// it assigns.

namespace kdl::irgen {

using Vars = std::vector<const sema::Entity*>;

/// Returns the vars that the statements assign but that are declared outside of them, in the order
/// of declaration.
Vars AssignedOutside(const FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);
/// Returns the vars that `body` carries. It is the body of the loop that was opened last. If a `break` may
/// end the loop, the first var is the bool that says that the loop continues.
Vars CarriedBy(FunctionGen& gen, const syntax::BlockStmt& body);
/// Returns the current values of the vars. A var that is a tuple has one value for each part.
std::vector<ir::Value*> Present(const FunctionGen& gen, const Vars& vars);
/// Sets the current values of the vars. The values must be in the order of Present.
void SetPresent(FunctionGen& gen, const Vars& vars, std::span<ir::Value* const> values);
std::vector<ir::Type> ValueTypes(const std::vector<ir::Value*>& values);
void Yield(FunctionGen& gen, const Vars& vars);
/// Sets the current values of the vars to the results of `op`, starting with result number `first`.
void TakeResults(FunctionGen& gen, const Vars& vars, ir::Op* op, size_t first = 0);
/// Adds a region parameter for each carried value, after the existing parameters, and makes these
/// parameters the current values of the vars.
void CarryInto(FunctionGen& gen, ir::Region* region, const Vars& vars,
               const std::vector<ir::Value*>& inits);

}  // namespace kdl::irgen
