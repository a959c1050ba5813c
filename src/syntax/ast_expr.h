#pragma once

#include <cstdint>
#include <optional>
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
  double value = 0;       ///< the nearest f64; for narrower types, `text` must be rounded instead
  std::string_view text;  ///< the literal as it is written; may also be `inf` or `nan`
};
struct BoolLit : ExprOf<ExprKind::BoolLit> {
  bool value = false;
};
struct StringLit : ExprOf<ExprKind::StringLit> {
  std::string value;  ///< the contents, with escapes replaced
};
struct AutoLit : ExprOf<ExprKind::AutoLit> {};
struct NameExpr : ExprOf<ExprKind::Name> {
  Name name;
  bool is_pack = false;  ///< `A..` in the type of a parameter or as the extent of a loop
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
/// A choice between values: `if c then a else b`.
struct IfExpr : ExprOf<ExprKind::If> {
  const Expr* condition = nullptr;
  const Expr* then_value = nullptr;
  const Expr* else_value = nullptr;
};
/// A cast: `e as T`.
struct CastExpr : ExprOf<ExprKind::Cast> {
  const Expr* operand = nullptr;
  TypeName type;
};
/// A call: `callee<BM = 64>(args)` or `receiver.callee(args)`. The receiver is a pipe, a device or an
/// imported module.
struct CallExpr : ExprOf<ExprKind::Call> {
  const Expr* receiver = nullptr;  ///< may be null
  Ident callee;
  std::vector<Arg> generics;
  std::vector<Arg> args;
};
/// A reduction, contraction or scan: `op(operands over k, l)`. If `op` is `reduce` or `scan`, `with f init v`
/// follows the ranges, where `combine` is `f` and `init` is `v`.
struct ReduceExpr : ExprOf<ExprKind::Reduce> {
  Ident op;
  std::vector<const Expr*> operands;
  std::vector<Ident> over;
  bool reversed = false;
  bool exclusive = false;
  const Expr* combine = nullptr;  ///< the name of a function; may be null
  const Expr* init = nullptr;     ///< the initial value; may be null
  bool appends = false;           ///< whether it numbers the elements of an `append`
};
/// An access to elements, `base[i, k = e else v]`, or a slice, `base[l, lo..hi]`.
struct IndexExpr : ExprOf<ExprKind::Index> {
  const Expr* base = nullptr;
  std::vector<Index> indices;
  const Expr* otherwise = nullptr;  ///< the value after `else`; may be null
};
/// A member `base.name`, or an element `base.0` of a tuple.
struct FieldExpr : ExprOf<ExprKind::Field> {
  const Expr* base = nullptr;
  Ident name;          ///< empty for an element of a tuple
  uint32_t index = 0;  ///< for an element of a tuple: its position
};
/// A tuple `(a, b)`. Parentheses around a single expression do not make a node.
struct TupleExpr : ExprOf<ExprKind::Tuple> {
  std::vector<const Expr*> elements;
};
/// A list: `[a, b]`.
struct ListExpr : ExprOf<ExprKind::List> {
  std::vector<const Expr*> elements;
};
/// A type that is used as an argument, as in `random(f32[M, K], seed = 1)`.
struct TypeExpr : ExprOf<ExprKind::Type> {
  const TypeRef* type = nullptr;
};
/// The condition of an `if` that is decided when a function is compiled: `T is f16 | bf16`.
struct TypeTestExpr : ExprOf<ExprKind::TypeTest> {
  TypeName type;
  std::vector<TypeName> among;
};
/// An argument that is moved to a device: `x to device`.
struct MoveExpr : ExprOf<ExprKind::Move> {
  const Expr* operand = nullptr;
  Ident device;
};

/// Returns an expression such as `f32` or `T.acc` as the name of a type, or nothing if it is not a name.
std::optional<TypeName> AsTypeName(const Expr* expr);

}  // namespace kdl::syntax
