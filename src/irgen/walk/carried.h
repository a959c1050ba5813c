#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

// Vars become values: what a loop assigns is carried, what a branch assigns is yielded.

namespace kdl::irgen {

using Vars = std::vector<const sema::Entity*>;

/// The vars that the statements assign and that live outside them, in the order of their declaration.
Vars AssignedOutside(const FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);
/// What the loop that has just been opened carries through `body`; that it goes on first, where a `break` may end it.
Vars CarriedBy(FunctionGen& gen, const syntax::BlockStmt& body);
/// What the vars are now; a tuple is a value for each part.
std::vector<ir::Value*> Present(const FunctionGen& gen, const Vars& vars);
/// The vars are these values, in the same order, from here on.
void SetPresent(FunctionGen& gen, const Vars& vars, std::span<ir::Value* const> values);
std::vector<ir::Type> TypesOf(const std::vector<ir::Value*>& values);
void Yield(FunctionGen& gen, const Vars& vars);
/// The vars are the results of `op` from here on.
void TakeResults(FunctionGen& gen, const Vars& vars, ir::Op* op, size_t first = 0);
/// Parameters for the carried vars, after those that the region has; they are the vars' values from here on.
void CarryInto(FunctionGen& gen, ir::Region* region, const Vars& vars,
               const std::vector<ir::Value*>& inits);

}  // namespace kdl::irgen
