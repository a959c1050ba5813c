#include "sema/statements/assign.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sema/accesses/index.h"
#include "sema/accesses/tensor_effects.h"
#include "sema/accesses/tile_parts.h"
#include "sema/functions/library.h"
#include "sema/statements/uniform.h"
#include "sema/statements/updates.h"
#include "sema/types/coerce.h"
#include "sema/types/tuples.h"
#include "sema/walk/expr.h"
#include "sema/walk/index_help.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "syntax/counted_outputs.h"

namespace kdl::sema {

namespace {

using syntax::AssignOp;
using syntax::AssignStmt;
using syntax::Direction;
using syntax::Expr;

/// Returns the name of the variable or tensor to which a value is assigned, for messages.
std::string_view TargetName(const AssignStmt& assign) {
  const Expr* target = assign.target;
  if (const auto* index = syntax::DynAs<syntax::IndexExpr>(target)) target = index->base;
  const auto* name = syntax::DynAs<syntax::NameExpr>(target);
  return name != nullptr ? name->name.text() : "";
}

/// Returns the name of an output with a single element, into which all blocks can reduce, or an empty string.
std::string_view SingleOutput(const FunctionState& state) {
  for (const ParamInfo& param : state.fn.params) {
    bool is_written = param.direction == Direction::Out || param.direction == Direction::InOut;
    const Type& type = param.entity->type;
    if (is_written && type.is_tensor() && type.dims.size() == 1 && ToString(type.dims[0]) == "1")
      return param.entity->name.text();
  }
  return {};
}

/// Says what to do instead of assigning to a variable outside of the `spmd for`: the blocks reduce into a tensor, or each
/// block has a variable of its own.
std::string OuterVariableHelp(FunctionState& state, const AssignStmt& assign,
                              const Entity& variable) {
  std::string own = fmt::format("declare '{}' inside the loop, where each block has its own",
                                variable.name.text());
  std::string_view reduction = assign.op == AssignOp::Add   ? "sum"
                               : assign.op == AssignOp::Max ? "max"
                               : assign.op == AssignOp::Min ? "min"
                                                            : "";
  if (reduction.empty() || !variable.type.ranges.empty()) return own;
  std::string value = Quote(state, assign.value);
  std::vector<const Entity*> ranges = CheckExpr(state, assign.value).ranges;
  if (!ranges.empty()) value = fmt::format("{}({} over {})", reduction, value, Joined(ranges));
  std::string_view output = SingleOutput(state);
  std::string update = fmt::format("write `reduce {}[0] {} {};`", output.empty() ? "y" : output,
                                   Spelling(assign.op), value);
  if (output.empty())
    update += fmt::format(" with a parameter `y: inout {}[1]`", Spelling(variable.type.scalar));
  return fmt::format("{}, or {}", update, own);
}

/// Checks a target that is a name. It must name a `var`, and this `var` must not be declared outside an
/// enclosing `spmd for`.
Type CheckVariable(FunctionState& state, const AssignStmt& assign, const syntax::NameExpr& name) {
  const Entity* entity = state.scopes.Find(name.name);
  if (entity == nullptr)
    ReportUnknown(state, name.name.text(), name.span,
                  fmt::format("declare it first: `var {} = {};`", name.name.text(),
                              assign.op == AssignOp::Set ? Quote(state, assign.value) : "0.0"));
  ExprInfo& info = state.fn.exprs[assign.target];
  info = ExprInfo{};
  if (entity == nullptr || IsFaulty(*entity)) return Type{};
  if (entity->type.is_tensor() && entity->kind != EntityKind::Const) {
    state.diagnostics.Report(diag::TensorAssigned, name.span, entity->name.text())
        .Help(HelpForIndexing(state, *entity, " = …"));
    return Type{};
  }
  if (entity->kind != EntityKind::Var) {
    Diagnostic& report = state.diagnostics.Report(diag::NotAssignable, name.span,
                                                  entity->name.text(), Describe(entity->kind));
    if (entity->kind == EntityKind::Let) {
      report.Note(entity->span, "declared here").Help("declare it with `var` to assign to it");
    }
    return Type{};
  }
  if (state.spmd_depth != 0 && state.depth_of[entity] < state.spmd_depth) {
    state.diagnostics.Report(diag::OuterVarInSpmd, name.span, entity->name.text())
        .Note(entity->span, "declared here")
        .Help(OuterVariableHelp(state, assign, *entity));
    return Type{};
  }
  info.entity = entity;
  info.type = entity->type;
  return info.type;
}

bool HasCoreId(FunctionState& state, const IndexInfo& access) {
  for (const IndexDim& dim : access.dims) {
    for (const IndexTerm& term : dim.terms) {
      if (term.value != nullptr && DependsOnCore(state, term.value)) return true;
    }
  }
  return false;
}

bool IsNamed(const Expr* expr, std::string_view name) {
  const auto* found = expr != nullptr ? syntax::DynAs<syntax::NameExpr>(expr) : nullptr;
  return found != nullptr && found->name.text() == name;
}

/// Suggests how to distribute the indices of a loop that starts at `core_id` among the cores. An `spmd for` visits
/// the same indices only if the loop starts at `core_id` itself and its step is the number of cores.
std::string AllCoresHelp(FunctionState& state, const IndexInfo& access) {
  for (const IndexDim& dim : access.dims) {
    for (const IndexTerm& term : dim.terms) {
      if (term.value == nullptr) continue;
      const Entity* index = state.fn.exprs[term.value].entity;
      bool strided = index != nullptr && index->kind == EntityKind::ScalarBinder &&
                     index->lo != nullptr && DependsOnCore(state, index->lo);
      if (!strided) continue;
      if (IsNamed(index->lo, "core_id") && IsNamed(index->step, "core_num"))
        return fmt::format(
            "write `spmd for {} in 0..{}`, which distributes its indices to the cores",
            index->name.text(), Quote(state, index->hi));
      return "put it inside `spmd for`, which distributes indices or blocks of them to the cores";
    }
  }
  return "put it inside `spmd for`, or under `if core_id == 0`";
}

/// Checks a target that is an element of a tensor. The tensor must be an `out` or `inout` parameter or a
/// tensor that the kernel declares. Outside of `spmd for`, only a single core may store to it.
Type CheckElement(FunctionState& state, const AssignStmt& assign, const syntax::IndexExpr& index) {
  ExprInfo info;
  info.type = CheckIndex(state, index, info, true);
  Type type = info.type;
  if (info.index != nullptr) {
    const Entity& tensor = *info.index->base;
    if (tensor.kind == EntityKind::Const) {
      state.diagnostics.Report(diag::NotAssignable, index.base->span, tensor.name.text(),
                               Describe(tensor.kind));
      return Type{};
    }
    bool is_param = tensor.kind == EntityKind::TensorParam;
    if (is_param && state.fn.params[tensor.param].direction == Direction::In) {
      state.diagnostics.Report(diag::StoreToInput, index.base->span, tensor.name.text())
          .Note(tensor.span, "declared here")
          .Help("declare it as `out` or `inout`");
    }
    bool is_plain = assign.mode == syntax::AssignMode::Plain;
    bool alone =
        !is_plain || state.spmd_depth != 0 || state.core_zero > 0 || HasCoreId(state, *info.index);
    if (!alone && !type.is_error() && state.kind() == syntax::FunctionKind::Kernel) {
      state.diagnostics.Report(diag::StoreByAllCores, assign.span, tensor.name.text())
          .Help(AllCoresHelp(state, *info.index));
    }
  }
  state.fn.exprs[assign.target] = std::move(info);
  return type;
}

Type CheckTarget(FunctionState& state, const AssignStmt& assign) {
  if (const auto* name = syntax::DynAs<syntax::NameExpr>(assign.target)) {
    return CheckVariable(state, assign, *name);
  }
  const auto& index = syntax::As<syntax::IndexExpr>(assign.target);
  const auto* tile = syntax::DynAs<syntax::NameExpr>(index.base);
  if (tile == nullptr || !IsTilePart(state, &index)) return CheckElement(state, assign, index);
  Type type = CheckVariable(state, assign, *tile);
  if (type.is_error()) return type;
  CheckExpr(state, index.base);
  ExprInfo info;
  info.entity = state.fn.exprs[assign.target].entity;
  info.type = CheckAssignedPart(state, index, type, info);
  return (state.fn.exprs[assign.target] = std::move(info)).type;
}

/// Returns a description of what `op=` requires of both sides in addition to a common type. Returns an
/// empty string if the type satisfies this.
std::string_view Wanted(AssignOp op, Scalar scalar) {
  if (op != AssignOp::Set && !HasArithmetic(scalar)) return kArithmetic;
  bool is_bool = scalar == Scalar::Bool;
  switch (op) {
    case AssignOp::Set:
      return "";
    case AssignOp::Add:
    case AssignOp::Sub:
    case AssignOp::Mul:
    case AssignOp::Div:
    case AssignOp::Rem:
    case AssignOp::Max:
    case AssignOp::Min:
      return is_bool ? "integers or floats" : "";
    case AssignOp::BitAnd:
    case AssignOp::BitOr:
    case AssignOp::BitXor:
      return IsFloat(scalar) ? "integers or bools" : "";
  }
  return "";
}

/// If the value adds an operand to the variable, or is the greater or the smaller one of both, returns a statement that reduces
/// the operand before. Otherwise returns an empty string.
std::string AccumulatedText(const FunctionState& state, const AssignStmt& assign,
                            const Entity& variable, const std::vector<const Entity*>& ranges) {
  std::string_view name = variable.name.text();
  auto other_than_variable = [&](const syntax::Expr* a, const syntax::Expr* b) {
    if (Quote(state, a) == name) return b;
    return Quote(state, b) == name ? a : nullptr;
  };
  if (assign.op != AssignOp::Set) return "";
  if (const auto* sum = syntax::DynAs<syntax::BinaryExpr>(assign.value)) {
    const syntax::Expr* added =
        sum->op == syntax::BinaryOp::Add ? other_than_variable(sum->lhs, sum->rhs) : nullptr;
    return added ? fmt::format("{} += {}", name, ReducedText(state, added, ranges)) : "";
  }
  const auto* call = syntax::DynAs<syntax::CallExpr>(assign.value);
  if (call == nullptr || call->receiver != nullptr || call->args.size() != 2) return "";
  std::string_view callee = call->callee.name.text();
  const syntax::Expr* other = other_than_variable(call->args[0].value, call->args[1].value);
  if (!other || (callee != "max" && callee != "min")) return "";
  return fmt::format("{0} = {1}({0}, {1}({2} over {3}))", name, callee, Quote(state, other),
                     Joined(ranges));
}

/// Says how a variable can take a value with more ranges. Those of loops around the declaration belong into its type. The
/// others end before the variable, so they must be reduced.
std::string VariableHelp(FunctionState& state, const AssignStmt& assign, const Type& target,
                         const Entity& variable, const std::vector<const Entity*>& missing) {
  Type wanted = target;
  std::vector<const Entity*> inner;
  for (const Entity* range : missing) {
    bool is_around = range->span.begin < variable.span.begin;
    is_around ? wanted.ranges.push_back(range) : inner.push_back(range);
  }
  std::string accumulated = AccumulatedText(state, assign, variable, inner);
  if (inner.size() == missing.size() && !accumulated.empty())
    return fmt::format("write `{};`, which reduces the new elements only", accumulated);
  if (inner.size() == missing.size())
    return fmt::format("reduce the value, for example {}, or store it in a tensor",
                       ReducedText(state, assign.value, missing));
  std::string declared =
      fmt::format("declare it as `var {}: {} = …;`", variable.name.text(), ToString(wanted));
  if (inner.empty()) return declared;
  return fmt::format("{}, and reduce the value, for example {}", declared,
                     ReducedText(state, assign.value, inner));
}

/// If the statement was made to count the elements of an `append`, returns the output; otherwise an empty string.
std::string_view CountedBy(const FunctionState& state, const AssignStmt& assign) {
  if (assign.target->span != assign.span) return {};
  for (const syntax::Attribute& attribute : state.fn.item->attributes) {
    if (syntax::ListsCounts(attribute)) return attribute.args[0].name.name.text();
  }
  return {};
}

void ReportMissingRanges(FunctionState& state, const AssignStmt& assign, const Type& target,
                         const std::vector<const Entity*>& missing) {
  bool is_store = assign.target->kind == syntax::ExprKind::Index;
  std::string reduced = ReducedText(state, assign.value, missing);
  if (is_store) {
    state.diagnostics
        .Report(diag::StoreLacksDimension, assign.value->span, RangesText(missing),
                Quote(state, assign.target))
        .Help(fmt::format("reduce the value, for example {}, or index '{}' by the missing {}",
                          reduced, TargetName(assign), missing.size() == 1 ? "range" : "ranges"));
    return;
  }
  if (std::string_view output = CountedBy(state, assign); !output.empty()) {
    state.diagnostics
        .Report(diag::StoreLacksDimension, assign.value->span, RangesText(missing),
                std::string(output))
        .Help("reduce the condition to one for each element, as in any(c over " + Joined(missing) +
              ")");
    return;
  }
  const Entity* variable = state.fn.exprs[assign.target].entity;
  state.diagnostics
      .Report(diag::RangeNotInVariable, assign.value->span, RangesText(missing), TargetName(assign),
              ToString(target))
      .Note(variable->span, fmt::format("'{}' is declared here", variable->name.text()))
      .Help(VariableHelp(state, assign, target, *variable, missing));
}

/// Suggests a declaration with all ranges of the value, if these ranges are declared before the variable.
std::string TupleHelp(const Type& target, const Type& value, const Entity& variable) {
  Type wanted = target;
  for (size_t i = 0; i < target.parts.size(); ++i)
    wanted.parts[i].ranges = UnionOf(target.parts[i].ranges, value.parts[i].ranges);
  for (const Type& part : wanted.parts) {
    for (const Entity* range : part.ranges) {
      if (range->span.begin > variable.span.begin)
        return fmt::format("reduce the components over '{0}' first, because '{1}' outlives it",
                           range->name.text(), variable.name.text());
    }
  }
  return fmt::format("add the missing ranges to the declaration: var {}: {} = …;",
                     variable.name.text(), ToString(wanted));
}

/// Checks an assignment such as `m = (a, b);`. Each value must have the type of its element, without
/// additional ranges.
void CheckTupleAssign(FunctionState& state, const AssignStmt& assign, const Type& target) {
  if (assign.op != AssignOp::Set) {
    state.diagnostics
        .Report(diag::TupleUpdate, assign.target->span, TargetName(assign), ToString(target),
                Spelling(assign.op))
        .Help(fmt::format("write `{} = (…, …);`", TargetName(assign)));
    return;
  }
  Type value = state.fn.exprs[assign.value].type;
  if (value.is_error()) return;
  if (!value.is_tuple() || !FitsType(state, assign.value, target)) {
    state.diagnostics.Report(diag::TupleParts, assign.value->span, Quote(state, assign.value),
                             ToString(value), ToString(target));
    return;
  }
  value = state.fn.exprs[assign.value].type;
  const Entity* variable = state.fn.exprs[assign.target].entity;
  for (size_t i = 0; i < target.parts.size(); ++i) {
    std::vector<const Entity*> missing = Missing(value.parts[i].ranges, target.parts[i].ranges);
    if (missing.empty()) continue;
    Diagnostic& report =
        state.diagnostics
            .Report(diag::RangeNotInVariable, assign.value->span, RangesText(missing),
                    TargetName(assign), ToString(target))
            .Note(variable->span, fmt::format("'{}' is declared here", variable->name.text()));
    report.Help(TupleHelp(target, value, *variable));
    return;
  }
  RecordInfluence(state, variable, assign.value);
}

void MarkInPlace(FunctionState& state, const AssignStmt& assign) {
  const auto* reduce = syntax::DynAs<syntax::ReduceExpr>(assign.value);
  if (reduce == nullptr || assign.op != AssignOp::Add ||
      assign.target->kind != syntax::ExprKind::Name) {
    return;
  }
  const ExprInfo& info = state.fn.exprs[assign.value];
  if (info.reduce == nullptr || info.reduce->kind != ReduceKind::Dot) return;
  if (info.type.ranges.size() < 2) return;
  const_cast<ReduceInfo*>(info.reduce)->in_place = true;
}

/// Suggests how to fix a value whose type differs from that of an element that a statement updates. The element is
/// rounded in each update, so a sum needs a wider tensor.
std::string UpdateHelp(const FunctionState& state, const AssignStmt& assign, Scalar target,
                       Scalar value) {
  std::string_view each = assign.mode == syntax::AssignMode::Reduce ? "block" : "update";
  return fmt::format(
      "declare '{0}' as {1} and convert it after the loop; '{2}' would round in each {3}",
      TargetName(assign), Spelling(value), AsHint(state, assign.value, target), each);
}

/// Suggests how to fix a value whose type differs from that of the target. A sum in a wider type rounds
/// only once, when it is stored; a cast inside the loop rounds in every iteration.
std::string AssignHelp(const FunctionState& state, const AssignStmt& assign, Scalar target,
                       Scalar value) {
  const Entity* entity = state.fn.exprs.at(assign.target).entity;
  bool is_var = entity != nullptr && entity->kind == EntityKind::Var && entity->type.is_value();
  bool is_wider = IsFloat(target) == IsFloat(value) && Info(value).bits > Info(target).bits;
  bool rounds = IsFloat(value) && assign.op != AssignOp::Max && assign.op != AssignOp::Min;
  if (assign.mode != syntax::AssignMode::Plain && is_wider && rounds)
    return UpdateHelp(state, assign, target, value);
  if (!is_var || !is_wider) return ConvertHelp(state, assign.value, target);
  Type wide = entity->type;
  wide.scalar = value;
  std::string declared = fmt::format("`var {}: {} = …;`", entity->name.text(), ToString(wide));
  std::string cast = AsHint(state, assign.value, target);
  if (assign.op == AssignOp::Set || !IsFloat(value))
    return fmt::format("write '{}', or declare {}", cast, declared);
  return fmt::format("declare {} and convert it after the loop; '{}' would round in each iteration",
                     declared, cast);
}

}  // namespace

void CheckAssign(FunctionState& state, const AssignStmt& assign) {
  bool is_plain = assign.mode == syntax::AssignMode::Plain;
  if (!is_plain && !CheckUpdate(state, assign)) return;
  Type target = CheckTarget(state, assign);
  Type value = target.is_tuple() ? CheckAny(state, assign.value) : CheckValue(state, assign.value);
  const IndexInfo* element = state.fn.exprs[assign.target].index;
  if (state.kind() == syntax::FunctionKind::Program && element != nullptr) {
    const Entity* tensor = element->base;
    if (assign.op != AssignOp::Set) NoteRead(state, tensor, assign.target->span);
    state.written.insert(tensor);
  }
  CheckStoreCondition(state, assign, target);
  if (target.is_error()) return;
  if (target.is_tuple()) return CheckTupleAssign(state, assign, target);
  if (!Fits(state, assign.value, target.scalar)) {
    state.diagnostics
        .Report(diag::ValueType, assign.value->span, TargetName(assign), Spelling(target.scalar),
                Spelling(value.scalar))
        .Help(AssignHelp(state, assign, target.scalar, value.scalar));
    return;
  }
  value = state.fn.exprs[assign.value].type;
  if (value.is_error()) return;
  std::string_view wanted = Wanted(assign.op, target.scalar);
  if (!wanted.empty()) {
    Diagnostic& report =
        state.diagnostics.Report(diag::BadOperand, assign.target->span, Spelling(assign.op), wanted,
                                 Spelling(target.scalar));
    if (!HasArithmetic(target.scalar)) report.Help("compute with an f32, and store it with `as`");
    return;
  }
  if (assign.op == AssignOp::Rem && IsFloat(target.scalar) &&
      !BindFloatRemainder(state, target.scalar, assign.span, state.fn.exprs[assign.target]))
    return;
  // The value of an atomic update may have more ranges than the index of its target. Each element of the
  // value is then a separate update.
  bool may_lack = assign.mode == syntax::AssignMode::Atomic;
  std::vector<const Entity*> missing = Missing(value.ranges, target.ranges);
  if (!missing.empty() && !may_lack) return ReportMissingRanges(state, assign, target, missing);
  MarkInPlace(state, assign);
  const Entity* variable = state.fn.exprs[assign.target].entity;
  if (variable != nullptr && variable->kind == EntityKind::Var) {
    RecordInfluence(state, variable, assign.value);
  }
}

}  // namespace kdl::sema
