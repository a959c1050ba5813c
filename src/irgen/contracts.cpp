#include "irgen/contracts.h"

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/check.h"

namespace kdl::irgen {

namespace {

using ir::ContractId;
using ir::ContractKind;
using ir::ContractMap;
using ir::ContractNode;
using ir::ContractTensorKind;
using sema::Entity;
using syntax::Expr;

ir::ContractReduce ReduceOf(sema::ReduceKind kind) {
  switch (kind) {
    case sema::ReduceKind::Sum:
    case sema::ReduceKind::Dot:
      return ir::ContractReduce::Sum;
    case sema::ReduceKind::Prod:
      return ir::ContractReduce::Prod;
    case sema::ReduceKind::Max:
      return ir::ContractReduce::Max;
    case sema::ReduceKind::Min:
      return ir::ContractReduce::Min;
    case sema::ReduceKind::Any:
      return ir::ContractReduce::Any;
    case sema::ReduceKind::All:
      return ir::ContractReduce::All;
    case sema::ReduceKind::Mean:
      return ir::ContractReduce::Mean;
    case sema::ReduceKind::ArgMax:
      return ir::ContractReduce::ArgMax;
    case sema::ReduceKind::ArgMin:
      return ir::ContractReduce::ArgMin;
    case sema::ReduceKind::Reduce:
    case sema::ReduceKind::Scan:
    case sema::ReduceKind::CumSum:
    case sema::ReduceKind::CumProd:
    case sema::ReduceKind::CumMax:
      break;
  }
  KDL_UNREACHABLE("a scan, or a fold with a fn, in a contract");
}

/// Walks the contract's expressions.
class Generator {
 public:
  Generator(const sema::CheckedFunction& checked, const ArgumentNumber& argument,
            ir::Contract& contract)
      : checked_(checked), argument_(argument), contract_(contract) {}

  void Run() {
    for (const sema::RequirementInfo& info : checked_.requirements) AddRequirement(info);
    for (const sema::EquationInfo& info : checked_.ensures) AddEquation(info);
  }

  void AddRequirement(const sema::RequirementInfo& info) {
    ir::ContractCondition condition;
    condition.span = info.condition->span;
    condition.free = Indices(info.free);
    condition.value = Gen(info.condition);
    contract_.requirements.push_back(std::move(condition));
  }

  void AddEquation(const sema::EquationInfo& info) {
    ir::ContractEquation equation;
    equation.span = info.equation->span;
    equation.free = Indices(info.defined != nullptr ? info.indices : info.free);
    equation.value = Gen(info.equation->rhs);
    if (info.defined != nullptr) {
      equation.defines = Tensor(info.defined, false);
    } else {
      equation.target = Gen(info.equation->lhs);
    }
    if (info.equation->rtol != nullptr) equation.rtol = Gen(info.equation->rtol);
    if (info.equation->atol != nullptr) equation.atol = Gen(info.equation->atol);
    contract_.equations.push_back(std::move(equation));
  }

 private:
  ContractId Index(const Entity* range) {
    auto [known, is_new] =
        indices_.try_emplace(range, static_cast<ContractId>(contract_.indices.size()));
    if (is_new) contract_.indices.push_back({range->name, range->range.domain});
    return known->second;
  }
  std::vector<ContractId> Indices(const std::vector<const Entity*>& ranges) {
    std::vector<ContractId> indices;
    for (const Entity* range : ranges) indices.push_back(Index(range));
    return indices;
  }

  ContractId Tensor(const Entity* entity, bool old) {
    auto [known, is_new] = tensors_.try_emplace(std::pair(entity, old),
                                                static_cast<ContractId>(contract_.tensors.size()));
    if (!is_new) return known->second;
    ir::ContractTensor tensor;
    bool auxiliary = entity->kind == sema::EntityKind::Auxiliary;
    tensor.kind = auxiliary ? ContractTensorKind::Auxiliary
                  : old     ? ContractTensorKind::Old
                            : ContractTensorKind::Argument;
    tensor.name = entity->name;
    tensor.scalar = entity->type.scalar;
    tensor.dims = entity->type.dims;
    if (!auxiliary) tensor.argument = argument_(entity);
    contract_.tensors.push_back(std::move(tensor));
    return known->second;
  }

  ContractNode Node(ContractKind kind, const Expr* expr) const {
    ContractNode node;
    node.kind = kind;
    node.scalar = checked_.Info(expr).type.scalar;
    node.span = expr->span;
    return node;
  }

  ContractId Map(const Expr* expr, ContractMap map, std::vector<ContractId> operands) {
    ContractNode node = Node(ContractKind::Map, expr);
    node.map = map;
    node.operands = std::move(operands);
    return contract_.Add(std::move(node));
  }

  ContractId Integer(const Expr* expr, int64_t value) {
    ContractNode node = Node(ContractKind::Constant, expr);
    node.scalar = Scalar::I64;
    node.bits = static_cast<uint64_t>(value);
    return contract_.Add(std::move(node));
  }

  ContractId Gen(const Expr* expr) {
    const sema::ExprInfo& info = checked_.Info(expr);
    if (info.constant) {
      ContractNode node = Node(ContractKind::Constant, expr);
      node.scalar = info.constant->scalar;
      node.bits = info.constant->bits;
      return contract_.Add(std::move(node));
    }
    if (info.size != nullptr) {
      ContractNode node = Node(ContractKind::Size, expr);
      node.size = info.size;
      return contract_.Add(std::move(node));
    }
    switch (expr->kind) {
      case syntax::ExprKind::Name:
        return GenName(expr, info);
      case syntax::ExprKind::Unary: {
        const auto& unary = syntax::As<syntax::UnaryExpr>(expr);
        bool negates = unary.op == syntax::UnaryOp::Neg;
        return Map(expr, negates ? ContractMap::Neg : ContractMap::Not, {Gen(unary.operand)});
      }
      case syntax::ExprKind::Binary:
        return GenBinary(syntax::As<syntax::BinaryExpr>(expr));
      case syntax::ExprKind::If: {
        const auto& choice = syntax::As<syntax::IfExpr>(expr);
        return Select(expr, Gen(choice.condition), Gen(choice.then_value), Gen(choice.else_value));
      }
      case syntax::ExprKind::Cast:
        return Map(expr, ContractMap::Cast, {Gen(syntax::As<syntax::CastExpr>(expr).operand)});
      case syntax::ExprKind::Call:
        return GenCall(syntax::As<syntax::CallExpr>(expr), info);
      case syntax::ExprKind::Index:
        return GenLoad(expr, *info.index);
      case syntax::ExprKind::Reduce:
        return GenReduce(syntax::As<syntax::ReduceExpr>(expr), *info.reduce);
      default:
        KDL_UNREACHABLE("an expression that no contract has");
    }
  }

  ContractId Select(const Expr* expr, ContractId condition, ContractId yes, ContractId no) {
    ContractNode node = Node(ContractKind::Select, expr);
    node.operands = {condition, yes, no};
    return contract_.Add(std::move(node));
  }

  ContractId Bool(const Expr* expr, bool value) {
    ContractNode node = Node(ContractKind::Constant, expr);
    node.bits = value ? 1 : 0;
    return contract_.Add(std::move(node));
  }

  ContractId GenName(const Expr* expr, const sema::ExprInfo& info) {
    const Entity* entity = info.entity;
    KDL_CHECK(entity != nullptr, "a contract names what is no value");
    if (entity->kind == sema::EntityKind::Range) {
      ContractNode node = Node(ContractKind::Index, expr);
      node.scalar = Scalar::I64;
      node.id = Index(entity);
      return contract_.Add(std::move(node));
    }
    if (entity->kind == sema::EntityKind::Auxiliary) {
      ContractNode node = Node(ContractKind::Load, expr);
      node.id = Tensor(entity, false);
      return contract_.Add(std::move(node));
    }
    ContractNode node = Node(ContractKind::Argument, expr);
    node.id = argument_(entity);
    return contract_.Add(std::move(node));
  }

  ContractId GenBinary(const syntax::BinaryExpr& binary) {
    ContractId lhs = Gen(binary.lhs);
    ContractId rhs = Gen(binary.rhs);
    if (binary.op == syntax::BinaryOp::And) return Select(&binary, lhs, rhs, Bool(&binary, false));
    if (binary.op == syntax::BinaryOp::Or) return Select(&binary, lhs, Bool(&binary, true), rhs);
    std::optional<ContractMap> map = ir::FindContractMap(syntax::Spelling(binary.op));
    KDL_CHECK(map, "an operator that no contract has");
    return Map(&binary, *map, {lhs, rhs});
  }

  ContractId GenCall(const syntax::CallExpr& call, const sema::ExprInfo& info) {
    if (info.builtin != nullptr && info.builtin->lowering == sema::Lowering::Iota) {
      ContractNode node = Node(ContractKind::Index, &call);
      node.id = Index(info.entity);
      return contract_.Add(std::move(node));
    }
    std::vector<ContractId> operands;
    for (const syntax::Arg& arg : call.args) operands.push_back(Gen(arg.value));
    if (info.builtin == nullptr) {
      ContractNode node = Node(ContractKind::Call, &call);
      node.callee = info.callee->InstanceName();
      node.operands = std::move(operands);
      return contract_.Add(std::move(node));
    }
    switch (info.builtin->lowering) {
      case sema::Lowering::Clamp:
        return Map(&call, ContractMap::Min,
                   {Map(&call, ContractMap::Max, {operands[0], operands[1]}), operands[2]});
      case sema::Lowering::CeilDiv: {
        ContractId sum = Map(&call, ContractMap::Add, {operands[0], operands[1]});
        ContractId last = Map(&call, ContractMap::Sub, {sum, Integer(&call, 1)});
        return Map(&call, ContractMap::Div, {last, operands[1]});
      }
      default:
        break;
    }
    std::optional<ContractMap> map = ir::FindContractMap(info.builtin->spelling);
    KDL_CHECK(map, "contracts lack '{}'", info.builtin->spelling);
    return Map(&call, *map, std::move(operands));
  }

  ContractId GenLoad(const Expr* expr, const sema::IndexInfo& access) {
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

  ContractId GenReduce(const syntax::ReduceExpr& reduce, const sema::ReduceInfo& info) {
    ContractNode node = Node(ContractKind::Reduce, &reduce);
    node.reduce = ReduceOf(info.kind);
    node.over = Indices(info.ranges);
    ContractId operand = Gen(reduce.operands[0]);
    if (info.kind == sema::ReduceKind::Dot)
      operand = Map(&reduce, ContractMap::Mul, {operand, Gen(reduce.operands[1])});
    node.operands = {operand};
    return contract_.Add(std::move(node));
  }

  const sema::CheckedFunction& checked_;
  const ArgumentNumber& argument_;
  ir::Contract& contract_;
  std::unordered_map<const Entity*, ContractId> indices_;
  std::map<std::pair<const Entity*, bool>, ContractId> tensors_;
};

}  // namespace

ir::Contract GenerateExpectation(const sema::CheckedFunction& checked,
                                 const sema::ExpectInfo& expect, const ArgumentNumber& argument) {
  ir::Contract contract;
  contract.function = checked.InstanceName();
  Generator generator(checked, argument, contract);
  if (expect.condition) generator.AddRequirement(*expect.condition);
  if (expect.equation) generator.AddEquation(*expect.equation);
  return contract;
}

std::vector<ir::Contract> GenerateContracts(const sema::CheckedModule& checked) {
  std::vector<ir::Contract> contracts;
  for (const sema::CheckedFunction* function : checked.functions) {
    if (function->requirements.empty() && function->ensures.empty()) continue;
    contracts.emplace_back();
    contracts.back().function = function->InstanceName();
    ArgumentNumber argument = [](const Entity* entity) { return entity->param; };
    Generator(*function, argument, contracts.back()).Run();
  }
  return contracts;
}

}  // namespace kdl::irgen
