#include <array>
#include <optional>

#include "irgen/contract_gen.h"
#include "support/check.h"

// Expressions of a contract, and of the fns that it calls.

namespace kdl::irgen {

using ir::ContractId;
using ir::ContractKind;
using ir::ContractMap;
using ir::ContractNode;
using ir::ContractReduce;
using ir::ContractTensorKind;
using sema::Entity;
using sema::ReduceKind;
using syntax::Expr;

namespace {

struct ReduceRow {
  ReduceKind kind;
  ContractReduce reduce;
};
constexpr std::array kReduces = {
    ReduceRow{ReduceKind::Sum, ContractReduce::Sum},
    ReduceRow{ReduceKind::Dot, ContractReduce::Sum},
    ReduceRow{ReduceKind::Prod, ContractReduce::Prod},
    ReduceRow{ReduceKind::Max, ContractReduce::Max},
    ReduceRow{ReduceKind::Min, ContractReduce::Min},
    ReduceRow{ReduceKind::Any, ContractReduce::Any},
    ReduceRow{ReduceKind::All, ContractReduce::All},
    ReduceRow{ReduceKind::Mean, ContractReduce::Mean},
    ReduceRow{ReduceKind::ArgMax, ContractReduce::ArgMax},
    ReduceRow{ReduceKind::ArgMin, ContractReduce::ArgMin},
    ReduceRow{ReduceKind::CumSum, ContractReduce::Sum},
    ReduceRow{ReduceKind::CumProd, ContractReduce::Prod},
    ReduceRow{ReduceKind::CumMax, ContractReduce::Max},
};

ContractReduce ReduceOf(ReduceKind kind) {
  for (const ReduceRow& row : kReduces) {
    if (row.kind == kind) return row.reduce;
  }
  KDL_UNREACHABLE("a fold with a fn");
}

constexpr std::array<std::pair<SizeKind, ContractMap>, 6> kSizeMaps = {{
    {SizeKind::Add, ContractMap::Add},
    {SizeKind::Sub, ContractMap::Sub},
    {SizeKind::Mul, ContractMap::Mul},
    {SizeKind::FloorDiv, ContractMap::Div},
    {SizeKind::Mod, ContractMap::Rem},
    {SizeKind::Min, ContractMap::Min},
}};

}  // namespace

ContractId ContractGen::Index(const Entity* range) {
  auto [known, is_new] =
      indices_.try_emplace(range, static_cast<ContractId>(contract_.indices.size()));
  if (is_new) contract_.indices.push_back({range->name, range->range.domain});
  return known->second;
}

ContractGen::Ids ContractGen::Indices(const std::vector<const Entity*>& ranges) {
  Ids indices;
  for (const Entity* range : ranges) indices.push_back(Index(range));
  return indices;
}

ContractId ContractGen::Tensor(const Entity* entity, bool old) {
  auto [known, is_new] = tensors_.try_emplace(std::pair(entity, old),
                                              static_cast<ContractId>(contract_.tensors.size()));
  if (!is_new) return known->second;
  ir::ContractTensor tensor;
  bool auxiliary = entity->kind == sema::EntityKind::Auxiliary;
  bool table = entity->kind == sema::EntityKind::Const;
  tensor.kind = auxiliary ? ContractTensorKind::Auxiliary
                : table   ? ContractTensorKind::Table
                : old     ? ContractTensorKind::Old
                          : ContractTensorKind::Argument;
  tensor.name = entity->name;
  tensor.scalar = entity->type.scalar;
  tensor.dims = entity->type.dims;
  if (table) tensor.elements = entity->elements;
  if (tensor.IsOfArgument()) tensor.argument = argument_(entity);
  contract_.tensors.push_back(std::move(tensor));
  return known->second;
}

ContractNode ContractGen::Node(ContractKind kind, const Expr* expr) const {
  ContractNode node;
  node.kind = kind;
  node.scalar = checked_->Info(expr).type.scalar;
  node.span = expr->span;
  return node;
}

ContractId ContractGen::Map(const Expr* expr, ContractMap map, Ids operands) {
  ContractNode node = Node(ContractKind::Map, expr);
  node.map = map;
  node.operands = std::move(operands);
  return contract_.Add(std::move(node));
}

ContractId ContractGen::Select(const Expr* expr, Scalar scalar, Ids operands) {
  ContractNode node = Node(ContractKind::Select, expr);
  node.scalar = scalar;
  node.operands = std::move(operands);
  return contract_.Add(std::move(node));
}

ContractId ContractGen::Constant(Span span, Scalar scalar, uint64_t bits) {
  ContractNode node;
  node.span = span;
  node.scalar = scalar;
  node.bits = bits;
  return contract_.Add(std::move(node));
}

ContractId ContractGen::Gen(const Expr* expr) { return GenParts(expr)[0]; }

ContractGen::Ids ContractGen::GenParts(const Expr* expr) {
  const sema::ExprInfo& info = checked_->Info(expr);
  if (info.constant) return {Constant(expr->span, info.constant->scalar, info.constant->bits)};
  if (info.size != nullptr) return {GenSize(expr, info.size, info.type.scalar)};
  switch (expr->kind) {
    case syntax::ExprKind::Name:
      if (info.type.is_tuple()) {
        Ids parts;
        for (const sema::Type& part : info.type.parts)
          parts.push_back(Slot(
              expr->span, frame_->slots.at(info.entity) + static_cast<ContractId>(parts.size()),
              part.scalar));
        return parts;
      }
      return {GenName(expr, info)};
    case syntax::ExprKind::Unary: {
      const auto& unary = syntax::As<syntax::UnaryExpr>(expr);
      bool negates = unary.op == syntax::UnaryOp::Neg;
      return {Map(expr, negates ? ContractMap::Neg : ContractMap::Not, {Gen(unary.operand)})};
    }
    case syntax::ExprKind::Binary:
      return {GenBinary(syntax::As<syntax::BinaryExpr>(expr))};
    case syntax::ExprKind::If:
      return GenIf(syntax::As<syntax::IfExpr>(expr));
    case syntax::ExprKind::Cast:
      return {GenCast(syntax::As<syntax::CastExpr>(expr), info)};
    case syntax::ExprKind::Tuple:
      return GenEach(syntax::As<syntax::TupleExpr>(expr).elements);
    case syntax::ExprKind::Field: {
      const auto& field = syntax::As<syntax::FieldExpr>(expr);
      return {GenParts(field.base)[field.index]};
    }
    case syntax::ExprKind::Call: {
      const auto& call = syntax::As<syntax::CallExpr>(expr);
      return info.builtin != nullptr ? Ids{GenBuiltin(call, info)} : GenFnCall(call, info);
    }
    case syntax::ExprKind::Index:
      return {GenLoad(expr, *info.index)};
    case syntax::ExprKind::Reduce:
      return GenReduce(syntax::As<syntax::ReduceExpr>(expr), info);
    default:
      KDL_UNREACHABLE("an expression that no contract has");
  }
}

ContractGen::Ids ContractGen::GenEach(const std::vector<const Expr*>& exprs) {
  Ids ids;
  for (const Expr* expr : exprs) {
    Ids parts = GenParts(expr);
    ids.insert(ids.end(), parts.begin(), parts.end());
  }
  return ids;
}

ContractGen::Ids ContractGen::GenArguments(const syntax::CallExpr& call) {
  std::vector<const Expr*> args;
  for (const syntax::Arg& arg : call.args) args.push_back(arg.value);
  return GenEach(args);
}

/// In a fn the int generics are slots.
ContractId ContractGen::GenSize(const Expr* expr, Size size, Scalar scalar) {
  if (frame_ == nullptr) {
    ContractNode node = Node(ContractKind::Size, expr);
    node.size = size;
    node.scalar = scalar;
    return contract_.Add(std::move(node));
  }
  auto whole = [&](auto& self, Size part) -> ContractId {
    if (IsConstant(part))
      return Constant(expr->span, Scalar::I64, static_cast<uint64_t>(part->value));
    for (const sema::IntGenericInfo& generic : checked_->generics) {
      if (generic.entity->size == part)
        return Slot(expr->span, frame_->slots.at(generic.entity), Scalar::I64);
    }
    for (auto [kind, map] : kSizeMaps) {
      if (kind != part->kind) continue;
      ContractId lhs = self(self, part->lhs);
      ContractId made = Map(expr, map, {lhs, self(self, part->rhs)});
      contract_.nodes[made].scalar = Scalar::I64;
      return made;
    }
    KDL_UNREACHABLE("a size that no fn of scalars has");
  };
  ContractId value = whole(whole, size);
  if (scalar == Scalar::I64) return value;
  ContractId made = Map(expr, ContractMap::Cast, {value});
  contract_.nodes[made].scalar = scalar;
  return made;
}

/// An integer type saturates or wraps before the contract goes on in 64 bits.
ContractId ContractGen::GenCast(const syntax::CastExpr& cast, const sema::ExprInfo& info) {
  ContractId operand = Gen(cast.operand);
  bool narrows = frame_ == nullptr && info.type.scalar == Scalar::I64 && IsInteger(info.pattern) &&
                 info.pattern != Scalar::I64;
  if (narrows) {
    operand = Map(&cast, ContractMap::Cast, {operand});
    contract_.nodes[operand].scalar = info.pattern;
  }
  return Map(&cast, ContractMap::Cast, {operand});
}

ContractId ContractGen::GenName(const Expr* expr, const sema::ExprInfo& info) {
  const Entity* entity = info.entity;
  KDL_CHECK(entity != nullptr, "a contract names what is no value");
  if (frame_ != nullptr) return Slot(expr->span, frame_->slots.at(entity), info.type.scalar);
  if (entity->kind == sema::EntityKind::Range) {
    ContractNode node = Node(ContractKind::Index, expr);
    node.scalar = Scalar::I64;
    node.id = Index(entity);
    return contract_.Add(std::move(node));
  }
  bool auxiliary = entity->kind == sema::EntityKind::Auxiliary;
  ContractNode node = Node(auxiliary ? ContractKind::Load : ContractKind::Argument, expr);
  node.id = auxiliary ? Tensor(entity, false) : argument_(entity);
  node.name = entity->name;
  return contract_.Add(std::move(node));
}

ContractId ContractGen::GenBinary(const syntax::BinaryExpr& binary) {
  ContractId lhs = Gen(binary.lhs);
  ContractId rhs = Gen(binary.rhs);
  auto decided = [&](bool value) { return Constant(binary.span, Scalar::Bool, value ? 1 : 0); };
  if (binary.op == syntax::BinaryOp::And)
    return Select(&binary, Scalar::Bool, {lhs, rhs, decided(false)});
  if (binary.op == syntax::BinaryOp::Or)
    return Select(&binary, Scalar::Bool, {lhs, decided(true), rhs});
  std::optional<ContractMap> map = ir::FindContractMap(syntax::Spelling(binary.op));
  KDL_CHECK(map, "an operator that no contract has");
  return Map(&binary, *map, {lhs, rhs});
}

ContractGen::Ids ContractGen::GenIf(const syntax::IfExpr& choice) {
  ContractId condition = Gen(choice.condition);
  Ids yes = GenParts(choice.then_value);
  Ids no = GenParts(choice.else_value);
  Ids parts;
  for (size_t i = 0; i < yes.size(); ++i)
    parts.push_back(Select(&choice, contract_.nodes[yes[i]].scalar, {condition, yes[i], no[i]}));
  return parts;
}

ContractId ContractGen::GenBuiltin(const syntax::CallExpr& call, const sema::ExprInfo& info) {
  if (info.builtin->lowering == sema::Lowering::Iota) {
    ContractNode node = Node(ContractKind::Index, &call);
    node.id = Index(info.entity);
    return contract_.Add(std::move(node));
  }
  Ids operands = GenArguments(call);
  if (info.builtin->lowering == sema::Lowering::Clamp) {
    return Map(&call, ContractMap::Min,
               {Map(&call, ContractMap::Max, {operands[0], operands[1]}), operands[2]});
  }
  if (info.builtin->lowering == sema::Lowering::CeilDiv) {
    ContractId sum = Map(&call, ContractMap::Add, {operands[0], operands[1]});
    ContractId one = Constant(call.span, info.type.scalar, 1);
    return Map(&call, ContractMap::Div, {Map(&call, ContractMap::Sub, {sum, one}), operands[1]});
  }
  std::optional<ContractMap> map = ir::FindContractMap(info.builtin->spelling);
  KDL_CHECK(map, "contracts lack '{}'", info.builtin->spelling);
  ContractId made = Map(&call, *map, std::move(operands));
  bool of_pattern = *map == ContractMap::Bits || *map == ContractMap::FromBits;
  Scalar operand = checked_->Info(call.args[0].value).type.scalar;
  if (of_pattern) contract_.nodes[made].pattern = frame_ != nullptr ? operand : info.pattern;
  return made;
}

/// Integers become what the parameters are: outside fns they have 64 bits.
void ContractGen::Fit(Ids& operands, const sema::CheckedFunction& callee) {
  size_t next = 0;
  auto fit = [&](const sema::Type& type) {
    ContractId& operand = operands[next++];
    Scalar from = contract_.nodes[operand].scalar;
    if (!IsInteger(type.scalar) || from == type.scalar) return;
    ContractNode node;
    node.kind = ContractKind::Map;
    node.map = ContractMap::Cast;
    node.span = contract_.nodes[operand].span;
    node.scalar = type.scalar;
    node.operands = {operand};
    operand = contract_.Add(std::move(node));
  };
  for (const sema::ParamInfo& param : callee.params) {
    const sema::Type& type = param.entity->type;
    if (!type.is_tuple()) fit(type);
    for (const sema::Type& part : type.parts) fit(part);
  }
}

ContractGen::Ids ContractGen::GenFnCall(const syntax::CallExpr& call, const sema::ExprInfo& info) {
  Ids operands = GenArguments(call);
  Fit(operands, *info.callee);
  for (size_t i = 0; i < info.callee->generics.size(); ++i)
    operands.push_back(GenSize(&call, info.call->sizes[i], Scalar::I64));
  ContractNode node = Node(ContractKind::Call, &call);
  node.id = Function(*info.callee);
  node.operands = std::move(operands);
  std::vector<sema::Type> parts = info.type.parts;
  if (parts.empty()) parts = {info.type};
  Ids ids;
  for (const sema::Type& part : parts) {
    node.scalar = part.scalar;
    node.part = static_cast<uint32_t>(ids.size());
    ids.push_back(contract_.Add(node));
  }
  return ids;
}

ContractId ContractGen::GenLoad(const Expr* expr, const sema::IndexInfo& access) {
  ContractNode node = Node(ContractKind::Load, expr);
  node.id = Tensor(access.base, access.old);
  for (const sema::IndexDim& from : access.dims) {
    ir::ContractDim dim;
    dim.offset = from.offset;
    for (const sema::IndexTerm& term : from.terms) {
      ir::ContractTerm to;
      to.coefficient = term.coefficient;
      if (term.range != nullptr) {
        to.index = Index(term.range);
      } else {
        to.node = Gen(term.value);
      }
      dim.terms.push_back(to);
    }
    node.dims.push_back(std::move(dim));
  }
  if (access.otherwise != nullptr) node.operands = {Gen(access.otherwise)};
  return contract_.Add(std::move(node));
}

ContractGen::Ids ContractGen::GenReduce(const syntax::ReduceExpr& reduce,
                                        const sema::ExprInfo& info) {
  ContractNode node = Node(ContractKind::Reduce, &reduce);
  node.over = Indices(info.reduce->ranges);
  if (info.reduce->kind >= ReduceKind::CumSum)
    node.scan = reduce.reversed ? ir::ContractScan::Descending : ir::ContractScan::Ascending;
  node.exclusive = reduce.exclusive;
  if (info.callee != nullptr) return GenFold(reduce, info, std::move(node));
  node.reduce = ReduceOf(info.reduce->kind);
  ContractId operand = Gen(reduce.operands[0]);
  if (info.reduce->kind == ReduceKind::Dot)
    operand = Map(&reduce, ContractMap::Mul, {operand, Gen(reduce.operands[1])});
  node.operands = {operand};
  return {contract_.Add(std::move(node))};
}

ContractGen::Ids ContractGen::GenFold(const syntax::ReduceExpr& reduce, const sema::ExprInfo& info,
                                      ContractNode node) {
  node.kind = ContractKind::Fold;
  node.id = Function(*info.callee);
  node.operands = GenEach({reduce.operands[0], reduce.init});
  Fit(node.operands, *info.callee);  // whose two parameters have one type
  Ids ids;
  for (size_t i = 0; i < node.operands.size() / 2; ++i) {
    node.part = static_cast<uint32_t>(i);
    node.scalar = contract_.nodes[node.operands[i]].scalar;
    ids.push_back(contract_.Add(node));
  }
  return ids;
}

}  // namespace kdl::irgen
