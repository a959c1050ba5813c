#include "irgen/contracts/values.h"

#include <fmt/format.h>

#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "irgen/accesses/elements.h"
#include "irgen/accesses/four_bits.h"
#include "irgen/contracts/parts.h"
#include "irgen/contracts/tables.h"
#include "irgen/walk/generate.h"
#include "support/check.h"

// Generates the values in a contract: elements, names, casts, calls and choices.

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using sema::Entity;

bool InFn(const FunctionGen& gen) {
  return gen.checked.item->function_kind == syntax::FunctionKind::Fn;
}

Value* ContractTensor(FunctionGen& gen, const Entity* entity, bool old) {
  if (entity->kind == sema::EntityKind::Const) return GenTable(gen, entity);
  ContractScope& scope = *gen.contract;
  Value*& known = scope.tensors[{entity, old}];
  if (known) return known;
  ir::TypeTable& types = gen.builder.types();
  std::vector<Size> dims;
  for (Size dim : entity->type.dims) dims.push_back(gen.Bound(dim));
  if (entity->kind == sema::EntityKind::Auxiliary) {
    if (dims.empty()) dims.push_back(types.sizes().Constant(1));
    uint32_t number = scope.tables.auxiliaries.at(entity);
    known = AddContractParam(gen, types.Tensor(entity->type.scalar, std::move(dims)), entity->name,
                             {ir::ContractInput::Auxiliary, number});
    for (const ir::Clause& equation : scope.tables.contract.equations) {
      if (equation.defines != number) continue;
      scope.clause.folded.insert(scope.clause.folded.end(), equation.folded.begin(),
                                 equation.folded.end());
      scope.clause.reads_narrow |= equation.reads_narrow;
    }
    return known;
  }
  Scalar scalar = entity->type.scalar;
  scope.clause.reads_narrow |= IsFloat(scalar) && scalar != Scalar::F64;
  Name name = old ? gen.module.context().names.Intern(fmt::format("{}.old", entity->name.text()))
                  : entity->name;
  ir::ContractInput input = old ? ir::ContractInput::Old : ir::ContractInput::Argument;
  return known = AddContractParam(gen, types.Tensor(scalar, std::move(dims)), name,
                                  {input, scope.tables.argument(entity)});
}

/// Returns the value for elements outside the tensor if it is a constant that the tensor's type represents
/// exactly. Otherwise returns null.
Value* ConstantElse(FunctionGen& gen, const syntax::Expr* otherwise, Scalar scalar) {
  const std::optional<sema::Constant>& constant = gen.Info(otherwise).constant;
  if (!constant) return nullptr;
  uint64_t bits = ir::EvaluateCast(constant->scalar, scalar, constant->bits);
  bool same = ir::EvaluateCast(scalar, constant->scalar, bits) == constant->bits;
  return same ? gen.builder.Bits(scalar, bits) : nullptr;
}

Value* GenInside(FunctionGen& gen, Value* tensor, const sema::IndexInfo& index) {
  ir::Builder& b = gen.builder;
  Value* inside = b.Bool(true);
  for (size_t d = 0; d < index.dims.size(); ++d) {
    Value* at = GenDimIndex(gen, index.dims[d]);
    Value* low = b.Ge(at, b.I64(0));
    Value* high = b.Lt(at, GenSize(gen, tensor->type()->dims[d]));
    inside = b.And(inside, b.And(low, high));
  }
  return inside;
}

/// Generates `bits` or `from_bits`. The operand is first converted to the type whose bits are needed.
Value* GenPattern(FunctionGen& gen, Value* operand, const sema::ExprInfo& info) {
  Scalar pattern = info.pattern;
  OpKind kind = IsFloat(pattern) ? OpKind::ToBits : OpKind::FromBits;
  Scalar result = sema::ResultScalar(info.builtin->result, pattern);
  Value* made = gen.builder.Make(kind, {gen.builder.Cast(operand, pattern)},
                                 gen.builder.types().ScalarOf(result));
  return gen.builder.Cast(made, gen.Made(info.type.scalar));
}

/// Generates a builtin that the library implements as a fn. If the width of the type matters, the arguments
/// are first converted to the type whose bits are needed.
Value* GenInlinedBuiltin(FunctionGen& gen, std::vector<Value*> args, const sema::ExprInfo& info) {
  bool has_width = info.builtin->lowering == sema::Lowering::WidthFn;
  if (has_width) {
    std::vector<Scalar> types(args.size(), info.pattern);
    args = CastParts(gen, std::move(args), types);
  }
  Value* result = GenInlined(gen, *info.callee, args, {})[0];
  if (has_width) result = gen.builder.Cast(result, info.pattern);
  return gen.builder.Cast(result, gen.Made(info.type.scalar));
}

}  // namespace

Value* GenDimIndex(FunctionGen& gen, const sema::IndexDim& dim) {
  ir::Builder& b = gen.builder;
  Value* index = IsConstant(dim.offset, 0) ? nullptr : GenSize(gen, dim.offset);
  for (const sema::IndexTerm& term : dim.terms) {
    Value* value = term.range ? gen.values.at(term.range) : GenIndex(gen, term.value);
    if (!IsConstant(term.coefficient, 1)) value = b.Mul(GenSize(gen, term.coefficient), value);
    index = index ? b.Add(index, value) : value;
  }
  return index ? index : b.I64(0);
}

Value* GenElementOr(FunctionGen& gen, Value* tensor, const sema::IndexInfo& index,
                    const syntax::Expr* otherwise, Scalar scalar, Span span) {
  auto element = [&](Value* constant) {
    return gen.builder.Cast(GenElement(gen, tensor, index, constant, span), scalar);
  };
  if (!otherwise) return element(nullptr);
  if (Value* constant = ConstantElse(gen, otherwise, tensor->type()->scalar))
    return element(constant);
  Value* inside = GenInside(gen, tensor, index);
  return GenChoice(
      gen, inside, {scalar}, [&] { return std::vector{element(nullptr)}; },
      [&] { return std::vector{gen.builder.Cast(GenExpr(gen, otherwise), scalar)}; })[0];
}

Value* GenContractLoad(FunctionGen& gen, const syntax::IndexExpr& expr) {
  const sema::IndexInfo& index = *gen.Info(&expr).index;
  Scalar scalar = gen.Made(gen.Info(&expr).type.scalar);
  Value* tensor = ContractTensor(gen, index.base, index.old);
  if (index.base->type.four_bit)
    return gen.builder.Cast(GenFourBitLoad(gen, expr, tensor, GenDimIndex(gen, index.dims.back())),
                            scalar);
  return GenElementOr(gen, tensor, index, index.otherwise, scalar, expr.span);
}

Value* GenContractElement(FunctionGen& gen, const Entity* tensor, const sema::IndexInfo& index,
                          Span span) {
  // Contracts compute with integers of 64 bits.
  Scalar scalar = gen.Made(tensor->type.scalar);
  if (IsInteger(scalar) && scalar != Scalar::U64) scalar = Scalar::I64;
  return GenElementOr(gen, ContractTensor(gen, tensor, false), index, nullptr, scalar, span);
}

Value* GenContractName(FunctionGen& gen, const sema::ExprInfo& info) {
  const Entity* entity = info.entity;
  KDL_CHECK(entity != nullptr, "a contract uses a name that is not a value");
  Scalar scalar = gen.Made(info.type.scalar);
  if (entity->kind == sema::EntityKind::Auxiliary) {
    sema::IndexInfo first;
    first.dims.push_back({{}, gen.builder.types().sizes().Constant(0), {}});
    return gen.builder.Cast(
        GenElement(gen, ContractTensor(gen, entity, false), first, nullptr, entity->span), scalar);
  }
  if (gen.tiles && gen.tiles->values.contains(entity))
    return LoadKept(gen, gen.tiles->values.at(entity))[0];
  auto known = gen.values.find(entity);
  if (known != gen.values.end()) return gen.builder.Cast(known->second, scalar);
  ir::Type type = gen.builder.types().ScalarOf(entity->type.scalar);
  Value* param =
      AddContractParam(gen, type, entity->name,
                       {ir::ContractInput::Argument, gen.contract->tables.argument(entity)});
  gen.values[entity] = param;
  return gen.builder.Cast(param, scalar);
}

Value* GenContractLogic(FunctionGen& gen, const syntax::BinaryExpr& binary) {
  bool is_and = binary.op == syntax::BinaryOp::And;
  GenValues right = [&] { return std::vector{GenExpr(gen, binary.rhs)}; };
  GenValues decided = [&] { return std::vector{gen.builder.Bool(!is_and)}; };
  Value* left = GenExpr(gen, binary.lhs);
  return is_and ? GenChoice(gen, left, {Scalar::Bool}, right, decided)[0]
                : GenChoice(gen, left, {Scalar::Bool}, decided, right)[0];
}

/// Generates a cast. A cast to a narrow integer type first saturates or wraps as that type does. The contract
/// then continues to compute in 64 bits.
Value* GenContractCast(FunctionGen& gen, Value* operand, const sema::ExprInfo& info) {
  bool narrows = !InFn(gen) && info.type.scalar == Scalar::I64 && IsInteger(info.pattern);
  if (narrows) operand = gen.builder.Cast(operand, info.pattern);
  return gen.builder.Cast(operand, gen.Made(info.type.scalar));
}

Value* GenContractBuiltin(FunctionGen& gen, const syntax::CallExpr& call,
                          const sema::ExprInfo& info) {
  const sema::Builtin& builtin = *info.builtin;
  if (builtin.lowering == sema::Lowering::Iota) return gen.values.at(info.entity);
  std::vector<Value*> args;
  for (const syntax::Arg& arg : call.args) args.push_back(GenExpr(gen, arg.value));
  if (builtin.result != sema::BuiltinResult::Same) return GenPattern(gen, args[0], info);
  bool is_fn =
      builtin.lowering == sema::Lowering::Fn || builtin.lowering == sema::Lowering::WidthFn;
  return is_fn ? GenInlinedBuiltin(gen, std::move(args), info)
               : GenBuiltin(gen, builtin, args, call.span);
}

FunctionGen GenInner(FunctionGen& gen, const sema::CheckedFunction& callee,
                     const std::vector<Size>& sizes) {
  FunctionGen inner{callee, gen.sources, gen.module, gen.function, gen.builder, {},
                    {},     {},          {},         {},           {}};
  inner.contract = gen.contract;
  for (size_t i = 0; i < callee.generics.size(); ++i)
    inner.sizes[callee.generics[i].entity->name] = gen.Bound(sizes[i]);
  return inner;
}

void GenInnerBody(FunctionGen& gen, FunctionGen& inner) {
  inner.builder.SetInsertionPoint(gen.builder.region(), gen.builder.before());
  GenBlock(inner, *inner.checked.item->body);
  gen.builder.SetInsertionPoint(inner.builder.region(), inner.builder.before());
}

std::vector<Value*> GenInlined(FunctionGen& gen, const sema::CheckedFunction& callee,
                               const std::vector<Value*>& arguments,
                               const std::vector<Size>& sizes) {
  FunctionGen inner = GenInner(gen, callee, sizes);
  size_t next = 0;
  for (const sema::ParamInfo& param : callee.params) {
    std::vector<Value*> parts;
    for (Scalar scalar : MadeParts(gen, param.entity->type))
      parts.push_back(gen.builder.Cast(arguments[next++], scalar));
    if (!param.entity->type.is_tuple()) inner.values[param.entity] = parts[0];
    if (param.entity->type.is_tuple()) inner.tuples[param.entity] = std::move(parts);
  }
  GenInnerBody(gen, inner);
  return inner.returned;
}

}  // namespace kdl::irgen
