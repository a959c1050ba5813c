#include "sema/expressions/tile_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

// A fn is generic over the ranges of its tiles and the extents of its pipes. A call binds each of these
// ranges to a range of the caller: by name, or by the only assignment that fits the arguments.

#include "sema/accesses/index_names.h"
#include "sema/types/coerce.h"
#include "sema/types/size_arithmetic.h"
#include "sema/types/sizes.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::CallExpr;
using syntax::Expr;
using Ranges = std::vector<const Entity*>;

class CallBinder {
 public:
  CallBinder(FunctionState& state, const CallExpr& call, const CheckedFunction& callee,
             const std::vector<const Expr*>& args, CallInfo& bound)
      : state_(state), call_(call), callee_(callee), args_(args), bound_(bound) {}

  bool Bind() { return BindSizes() && BindNamed() && BindOthers() && CheckArguments(); }

 private:
  std::string_view fn_name() const { return call_.callee.name.text(); }
  const Type& ArgumentType(size_t arg) const { return state_.fn.exprs.at(args_[arg]).type; }
  bool IsPipe(size_t param) const { return callee_.params[param].entity->kind == EntityKind::Pipe; }

  // ---- Sizes

  std::vector<const Entity*> Symbols() const;
  Size* BoundValue(Size symbol);
  Size InCaller(Size size);
  bool BindSizes();
  bool BindNamedSizes();
  bool BindExtents(size_t param);
  bool BindDefaults();

  // ---- Ranges

  bool BindNamed();
  bool BindOthers();
  bool ExtentFits(const Entity* range, const Entity* to);
  bool Fits(const Ranges& ranges);
  void Search(Ranges& ranges, size_t next);
  void ReportNone();
  std::string AssignmentText(const Ranges& ranges) const;

  // ---- Arguments

  bool CheckArguments();
  bool CheckNamedExtents();

  FunctionState& state_;
  const CallExpr& call_;
  const CheckedFunction& callee_;
  const std::vector<const Expr*>& args_;
  CallInfo& bound_;
  /// The assignments of ranges that fit the arguments. The search stops when it has found two, because the
  /// call is then ambiguous.
  std::vector<Ranges> found_;
};

std::vector<const Entity*> CallBinder::Symbols() const {
  std::vector<const Entity*> symbols;
  for (const IntGenericInfo& generic : callee_.generics) symbols.push_back(generic.entity);
  for (const DimInfo& dim : callee_.dims) symbols.push_back(dim.entity);
  return symbols;
}

Size* CallBinder::BoundValue(Size symbol) {
  std::vector<const Entity*> symbols = Symbols();
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i]->size == symbol) return &bound_.sizes[i];
  }
  return nullptr;
}

/// Returns a size of the callee, expressed by sizes of the caller. Returns null if a symbol in it has no
/// value yet.
Size CallBinder::InCaller(Size size) {
  if (size->kind == SizeKind::Constant) return size;
  if (size->kind == SizeKind::Symbol) {
    Size* value = BoundValue(size);
    return value != nullptr ? *value : nullptr;
  }
  Size lhs = InCaller(size->lhs);
  Size rhs = InCaller(size->rhs);
  if (lhs == nullptr || rhs == nullptr) return nullptr;
  return state_.module.sizes.Binary(size->kind, lhs, rhs);
}

bool CallBinder::BindNamedSizes() {
  bool ok = true;
  for (const syntax::Arg& arg : call_.generics) {
    for (size_t i = 0; i < callee_.generics.size(); ++i) {
      const IntGenericInfo& generic = callee_.generics[i];
      if (generic.entity->name != arg.name.name) continue;
      Size value = CheckSize(state_, arg.value, "the value of an integer parameter");
      if (value != nullptr && !IsStatic(state_, value)) {
        state_.diagnostics
            .Report(diag::BlockSizeNotStatic, arg.value->span, "the value of an integer parameter",
                    Quote(state_, arg.value))
            .Help("pass it as an argument instead, to a parameter such as `n: i64`");
        value = nullptr;
      }
      bool chosen = value == nullptr || !IsConstant(value) || generic.choices.empty() ||
                    std::find(generic.choices.begin(), generic.choices.end(), value->value) !=
                        generic.choices.end();
      if (!chosen) {
        state_.diagnostics.Report(diag::DefaultChoice, arg.value->span, value->value,
                                  generic.entity->name.text());
      }
      bound_.sizes[i] = value;
      ok = ok && value != nullptr && chosen;
    }
  }
  return ok;
}

/// Binds the names in the brackets of a pipe parameter to the extents of the argument. If a name already has
/// a value, the value must equal the extent.
bool CallBinder::BindExtents(size_t param) {
  const Type& formal = callee_.params[param].entity->type;
  const Type& actual = ArgumentType(param);
  bool same = formal.scalar == actual.scalar && formal.dims.size() == actual.dims.size();
  for (size_t i = 0; same && i < formal.dims.size(); ++i) {
    Size* value = formal.dims[i]->kind == SizeKind::Symbol ? BoundValue(formal.dims[i]) : nullptr;
    if (value != nullptr && *value == nullptr) *value = actual.dims[i];
    Size wanted = InCaller(formal.dims[i]);
    same =
        wanted == nullptr || ConstantDifference(state_.module.sizes, wanted, actual.dims[i]) == 0;
  }
  if (same) return true;
  const Entity& entity = *callee_.params[param].entity;
  state_.diagnostics
      .Report(diag::PipeArgumentType, args_[param]->span, entity.name.text(), fn_name(),
              ToString(formal), ToString(actual))
      .Note(entity.span, "the parameter is declared here");
  return false;
}

bool CallBinder::BindDefaults() {
  for (size_t i = 0; i < callee_.generics.size(); ++i) {
    if (bound_.sizes[i] != nullptr) continue;
    const IntGenericInfo& generic = callee_.generics[i];
    if (!generic.values.empty()) {
      bound_.sizes[i] = state_.module.sizes.Constant(generic.values[0]);
      continue;
    }
    std::string_view name = generic.entity->name.text();
    state_.diagnostics.Report(diag::CallConstant, call_.span, name, fn_name())
        .Note(generic.entity->span, "declared here")
        .Help(fmt::format("give its value: {}<{} = 4>(…)", fn_name(), name));
    return false;
  }
  return true;
}

bool CallBinder::BindSizes() {
  bound_.sizes.assign(callee_.generics.size() + callee_.dims.size(), nullptr);
  bool ok = BindNamedSizes();
  for (size_t p = 0; ok && p < args_.size(); ++p) {
    if (IsPipe(p) && !callee_.params[p].entity->type.is_error()) ok = BindExtents(p);
  }
  return ok && BindDefaults();
}

bool CallBinder::BindNamed() {
  bound_.ranges.assign(callee_.ranges.size(), nullptr);
  for (const syntax::Arg& arg : call_.generics) {
    for (size_t i = 0; i < callee_.ranges.size(); ++i) {
      if (callee_.ranges[i]->name != arg.name.name) continue;
      if (state_.contract != nullptr) FreeRange(state_, arg.value);
      const auto* name = syntax::DynAs<syntax::NameExpr>(arg.value);
      const Entity* range = name != nullptr ? Resolve(state_, name->name, name->span) : nullptr;
      if (name != nullptr && (range == nullptr || IsFaulty(*range))) return false;
      if (range == nullptr || range->kind != EntityKind::Range) {
        state_.diagnostics.Report(diag::CallRangeName, arg.value->span, arg.name.name.text(),
                                  Quote(state_, arg.value));
        return false;
      }
      if (Contains(bound_.ranges, range)) {
        state_.diagnostics.Report(diag::CallRangeTwice, arg.span, arg.name.name.text(),
                                  range->name.text());
        return false;
      }
      bound_.ranges[i] = range;
    }
  }
  return CheckNamedExtents();
}

bool CallBinder::CheckNamedExtents() {
  for (size_t i = 0; i < callee_.ranges.size(); ++i) {
    const Entity* to = bound_.ranges[i];
    const Entity* range = callee_.ranges[i];
    if (to == nullptr || ExtentFits(range, to)) continue;
    std::string found = to->range.extent != nullptr ? SizeText(to->range.extent) : "any size";
    state_.diagnostics
        .Report(diag::CallRangeExtent, call_.span, to->name.text(), found, range->name.text(),
                SizeText(InCaller(range->range.extent)))
        .Note(range->span, fmt::format("'{}' is a dimension of a pipe", range->name.text()));
    return false;
  }
  return true;
}

/// Returns whether `to` has the extent of the pipe dimension for which the fn uses `range`. If the fn uses
/// `range` for no pipe dimension, any extent fits.
bool CallBinder::ExtentFits(const Entity* range, const Entity* to) {
  if (range->range.extent == nullptr) return true;
  Size wanted = InCaller(range->range.extent);
  if (wanted == nullptr) return true;
  return to->range.extent != nullptr &&
         ConstantDifference(state_.module.sizes, wanted, to->range.extent) == 0;
}

/// Returns whether each argument has exactly the ranges that correspond to the ranges of its parameter.
bool CallBinder::Fits(const Ranges& ranges) {
  for (size_t p = 0; p < args_.size(); ++p) {
    if (IsPipe(p)) continue;
    const Ranges& formal = callee_.params[p].entity->type.ranges;
    for (size_t i = 0; i < ranges.size(); ++i) {
      bool wanted = Contains(formal, callee_.ranges[i]);
      bool has = Contains(ArgumentType(p).ranges, ranges[i]);
      bool named = bound_.ranges[i] != nullptr;  // if so, the argument may be broadcast
      if (wanted ? !has && !named : has) return false;
    }
  }
  return true;
}

void CallBinder::Search(Ranges& ranges, size_t next) {
  if (found_.size() == 2) return;
  if (next == ranges.size()) {
    if (Fits(ranges)) found_.push_back(ranges);
    return;
  }
  if (bound_.ranges[next] != nullptr) return Search(ranges, next + 1);
  Ranges candidates;
  for (size_t p = 0; p < args_.size(); ++p) {
    if (Contains(callee_.params[p].entity->type.ranges, callee_.ranges[next])) {
      candidates = UnionOf(candidates, ArgumentType(p).ranges);
    }
  }
  for (const Entity* candidate : candidates) {
    if (Contains(ranges, candidate) || !ExtentFits(callee_.ranges[next], candidate)) continue;
    ranges[next] = candidate;
    Search(ranges, next + 1);
    ranges[next] = nullptr;
  }
}

std::string CallBinder::AssignmentText(const Ranges& ranges) const {
  std::string text;
  for (size_t i = 0; i < ranges.size(); ++i) {
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", callee_.ranges[i]->name.text(),
                        ranges[i]->name.text());
  }
  return text;
}

void CallBinder::ReportNone() {
  Ranges all;
  for (size_t p = 0; p < args_.size(); ++p) all = UnionOf(all, ArgumentType(p).ranges);
  state_.diagnostics
      .Report(diag::CallRangeNone, call_.span, fn_name(), RangesText(all), Joined(callee_.ranges))
      .Note(callee_.item->name.span, fmt::format("'{}' is declared here", fn_name()))
      .Help(
          fmt::format("name the ranges: {}<{} = …>(…)", fn_name(), callee_.ranges[0]->name.text()));
}

bool CallBinder::BindOthers() {
  if (!Contains(bound_.ranges, nullptr)) return true;
  Ranges ranges = bound_.ranges;
  Search(ranges, 0);
  if (found_.empty()) {
    ReportNone();
    return false;
  }
  if (found_.size() == 1) {
    bound_.ranges = found_[0];
    return true;
  }
  state_.diagnostics
      .Report(diag::CallRangeOpen, call_.span, fn_name(), AssignmentText(found_[0]),
              AssignmentText(found_[1]))
      .Note(callee_.item->name.span, fmt::format("'{}' is declared here", fn_name()))
      .Help(fmt::format("name the ranges: {}<{}>(…)", fn_name(), AssignmentText(found_[0])));
  return false;
}

/// Checks what the search for an assignment of ranges does not check: the arguments of a call that names all
/// ranges, and the ranges over which the call is mapped.
bool CallBinder::CheckArguments() {
  bool pipes = callee_.HasPipes();
  for (size_t p = 0; p < args_.size(); ++p) {
    if (IsPipe(p)) continue;
    const Entity& param = *callee_.params[p].entity;
    Ranges extra;
    for (const Entity* range : ArgumentType(p).ranges) {
      size_t number = static_cast<size_t>(
          std::find(bound_.ranges.begin(), bound_.ranges.end(), range) - bound_.ranges.begin());
      if (number == bound_.ranges.size()) {
        extra.push_back(range);
      } else if (!Contains(param.type.ranges, callee_.ranges[number])) {
        state_.diagnostics
            .Report(diag::CallRangeExtra, args_[p]->span, param.name.text(), range->name.text(),
                    callee_.ranges[number]->name.text(), param.name.text())
            .Note(param.span, "the parameter is declared here");
        return false;
      }
    }
    if (!pipes || extra.empty()) continue;
    state_.diagnostics
        .Report(diag::PipeFnMapped, args_[p]->span, param.name.text(), RangesText(extra), fn_name())
        .Note(param.span, "the parameter is declared here");
    return false;
  }
  return true;
}

}  // namespace

bool BindCall(FunctionState& state, const CallExpr& call, const CheckedFunction& callee,
              const std::vector<const Expr*>& args, ExprInfo& info) {
  auto* bound = state.module.arena.Make<CallInfo>(CallInfo{});
  if (!CallBinder(state, call, callee, args, *bound).Bind()) return false;
  info.call = bound;
  return true;
}

Type ResultOfCall(const FunctionState& state, const CheckedFunction& callee, const CallInfo& bound,
                  const std::vector<const Expr*>& args) {
  Type result = callee.result;
  Ranges ranges;
  for (size_t i = 0; i < callee.ranges.size(); ++i) {
    if (Contains(callee.result.ranges, callee.ranges[i])) {
      ranges = UnionOf(ranges, {bound.ranges[i]});
    }
  }
  for (const Expr* arg : args) {
    for (const Entity* range : state.fn.exprs.at(arg).type.ranges) {
      if (!Contains(bound.ranges, range)) ranges = UnionOf(ranges, {range});
    }
  }
  result.ranges = std::move(ranges);
  for (Type& part : result.parts) part.ranges = result.ranges;
  return result;
}

}  // namespace kdl::sema
