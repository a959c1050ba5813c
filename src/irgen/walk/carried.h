#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

// Vars become values: a loop carries the vars that it assigns, and a branch yields them.

namespace kdl::irgen {

using Vars = std::vector<const sema::Entity*>;

/// Returns the vars that the statements assign and that are declared outside of them, in the order of their
/// declaration.
Vars AssignedOutside(const FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);
/// Returns the vars that the loop just opened carries through `body`; first the flag that the loop goes on,
/// if a `break` may end it.
Vars CarriedBy(FunctionGen& gen, const syntax::BlockStmt& body);
/// Returns the current values of the vars; a tuple has a value for each part.
std::vector<ir::Value*> Present(const FunctionGen& gen, const Vars& vars);
/// Sets the current values of the vars, in the same order.
void SetPresent(FunctionGen& gen, const Vars& vars, std::span<ir::Value* const> values);
std::vector<ir::Type> ValueTypes(const std::vector<ir::Value*>& values);
void Yield(FunctionGen& gen, const Vars& vars);
/// Sets the current values of the vars to the results of `op`.
void TakeResults(FunctionGen& gen, const Vars& vars, ir::Op* op, size_t first = 0);
/// Adds region parameters for the carried vars, after the existing ones, and sets the current values of the
/// vars to them.
void CarryInto(FunctionGen& gen, ir::Region* region, const Vars& vars,
               const std::vector<ir::Value*>& inits);

}  // namespace kdl::irgen
