#pragma once

#include <optional>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// The size that an expression of sizes, constants and integer parameters is; null, reported, where
/// it is none. It may divide by symbols, unlike ExprInfo::size.
Size CheckSize(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// The same for the dimension of a tensor: not negative.
Size CheckDim(FunctionState& state, const syntax::Expr* expr);
/// Whether a tensor's type has as many dimensions as tensors have; reported, where not.
bool CheckRank(FunctionState& state, const syntax::TypeRef& type);

}  // namespace kdl::sema
