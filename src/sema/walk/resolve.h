#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sema/diagnostics.h"
#include "sema/walk/state.h"

namespace kdl::sema {

/// A new entity of the function, in the innermost scope. Reports a name that is taken or that the
/// language has, and goes on with the new meaning.
Entity* Declare(FunctionState& state, EntityKind kind, const syntax::Ident& name);

/// Declares a name whose declaration is faulty, so that its uses say nothing.
void DeclareFaulty(FunctionState& state, const syntax::Ident& name);

/// What the name stands for, or null, reported.
const Entity* Resolve(FunctionState& state, Name name, Span span);

/// The device of the name, or null, reported.
const Entity* ResolveDevice(FunctionState& state, const syntax::Ident& name);

/// Whether the declaration of the name is faulty: its uses say nothing more.
bool IsFaulty(const Entity& entity);

/// Reports that nothing has this name, with what may have been meant.
void ReportUnknown(FunctionState& state, std::string_view name, Span span);

/// The element type, or nothing, reported.
std::optional<Scalar> ResolveScalar(FunctionState& state, const syntax::Ident& name);

Type ValueType(Scalar scalar, std::vector<const Entity*> ranges = {});
/// The ranges of both, each once, ascending.
std::vector<const Entity*> UnionOf(const std::vector<const Entity*>& a,
                                   const std::vector<const Entity*>& b);
bool Contains(const std::vector<const Entity*>& ranges, const Entity* range);
/// Those of `a` that `b` lacks.
std::vector<const Entity*> Missing(const std::vector<const Entity*>& a,
                                   const std::vector<const Entity*>& b);
/// `'i' and 'j'`.
std::string Listed(const std::vector<const Entity*>& entities);
/// `the range 'i'`, `the ranges 'i' and 'j'`, `no range`.
std::string RangesText(const std::vector<const Entity*>& ranges);
/// `i, j`.
std::string Joined(const std::vector<const Entity*>& entities);

/// `1 argument`, `3 arguments`.
std::string Counted(size_t count, std::string_view what);
/// A size, without the parentheses around the whole of it.
std::string SizeText(Size size);

}  // namespace kdl::sema
