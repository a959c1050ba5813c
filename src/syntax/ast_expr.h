#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/names.h"
#include "support/source.h"
#include "syntax/ast_base.h"

namespace kdl::syntax {

template <ExprKind K>
struct ExprOf : Expr {
  static constexpr ExprKind kKind = K;
  ExprOf() : Expr(K) {}
};

struct IntLit : ExprOf<ExprKind::IntLit> {
  uint64_t value = 0;
  std::string_view text;
};
struct FloatLit : ExprOf<ExprKind::FloatLit> {
  double value = 0;       ///< nearest f64; round `text` itself to a narrower type
  std::string_view text;  ///< as written, also `inf` and `nan`
};
struct BoolLit : ExprOf<ExprKind::BoolLit> {
  bool value = false;
};
struct StringLit : ExprOf<ExprKind::StringLit> {
  std::string value;  ///< escapes replaced
};
struct AutoLit : ExprOf<ExprKind::AutoLit> {};
struct NameExpr : ExprOf<ExprKind::Name> {
  Name name;
};
struct UnaryExpr : ExprOf<ExprKind::Unary> {
  UnaryOp op = UnaryOp::Neg;
  const Expr* operand = nullptr;
};
struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op = BinaryOp::Add;
  Span op_span;
  const Expr* lhs = nullptr;
  const Expr* rhs = nullptr;
};
/// `if c then a else b`.
struct IfExpr : ExprOf<ExprKind::If> {
  const Expr* condition = nullptr;
  const Expr* then_value = nullptr;
  const Expr* else_value = nullptr;
};
/// `e as T`.
struct CastExpr : ExprOf<ExprKind::Cast> {
  const Expr* operand = nullptr;
  Ident type;
};
/// `callee<BM = 64>(args)`, or `receiver.callee(args)`: a pipe's or device's operation, or an
/// imported name.
struct CallExpr : ExprOf<ExprKind::Call> {
  const Expr* receiver = nullptr;  ///< may be null
  Ident callee;
  std::vector<Arg> generics;
  std::vector<Arg> args;
};
/// `op(operands over k, l)`: a reduction, contraction or scan; `reduce` and `scan` have `with
/// combine init init`.
struct ReduceExpr : ExprOf<ExprKind::Reduce> {
  Ident op;
  std::vector<const Expr*> operands;
  std::vector<Ident> over;
  bool reversed = false;
  bool exclusive = false;
  const Expr* combine = nullptr;  ///< a function's name; may be null, as init
  const Expr* init = nullptr;
};
/// `base[i, k = e else v]`, `base[l, lo..hi]`.
struct IndexExpr : ExprOf<ExprKind::Index> {
  const Expr* base = nullptr;
  std::vector<Index> indices;
  const Expr* otherwise = nullptr;  ///< the value of `else`; may be null
};
/// `base.name`, or `base.0` of a tuple.
struct FieldExpr : ExprOf<ExprKind::Field> {
  const Expr* base = nullptr;
  Ident name;          ///< empty for a tuple's element
  uint32_t index = 0;  ///< of a tuple's element
};
/// `(a, b)`; parentheses around one expression leave no node.
struct TupleExpr : ExprOf<ExprKind::Tuple> {
  std::vector<const Expr*> elements;
};
/// `[a, b]`.
struct ListExpr : ExprOf<ExprKind::List> {
  std::vector<const Expr*> elements;
};
/// A type as an argument: `random(f32[M, K], seed = 1)`.
struct TypeExpr : ExprOf<ExprKind::Type> {
  const TypeRef* type = nullptr;
};
/// `x to device`.
struct MoveExpr : ExprOf<ExprKind::Move> {
  const Expr* operand = nullptr;
  Ident device;
};

}  // namespace kdl::syntax
