#include "irgen/expressions/arithmetic.h"

#include "ir/op_kind.h"
#include "irgen/contracts/values.h"
#include "irgen/walk/generate.h"
#include "support/check.h"

// The language's fma rule is implemented only here. Within one expression, a sum or difference becomes an fma
// if one of its two terms is a product of floats. If both are products, the left one becomes part of the fma.
// a * b + c -> fma(a, b, c)      c + a * b -> fma(a, b, c) a * b - c -> fma(a, b, -c)     c - a * b ->
// fma(-a, b, c)

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using syntax::BinaryOp;

struct OpRow {
  BinaryOp op;
  OpKind kind;
};
constexpr OpRow kOps[] = {
    {BinaryOp::Mul, OpKind::Mul},  {BinaryOp::Div, OpKind::Div},    {BinaryOp::Rem, OpKind::Rem},
    {BinaryOp::Add, OpKind::Add},  {BinaryOp::Sub, OpKind::Sub},    {BinaryOp::Shl, OpKind::Shl},
    {BinaryOp::Shr, OpKind::Shr},  {BinaryOp::BitAnd, OpKind::And}, {BinaryOp::BitXor, OpKind::Xor},
    {BinaryOp::BitOr, OpKind::Or}, {BinaryOp::Eq, OpKind::Eq},      {BinaryOp::Ne, OpKind::Ne},
    {BinaryOp::Lt, OpKind::Lt},    {BinaryOp::Le, OpKind::Le},      {BinaryOp::Gt, OpKind::Gt},
    {BinaryOp::Ge, OpKind::Ge},    {BinaryOp::And, OpKind::And},    {BinaryOp::Or, OpKind::Or},
};

OpKind OpKindOf(BinaryOp op) {
  for (const OpRow& row : kOps) {
    if (row.op == op) return row.kind;
  }
  KDL_UNREACHABLE("unexpected operator {}", Spelling(op));
}

/// Returns the expression if it is a product that may become part of an fma, otherwise null. Contracts do not
/// use fma.
const syntax::BinaryExpr* AsProduct(const FunctionGen& gen, const syntax::Expr* expr) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  const sema::ExprInfo& info = gen.Info(expr);
  bool is_product = binary && binary->op == BinaryOp::Mul && IsFloat(info.type.scalar) &&
                    !info.constant && !info.size && !gen.contract;
  return is_product ? binary : nullptr;
}

Value* Negated(FunctionGen& gen, Value* value) { return gen.builder.Unary(OpKind::Neg, value); }

/// One operand of lhs + rhs or lhs - rhs: either a value, or an expression, which may be a product.
struct Side {
  Value* value = nullptr;
  const syntax::Expr* expr = nullptr;
};

Value* GenSide(FunctionGen& gen, const Side& side) {
  return side.value ? side.value : GenExpr(gen, side.expr);
}

Value* GenSum(FunctionGen& gen, const Side& lhs, const Side& rhs, bool minus) {
  if (const auto* product = lhs.expr ? AsProduct(gen, lhs.expr) : nullptr) {
    Value* a = GenExpr(gen, product->lhs);
    Value* b = GenExpr(gen, product->rhs);
    Value* c = GenSide(gen, rhs);
    return gen.builder.Fma(a, b, minus ? Negated(gen, c) : c);
  }
  Value* c = GenSide(gen, lhs);
  if (const auto* product = rhs.expr ? AsProduct(gen, rhs.expr) : nullptr) {
    Value* a = GenExpr(gen, product->lhs);
    Value* b = GenExpr(gen, product->rhs);
    return gen.builder.Fma(minus ? Negated(gen, a) : a, b, c);
  }
  return gen.builder.Binary(minus ? OpKind::Sub : OpKind::Add, c, GenSide(gen, rhs));
}

bool IsNonZeroConstant(const Value* value) {
  const ir::Op* def = value->def();
  return def && def->kind() == OpKind::Const && def->attr<ir::AttrKey::Bits>() != 0;
}

/// Generates `%` of floats: an op in a contract, otherwise a call of a library fn.
Value* GenFloatRemainder(FunctionGen& gen, Value* a, Value* b, const sema::ExprInfo& info) {
  return gen.contract ? gen.builder.Binary(OpKind::Fmod, a, b)
                      : GenLibraryCall(gen, *info.callee, {a, b});
}

/// Generates `&&` or `||`. The right side is evaluated only if the left side does not already decide the
/// result.
Value* GenLogic(FunctionGen& gen, const syntax::BinaryExpr& binary) {
  bool is_and = binary.op == BinaryOp::And;
  if (gen.contract) return GenContractLogic(gen, binary);
  Value* lhs = GenExpr(gen, binary.lhs);
  gen.guards.push_back({lhs, !is_and});
  Value* rhs = GenExpr(gen, binary.rhs);
  bool guarded = gen.guards.back().mask != nullptr;
  gen.guards.pop_back();
  if (!guarded) return gen.builder.Binary(is_and ? OpKind::And : OpKind::Or, lhs, rhs);
  return is_and ? gen.builder.Select(lhs, rhs, gen.builder.Bool(false))
                : gen.builder.Select(lhs, gen.builder.Bool(true), rhs);
}

/// Combines two values with an operator. If the operator is implemented by a library fn, `info` contains it.
Value* Combine(FunctionGen& gen, OpKind kind, Value* lhs, Value* rhs, Span span,
               const sema::ExprInfo& info) {
  if (kind == OpKind::Rem && IsFloat(lhs->type()->scalar))
    return GenFloatRemainder(gen, lhs, rhs, info);
  bool divides = kind == OpKind::Div || kind == OpKind::Rem;
  return divides ? GenQuotient(gen, kind, lhs, rhs, span) : gen.builder.Binary(kind, lhs, rhs);
}

struct UpdateRow {
  syntax::AssignOp op;
  OpKind kind;
};
constexpr UpdateRow kUpdates[] = {
    {syntax::AssignOp::Mul, OpKind::Mul},  {syntax::AssignOp::Div, OpKind::Div},
    {syntax::AssignOp::Rem, OpKind::Rem},  {syntax::AssignOp::BitAnd, OpKind::And},
    {syntax::AssignOp::BitOr, OpKind::Or}, {syntax::AssignOp::BitXor, OpKind::Xor},
    {syntax::AssignOp::Max, OpKind::Max},  {syntax::AssignOp::Min, OpKind::Min},
};

}  // namespace

Value* GenBinary(FunctionGen& gen, const syntax::BinaryExpr& binary) {
  if (binary.op == BinaryOp::And || binary.op == BinaryOp::Or) return GenLogic(gen, binary);
  bool is_sum = binary.op == BinaryOp::Add || binary.op == BinaryOp::Sub;
  if (is_sum && IsFloat(gen.Info(&binary).type.scalar)) {
    return GenSum(gen, {nullptr, binary.lhs}, {nullptr, binary.rhs}, binary.op == BinaryOp::Sub);
  }
  Value* lhs = GenExpr(gen, binary.lhs);
  Value* rhs = GenExpr(gen, binary.rhs);
  return Combine(gen, OpKindOf(binary.op), lhs, rhs, binary.span, gen.Info(&binary));
}

Value* GenQuotient(FunctionGen& gen, OpKind kind, Value* a, Value* b, Span span) {
  if (IsFloat(a->type()->scalar)) return gen.builder.Binary(kind, a, b);
  Value* mask = IsNonZeroConstant(b) ? nullptr : gen.Mask();
  if (mask) b = gen.builder.Select(mask, b, gen.builder.Int(b->type()->scalar, 1));
  Value* quotient = gen.builder.Binary(kind, a, b);
  quotient->def()->SetAttr(ir::MakeAttr<ir::AttrKey::Text>(gen.QuotedSource(span)));
  return quotient;
}

Value* GenUpdate(FunctionGen& gen, const syntax::AssignStmt& assign, Value* target) {
  syntax::AssignOp op = assign.op;
  bool is_sum = op == syntax::AssignOp::Add || op == syntax::AssignOp::Sub;
  bool minus = op == syntax::AssignOp::Sub;
  if (is_sum && IsFloat(target->type()->scalar))
    return GenSum(gen, {target, nullptr}, {nullptr, assign.value}, minus);
  Value* operand = GenExpr(gen, assign.value);
  if (is_sum) return gen.builder.Binary(minus ? OpKind::Sub : OpKind::Add, target, operand);
  for (const UpdateRow& row : kUpdates) {
    if (row.op == op)
      return Combine(gen, row.kind, target, operand, assign.span, gen.Info(assign.target));
  }
  KDL_UNREACHABLE("unexpected assignment {}", Spelling(op));
}

}  // namespace kdl::irgen
