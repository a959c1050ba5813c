#include "sema/expressions/user_folds.h"

#include <fmt/format.h>

#include <algorithm>

// Checks `reduce(e over k with f init v)` and `scan(…)`, where the fn f combines two elements of e into one.

#include "sema/functions/groups.h"
#include "sema/model/reduction_kinds.h"
#include "sema/types/coerce.h"
#include "sema/types/tuples.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::ReduceExpr;

/// The fn in `with f`. If f is a function parameter, `binding` is its binding.
struct Combine {
  const Entity* function = nullptr;
  const FunctionBinding* binding = nullptr;
};

/// Returns the fn in `with f`. Reports an error if f is something else.
Combine CombineFunction(FunctionState& state, const ReduceExpr& reduce) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(reduce.combine);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (entity != nullptr && entity->kind == EntityKind::Fn) return {entity};
  if (entity != nullptr && entity->kind == EntityKind::FnGeneric) {
    const FunctionBinding& binding = state.fn.Bound(entity);
    return {binding.function, &binding};
  }
  state.diagnostics.Report(diag::FoldsWithOther, reduce.combine->span, Quote(state, reduce.combine))
      .Help("declare a fn with two parameters: fn add(a: f32, b: f32) -> f32 { return a + b; }");
  return {};
}

/// Returns the types that the operand gives to the fn's type parameters.
std::vector<KindChoice> OperandKinds(const FunctionGroup& group, const Type& type, Span span) {
  std::vector<KindChoice> choices;
  if (group.item->params.empty()) return choices;
  const syntax::TypeRef& ref = *group.item->params[0].type;
  if (!type.is_tuple()) return {{syntax::PlainName(ref.name), type.scalar, span}};
  for (size_t i = 0; i < std::min(ref.elements.size(), type.parts.size()); ++i)
    choices.push_back({syntax::PlainName(ref.elements[i]->name), type.parts[i].scalar, span});
  return choices;
}

/// Returns whether the fn combines two values of a type into one value of the same type. The values may be
/// numbers, tuples of numbers, or tiles over all ranges of the fn.
bool IsFold(const CheckedFunction& callee) {
  if (callee.params.size() != 2 || callee.HasPipes()) return false;
  const Type& first = callee.params[0].entity->type;
  bool sized = !callee.ranges.empty() && !callee.generics.empty();
  return !sized && first == callee.params[1].entity->type && first == callee.result &&
         first.ranges.size() == callee.ranges.size();
}

/// Returns whether the reduction may combine whole tiles. irgen generates a loop that combines one tile after
/// another and keeps only the last result, so scans and contracts do not accept tiles.
bool AcceptsTiles(const FunctionState& state, const ReduceExpr& reduce) {
  return state.contract == nullptr && FindReduction(reduce.op.name.text()) == ReduceKind::Reduce;
}

const CheckedFunction* CheckFunction(FunctionState& state, const ReduceExpr& reduce,
                                     const Type& operand) {
  auto [entity, binding] = CombineFunction(state, reduce);
  if (entity == nullptr) return nullptr;
  FunctionGroup& group = Require(state.module, entity);
  state.group.calls.emplace_back(&group, reduce.combine->span);
  if ((group.instances.empty() && !group.is_lazy) || operand.is_error()) return nullptr;
  // The declaration of a function parameter states the types, which the operand must have.
  std::vector<KindChoice> kinds = binding != nullptr
                                      ? BoundKinds(group, *binding, reduce.combine->span)
                                      : OperandKinds(group, operand, reduce.operands[0]->span);
  CheckedFunction* callee = Choose(state, group, kinds, reduce.combine->span);
  if (callee == nullptr) return nullptr;
  if (callee->result.is_error()) return nullptr;
  for (const ParamInfo& param : callee->params) {
    if (param.entity->type.is_error()) return nullptr;
  }
  bool fits = callee->ranges.empty() || AcceptsTiles(state, reduce);
  if (fits && IsFold(*callee)) return callee;
  state.diagnostics.Report(diag::NoFold, reduce.combine->span, entity->name.text())
      .Note(entity->span, "declared here")
      .Help(fits ? "give it two parameters and a result of one type: a scalar, a tuple of scalars, "
                   "or a "
                   "tile"
                 : "give it two parameters and a result of one type, a scalar or a tuple of "
                   "scalars; only "
                   "`reduce` in a kernel or fn combines tiles");
  return nullptr;
}

/// Checks that the operand or the initial value has the type that the fn requires.
bool CheckFits(FunctionState& state, const Expr* expr, const CheckedFunction& callee) {
  if (FitsType(state, expr, Seen(state, callee.result))) return true;
  state.diagnostics.Report(diag::FoldType, expr->span, Quote(state, expr),
                           ToString(state.fn.exprs[expr].type), callee.item->name.name.text(),
                           ToString(Seen(state, callee.result)));
  return false;
}

/// Checks the initial value. If tiles are combined, `bound` contains their ranges, which the initial value
/// may have.
bool CheckInit(FunctionState& state, const ReduceExpr& reduce, const CheckedFunction& callee,
               const std::vector<const Entity*>& bound) {
  const Type& type = state.fn.exprs[reduce.init].type;
  if (type.is_error() || !CheckFits(state, reduce.init, callee)) return false;
  std::vector<const Entity*> ranges = Missing(state.fn.exprs[reduce.init].type.ranges, bound);
  if (ranges.empty()) return true;
  state.diagnostics
      .Report(diag::TileForScalar, reduce.init->span, "the initial value of a reduction",
              RangesText(ranges))
      .Help(
          "use the identity of the fn, which is the same for all elements; combine the result with "
          "a tile afterwards");
  return false;
}

/// Maps each range of the fn to one of the operand's remaining ranges: to the range with the same name, or
/// to the only range that is left. Reports an error and returns null if there is no such range.
const CallInfo* BindRanges(FunctionState& state, const ReduceExpr& reduce,
                           const CheckedFunction& callee, const Type& operand) {
  std::vector<const Entity*> left;
  for (const Entity* range : operand.ranges) {
    auto is_folded = [&](const syntax::Ident& name) { return name.name == range->name; };
    if (std::ranges::none_of(reduce.over, is_folded)) left.push_back(range);
  }
  auto* bound = state.module.arena.Make<CallInfo>(CallInfo{});
  for (const Entity* range : callee.ranges) {
    auto same = std::ranges::find(left, range->name, &Entity::name);
    bool only = callee.ranges.size() == 1 && left.size() == 1;
    if (same != left.end() || only) bound->ranges.push_back(only ? left[0] : *same);
  }
  if (bound->ranges.size() == callee.ranges.size()) return bound;
  state.diagnostics
      .Report(diag::CallRangeNone, reduce.combine->span, callee.item->name.name.text(),
              RangesText(left), Joined(callee.ranges))
      .Note(callee.item->name.span, "declared here")
      .Help("use the names that the ranges have in the fn");
  return nullptr;
}

}  // namespace

bool CheckFoldWords(FunctionState& state, const ReduceExpr& reduce, bool own) {
  bool given = reduce.combine != nullptr && reduce.init != nullptr;
  std::string_view op = reduce.op.name.text();
  if (own && !given) {
    state.diagnostics.Report(diag::FoldWithout, reduce.span, op)
        .Help(fmt::format("write {}(e over k with f init v), where v is the identity of the fn f",
                          op));
  } else if (!own && reduce.combine != nullptr) {
    state.diagnostics.Report(diag::FoldWith, reduce.combine->span, op)
        .Help("use reduce or scan with a fn of your own");
  } else {
    return true;
  }
  return false;
}

Type CheckUserFold(FunctionState& state, const ReduceExpr& reduce, ExprInfo& info) {
  CheckAny(state, reduce.operands[0]);
  CheckAny(state, reduce.init);
  Type operand = DefaultParts(state, reduce.operands[0]);
  const CheckedFunction* callee = CheckFunction(state, reduce, operand);
  if (callee == nullptr || !CheckFits(state, reduce.operands[0], *callee)) return Type{};
  info.call = BindRanges(state, reduce, *callee, operand);
  if (info.call == nullptr || !CheckInit(state, reduce, *callee, info.call->ranges)) return Type{};
  info.callee = callee;
  Type type = Seen(state, callee->result);
  type.ranges = operand.ranges;
  for (Type& part : type.parts) part.ranges = operand.ranges;
  return type;
}

}  // namespace kdl::sema
