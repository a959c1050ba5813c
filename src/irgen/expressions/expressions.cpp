#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "irgen/accesses/tile_parts.h"
#include "irgen/contracts/calls.h"
#include "irgen/contracts/parts.h"
#include "irgen/contracts/tables.h"
#include "irgen/contracts/tiles.h"
#include "irgen/contracts/values.h"
#include "irgen/expressions/access.h"
#include "irgen/expressions/arithmetic.h"
#include "irgen/expressions/reductions.h"
#include "irgen/programs/programs.h"
#include "irgen/stages/pipes.h"
#include "irgen/walk/generate.h"
#include "support/check.h"
#include "support/float_bits.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

Value* GenConstant(FunctionGen& gen, const sema::Constant& constant) {
  Scalar made = gen.Made(constant.scalar);
  if (made != constant.scalar)
    return gen.builder.Bits(made, ir::EvaluateCast(constant.scalar, made, constant.bits));
  if (!IsNarrowFloat(constant.scalar)) return gen.builder.Bits(constant.scalar, constant.bits);
  double value = FloatValue(constant.scalar, constant.bits);
  return gen.builder.Bits(Scalar::F32, std::bit_cast<uint32_t>(static_cast<float>(value)));
}

bool MentionsGeneric(const FunctionGen& gen, Size size) {
  if (size->kind == SizeKind::Symbol) return gen.function.FindDim(size->symbol) == nullptr;
  return size->lhs && (MentionsGeneric(gen, size->lhs) || MentionsGeneric(gen, size->rhs));
}

Value* GenIota(FunctionGen& gen, const sema::Entity* range) {
  ir::Type type = gen.builder.types().Tile(Scalar::I64, {gen.RangeAxis(range)});
  return gen.builder.Make(OpKind::Iota, {gen.blocks.at(range)}, type);
}

/// Returns the current value of a name. For a variable that is a tile, this is a snapshot, so that later
/// assignments do not change it.
Value* AtThisMoment(FunctionGen& gen, const sema::Entity* entity, Value* value) {
  bool changes = entity->kind == sema::EntityKind::Var && !IsScalar(value->type());
  return changes ? gen.builder.Unary(OpKind::Snapshot, value) : value;
}

Value* GenName(FunctionGen& gen, const sema::ExprInfo& info) {
  if (gen.contract) return GenContractName(gen, info);
  if (info.builtin) {
    bool id = info.builtin->lowering == sema::Lowering::CoreId;
    return id ? gen.builder.CoreId() : gen.builder.CoreNum();
  }
  if (info.entity->kind == sema::EntityKind::Range) return GenIota(gen, info.entity);
  return Widen(gen, AtThisMoment(gen, info.entity, gen.values.at(info.entity)));
}

/// Generates a field of a range. In a contract, a range has only one block, which starts at 0.
Value* GenField(FunctionGen& gen, const sema::ExprInfo& info) {
  bool is_size = info.field == sema::RangeField::Size;
  if (gen.contract)
    return is_size ? GenSize(gen, NameExtent(gen, info.entity)) : gen.builder.I64(0);
  static constexpr OpKind kOps[] = {OpKind::BlockStart, OpKind::BlockSize, OpKind::BlockIndex};
  return gen.builder.Make(kOps[static_cast<int>(info.field)], {gen.blocks.at(info.entity)},
                          gen.builder.I64Type());
}

Value* GenUnary(FunctionGen& gen, const syntax::UnaryExpr& unary) {
  Value* operand = GenExpr(gen, unary.operand);
  return gen.builder.Unary(unary.op == syntax::UnaryOp::Neg ? OpKind::Neg : OpKind::Not, operand);
}

std::vector<Value*> GenIfExpr(FunctionGen& gen, const syntax::IfExpr& expr) {
  Value* condition = GenExpr(gen, expr.condition);
  if (gen.contract) {
    return GenChoice(
        gen, condition, MadeParts(gen, gen.Info(&expr).type),
        [&] { return GenParts(gen, expr.then_value); },
        [&] { return GenParts(gen, expr.else_value); });
  }
  gen.guards.push_back({condition, false});
  std::vector<Value*> parts = GenParts(gen, expr.then_value);
  gen.guards.back() = {condition, true};
  std::vector<Value*> others = GenParts(gen, expr.else_value);
  gen.guards.pop_back();
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i] = gen.builder.Select(condition, parts[i], others[i]);
  return parts;
}

/// Returns the values for one argument: one for each element if it is a tuple, otherwise a pipe or a single
/// value. A single value is broadcast to all ranges that the call binds to ranges of the parameter.
std::vector<Value*> GenArgument(FunctionGen& gen, const syntax::Expr* arg,
                                const sema::CheckedFunction& callee, const sema::CallInfo& bound,
                                size_t number) {
  const sema::Entity& param = *callee.params[number].entity;
  if (param.kind == sema::EntityKind::Pipe) return {gen.values.at(gen.Info(arg).entity)};
  if (param.type.is_tuple()) return RoundedParts(gen, arg, param.type);
  Value* value = Round(gen, GenExpr(gen, arg), param.type.scalar);
  std::vector<ir::AxisId> axes = value->type()->axes;
  for (size_t i = 0; i < callee.ranges.size(); ++i) {
    const std::vector<const sema::Entity*>& own = param.type.ranges;
    if (std::find(own.begin(), own.end(), callee.ranges[i]) == own.end()) continue;
    axes = ir::UnionAxes(axes, {gen.RangeAxis(bound.ranges[i])});
  }
  return {gen.builder.Broadcast(value, axes)};
}

/// Generates division that rounds towards 0. GenQuotient rounds down, so 1 is added to an inexact negative
/// quotient, and b is subtracted from its remainder.
Value* GenTruncated(FunctionGen& gen, Value* a, Value* b, bool remainder, Span span) {
  ir::Builder& builder = gen.builder;
  Scalar scalar = a->type()->scalar;
  Value* quotient = GenQuotient(gen, OpKind::Div, a, b, span);
  Value* rest = builder.Sub(a, builder.Mul(quotient, b));
  if (!IsSigned(scalar)) return remainder ? rest : quotient;
  Value* zero = builder.Int(scalar, 0);
  Value* is_inexact = builder.Ne(rest, zero);
  Value* up = builder.And(builder.Lt(quotient, zero), is_inexact);
  return remainder ? builder.Select(up, builder.Sub(rest, b), rest)
                   : builder.Select(up, builder.Add(quotient, builder.Int(scalar, 1)), quotient);
}

}  // namespace

Value* GenBuiltin(FunctionGen& gen, const sema::Builtin& builtin, const std::vector<Value*>& args,
                  Span span) {
  ir::Builder& b = gen.builder;
  switch (builtin.lowering) {
    case sema::Lowering::Clamp:
      return b.Min(b.Max(args[0], args[1]), args[2]);
    case sema::Lowering::CeilDiv: {
      Value* one = b.Int(args[1]->type()->scalar, 1);
      return GenQuotient(gen, OpKind::Div, b.Sub(b.Add(args[0], args[1]), one), args[1], span);
    }
    case sema::Lowering::TruncDiv:
    case sema::Lowering::TruncRem:
      return GenTruncated(gen, args[0], args[1], builtin.lowering == sema::Lowering::TruncRem,
                          span);
    default:
      break;
  }
  OpKind kind = *ir::OpFromSpelling(builtin.target);
  std::vector<ir::AxisId> axes;
  for (Value* arg : args) axes = ir::UnionAxes(axes, arg->type()->axes);
  Scalar scalar = sema::ResultScalar(builtin.result, args[0]->type()->scalar);
  ir::Builder::Segments segments;
  for (Value* arg : args) segments.push_back({arg});
  return b.Create(kind, segments, {b.types().Tile(scalar, std::move(axes))})->result();
}

namespace {

/// Generates a builtin that the library implements as a fn. The fn may use another type than the expression,
/// namely the unsigned type of the same width.
Value* GenLibraryBuiltin(FunctionGen& gen, const syntax::CallExpr& call,
                         const sema::ExprInfo& info) {
  std::vector<Value*> args;
  for (const syntax::Arg& arg : call.args) args.push_back(GenExpr(gen, arg.value));
  Value* result = GenLibraryCall(gen, *info.callee, std::move(args));
  return IsInteger(info.type.scalar) ? gen.builder.Cast(result, info.type.scalar) : result;
}

Value* GenCall(FunctionGen& gen, const syntax::CallExpr& call, const sema::ExprInfo& info) {
  if (info.pipe) return Widen(gen, GenPop(gen, *info.pipe, call.span));
  if (gen.contract && info.builtin) return GenContractBuiltin(gen, call, info);
  if (info.builtin && info.builtin->lowering == sema::Lowering::Iota)
    return GenIota(gen, info.entity);
  if (info.entity && info.entity->kind == sema::EntityKind::Device)
    return GenDeviceCores(gen, info.entity);
  if (info.callee && info.builtin) return GenLibraryBuiltin(gen, call, info);
  if (info.callee) return GenFnCall(gen, call, info).at(0);
  std::vector<Value*> args;
  for (const syntax::Arg& arg : call.args) args.push_back(GenExpr(gen, arg.value));
  return GenBuiltin(gen, *info.builtin, args, call.span);
}

Value* GenCast(FunctionGen& gen, const syntax::CastExpr& cast, const sema::ExprInfo& info) {
  // The operand is not rounded to its own narrow type before the cast, because values are rounded only at the
  // end of an expression.
  Value* operand = GenExpr(gen, cast.operand);
  if (gen.contract) return GenContractCast(gen, operand, info);
  if (sema::IsTf32(cast)) return gen.builder.Unary(OpKind::Tf32, operand);
  return Widen(gen, Round(gen, operand, info.type.scalar));
}

}  // namespace

std::vector<Value*> RoundedParts(FunctionGen& gen, const syntax::Expr* expr,
                                 const sema::Type& type) {
  std::vector<Value*> parts = GenParts(gen, expr);
  std::vector<sema::Type> types = PartTypes(type);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = Round(gen, parts[i], types[i].scalar);
  return parts;
}

/// Returns whether a call of the fn may trap. A `while` loop counts as a trap, since it might not end for a
/// masked-off element, whose initial values are arbitrary.
bool MayTrap(const ir::Function& fn, const ir::Module& module) {
  bool traps = false;
  ir::Walk(fn.body, [&](ir::Op* op) {
    traps = traps || op->kind() == OpKind::While || op->kind() == OpKind::Assert ||
            op->kind() == OpKind::Load;
    bool divides = op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
    traps = traps || (divides && !IsFloat(op->result()->type()->scalar));
    if (op->kind() == OpKind::Call) {
      const ir::Function* callee = module.FindFunction(op->attr<ir::AttrKey::Callee>());
      traps = traps || !callee || MayTrap(*callee, module);
    }
  });
  return traps;
}

Value* GenSize(FunctionGen& gen, Size source) {
  Size size = gen.Bound(source);
  if (!gen.contract && !MentionsGeneric(gen, size)) return gen.builder.SizeValue(size);
  return gen.builder.Make(OpKind::SizeOf, {}, gen.builder.I64Type(),
                          {ir::MakeAttr<ir::AttrKey::Size>(size)});
}

namespace {

/// Returns a size as a value of the given type. Integer parameters are treated like literals: once their
/// values are known, the compiler checks that they fit the type.
Value* GenSizeAs(FunctionGen& gen, Span span, Size source, Scalar scalar) {
  if (gen.contract) return GenExactSize(gen, source, gen.Made(scalar));
  Value* size = GenSize(gen, source);
  if (scalar == Scalar::I64) return size;
  Value* value = gen.builder.Cast(size, scalar);
  Value* same = gen.builder.Eq(gen.builder.Cast(value, Scalar::I64), size);
  std::string text = fmt::format("'{}' fits {}", gen.QuotedSource(span).text(), Spelling(scalar));
  gen.builder.Create(OpKind::StaticAssert, {{same}}, {},
                     {ir::MakeAttr<ir::AttrKey::Text>(gen.module.context().names.Intern(text))});
  return value;
}

}  // namespace

std::vector<Value*> GenCallOf(FunctionGen& gen, const sema::CheckedFunction& callee,
                              const sema::CallInfo& bound, const std::vector<Value*>& given) {
  std::vector<Value*> args;
  for (Size size : bound.sizes) args.push_back(GenSize(gen, size));
  for (const sema::Entity* range : bound.ranges) args.push_back(gen.blocks.at(range));
  args.insert(args.end(), given.begin(), given.end());
  Name name = gen.module.context().names.Intern(callee.InstanceName());
  ir::Function* fn = gen.module.FindFunction(name);
  KDL_CHECK(fn, "fn '{}' was not generated before its caller", name.text());
  std::vector<Value*> mask;
  if (!gen.guards.empty() && MayTrap(*fn, gen.module)) mask.push_back(gen.Mask());
  std::vector<ir::Type> types;
  if (callee.result.is_value() || callee.result.is_tuple()) {
    std::vector<ir::AxisId> axes;
    for (Value* value : given) axes = ir::UnionAxes(axes, value->type()->axes);
    for (Value* value : mask) axes = ir::UnionAxes(axes, value->type()->axes);
    axes = ir::WithoutAxes(axes, gen.RangeAxes(bound.ranges));
    for (size_t i = 0; i < callee.ranges.size(); ++i) {
      const std::vector<const sema::Entity*>& own = callee.result.ranges;
      if (std::find(own.begin(), own.end(), callee.ranges[i]) != own.end())
        axes = ir::UnionAxes(axes, {gen.RangeAxis(bound.ranges[i])});
    }
    for (const sema::Type& part : PartTypes(callee.result))
      types.push_back(gen.builder.types().Tile(part.scalar, axes));
  }
  ir::Op* op = gen.builder.Create(OpKind::Call, {args, mask}, types,
                                  {ir::MakeAttr<ir::AttrKey::Callee>(name)});
  std::vector<Value*> results;
  for (Value* result : op->results()) results.push_back(Widen(gen, result));
  return results;
}

std::vector<Value*> GenFnCall(FunctionGen& gen, const syntax::CallExpr& call,
                              const sema::ExprInfo& info) {
  if (gen.contract) return GenContractCall(gen, call, info);
  static const sema::CallInfo kNothing;
  const sema::CallInfo& bound = info.call ? *info.call : kNothing;
  std::vector<Value*> given;
  for (size_t i = 0; i < call.args.size(); ++i) {
    std::vector<Value*> argument = GenArgument(gen, call.args[i].value, *info.callee, bound, i);
    given.insert(given.end(), argument.begin(), argument.end());
  }
  return GenCallOf(gen, *info.callee, bound, given);
}

Value* GenLibraryCall(FunctionGen& gen, const sema::CheckedFunction& callee,
                      std::vector<Value*> args) {
  for (size_t i = 0; i < args.size(); ++i)
    args[i] = Round(gen, args[i], callee.params[i].entity->type.scalar);
  return GenCallOf(gen, callee, {}, args)[0];
}

Value* GenExpr(FunctionGen& gen, const syntax::Expr* expr) {
  const sema::ExprInfo& info = gen.Info(expr);
  LocScope loc(gen, expr->span);
  if (info.constant) return GenConstant(gen, *info.constant);
  if (info.size) return GenSizeAs(gen, expr->span, info.size, info.type.scalar);
  switch (expr->kind) {
    case syntax::ExprKind::Name:
      return GenName(gen, info);
    case syntax::ExprKind::Field: {
      const auto& field = syntax::As<syntax::FieldExpr>(expr);
      return info.entity ? GenField(gen, info) : GenParts(gen, field.base).at(field.index);
    }
    case syntax::ExprKind::Unary:
      return GenUnary(gen, syntax::As<syntax::UnaryExpr>(expr));
    case syntax::ExprKind::Binary:
      return GenBinary(gen, syntax::As<syntax::BinaryExpr>(expr));
    case syntax::ExprKind::If:
      return GenIfExpr(gen, syntax::As<syntax::IfExpr>(expr)).at(0);
    case syntax::ExprKind::Cast:
      return GenCast(gen, syntax::As<syntax::CastExpr>(expr), info);
    case syntax::ExprKind::Call:
      return GenCall(gen, syntax::As<syntax::CallExpr>(expr), info);
    case syntax::ExprKind::Index:
      if (info.part && gen.tiles) return GenTileElement(gen, syntax::As<syntax::IndexExpr>(expr));
      if (info.part) return GenTilePart(gen, syntax::As<syntax::IndexExpr>(expr));
      return Widen(gen, GenLoad(gen, syntax::As<syntax::IndexExpr>(expr)));
    case syntax::ExprKind::Reduce:
      return GenReduce(gen, syntax::As<syntax::ReduceExpr>(expr));
    default:
      KDL_UNREACHABLE("an invalid expression passed semantic analysis at {}",
                      gen.sources.text(expr->span));
  }
}

std::vector<Value*> GenParts(FunctionGen& gen, const syntax::Expr* expr) {
  const sema::ExprInfo& info = gen.Info(expr);
  if (!info.type.is_tuple()) return {GenExpr(gen, expr)};
  LocScope loc(gen, expr->span);
  std::vector<Value*> parts;
  switch (expr->kind) {
    case syntax::ExprKind::Tuple:
      for (const syntax::Expr* part : syntax::As<syntax::TupleExpr>(expr).elements)
        parts.push_back(GenExpr(gen, part));
      return parts;
    case syntax::ExprKind::Name:
      if (gen.tiles && gen.tiles->values.contains(info.entity))
        return LoadKept(gen, gen.tiles->values.at(info.entity));
      for (Value* part : gen.tuples.at(info.entity))
        parts.push_back(Widen(gen, AtThisMoment(gen, info.entity, part)));
      return parts;
    case syntax::ExprKind::If:
      return GenIfExpr(gen, syntax::As<syntax::IfExpr>(expr));
    case syntax::ExprKind::Call:
      return GenFnCall(gen, syntax::As<syntax::CallExpr>(expr), info);
    case syntax::ExprKind::Reduce:
      return GenUserFold(gen, syntax::As<syntax::ReduceExpr>(expr));
    default:
      KDL_UNREACHABLE("an unexpected tuple passed semantic analysis at {}",
                      gen.sources.text(expr->span));
  }
}

Value* GenRounded(FunctionGen& gen, const syntax::Expr* expr) {
  return Round(gen, GenExpr(gen, expr), gen.Info(expr).type.scalar);
}

Value* GenIndex(FunctionGen& gen, const syntax::Expr* expr) {
  return gen.builder.Cast(GenExpr(gen, expr), Scalar::I64);
}

}  // namespace kdl::irgen
