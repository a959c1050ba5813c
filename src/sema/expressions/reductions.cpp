#include "sema/expressions/reductions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sema/accesses/index_names.h"
#include "sema/expressions/user_folds.h"
#include "sema/model/builtins.h"
#include "sema/model/reduction_kinds.h"
#include "sema/types/coerce.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "support/near_names.h"
#include "syntax/diagnostics.h"
#include "syntax/foreign_names.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::ReduceExpr;

/// Returns the range that a name in the `over` list refers to, or reports an error and returns null.
const Entity* OverRange(FunctionState& state, const syntax::Ident& name) {
  const Entity* entity = Resolve(state, name.name, name.span);
  if (entity == nullptr || IsFaulty(*entity)) return nullptr;
  if (entity->kind == EntityKind::Range) return entity;
  Diagnostic& report = state.diagnostics.Report(diag::OverNotARange, name.span, name.name.text(),
                                                Describe(entity->kind));
  if (entity->kind == EntityKind::SizeName || entity->kind == EntityKind::IntGeneric) {
    report.Help(fmt::format("declare a range over it: `range k in {};`, and write `over k`",
                            name.name.text()));
  }
  return nullptr;
}

/// Returns the ranges of the `over` list, or nothing if one of them has an error.
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

/// Checks the rules for scans. Only a scan can be `reversed` or `exclusive`.
bool CheckScan(FunctionState& state, const ReduceExpr& reduce, const ReductionRow& row) {
  std::string_view op = reduce.op.name.text();
  if (!IsScan(row.kind) && (reduce.reversed || reduce.exclusive)) {
    state.diagnostics
        .Report(diag::ScanWord, reduce.span, op, reduce.reversed ? "reversed" : "exclusive")
        .Help("the scans are cumsum, cumprod, cummax and scan");
    return false;
  }
  if (row.one_range && reduce.over.size() > 1) {
    state.diagnostics.Report(diag::OneRange, reduce.over[1].span, op, reduce.over.size());
    return false;
  }
  return true;
}

/// Reports a reduction with an unknown name. If it is the name of a function, `over` does not belong there.
void ReportUnknownReduction(FunctionState& state, const ReduceExpr& reduce) {
  std::string_view op = reduce.op.name.text();
  const Entity* entity = state.scopes.Find(reduce.op.name);
  if (FindBuiltin(op) != nullptr || (entity != nullptr && entity->kind == EntityKind::Fn)) {
    std::vector<std::string> operands, ranges;
    for (const Expr* operand : reduce.operands) operands.push_back(Quote(state, operand));
    for (const syntax::Ident& range : reduce.over) ranges.emplace_back(range.name.text());
    state.diagnostics
        .Report(syntax::diag::OverOutsideReduction, reduce.span, fmt::format("a call of '{}'", op))
        .Help(fmt::format("to add up its results, write `sum({}({}) over {})`", op,
                          fmt::join(operands, ", "), fmt::join(ranges, ", ")));
    return;
  }
  std::vector<std::string_view> names;
  for (const ReductionRow& row : AllReductions()) names.push_back(row.spelling);
  std::string_view nearest = NearestName(op, names);
  Diagnostic& report = state.diagnostics.Report(diag::UnknownReduction, reduce.op.span, op);
  if (std::string help = syntax::HelpForForeign(op); !help.empty()) {
    report.Help(help);
    return;
  }
  report.Help(nearest.empty() ? "the reductions are sum, prod, max, min, any, all, mean, argmax, "
                                "argmin and dot; the scans are cumsum, cumprod and cummax"
                              : fmt::format("did you mean '{}'?", nearest));
}

const ReductionRow* CheckOperator(FunctionState& state, const ReduceExpr& reduce) {
  std::string_view op = reduce.op.name.text();
  std::optional<ReduceKind> kind = FindReduction(op);
  if (!kind) {
    ReportUnknownReduction(state, reduce);
    return nullptr;
  }
  const ReductionRow& row = ReductionRowOf(*kind);
  if (reduce.operands.size() != row.operands) {
    state.diagnostics.Report(diag::ReductionOperands, reduce.span, op,
                             Counted(row.operands, "operand"), reduce.operands.size());
    return nullptr;
  }
  bool fits = CheckFoldWords(state, reduce, IsOwn(row.kind)) && CheckScan(state, reduce, row);
  return fits ? &row : nullptr;
}

/// Returns the type in which `dot` adds products of two different narrow types: integers of at most 16 bits,
/// or one-byte floats. The products are exact in this type. Returns nothing for other types.
std::optional<Type> MixedProduct(const Type& a, const Type& b) {
  bool are_byte_floats =
      a.is_value() && b.is_value() && IsByteFactor(a.scalar) && IsByteFactor(b.scalar);
  if (are_byte_floats && a.scalar != b.scalar)
    return ValueType(Scalar::F32, UnionOf(a.ranges, b.ranges));
  auto is_narrow = [](const Type& type) {
    return type.is_value() && IsInteger(type.scalar) && Bytes(type.scalar) <= 2;
  };
  if (!is_narrow(a) || !is_narrow(b) || a.scalar == b.scalar) return std::nullopt;
  bool is_signed = IsSigned(a.scalar) || IsSigned(b.scalar);
  return ValueType(is_signed ? Scalar::I32 : Scalar::U32, UnionOf(a.ranges, b.ranges));
}

/// Checks the operands, gives literals the type of the other operands, and returns the common type. Returns
/// an error type if the reduction does not accept the operands.
Type CheckOperands(FunctionState& state, const ReduceExpr& reduce, const ReductionRow* row,
                   ExprInfo& info) {
  if (row != nullptr && IsOwn(row->kind)) return CheckUserFold(state, reduce, info);
  bool is_dot = row != nullptr && row->kind == ReduceKind::Dot;
  if (is_dot) state.dot_operands.insert(reduce.operands.begin(), reduce.operands.end());
  for (const Expr* operand : reduce.operands) CheckValue(state, operand);
  if (row == nullptr) return Type{};
  if (is_dot) {
    auto type_of = [&](size_t i) { return state.fn.exprs[reduce.operands[i]].type; };
    if (std::optional<Type> mixed = MixedProduct(type_of(0), type_of(1))) return *mixed;
  }
  Unify(state, reduce.operands, reduce.span, row->spelling);
  for (const Expr* operand : reduce.operands) Default(state, operand);
  Type type = Unify(state, reduce.operands, reduce.span, row->spelling);
  if (type.is_error()) return type;
  if (!HasArithmetic(type.scalar)) {
    state.diagnostics
        .Report(diag::BadOperand, reduce.span, row->spelling, kArithmetic, Spelling(type.scalar))
        .Help(fmt::format("write '{}'", AsHint(state, reduce.operands[0], Scalar::F32)));
    return Type{};
  }
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

Type CheckReduce(FunctionState& state, const ReduceExpr& reduce, ExprInfo& info) {
  const ReductionRow* row = CheckOperator(state, reduce);
  std::optional<ScopeGuard> scope;
  // In a contract, the `over` list of a reduction declares new names. A scan keeps its range, which is an
  // index name of the equation.
  bool is_scan = row != nullptr && IsScan(row->kind);
  if (state.contract != nullptr && !is_scan) {
    scope.emplace(state.scopes);
    for (const syntax::Ident& name : reduce.over) DeclareOver(state, name);
  }
  Type type = CheckOperands(state, reduce, row, info);
  std::optional<std::vector<const Entity*>> ranges = OverRanges(state, reduce);
  // The numbers of appended elements are summed for all elements of the range, even if the condition does not depend on it.
  if (reduce.appends && ranges && !type.is_error()) type.ranges = UnionOf(type.ranges, *ranges);
  if (type.is_error() || !ranges || !CheckHasRanges(state, reduce, type, *ranges)) return Type{};
  auto* facts = state.module.arena.Make<ReduceInfo>(ReduceInfo{});
  facts->kind = row->kind;
  facts->ranges = *ranges;
  facts->accumulator = row->gives == Gives::Accumulator ? AccumulatorOf(type.scalar) : type.scalar;
  facts->reversed = reduce.reversed;
  facts->exclusive = reduce.exclusive;
  info.reduce = facts;
  if (!IsScan(row->kind)) type.ranges = Missing(type.ranges, *ranges);
  for (Type& part : type.parts) part.ranges = type.ranges;
  if (!type.is_tuple()) type.scalar = row->gives == Gives::Index ? Scalar::I64 : facts->accumulator;
  return type;
}

}  // namespace kdl::sema
