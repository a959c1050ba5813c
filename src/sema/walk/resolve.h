#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sema/diagnostics.h"
#include "sema/walk/state.h"

namespace kdl::sema {

/// Declares a new entity of the function in the innermost scope. Reports an error if the name is already
/// used or is a builtin of the language; afterwards, the name has its new meaning.
Entity* Declare(FunctionState& state, EntityKind kind, const syntax::Ident& name);

/// Declares a name whose declaration has an error, so that uses of the name are not reported as unknown.
void DeclareFaulty(FunctionState& state, const syntax::Ident& name);

/// Returns what the name refers to, or reports an error and returns null.
const Entity* Resolve(FunctionState& state, Name name, Span span);

/// Reports a use of an optional parameter that is absent in this instance. Returns whether it was reported.
bool IsReportedAbsent(FunctionState& state, const Entity& entity, Span span);

/// Returns the device with this name, or reports an error and returns null.
const Entity* ResolveDevice(FunctionState& state, const syntax::Ident& name);

/// Returns whether the declaration of the entity has an error. If so, uses of the entity are not reported as
/// further errors.
bool IsFaulty(const Entity& entity);

/// Reports an unknown name, and suggests what may have been meant, or `otherwise` if nothing is similar. Further uses of
/// the name in the function are not reported.
void ReportUnknown(FunctionState& state, std::string_view name, Span span,
                   std::string_view otherwise = {});

/// Returns the last variable with this name that the function has declared, in any scope, or null. Variables of loops
/// are included, but ranges are not.
const Entity* DeclaredVariable(const FunctionState& state, std::string_view name);

/// Returns the element type with this name, such as `f32`, `T` or `T.acc`. Otherwise reports an error and
/// returns nothing.
std::optional<Scalar> ResolveScalar(FunctionState& state, const syntax::TypeName& name);

/// Returns the type `T.acc` for a type, or reports at `span` that the type has none.
std::optional<Scalar> AccumulatorType(FunctionState& state, Scalar scalar, Span span);
/// Reports that a type has no member with this name.
void ReportNoTrait(FunctionState& state, std::string_view type, const syntax::Ident& member);

Type ValueType(Scalar scalar, std::vector<const Entity*> ranges = {});
/// Returns the ranges of `a` and `b` without duplicates, in ascending order.
std::vector<const Entity*> UnionOf(const std::vector<const Entity*>& a,
                                   const std::vector<const Entity*>& b);
bool Contains(const std::vector<const Entity*>& ranges, const Entity* range);
/// Returns the ranges of `a` that are not in `b`.
std::vector<const Entity*> Missing(const std::vector<const Entity*>& a,
                                   const std::vector<const Entity*>& b);
/// Returns the names as a list for a message: `'i' and 'j'`.
std::string Listed(const std::vector<const Entity*>& entities);
/// Returns a phrase for a message: `the range 'i'`, `the ranges 'i' and 'j'` or `no range`.
std::string RangesText(const std::vector<const Entity*>& ranges);
/// Returns the names separated by commas: `i, j`.
std::string Joined(const std::vector<const Entity*>& entities);

/// Returns a count with its noun: `1 argument`, `3 arguments`.
std::string Counted(size_t count, std::string_view what);
/// Returns the text of a size, without parentheses around the whole text.
std::string SizeText(Size size);

}  // namespace kdl::sema
