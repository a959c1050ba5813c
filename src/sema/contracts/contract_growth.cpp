#include "sema/contracts/contract_growth.h"

#include <algorithm>
#include <unordered_map>

#include "sema/diagnostics.h"
#include "sema/model/ast_walk.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

constexpr int64_t kMostCalls = 10'000;  ///< the maximum number of calls per clause
/// Larger counts become this number, which is far from an overflow.
constexpr int64_t kCountedTo = int64_t{1} << 40;

/// Counts the calls of fns that inlining produces. Visits each fn only once.
class Growth {
 public:
  explicit Growth(DiagnosticEngine& diagnostics) : diagnostics_(diagnostics) {}

  void CheckClause(const CheckedFunction& function, const Expr* clause) {
    int64_t calls = 0;
    AnySubexpression(clause, [&](const Expr* expr) {
      auto info = function.exprs.find(expr);
      if (info == function.exprs.end()) return false;
      calls = std::min(calls + InlinedCalls(info->second), kCountedTo);
      if (calls <= kMostCalls) return false;
      diagnostics_
          .Report(diag::ContractGrows, expr->span, info->second.callee->entity->name.text(),
                  kMostCalls)
          .Help("if a fn calls another fn twice, call it once and keep the result in a `let`");
      return true;
    });
  }

 private:
  /// Returns the number of calls that result from inlining a call of a fn, including that call. Returns 0 if
  /// the expression does not call a fn.
  int64_t InlinedCalls(const ExprInfo& info) {
    return info.callee == nullptr || info.builtin != nullptr ? 0 : FnCalls(*info.callee);
  }

  int64_t FnCalls(const CheckedFunction& fn) {
    auto known = calls_.find(&fn);
    if (known != calls_.end()) return known->second;
    int64_t calls = 1;
    for (const auto& [expr, info] : fn.exprs)
      calls = std::min(calls + InlinedCalls(info), kCountedTo);
    return calls_[&fn] = calls;
  }

  DiagnosticEngine& diagnostics_;
  std::unordered_map<const CheckedFunction*, int64_t> calls_;
};

}  // namespace

void CheckContractGrowth(const CheckedModule& module, DiagnosticEngine& diagnostics) {
  Growth growth(diagnostics);
  for (const CheckedFunction* function : module.functions) {
    for (const RequirementInfo& requirement : function->requirements)
      growth.CheckClause(*function, requirement.condition);
    for (const EquationInfo& equation : function->ensures) {
      const syntax::Equation& sides = *equation.equation;
      for (const Expr* side : {sides.lhs, sides.rhs, sides.condition})
        if (side != nullptr) growth.CheckClause(*function, side);
    }
    for (const auto& [stmt, info] : function->stmts) {
      if (info.expect == nullptr) continue;
      const auto& expect = syntax::As<syntax::ExpectStmt>(stmt);
      for (const Expr* side : {expect.equation.lhs, expect.equation.rhs}) {
        if (side != nullptr) growth.CheckClause(*function, side);
      }
    }
  }
}

}  // namespace kdl::sema
