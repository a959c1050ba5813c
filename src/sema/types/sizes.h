#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Evaluates an expression of sizes, constants and integer parameters to a size, or reports an error and
/// returns null. Unlike ExprInfo::size, the size may divide by symbols.
Size CheckSize(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// Like CheckSize, for a dimension of a tensor, which must not be negative.
Size CheckDim(FunctionState& state, const syntax::Expr* expr);
/// Suggests the declaration of a name that a program uses as a size.
std::string SizeHelp(std::string_view name);
/// Returns whether the rank of a tensor type is at most the maximum. Reports an error if it is not.
bool CheckRank(FunctionState& state, const syntax::TypeRef& type);

}  // namespace kdl::sema
