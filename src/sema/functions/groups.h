#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Makes the instances of a function with types, parameters and sizes, at the first call only.
/// Where the signature is faulty there are no instances, and uses of the function say nothing.
void DeclareSignatures(ModuleState& module, FunctionGroup& group);

/// The bodies of its instances, once.
void CheckBodies(ModuleState& module, FunctionGroup& group);

/// The state for the walk through an instance: its parameters and sizes are in scope.
FunctionState Open(ModuleState& module, FunctionGroup& group, size_t instance);

/// The group of a Fn, Kernel or Program, its signatures made; a fn of the library will be checked.
FunctionGroup& Require(ModuleState& module, const Entity* entity);

/// The library's fn of this name, or null.
const Entity* LibraryFunction(const ModuleState& module, std::string_view name);

/// Kinds that a call names (`<T = f32>`) or that its arguments have, by the callee's parameter.
struct KindChoice {
  Name generic;
  Scalar scalar = Scalar::F32;
  Span span;
};

/// The kind that a call names, where `arg` names a type parameter of the callee. Reports others
/// than types.
std::optional<KindChoice> NamedKind(FunctionState& state, const FunctionGroup& callee,
                                    const syntax::Arg& arg);

/// The instance with these kinds; null, reported at `at`, where there is none. `nothing`: what a
/// parameter without a choice is (none: reported).
CheckedFunction* Choose(FunctionState& state, const FunctionGroup& callee,
                        const std::vector<KindChoice>& choices, Span at);

}  // namespace kdl::sema
