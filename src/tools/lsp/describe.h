#pragma once

#include <string>
#include <string_view>

#include "tools/lsp/analysis.h"

namespace kdl::tools::lsp {

/// Returns the source of a declaration without the body, on one line.
std::string HeadText(const Analysis& analysis, const syntax::NameDeclaration& declaration);

/// Returns the `///` lines above an item, without the slashes.
std::string DocText(const Analysis& analysis, const syntax::NameDeclaration& declaration);

/// Returns the types of what is declared, one for each kind of instance, such as `f32[i, j] or f64[i, j]`; empty if
/// it has none.
std::string TypeText(const Analysis& analysis, const syntax::NameDeclaration& declaration);

/// Returns sentences about sizes: what a range binds, and how large a tile or tensor is.
std::string SizesText(const Analysis& analysis, const syntax::NameDeclaration& declaration);

/// Returns what a builtin function, name or reduction does; empty if there is none with this name.
std::string BuiltinText(std::string_view name);

/// Returns what an editor calls such a name: `variable`, `kernel`.
std::string_view KindText(syntax::NameKind kind);

}  // namespace kdl::tools::lsp
