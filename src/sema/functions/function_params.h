#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

// A function parameter, `F: fn(T) -> T`, is a generic parameter whose value is a fn.

/// Returns the fn that an expression names, or reports an error and returns null.
const Entity* ResolveFunction(FunctionState& state, const syntax::Expr* expr);

/// If the default of a function parameter is a function parameter that is declared before it, returns the number
/// of that one.
std::optional<size_t> SameAs(const FunctionGroup& group, const syntax::GenericParam& generic);

/// Evaluates the declarations of the group's function parameters, and stores them in the group.
void DeclareFunctionChoices(ModuleState& module, FunctionGroup& group);

/// Returns the combinations of fns for which instances are made at once: those of -D, or the defaults. If a
/// parameter has neither, there are none.
std::vector<std::vector<const Entity*>> WantedFunctions(ModuleState& module,
                                                        const FunctionGroup& group);

/// Returns whether a function parameter of the group may be this fn. Otherwise reports an error.
bool CheckFunctionChoice(FunctionState& state, const FunctionGroup& group, size_t number,
                         const Entity* function, Span at);

/// Declares the function parameters of an instance, whose type parameters must have been declared.
void DeclareFunctions(FunctionState& state, const std::vector<const Entity*>& functions);

}  // namespace kdl::sema
