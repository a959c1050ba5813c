#pragma once

#include "syntax/builder.h"

namespace kdl::syntax {

const Expr* BuildExpr(Builder& builder, P::ExprContext* expr);
/// Builds the condition of an `if`, which may be a test such as `T is f32`.
const Expr* BuildIfCondition(Builder& builder, P::IfConditionContext* condition);
const Expr* BuildArith(Builder& builder, P::ArithContext* arith);
/// Builds `primary suffix*`, which is the left side of an assignment, or an expression that is used as a
/// statement.
const Expr* BuildPlace(Builder& builder, P::PrimaryContext* primary,
                       const std::vector<P::SuffixContext*>& suffixes);
/// Returns an empty placement if the context is null.
Placement BuildPlacement(Builder& builder, P::PlacementContext* node);
std::vector<const Expr*> BuildExprs(Builder& builder, const std::vector<P::ExprContext*>& exprs);
/// Builds the arguments of a call. `what` names the construct in the error message for an `over` among
/// the arguments.
std::vector<Arg> BuildArgs(Builder& builder, P::CallArgsContext* args, std::string_view what);
std::vector<Arg> BuildGenericArgs(Builder& builder, P::GenericArgsContext* generics);
/// Builds the indices between brackets; there may be none.
void BuildIndices(Builder& builder, P::IndicesContext* indices, IndexExpr& out);
const Expr* BuildPath(Builder& builder, const std::vector<P::NameContext*>& path);
TypeName BuildTypeName(Builder& builder, P::TypeNameContext* type);
std::vector<TypeName> BuildTypeNames(Builder& builder, P::TypeNamesContext* types);
/// Builds the name of a pack of dimensions, `A..`.
const Expr* BuildPack(Builder& builder, P::PackContext* pack);
const TypeRef* BuildType(Builder& builder, P::TypeContext* type);
StringLit* BuildString(Builder& builder, antlr4::tree::TerminalNode* text);
Equation BuildEquation(Builder& builder, P::EquationContext* equation);
/// Builds the equation of an `expect`. If the `expect` has a plain condition, the equation has only a
/// left side.
Equation BuildExpectation(Builder& builder, P::ExpectStmtContext* expectation);

}  // namespace kdl::syntax
