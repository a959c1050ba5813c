#include "sema/reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sema/coerce.h"
#include "sema/contract.h"
#include "sema/expr.h"
#include "sema/resolve.h"
#include "support/near_names.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::ReduceExpr;

struct ReductionRow {
  ReduceKind kind;
  std::string_view spelling;
  size_t operands;
  bool of_bools;
  bool widens;  ///< accumulates in the accumulator type of its operands
};

constexpr std::array kReductions = {
    ReductionRow{ReduceKind::Sum, "sum", 1, false, true},
    ReductionRow{ReduceKind::Prod, "prod", 1, false, true},
    ReductionRow{ReduceKind::Max, "max", 1, false, false},
    ReductionRow{ReduceKind::Min, "min", 1, false, false},
    ReductionRow{ReduceKind::Any, "any", 1, true, false},
    ReductionRow{ReduceKind::All, "all", 1, true, false},
    ReductionRow{ReduceKind::Dot, "dot", 2, false, true},
};
constexpr std::array<std::string_view, 3> kLaterReductions = {"mean", "argmax", "argmin"};
constexpr std::array<std::string_view, 3> kScans = {"cumsum", "cumprod", "cummax"};

const ReductionRow& RowOf(ReduceKind kind) { return kReductions[static_cast<size_t>(kind)]; }

/// The entity that a name of the `over` list stands for; null, reported, where it is no range.
const Entity* OverRange(FunctionState& state, const syntax::Ident& name) {
  const Entity* entity = Resolve(state, name.name, name.span);
  if (entity == nullptr || IsFaulty(*entity)) return nullptr;
  if (entity->kind == EntityKind::Range) return entity;
  Diagnostic& report = state.diagnostics.Report(diag::OverNotARange, name.span, name.name.text(),
                                                Describe(entity->kind));
  if (entity->kind == EntityKind::SizeName || entity->kind == EntityKind::IntGeneric) {
    report.Help(fmt::format("name the range that walks it: `for k in {}`, then `over k`",
                            name.name.text()));
  }
  return nullptr;
}

/// The ranges of the list, or nothing where one is faulty.
std::optional<std::vector<const Entity*>> OverRanges(FunctionState& state,
                                                     const ReduceExpr& reduce) {
  std::vector<const Entity*> ranges;
  bool ok = true;
  for (const syntax::Ident& name : reduce.over) {
    const Entity* range = OverRange(state, name);
    ok = ok && range != nullptr;
    if (range == nullptr) continue;
    if (Contains(ranges, range)) {
      state.diagnostics.Report(diag::OverTwice, name.span, name.name.text());
      ok = false;
    }
    ranges.push_back(range);
  }
  return ok ? std::optional(ranges) : std::nullopt;
}

bool CheckHasRanges(FunctionState& state, const ReduceExpr& reduce, const Type& type,
                    const std::vector<const Entity*>& ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (Contains(type.ranges, ranges[i])) continue;
    state.diagnostics.Report(diag::OperandLacksRange, reduce.over[i].span, reduce.op.name.text(),
                             ranges[i]->name.text(), RangesText(type.ranges));
    return false;
  }
  return true;
}

bool IsUnsupported(FunctionState& state, const ReduceExpr& reduce) {
  std::string_view op = reduce.op.name.text();
  bool own = reduce.combine != nullptr || op == "reduce" || op == "scan";
  bool scans = reduce.reversed || reduce.exclusive ||
               std::find(kScans.begin(), kScans.end(), op) != kScans.end();
  bool later =
      std::find(kLaterReductions.begin(), kLaterReductions.end(), op) != kLaterReductions.end();
  if (own) {
    ReportUnsupported(state.diagnostics, Feature::UserReductions, reduce.span);
  } else if (scans) {
    ReportUnsupported(state.diagnostics, Feature::Scans, reduce.span, op);
  } else if (later) {
    ReportUnsupported(state.diagnostics, Feature::Reductions, reduce.span, op);
  }
  return own || scans || later;
}

const ReductionRow* CheckOperator(FunctionState& state, const ReduceExpr& reduce) {
  std::string_view op = reduce.op.name.text();
  if (IsUnsupported(state, reduce)) return nullptr;
  std::optional<ReduceKind> kind = FindReduction(op);
  if (!kind) {
    std::vector<std::string_view> names;
    names.reserve(kReductions.size());
    for (const ReductionRow& row : kReductions) names.push_back(row.spelling);
    std::string_view nearest = NearestName(op, names);
    state.diagnostics.Report(diag::UnknownReduction, reduce.op.span, op)
        .Help(nearest.empty() ? "the reductions are sum, prod, max, min, any, all and dot"
                              : fmt::format("did you mean '{}'?", nearest));
    return nullptr;
  }
  const ReductionRow& row = RowOf(*kind);
  if (reduce.operands.size() != row.operands) {
    state.diagnostics.Report(diag::ReductionOperands, reduce.span, op,
                             Counted(row.operands, "operand"), reduce.operands.size());
    return nullptr;
  }
  return &row;
}

/// The operands' type, literals given theirs; an error where the reduction does not take it.
Type CheckOperands(FunctionState& state, const ReduceExpr& reduce, const ReductionRow* row) {
  for (const Expr* operand : reduce.operands) CheckValue(state, operand);
  if (row == nullptr) return Type{};
  Unify(state, reduce.operands, reduce.span, row->spelling);
  for (const Expr* operand : reduce.operands) Default(state, operand);
  Type type = Unify(state, reduce.operands, reduce.span, row->spelling);
  if (type.is_error()) return type;
  if ((type.scalar == Scalar::Bool) == row->of_bools) return type;
  Diagnostic& report = state.diagnostics.Report(diag::BadOperand, reduce.span, row->spelling,
                                                row->of_bools ? "bools" : "integers or floats",
                                                Spelling(type.scalar));
  report.Help(row->of_bools ? "compare the operand, for example with `!= 0`"
                            : fmt::format("write '{}' to count, or use any and all",
                                          AsHint(state, reduce.operands[0], Scalar::I32)));
  return Type{};
}

}  // namespace

std::string_view Spelling(ReduceKind kind) { return RowOf(kind).spelling; }

std::optional<ReduceKind> FindReduction(std::string_view spelling) {
  for (const ReductionRow& row : kReductions) {
    if (row.spelling == spelling) return row.kind;
  }
  return std::nullopt;
}

bool IsLaterReduction(std::string_view spelling) {
  return std::find(kLaterReductions.begin(), kLaterReductions.end(), spelling) !=
             kLaterReductions.end() ||
         std::find(kScans.begin(), kScans.end(), spelling) != kScans.end();
}

Type CheckReduce(FunctionState& state, const ReduceExpr& reduce, ExprInfo& info) {
  const ReductionRow* row = CheckOperator(state, reduce);
  std::optional<ScopeGuard> scope;
  if (state.contract != nullptr) {
    scope.emplace(state.scopes);
    for (const syntax::Ident& name : reduce.over) DeclareOver(state, name);
  }
  Type type = CheckOperands(state, reduce, row);
  std::optional<std::vector<const Entity*>> ranges = OverRanges(state, reduce);
  if (type.is_error() || !ranges || !CheckHasRanges(state, reduce, type, *ranges)) return Type{};
  auto* facts = state.module.arena.Make<ReduceInfo>(ReduceInfo{});
  facts->kind = row->kind;
  facts->ranges = *ranges;
  facts->accumulator = row->widens ? AccumulatorOf(type.scalar) : type.scalar;
  info.reduce = facts;
  return ValueType(facts->accumulator, Missing(type.ranges, *ranges));
}

}  // namespace kdl::sema
