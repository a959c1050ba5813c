#pragma once

#include <optional>
#include <string_view>

#include "sema/state.h"

namespace kdl::sema {

/// The size that an expression of sizes, constants and integer parameters is; null, reported, where
/// it is none. It may divide by symbols, unlike ExprInfo::size.
Size CheckSize(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// The same for the dimension of a tensor: not negative.
Size CheckDim(FunctionState& state, const syntax::Expr* expr);
/// Whether a tensor's type has as many dimensions as tensors have; reported, where not.
bool CheckRank(FunctionState& state, const syntax::TypeRef& type);

/// Whether only constants and integer parameters are in it, so that it is known when code is made.
bool IsStatic(const FunctionState& state, Size size);

/// The operation on sizes that an operator stands for, if any.
std::optional<SizeKind> SizeKindOf(syntax::BinaryOp op);

/// a - b where it is one number whatever the symbols are.
std::optional<int64_t> ConstantDifference(SizeTable& sizes, Size a, Size b);

}  // namespace kdl::sema
