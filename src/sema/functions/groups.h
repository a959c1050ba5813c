#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Makes the instances of a function, with their types, parameters and sizes. Only the first call for a group
/// has an effect. If the signature has an error, no instances are made, and uses of the function are not
/// reported as further errors.
void DeclareSignatures(ModuleState& module, FunctionGroup& group);

/// Checks the bodies of the group's instances, each only once.
void CheckBodies(ModuleState& module, FunctionGroup& group);

/// Returns the state for checking an instance, with its parameters and sizes in scope.
FunctionState Open(ModuleState& module, FunctionGroup& group, size_t instance);

/// Returns the group of a Fn, Kernel or Program, after declaring its signatures. A fn of the library is
/// also scheduled to be checked.
FunctionGroup& Require(ModuleState& module, const Entity* entity);

/// Returns the library's fn of this name, or null.
const Entity* LibraryFunction(const ModuleState& module, std::string_view name);

/// The type that a call chooses for a type parameter of the callee, either by name (`<T = f32>`) or through
/// its arguments, or the fn that it chooses for a function parameter (`<F = relu>`).
struct KindChoice {
  Name generic;
  Scalar scalar = Scalar::F32;
  Span span;
  const Entity* function = nullptr;  ///< only for a function parameter: the fn
};

/// Returns whether the call gives each generic parameter and range only one value. Otherwise, reports an error.
bool NamesEachOnce(FunctionState& state, const syntax::CallExpr& call);

/// Returns the type that a call names, if `arg` names a type parameter of the callee. Reports a value that
/// is not a type.
std::optional<KindChoice> NamedKind(FunctionState& state, const FunctionGroup& callee,
                                    const syntax::Arg& arg);

/// Returns the types that the declaration of a function parameter gives to the type parameters of its fn, which
/// are those of its parameters and of its result.
std::vector<KindChoice> BoundKinds(const FunctionGroup& group, const FunctionBinding& binding,
                                   Span span);

/// Returns the instance for these types, and for these optional parameters if there are any. If there is none, reports
/// an error at `at` and returns null.
CheckedFunction* Choose(FunctionState& state, const FunctionGroup& callee,
                        const std::vector<KindChoice>& choices, Span at,
                        const std::vector<OptionalInfo>& optionals = {});

}  // namespace kdl::sema
