#include "sema/expressions/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sema/expressions/tile_calls.h"
#include "sema/functions/groups.h"
#include "sema/functions/library.h"
#include "sema/model/builtins.h"
#include "sema/model/reduction_kinds.h"
#include "sema/stages/pipes.h"
#include "sema/types/coerce.h"
#include "sema/types/foreign_calls.h"
#include "sema/types/tuples.h"
#include "sema/walk/expr.h"
#include "sema/walk/imports.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "support/check.h"

namespace kdl::sema {

namespace {

using syntax::CallExpr;
using syntax::Expr;
using syntax::FunctionKind;

/// Returns a suggested reduction, such as `sum(x[r, c] over c)`. The suggestion reduces over the ranges that are
/// arguments themselves, as in `sum(x[r, c], c)`. If there are none, it reduces over the last range that all operands
/// have. Returns nothing if there is no such range.
std::optional<std::string> WithRanges(const FunctionState& state, const CallExpr& call) {
  std::vector<std::string> operands, named;
  std::optional<std::vector<const Entity*>> common;
  for (const syntax::Arg& arg : call.args) {
    auto known = state.fn.exprs.find(arg.value);
    bool is_known = known != state.fn.exprs.end();
    const Entity* entity = is_known ? known->second.entity : nullptr;
    if (entity != nullptr && entity->kind == EntityKind::Range) {
      named.emplace_back(entity->name.text());
      continue;
    }
    operands.push_back(Quote(state, arg.value));
    std::vector<const Entity*> ranges;
    if (is_known) ranges.assign(known->second.type.ranges.begin(), known->second.type.ranges.end());
    if (!common) common = ranges;
    std::erase_if(*common, [&](const Entity* one) { return std::ranges::count(ranges, one) == 0; });
  }
  if (operands.empty()) operands.emplace_back("…");
  if (named.empty()) {
    if (!common || common->empty()) return std::nullopt;
    named.emplace_back(common->back()->name.text());
  }
  return fmt::format("{}({} over {})", call.callee.name.text(), fmt::join(operands, ", "),
                     fmt::join(named, ", "));
}

bool HasNamedArgs(FunctionState& state, const CallExpr& call) {
  for (const syntax::Arg& arg : call.args) {
    if (!arg.name) continue;
    state.diagnostics.Report(diag::NamedArgument, arg.name.span, call.callee.name.text());
    return true;
  }
  return false;
}

/// Checks that the argument for a pipe parameter of a fn names a pipe. Otherwise, reports an error and
/// returns false.
bool CheckPipeArg(FunctionState& state, const CallExpr& call, const syntax::Param& param,
                  const Expr* arg) {
  Type type = CheckExpr(state, arg);
  if (type.kind == TypeKind::Pipe || type.is_error()) return !type.is_error();
  state.diagnostics
      .Report(diag::NotAPipeArgument, arg->span, param.name.name.text(), call.callee.name.text(),
              Quote(state, arg))
      .Note(param.span, "the parameter is declared here");
  state.fn.exprs[arg].type = Type{};
  return false;
}

std::vector<const Expr*> CheckArgsOf(FunctionState& state, const CallExpr& call,
                                     const std::vector<syntax::Param>& params) {
  std::vector<const Expr*> args;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Expr* arg = call.args[i].value;
    bool pipe = i < params.size() && (params[i].direction == syntax::Direction::Push ||
                                      params[i].direction == syntax::Direction::Pop);
    bool tuple = i < params.size() && !params[i].type->elements.empty();
    if (pipe) {
      CheckPipeArg(state, call, params[i], arg);
    } else if (tuple) {
      CheckAny(state, arg);
    } else {
      CheckValue(state, arg);
    }
    args.push_back(arg);
  }
  return args;
}

std::vector<const Expr*> CheckArgs(FunctionState& state, const CallExpr& call) {
  std::vector<const Expr*> args;
  for (const syntax::Arg& arg : call.args) {
    CheckValue(state, arg.value);
    args.push_back(arg.value);
  }
  return args;
}

bool CheckCount(FunctionState& state, const CallExpr& call, size_t wanted) {
  if (call.args.size() == wanted) return true;
  Diagnostic& report =
      state.diagnostics.Report(diag::ArgumentCount, call.span, call.callee.name.text(),
                               Counted(wanted, "argument"), call.args.size());
  std::optional<ReduceKind> reduction = FindReduction(call.callee.name.text());
  if (reduction && call.args.size() == 1) {
    CheckArgs(state, call);
    if (std::optional<std::string> text = WithRanges(state, call))
      report.Help(fmt::format("to reduce over a range, name it: {}", *text));
  }
  return false;
}

/// Returns whether a call such as `max(x[r, c], c)` names a range of its operand, although it is not a reduction.
bool NamesRangeOfOperand(FunctionState& state, const CallExpr& call) {
  if (call.args.size() != 2 || !FindReduction(call.callee.name.text())) return false;
  const auto* name = syntax::DynAs<syntax::NameExpr>(call.args[1].value);
  const Entity* range = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (range == nullptr || range->kind != EntityKind::Range || state.contract != nullptr)
    return false;
  CheckExpr(state, call.args[1].value);
  return state.range_values == 0 && Contains(CheckExpr(state, call.args[0].value).ranges, range);
}

Type CheckIota(FunctionState& state, const CallExpr& call, ExprInfo& info) {
  const Expr* arg = call.args[0].value;
  const auto* name = syntax::DynAs<syntax::NameExpr>(arg);
  if (name == nullptr || CheckExpr(state, arg).is_error()) {
    if (name == nullptr) {
      state.diagnostics.Report(diag::IotaOfOther, arg->span, Quote(state, arg));
    }
    return Type{};
  }
  const Entity* entity = state.fn.exprs[arg].entity;
  if (entity == nullptr || entity->kind != EntityKind::Range) {
    state.diagnostics.Report(diag::IotaOfOther, arg->span, Quote(state, arg));
    return Type{};
  }
  info.entity = entity;
  return ValueType(Scalar::I64, {entity});
}

/// Returns the type of a builtin whose operands are all literals. If the result has the type of the
/// operands, it is also a literal. Otherwise, the operands get their default types.
Type CheckLiteralArgs(FunctionState& state, const Builtin& builtin,
                      const std::vector<const Expr*>& args, Type type) {
  bool wants_float = !Accepts(builtin.operands, Scalar::I32);
  bool elementwise = builtin.lowering == Lowering::Op || builtin.lowering == Lowering::Clamp;
  if (elementwise && builtin.result == BuiltinResult::Same) {
    if (wants_float) type.kind = TypeKind::FloatLiteral;
    return type;
  }
  bool wide = state.contract != nullptr;
  Scalar scalar =
      wants_float ? (wide ? Scalar::F64 : Scalar::F32) : (wide ? Scalar::I64 : Scalar::I32);
  for (const Expr* arg : args) {
    if (!Coerce(state, arg, scalar)) return Type{};
  }
  return ValueType(scalar, type.ranges);
}

/// Returns whether the builtin's result depends on the bit width of its operands. Contracts compute in f64
/// and i64, so a call in a contract must find out the width that the operands have in the kernel.
bool NeedsWidth(const Builtin* builtin) {
  return builtin != nullptr &&
         (builtin->result == BuiltinResult::BitsOf ||
          builtin->result == BuiltinResult::FromBitsOf || builtin->lowering == Lowering::WidthFn);
}

bool IsOfLibrary(const Builtin& builtin) {
  return builtin.lowering == Lowering::Math || builtin.lowering == Lowering::Fn ||
         builtin.lowering == Lowering::WidthFn;
}

/// Returns the type that an expression of a contract would have outside the contract, if a load from
/// memory, a cast or a bit pattern determines it.
std::optional<Scalar> WrittenType(FunctionState& state, const Expr* expr) {
  const ExprInfo& info = state.fn.exprs[expr];
  if (const auto* cast = syntax::DynAs<syntax::CastExpr>(expr))
    return IsTf32(*cast) || info.type.scalar == Scalar::Bool ? std::nullopt
                                                             : std::optional(info.pattern);
  if (NeedsWidth(info.builtin)) return ResultScalar(info.builtin->result, info.pattern);
  const Entity* entity = info.index != nullptr ? info.index->base : info.entity;
  if (entity == nullptr || !(entity->type.is_tensor() || entity->type.is_value())) return {};
  return entity->type.scalar;
}

/// Checks a builtin such as `bits` or `from_bits` in a contract. Its result depends on the operand's type
/// outside of the contract.
Type CheckPattern(FunctionState& state, const CallExpr& call, const Builtin& builtin,
                  const Type& type, ExprInfo& info) {
  if (type.is_error()) return type;
  std::optional<Scalar> scalar = WrittenType(state, call.args[0].value);
  if (!scalar) {
    std::string_view kind = Accepts(builtin.operands, Scalar::I32) ? "i32" : "f32";
    state.diagnostics.Report(diag::PatternOfNoType, call.span, builtin.spelling)
        .Help(fmt::format("write `{}((…) as {})`", builtin.spelling, kind));
    return Type{};
  }
  if (!Accepts(builtin.operands, *scalar)) {
    state.diagnostics.Report(diag::BadOperand, call.span, builtin.spelling,
                             Describe(builtin.operands), Spelling(*scalar));
    return Type{};
  }
  info.pattern = *scalar;
  if (builtin.lowering == Lowering::WidthFn &&
      !BindLibrary(state, builtin, *scalar, call.callee.span, info))
    return Type{};
  return Seen(state, ValueType(ResultScalar(builtin.result, *scalar), type.ranges));
}

Type CheckBuiltinCall(FunctionState& state, const CallExpr& call, const Builtin& builtin,
                      ExprInfo& info) {
  if (HasNamedArgs(state, call)) return Type{};
  if (!call.generics.empty()) {
    state.diagnostics.Report(diag::NoGenerics, call.generics[0].span, builtin.spelling);
  }
  if (!CheckCount(state, call, builtin.arity)) {
    CheckArgs(state, call);
    return Type{};
  }
  if (NamesRangeOfOperand(state, call)) {
    state.diagnostics.Report(diag::MissingOver, call.span, builtin.spelling)
        .Help(fmt::format("name the ranges: {}", WithRanges(state, call).value_or("…")));
    return Type{};
  }
  info.builtin = &builtin;
  if (builtin.operands == Operands::Range) return CheckIota(state, call, info);
  std::vector<const Expr*> args = CheckArgs(state, call);
  Type type = Unify(state, args, call.span, builtin.spelling);
  if (NeedsWidth(&builtin) && state.contract != nullptr && !type.is_literal())
    return CheckPattern(state, call, builtin, type, info);
  if (type.is_literal()) type = CheckLiteralArgs(state, builtin, args, type);
  if (type.is_error() || type.is_literal()) return type;
  if (!Accepts(builtin.operands, type.scalar)) {
    bool computes = HasArithmetic(type.scalar);
    Diagnostic& report = state.diagnostics.Report(
        diag::BadOperand, call.span, builtin.spelling,
        computes ? Describe(builtin.operands) : kArithmetic, Spelling(type.scalar));
    if (!computes) {
      report.Help(fmt::format("write '{}'", AsHint(state, args[0], Scalar::F32)));
    } else if (IsInteger(type.scalar) && !IsSigned(type.scalar) &&
               Accepts(builtin.operands, Scalar::I32)) {
      report.Help(fmt::format("leave out the call: '{}' is never negative", Quote(state, args[0])));
    } else if (IsInteger(type.scalar) && Accepts(builtin.operands, Scalar::F32)) {
      report.Help(fmt::format("write '{}'", AsHint(state, args[0], Scalar::F32)));
    }
    return Type{};
  }
  if (NeedsWidth(&builtin)) info.pattern = type.scalar;
  if (IsOfLibrary(builtin) && !BindLibrary(state, builtin, type.scalar, call.callee.span, info))
    return Type{};
  return ValueType(ResultScalar(builtin.result, type.scalar), type.ranges);
}

/// Returns whether a tile of the fn has a range with this name.
bool IsRangeOf(const FunctionGroup& group, Name name) {
  return std::ranges::any_of(group.item->params, [&](const syntax::Param& param) {
    return param.direction == syntax::Direction::In &&
           std::ranges::any_of(param.type->dims, [&](const Expr* dim) {
             const auto* range = syntax::DynAs<syntax::NameExpr>(dim);
             return range != nullptr && range->name == name;
           });
  });
}

Scalar DefaultScalar(const Type& type) {
  if (!type.is_literal()) return type.scalar;
  return type.kind == TypeKind::FloatLiteral ? Scalar::F32 : Scalar::I32;
}

/// Returns the type parameter that the type of a parameter names, paired with the type of the argument. For a
/// tuple, returns one pair for each element.
std::vector<std::pair<Name, Type>> KindsGiven(const syntax::TypeRef& ref, const Type& type) {
  if (!type.is_tuple()) return {{syntax::PlainName(ref.name), type}};
  std::vector<std::pair<Name, Type>> given;
  for (size_t i = 0; i < std::min(ref.elements.size(), type.parts.size()); ++i)
    given.emplace_back(syntax::PlainName(ref.elements[i]->name), type.parts[i]);
  return given;
}

/// Returns the types that the arguments, and `<T = …>`, give to the callee's type parameters.
std::vector<KindChoice> ChooseKinds(FunctionState& state, const CallExpr& call,
                                    const FunctionGroup& group,
                                    const std::vector<const Expr*>& args) {
  std::vector<KindChoice> choices;
  for (const syntax::Arg& generic : call.generics) {
    if (IsRangeOf(group, generic.name.name)) continue;
    if (std::optional<KindChoice> choice = NamedKind(state, group, generic)) {
      choices.push_back(*choice);
    }
  }
  for (bool literals : {false, true}) {
    for (size_t i = 0; i < args.size(); ++i) {
      const syntax::Param& param = group.item->params[i];
      for (const auto& [name, type] : KindsGiven(*param.type, state.fn.exprs[args[i]].type)) {
        if (type.is_error() || type.is_literal() != literals) continue;
        auto known = std::find_if(choices.begin(), choices.end(),
                                  [&](const KindChoice& choice) { return choice.generic == name; });
        bool may_differ = literals || state.contract != nullptr;
        if (may_differ && known != choices.end()) continue;
        choices.push_back({name, DefaultScalar(type), args[i]->span});
      }
    }
  }
  return choices;
}

/// Checks that a stage may use the pipe ends that it passes to a fn, and records these uses.
bool CheckEnds(FunctionState& state, const CheckedFunction& callee,
               const std::vector<const Expr*>& args) {
  bool ok = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const Entity& param = *callee.params[i].entity;
    if (param.kind == EntityKind::Pipe) ok = UseEnd(state, args[i], param.end) && ok;
  }
  return ok;
}

/// Records the index names that a call in a contract binds to ranges over which the called fn reduces. The
/// result of the fn does not have these ranges.
void AddFolded(ContractState& contract, const CheckedFunction& callee, const CallInfo& bound) {
  for (size_t i = 0; i < callee.ranges.size(); ++i) {
    bool is_left = Contains(callee.result.ranges, callee.ranges[i]);
    if (!is_left) contract.folded.push_back(bound.ranges[i]);
  }
}

Type CheckFnArgs(FunctionState& state, const CallExpr& call, const CheckedFunction& callee,
                 const std::vector<const Expr*>& args, ExprInfo& info) {
  const Type& result = callee.result;
  bool ok = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const Entity& param = *callee.params[i].entity;
    Type type = state.fn.exprs[args[i]].type;
    Type wanted = Seen(state, param.type);
    if (type.is_error()) ok = false;
    if (param.kind == EntityKind::Pipe || wanted.is_error() ||
        (type.is_tuple() == wanted.is_tuple() && FitsType(state, args[i], wanted)))
      continue;
    ok = false;
    if (wanted.is_tuple()) {
      state.diagnostics.Report(diag::TupleParts, args[i]->span, Quote(state, args[i]),
                               ToString(type), ToString(wanted));
      continue;
    }
    state.diagnostics
        .Report(diag::ArgumentType, args[i]->span, param.name.text(), call.callee.name.text(),
                Spelling(wanted.scalar), Spelling(type.scalar))
        .Help(fmt::format("write '{}'", AsHint(state, args[i], wanted.scalar)));
  }
  if (!ok || !BindCall(state, call, callee, args, info)) return Type{};
  if (state.contract != nullptr) AddFolded(*state.contract, callee, *info.call);
  if (result.kind == TypeKind::Nothing) return CheckEnds(state, callee, args) ? result : Type{};
  return result.is_error() ? result : Seen(state, ResultOfCall(state, callee, *info.call, args));
}

/// Checks a call of a fn. If the callee is written as a function parameter, `binding` is its binding.
Type CheckFnCall(FunctionState& state, const CallExpr& call, const Entity* entity,
                 const FunctionBinding* binding, ExprInfo& info) {
  FunctionGroup& group = Require(state.module, entity);
  std::vector<const Expr*> args = CheckArgsOf(state, call, group.item->params);
  if (HasNamedArgs(state, call)) return Type{};
  state.group.calls.emplace_back(&group, call.callee.span);
  if (group.instances.empty() && !group.is_lazy) return Type{};
  if (!CheckCount(state, call, group.item->params.size())) return Type{};
  for (const Expr* arg : args) {
    if (state.fn.exprs[arg].type.is_error()) return Type{};
  }
  if (!NamesEachOnce(state, call)) return Type{};
  size_t errors = state.diagnostics.error_count();
  std::vector<KindChoice> choices = binding != nullptr
                                        ? BoundKinds(group, *binding, call.callee.span)
                                        : ChooseKinds(state, call, group, args);
  if (state.diagnostics.error_count() != errors) return Type{};
  CheckedFunction* callee = Choose(state, group, choices, call.span);
  if (callee == nullptr) return Type{};
  info.callee = callee;
  info.entity = entity;
  // CheckBodies computes the extents of the fn's ranges. CheckFnArgs compares the arguments with them.
  if (callee->HasPipes()) CheckBodies(state.module, group);
  return CheckFnArgs(state, call, *callee, args, info);
}

/// Checks `cores(d)`, which is the number of cores of device d.
Type CheckCores(FunctionState& state, const CallExpr& call, ExprInfo& info) {
  if (state.kind() != FunctionKind::Program || state.contract != nullptr) {
    state.diagnostics.Report(diag::CoresOutsideProgram, call.span)
        .Help("in a kernel, core_num is the number of cores of its launch");
    return Type{};
  }
  const auto* name =
      call.args.size() == 1 ? syntax::DynAs<syntax::NameExpr>(call.args[0].value) : nullptr;
  if (name == nullptr || call.args[0].name || !call.generics.empty()) {
    state.diagnostics.Report(diag::CoresOfOther, call.span)
        .Help("write cores(d), where d is a device");
    return Type{};
  }
  const Entity* device = Resolve(state, name->name, name->span);
  if (device == nullptr) return Type{};
  if (device->kind != EntityKind::Device) {
    state.diagnostics.Report(diag::NotADevice, name->span, name->name.text(),
                             Describe(device->kind));
    return Type{};
  }
  info.entity = device;
  return ValueType(Scalar::I64);
}

/// Checks the arguments of a call whose callee is unknown. The arguments may be tensors.
void CheckNamesIn(FunctionState& state, const CallExpr& call) {
  for (const syntax::Arg& arg : call.args) CheckExpr(state, arg.value);
}

/// Replaces an argument such as `axis = 1` of NumPy by the range of that index of the operand.
CallExpr AlongAxis(const FunctionState& state, const CallExpr& call) {
  CallExpr changed = call;
  std::erase_if(changed.args, [](const syntax::Arg& arg) {
    return arg.name && (arg.name.name.text() == "axis" || arg.name.name.text() == "dim");
  });
  if (changed.args.size() + 1 != call.args.size() || changed.args.empty()) return changed;
  const auto* axis = syntax::DynAs<syntax::IntLit>(call.args.back().value);
  const auto* operand = syntax::DynAs<syntax::IndexExpr>(changed.args[0].value);
  if (axis == nullptr || operand == nullptr || axis->value >= operand->indices.size())
    return changed;
  const auto* range = syntax::DynAs<syntax::NameExpr>(operand->indices[axis->value].value);
  const Entity* entity = range != nullptr ? state.scopes.Find(range->name) : nullptr;
  bool is_range = entity != nullptr && entity->kind == EntityKind::Range;
  if (is_range) changed.args.push_back(operand->indices[axis->value]);
  return changed;
}

/// Reports a reduction without `over`. An operand with an error is reported first, because its ranges are unknown.
void ReportMissingOver(FunctionState& state, const CallExpr& call) {
  for (const Expr* arg : CheckArgs(state, call)) {
    const ExprInfo& info = state.fn.exprs[arg];
    bool is_range = info.entity != nullptr && info.entity->kind == EntityKind::Range;
    if (info.type.is_error() && !is_range) return;
  }
  std::optional<std::string> text = WithRanges(state, AlongAxis(state, call));
  state.diagnostics.Report(diag::MissingOver, call.span, call.callee.name.text())
      .Help(text ? fmt::format("name the ranges: {}", *text)
                 : "index the operand with a range, and name this range after `over`");
}

Type ReportUnknownCall(FunctionState& state, const CallExpr& call) {
  std::string_view name = call.callee.name.text();
  if (FindReduction(name)) {
    ReportMissingOver(state, call);
  } else if (name == "old") {
    state.diagnostics.Report(diag::OldWithoutIndex, call.span);
  } else if (name == "copy" || name == "swap") {
    state.diagnostics.Report(diag::TensorCallPlace, call.span, name)
        .Help(fmt::format("use `{};` in a program",
                          name == "copy" ? "copy(from, to)" : "swap(a, b)"));
  } else if (name == "checkpoint") {
    state.diagnostics.Report(diag::CheckpointPlace, call.span)
        .Help("move it to the beginning of a loop of a program");
  } else if (name == "random") {
    state.diagnostics.Report(diag::RandomForm, call.span)
        .Help("in a test, use `let x = random(f32[100], seed = 1);`");
  } else {
    CheckNamesIn(state, call);
    if (std::string help = HelpForForeignCall(state, call); !help.empty())
      state.diagnostics.Report(diag::UnknownName, call.callee.span, name).Help(help);
    else
      ReportUnknown(state, name, call.callee.span);
  }
  return Type{};
}

}  // namespace

Type CheckCall(FunctionState& state, const CallExpr& call, ExprInfo& info) {
  const Entity* import = ImportOf(state, call.receiver);
  if (call.receiver != nullptr && import == nullptr) return CheckMethod(state, call, info);
  const Entity* entity = import != nullptr ? ResolveMember(state, *import, call.callee)
                                           : state.scopes.Find(call.callee.name);
  if (import != nullptr && entity == nullptr) {
    CheckNamesIn(state, call);
    return Type{};
  }
  if (entity != nullptr && entity->kind == EntityKind::Fn) {
    return CheckFnCall(state, call, entity, nullptr, info);
  }
  if (entity != nullptr && entity->kind == EntityKind::FnGeneric) {
    const FunctionBinding& binding = state.fn.Bound(entity);
    if (binding.function == nullptr) {
      CheckNamesIn(state, call);
      return Type{};
    }
    return CheckFnCall(state, call, binding.function, &binding, info);
  }
  const Builtin* builtin = import != nullptr ? nullptr : FindBuiltin(call.callee.name.text());
  if (builtin != nullptr && builtin->operands != Operands::None) {
    return CheckBuiltinCall(state, call, *builtin, info);
  }
  if (entity == nullptr && call.callee.name.text() == "cores") return CheckCores(state, call, info);
  if (entity == nullptr) return ReportUnknownCall(state, call);
  if (IsFaulty(*entity)) return Type{};
  Diagnostic& report = state.diagnostics.Report(diag::NotCallable, call.callee.span,
                                                call.callee.name.text(), Describe(entity->kind));
  std::string name = CalleeText(state, call);
  if (entity->kind == EntityKind::Kernel) {
    report.Help(fmt::format("launch it from a program: spmd {}(…);", name));
  }
  if (entity->kind == EntityKind::Program) {
    report.Help(
        fmt::format("it has no result; call it as a statement of a program or test: {}(…);", name));
  }
  if (entity->type.is_tensor()) {
    report.Help(fmt::format("index it with brackets: {}[…]", name));
  }
  return Type{};
}

}  // namespace kdl::sema
