#include "sema/expr.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sema/builtins.h"
#include "sema/coerce.h"
#include "sema/constants.h"
#include "sema/contract.h"
#include "sema/groups.h"
#include "sema/imports.h"
#include "sema/index.h"
#include "sema/resolve.h"
#include "sema/sizes.h"
#include "sema/tuples.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::BinaryOp;
using syntax::Expr;
using syntax::ExprKind;
using syntax::UnaryOp;

// Expressions nest deep: what is called for one kind keeps its locals out of the frames of the walk.
#define KDL_OWN_FRAME [[gnu::noinline]]

Type LiteralType(bool is_float) {
  Type type;
  type.kind = is_float ? TypeKind::FloatLiteral : TypeKind::IntLiteral;
  return type;
}

KDL_OWN_FRAME Type RecordLiteral(FunctionState& state, const Expr* expr, ExprInfo& info,
                                 const Literal& literal) {
  state.literals[expr] = literal;
  std::optional<int64_t> integer = ToInt64(literal);
  info.size = integer ? state.module.sizes.Constant(*integer) : nullptr;
  return LiteralType(literal.is_float);
}

Type CheckConstName(FunctionState& state, const Expr* expr, ExprInfo& info, const Entity* entity) {
  std::optional<Literal> value = ConstValue(state, entity);
  if (entity->type.is_tensor()) {
    state.diagnostics
        .Report(diag::TableAsValue, expr->span, entity->name.text(), ToString(entity->type))
        .Help(fmt::format("index it: {}[…]", entity->name.text()));
  }
  if (!value) return Type{};
  if (entity->type.is_value() && entity->type.scalar == Scalar::Bool) {
    info.constant = Constant{Scalar::Bool, static_cast<uint64_t>(value->integer)};
    return entity->type;
  }
  bool untyped = entity->type.is_literal() || state.in_const || state.contract != nullptr;
  if (untyped) return RecordLiteral(state, expr, info, *value);
  info.constant = ToConstant(*value, entity->type.scalar);
  return entity->type;
}

Type CheckRangeName(FunctionState& state, const Entity* entity) {
  if (state.range_values > 0 || state.contract != nullptr) return ValueType(Scalar::I64, {entity});
  Type type;
  type.kind = TypeKind::Range;
  return type;
}

Type CheckBuiltinName(FunctionState& state, const syntax::NameExpr& name, ExprInfo& info) {
  const Builtin* builtin = FindBuiltin(name.name.text());
  if (builtin == nullptr) {
    ReportUnknown(state, name.name.text(), name.span);
    return Type{};
  }
  if (builtin->operands != Operands::None) {
    state.diagnostics.Report(diag::FunctionAsValue, name.span, builtin->spelling)
        .Help(fmt::format("call it: {}(…)", builtin->spelling));
    return Type{};
  }
  bool in_kernel = state.kind() == syntax::FunctionKind::Kernel && state.contract == nullptr;
  if (!in_kernel) {
    state.diagnostics.Report(diag::CoreOutsideKernel, name.span, builtin->spelling);
    return Type{};
  }
  if (builtin->kind == BuiltinKind::CoreId && state.spmd_depth != 0) {
    state.diagnostics.Report(diag::CoreIdInSpmd, name.span)
        .Help("which core runs a block is not known: use the block's own index, `k.index`");
    return Type{};
  }
  info.builtin = builtin;
  return ValueType(Scalar::I64);
}

/// A contract says what a kernel computes, whatever tiles the compiler chooses.
Type CheckIntGeneric(FunctionState& state, const Entity& entity, const Expr* expr) {
  for (const IntGenericInfo& info : state.fn.generics) {
    if (!state.contract || info.entity != &entity || !info.is_auto) continue;
    state.diagnostics.Report(diag::AutoInContract, expr->span, entity.name.text())
        .Help("a contract holds for every choice; name a size, or a parameter with a value");
    return Type{};
  }
  return LiteralType(false);
}

/// The value of what an expression names.
KDL_OWN_FRAME Type CheckEntity(FunctionState& state, const Entity& entity, const Expr* expr,
                               ExprInfo& info) {
  info.entity = &entity;
  info.size = entity.size;
  if (state.spmd_depth != 0 && state.core_dependent.contains(&entity)) {
    state.diagnostics.Report(diag::CoreDependentInSpmd, expr->span, entity.name.text())
        .Note(entity.span, "declared here");
    return Type{};
  }
  switch (entity.kind) {
    case EntityKind::Const:
      return CheckConstName(state, expr, info, &entity);
    case EntityKind::IntGeneric:
      return CheckIntGeneric(state, entity, expr);
    case EntityKind::Range:
      return entity.type.is_error() ? Type{} : CheckRangeName(state, &entity);
    case EntityKind::ScalarParam:
    case EntityKind::Let:
    case EntityKind::Var:
    case EntityKind::ScalarBinder:
      return Seen(state, entity.type);
    case EntityKind::SizeName:
    case EntityKind::TensorParam:
    case EntityKind::LocalTensor:
    case EntityKind::TileParam:
    case EntityKind::Pipe:
    case EntityKind::Auxiliary:
      return entity.type;
    case EntityKind::TypeGeneric:
    case EntityKind::Domain:
    case EntityKind::Stage:
    case EntityKind::Device:
    case EntityKind::Fn:
    case EntityKind::Kernel:
    case EntityKind::Program:
    case EntityKind::Import:
      state.diagnostics.Report(diag::NotAValue, expr->span, entity.name.text(),
                               Describe(entity.kind));
      return Type{};
  }
  return Type{};
}

KDL_OWN_FRAME Type CheckName(FunctionState& state, const syntax::NameExpr& name, ExprInfo& info) {
  const Entity* entity = state.scopes.Find(name.name);
  if (entity == nullptr && state.contract != nullptr && FindBuiltin(name.name.text()) == nullptr) {
    entity = DeclareFree(state, name.name, name.span);
  }
  if (entity == nullptr) return CheckBuiltinName(state, name, info);
  return CheckEntity(state, *entity, &name, info);
}

KDL_OWN_FRAME Type CheckUnary(FunctionState& state, const syntax::UnaryExpr& unary,
                              ExprInfo& info) {
  Type type = CheckValue(state, unary.operand);
  if (type.is_error()) return type;
  if (unary.op == UnaryOp::Not) {
    type = Default(state, unary.operand);
    if (type.is_error() || type.scalar == Scalar::Bool) return type;
    state.diagnostics
        .Report(diag::BadOperand, unary.span, Spelling(unary.op), "a bool", Spelling(type.scalar))
        .Help("compare with `== 0`, or flip the bits with `^ -1`");
    return Type{};
  }
  auto literal = state.literals.find(unary.operand);
  if (literal != state.literals.end() && type.is_literal()) {
    return RecordLiteral(state, &unary, info, Negate(literal->second));
  }
  if (type.is_value() && type.scalar == Scalar::Bool) {
    state.diagnostics
        .Report(diag::BadOperand, unary.span, Spelling(unary.op), "an integer or a float",
                Spelling(type.scalar))
        .Help("`!` negates a bool");
    return Type{};
  }
  if (Size size = state.fn.exprs[unary.operand].size) {
    SizeTable& sizes = state.module.sizes;
    info.size = sizes.Binary(SizeKind::Sub, sizes.Constant(0), size);
  }
  return type;
}

enum class OperatorGroup { Arithmetic, Remainder, Bits, Shift, Order, Equality, Logic };

OperatorGroup GroupOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::Mul:
    case BinaryOp::Div:
    case BinaryOp::Add:
    case BinaryOp::Sub:
      return OperatorGroup::Arithmetic;
    case BinaryOp::Rem:
      return OperatorGroup::Remainder;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return OperatorGroup::Shift;
    case BinaryOp::BitAnd:
    case BinaryOp::BitXor:
    case BinaryOp::BitOr:
      return OperatorGroup::Bits;
    case BinaryOp::Eq:
    case BinaryOp::Ne:
      return OperatorGroup::Equality;
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
      return OperatorGroup::Order;
    case BinaryOp::And:
    case BinaryOp::Or:
      return OperatorGroup::Logic;
  }
  return OperatorGroup::Arithmetic;
}

/// What the operands have to be; empty where `scalar` is that.
std::string_view Wanted(OperatorGroup group, Scalar scalar) {
  bool is_bool = scalar == Scalar::Bool;
  switch (group) {
    case OperatorGroup::Arithmetic:
    case OperatorGroup::Order:
      return is_bool ? "integers or floats" : "";
    case OperatorGroup::Remainder:
    case OperatorGroup::Shift:
      return is_bool || IsFloat(scalar) ? "integers" : "";
    case OperatorGroup::Bits:
      return IsFloat(scalar) ? "integers or bools" : "";
    case OperatorGroup::Logic:
      return is_bool ? "" : "bools";
    case OperatorGroup::Equality:
      return "";
  }
  return "";
}

/// The size that an operation on sizes is; null where it may trap.
Size SizeOf(FunctionState& state, const syntax::BinaryExpr& binary) {
  Size lhs = state.fn.exprs[binary.lhs].size;
  Size rhs = state.fn.exprs[binary.rhs].size;
  std::optional<SizeKind> kind = SizeKindOf(binary.op);
  if (lhs == nullptr || rhs == nullptr || !kind) return nullptr;
  bool divides = *kind == SizeKind::FloorDiv || *kind == SizeKind::Mod;
  if (divides && (!IsConstant(rhs) || rhs->value == 0)) return nullptr;
  return state.module.sizes.Binary(*kind, lhs, rhs);
}

/// Both operands are literals.
KDL_OWN_FRAME Type FoldLiterals(FunctionState& state, const syntax::BinaryExpr& binary,
                                ExprInfo& info, const Type& type) {
  auto lhs = state.literals.find(binary.lhs);
  auto rhs = state.literals.find(binary.rhs);
  if (lhs == state.literals.end() || rhs == state.literals.end()) return type;
  Folded folded = Fold(binary.op, lhs->second, rhs->second);
  if (folded.value) return RecordLiteral(state, &binary, info, *folded.value);
  if (!folded.failure) return type;
  switch (*folded.failure) {
    case FoldFailure::DivisionByZero:
      state.diagnostics.Report(diag::DivisionByZero, binary.rhs->span);
      break;
    case FoldFailure::TooLarge:
      state.diagnostics.Report(diag::LiteralTooLarge, binary.span, Quote(state, &binary));
      break;
    case FoldFailure::ShiftCount:
      state.diagnostics.Report(diag::ShiftCount, binary.rhs->span, ToString(rhs->second));
      break;
  }
  return Type{};
}

KDL_OWN_FRAME Type ReportOperand(FunctionState& state, const syntax::BinaryExpr& binary,
                                 std::string_view wanted, Scalar found) {
  Diagnostic& report = state.diagnostics.Report(diag::BadOperand, binary.op_span,
                                                Spelling(binary.op), wanted, Spelling(found));
  if (binary.op == BinaryOp::Rem && IsFloat(found)) {
    report.Help("write `a - b * floor(a / b)` for floats");
  }
  if (GroupOf(binary.op) == OperatorGroup::Logic && IsInteger(found)) {
    report.Help("compare with `!= 0`, or use `&` and `|` on bits");
  }
  return Type{};
}

KDL_OWN_FRAME Type CheckBinary(FunctionState& state, const syntax::BinaryExpr& binary,
                               ExprInfo& info) {
  CheckValue(state, binary.lhs);
  CheckValue(state, binary.rhs);
  std::array<const Expr*, 2> operands = {binary.lhs, binary.rhs};
  OperatorGroup group = GroupOf(binary.op);
  for (const Expr* operand : operands) {
    const Type& one = state.fn.exprs[operand].type;
    if (group == OperatorGroup::Logic && one.is_value() && one.scalar != Scalar::Bool)
      return ReportOperand(state, binary, "bools", one.scalar);
  }
  Type type = Unify(state, operands, binary.op_span, Spelling(binary.op));
  if (type.is_error()) return type;
  bool float_like = type.kind == TypeKind::FloatLiteral;
  Scalar scalar = type.is_value() ? type.scalar : float_like ? Scalar::F32 : Scalar::I32;
  std::string_view wanted = Wanted(group, scalar);
  if (!wanted.empty()) return ReportOperand(state, binary, wanted, scalar);
  bool compares = group == OperatorGroup::Order || group == OperatorGroup::Equality;
  if (compares && type.is_literal()) {
    // Which type two literals are compared in makes no difference but for what fits.
    for (const Expr* operand : operands) {
      if (!Coerce(state, operand, float_like ? Scalar::F64 : Scalar::I64)) return Type{};
    }
  }
  if (compares || group == OperatorGroup::Logic) return ValueType(Scalar::Bool, type.ranges);
  if (type.is_literal()) type = FoldLiterals(state, binary, info, type);
  if (!type.is_error() && info.size == nullptr) info.size = SizeOf(state, binary);
  auto divisor = state.literals.find(binary.rhs);
  bool divides = binary.op == BinaryOp::Div || binary.op == BinaryOp::Rem;
  if (divides && type.is_value() && IsInteger(type.scalar) && divisor != state.literals.end() &&
      divisor->second.integer == 0) {
    state.diagnostics.Report(diag::DivisionByZero, binary.rhs->span);
    return Type{};
  }
  return type;
}

KDL_OWN_FRAME Type CheckIf(FunctionState& state, const syntax::IfExpr& choice) {
  Type condition = CheckCondition(state, choice.condition, "the condition of `if`", false);
  CheckAny(state, choice.then_value);
  CheckAny(state, choice.else_value);
  bool tuples = state.fn.exprs[choice.then_value].type.is_tuple() ||
                state.fn.exprs[choice.else_value].type.is_tuple();
  if (tuples) return CheckTupleChoice(state, choice, condition);
  std::array<const Expr*, 2> branches = {choice.then_value, choice.else_value};
  Type type = Unify(state, branches, choice.span, "if … then … else");
  if (condition.is_error()) return Type{};
  if (!type.is_error()) type.ranges = UnionOf(type.ranges, condition.ranges);
  return type;
}

/// A literal becomes the type of the cast at once where it fits; a symbol's value is not known, so
/// it goes through i64.
Type CheckCastOperand(FunctionState& state, const Expr* operand, Scalar target) {
  const ExprInfo& info = state.fn.exprs[operand];
  if (!info.type.is_literal()) return info.type;
  bool same_group = IsFloat(target) == (info.type.kind == TypeKind::FloatLiteral);
  auto literal = state.literals.find(operand);
  if (IsFloat(target) && !same_group && Floors(state, operand)) {
    Coerce(state, operand, Scalar::I64);
  } else if (literal != state.literals.end()) {
    if (ToConstant(literal->second, target)) {
      Coerce(state, operand, target);
    } else if (!literal->second.is_float) {
      Coerce(state, operand, Scalar::I64);
    }
  } else if (same_group && target != Scalar::Bool) {
    Coerce(state, operand, target);
  } else if (info.type.kind == TypeKind::IntLiteral) {
    Coerce(state, operand, Scalar::I64);
  }
  return Default(state, operand);
}

/// `x as tf32`: an f32 again, rounded by a fn of the library.
KDL_OWN_FRAME Type CheckTf32(FunctionState& state, const syntax::CastExpr& cast, ExprInfo& info) {
  if (state.fn.exprs[cast.operand].type.is_error()) return Type{};
  if (!state.dot_operands.contains(&cast)) {
    state.diagnostics.Report(diag::Tf32Outside, cast.type.span)
        .Help("write dot(a as tf32, b as tf32 over k)");
    return Type{};
  }
  Scalar scalar = state.contract != nullptr ? Scalar::F64 : Scalar::F32;
  if (!Fits(state, cast.operand, scalar)) {
    state.diagnostics
        .Report(diag::BadOperand, cast.span, "as tf32", "an f32",
                Spelling(state.fn.exprs[cast.operand].type.scalar))
        .Help(fmt::format("write '({}) as tf32'", AsHint(state, cast.operand, Scalar::F32)));
    return Type{};
  }
  if (state.contract == nullptr) {
    FunctionGroup& group = Require(state.module, LibraryFunction(state.module, "tf32_f32"));
    if (group.instances.size() != 1) return Type{};
    state.group.calls.emplace_back(&group, cast.type.span);
    info.callee = group.instances[0];
  }
  return ValueType(scalar, state.fn.exprs[cast.operand].type.ranges);
}

KDL_OWN_FRAME Type CheckCast(FunctionState& state, const syntax::CastExpr& cast, ExprInfo& info) {
  Type type = CheckValue(state, cast.operand);
  if (cast.type.name.text() == "tf32") return CheckTf32(state, cast, info);
  std::optional<Scalar> target = ResolveScalar(state, cast.type);
  if (type.is_error() || !target) return Type{};
  if (state.contract != nullptr && *target != Scalar::Bool) {
    info.pattern = *target;
    target = Seen(state, *target);
  }
  type = CheckCastOperand(state, cast.operand, *target);
  return type.is_error() ? type : ValueType(*target, type.ranges);
}

KDL_OWN_FRAME Type CheckField(FunctionState& state, const syntax::FieldExpr& field,
                              ExprInfo& info) {
  if (!field.name) return CheckPart(state, field);
  if (const Entity* import = ImportOf(state, field.base)) {
    const Entity* member = ResolveMember(state, *import, field.name);
    return member != nullptr ? CheckEntity(state, *member, &field, info) : Type{};
  }
  Type base = CheckExpr(state, field.base);
  if (base.is_error()) return base;
  const Entity* entity = state.fn.exprs[field.base].entity;
  std::string_view name = field.name.name.text();
  if (entity == nullptr || entity->kind != EntityKind::Range || state.contract != nullptr) {
    state.diagnostics.Report(diag::NoFields, field.name.span, Quote(state, field.base), name)
        .Help("a range k has k.start, k.size and k.index");
    return Type{};
  }
  info.entity = entity;
  if (name == "start") {
    info.field = RangeField::Start;
  } else if (name == "size") {
    info.field = RangeField::Size;
  } else if (name == "index") {
    info.field = RangeField::Index;
  } else {
    state.diagnostics.Report(diag::UnknownRangeField, field.name.span, entity->name.text(), name)
        .Help(fmt::format("write {0}.start, {0}.size or {0}.index", entity->name.text()));
    return Type{};
  }
  return ValueType(Scalar::I64);
}

KDL_OWN_FRAME Type CheckUnsupported(FunctionState& state, const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::List:
      state.diagnostics.Report(diag::ListPlace, expr->span);
      return Type{};
    case ExprKind::Type:
      state.diagnostics.Report(diag::TypePlace, expr->span);
      return Type{};
    case ExprKind::Move:
      ReportUnsupported(state.diagnostics, Feature::Moves, expr->span);
      return Type{};
    default:
      KDL_UNREACHABLE("expression kind {}", static_cast<int>(expr->kind));
  }
}

KDL_OWN_FRAME Type Dispatch(FunctionState& state, const Expr* expr, ExprInfo& info) {
  switch (expr->kind) {
    case ExprKind::IntLit:
      return RecordLiteral(state, expr, info, FromAst(As<syntax::IntLit>(expr)));
    case ExprKind::FloatLit:
      return RecordLiteral(state, expr, info, FromAst(As<syntax::FloatLit>(expr)));
    case ExprKind::BoolLit:
      info.constant = Constant{Scalar::Bool, As<syntax::BoolLit>(expr).value ? uint64_t{1} : 0};
      return ValueType(Scalar::Bool);
    case ExprKind::StringLit: {
      Type type;
      type.kind = TypeKind::String;
      return type;
    }
    case ExprKind::AutoLit:
      state.diagnostics.Report(diag::AutoAsValue, expr->span);
      return Type{};
    case ExprKind::Name:
      return CheckName(state, As<syntax::NameExpr>(expr), info);
    case ExprKind::Unary:
      return CheckUnary(state, As<syntax::UnaryExpr>(expr), info);
    case ExprKind::Binary:
      return CheckBinary(state, As<syntax::BinaryExpr>(expr), info);
    case ExprKind::If:
      return CheckIf(state, As<syntax::IfExpr>(expr));
    case ExprKind::Cast:
      return CheckCast(state, As<syntax::CastExpr>(expr), info);
    case ExprKind::Call:
      return CheckCall(state, As<syntax::CallExpr>(expr), info);
    case ExprKind::Reduce:
      return CheckReduce(state, As<syntax::ReduceExpr>(expr), info);
    case ExprKind::Index:
      return CheckIndex(state, As<syntax::IndexExpr>(expr), info, false);
    case ExprKind::Tuple:
      return CheckTuple(state, As<syntax::TupleExpr>(expr));
    case ExprKind::Field:
      return CheckField(state, As<syntax::FieldExpr>(expr), info);
    default:
      return CheckUnsupported(state, expr);
  }
}

}  // namespace

Type CheckExpr(FunctionState& state, const Expr* expr) {
  ExprInfo info;
  state.literals.erase(expr);
  info.type = Dispatch(state, expr, info);
  if (info.type.is_error()) state.literals.erase(expr);
  ExprInfo& recorded = state.fn.exprs[expr] = std::move(info);
  return recorded.type;
}

namespace {

KDL_OWN_FRAME void ReportNoValue(FunctionState& state, const Expr* expr, const Type& type) {
  std::string text = Quote(state, expr);
  switch (type.kind) {
    case TypeKind::Range:
      state.diagnostics.Report(diag::RangeAsValue, expr->span, text)
          .Help(fmt::format("write iota({0}) for its indices, {0}.start for the first one", text));
      break;
    case TypeKind::Tensor:
      state.diagnostics.Report(diag::TensorAsValue, expr->span, text, ToString(type))
          .Help(fmt::format("index it: {}[…]", text));
      break;
    case TypeKind::Pipe:
      state.diagnostics.Report(diag::PipeAsValue, expr->span, text)
          .Help(fmt::format("take a tile from it: {}.pop(…)", text));
      break;
    case TypeKind::Tuple:
      state.diagnostics.Report(diag::TupleAsValue, expr->span, text, ToString(type))
          .Help(fmt::format("take a part: {}.0", text));
      break;
    case TypeKind::Nothing:
      state.diagnostics.Report(diag::ResultOfNothing, expr->span, text)
          .Help("write it as a statement of its own");
      break;
    default:
      state.diagnostics.Report(diag::TextAsValue, expr->span);
      break;
  }
}

}  // namespace

Type CheckValue(FunctionState& state, const Expr* expr) {
  Type type = CheckExpr(state, expr);
  if (type.is_error() || type.is_value() || type.is_literal()) return type;
  ReportNoValue(state, expr, type);
  state.fn.exprs[expr].type = Type{};
  return Type{};
}

Type CheckAny(FunctionState& state, const Expr* expr) {
  Type type = CheckExpr(state, expr);
  bool fits = type.is_error() || type.is_value() || type.is_literal() || type.is_tuple();
  if (fits) return type;
  ReportNoValue(state, expr, type);
  state.fn.exprs[expr].type = Type{};
  return Type{};
}

Type CheckFinalValue(FunctionState& state, const Expr* expr) {
  CheckValue(state, expr);
  return Default(state, expr);
}

Type CheckInteger(FunctionState& state, const Expr* expr, std::string_view what) {
  Type type = CheckValue(state, expr);
  if (type.is_error()) return type;
  if (type.kind == TypeKind::IntLiteral) {
    Coerce(state, expr, Scalar::I64);
    return state.fn.exprs[expr].type;
  }
  bool is_float = type.kind == TypeKind::FloatLiteral;
  if (is_float || !IsInteger(type.scalar)) {
    state.diagnostics
        .Report(diag::NotAnInteger, expr->span, what,
                is_float ? ToString(type) : std::string(Spelling(type.scalar)))
        .Help(fmt::format("write '{}'", AsHint(state, expr, Scalar::I64)));
    return Type{};
  }
  if (!type.ranges.empty()) {
    state.diagnostics.Report(diag::TileForScalar, expr->span, what, RangesText(type.ranges));
    return Type{};
  }
  return type;
}

Type CheckCondition(FunctionState& state, const Expr* expr, std::string_view what, bool scalar) {
  Type type = CheckFinalValue(state, expr);
  if (type.is_error()) return type;
  if (type.scalar != Scalar::Bool) {
    state.diagnostics.Report(diag::NotABool, expr->span, what, Spelling(type.scalar))
        .Help("compare it, for example with `!= 0`");
    return Type{};
  }
  if (scalar && !type.ranges.empty()) {
    state.diagnostics.Report(diag::TileForScalar, expr->span, what, RangesText(type.ranges))
        .Help("choose element by element with `if c then a else b`");
    return Type{};
  }
  return type;
}

}  // namespace kdl::sema
