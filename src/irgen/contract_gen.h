#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/contract.h"
#include "irgen/contracts.h"
#include "sema/checked.h"

namespace kdl::irgen {

/// Makes one contract: its conditions and equations, and the fns that they call.
class ContractGen {
 public:
  ContractGen(const sema::CheckedFunction& checked, const ArgumentNumber& argument,
              ir::Contract& contract)
      : checked_(&checked), argument_(argument), contract_(contract) {}

  void AddRequirement(const sema::RequirementInfo& info);
  void AddEquation(const sema::EquationInfo& info);

 private:
  using Ids = std::vector<ir::ContractId>;
  /// The variables of the fn whose body is walked: the first slot of each, and how many there are.
  struct Frame {
    std::unordered_map<const sema::Entity*, ir::ContractId> slots;
    uint32_t count = 0;
  };

  // contract_expressions.cpp: the parts of a tuple, in order; of anything else one.
  Ids GenParts(const syntax::Expr* expr);
  ir::ContractId Gen(const syntax::Expr* expr);
  Ids GenEach(const std::vector<const syntax::Expr*>& exprs);
  Ids GenArguments(const syntax::CallExpr& call);
  ir::ContractId GenSize(const syntax::Expr* expr, Size size, Scalar scalar);
  ir::ContractId GenCast(const syntax::CastExpr& cast, const sema::ExprInfo& info);
  ir::ContractId GenName(const syntax::Expr* expr, const sema::ExprInfo& info);
  ir::ContractId GenBinary(const syntax::BinaryExpr& binary);
  Ids GenIf(const syntax::IfExpr& choice);
  ir::ContractId GenBuiltin(const syntax::CallExpr& call, const sema::ExprInfo& info);
  void Fit(Ids& operands, const sema::CheckedFunction& callee);
  Ids GenFnCall(const syntax::CallExpr& call, const sema::ExprInfo& info);
  ir::ContractId GenLoad(const syntax::Expr* expr, const sema::IndexInfo& access);
  Ids GenReduce(const syntax::ReduceExpr& reduce, const sema::ExprInfo& info);
  Ids GenFold(const syntax::ReduceExpr& reduce, const sema::ExprInfo& info, ir::ContractNode node);
  ir::ContractNode Node(ir::ContractKind kind, const syntax::Expr* expr) const;
  ir::ContractId Map(const syntax::Expr* expr, ir::ContractMap map, Ids operands);
  ir::ContractId Select(const syntax::Expr* expr, Scalar scalar, Ids operands);
  ir::ContractId Constant(Span span, Scalar scalar, uint64_t bits);
  ir::ContractId Index(const sema::Entity* range);
  Ids Indices(const std::vector<const sema::Entity*>& ranges);
  ir::ContractId Tensor(const sema::Entity* entity, bool old);

  // contract_functions.cpp
  using Statements = std::vector<ir::ContractStatement>;
  ir::ContractId Function(const sema::CheckedFunction& callee);
  void GenStatement(const syntax::Stmt& stmt, Statements& into);
  Statements GenBlock(const syntax::Stmt* stmt);
  void GenAssign(const syntax::AssignStmt& assign, Statements& into);
  void GenFor(const syntax::ForStmt& loop, size_t depth, Statements& into);
  Statements GenTurn(const syntax::ForStmt& loop, size_t depth);
  ir::ContractId NewSlots(const sema::Entity* entity);
  ir::ContractId Slot(Span span, ir::ContractId slot, Scalar scalar);

  const sema::CheckedFunction* checked_;
  const ArgumentNumber& argument_;
  ir::Contract& contract_;
  Frame* frame_ = nullptr;  ///< null outside fns
  std::unordered_map<const sema::Entity*, ir::ContractId> indices_;
  std::map<std::pair<const sema::Entity*, bool>, ir::ContractId> tensors_;
  std::unordered_map<const sema::CheckedFunction*, ir::ContractId> functions_;
};

}  // namespace kdl::irgen
