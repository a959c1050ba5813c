#include "sema/statements/let.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sema/statements/uniform.h"
#include "sema/types/coerce.h"
#include "sema/types/distribution.h"
#include "sema/types/sizes.h"
#include "sema/types/tables.h"
#include "sema/types/tensor_type.h"
#include "sema/types/tuples.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::FunctionKind;
using syntax::LetStmt;

/// Reports an unknown name in the brackets of a type. In a program, it is a size, and elsewhere a range.
void ReportUnknownDim(FunctionState& state, const syntax::NameExpr& name) {
  std::string_view text = name.name.text();
  switch (state.kind()) {
    case FunctionKind::Kernel:
      return ReportUnknown(
          state, text, name.span,
          fmt::format("to declare a range before it, write `range {} in 8;`", text));
    case FunctionKind::Fn:
      return ReportUnknown(
          state, text, name.span,
          fmt::format("a tile of a fn has ranges of its parameters, such as '{0}' for t: f32[{0}]",
                      text));
    case FunctionKind::Program:
      return ReportUnknown(state, text, name.span, SizeHelp(text));
  }
}

/// Returns the type of a tile such as `f32[i, j]`, whose ranges must be in scope.
std::optional<Type> TileType(FunctionState& state, const syntax::TypeRef& ref) {
  std::optional<Scalar> scalar = ResolveScalar(state, ref.name);
  Type type = ValueType(scalar.value_or(Scalar::F32));
  bool ok = scalar.has_value();
  for (const Expr* dim : ref.dims) {
    const auto* name = syntax::DynAs<syntax::NameExpr>(dim);
    const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
    if (name != nullptr && entity == nullptr) ReportUnknownDim(state, *name);
    if (name != nullptr && (entity == nullptr || IsFaulty(*entity))) {
      ok = false;
    } else if (entity == nullptr || entity->kind != EntityKind::Range) {
      state.diagnostics.Report(diag::NotATileDim, dim->span, Quote(state, dim));
      ok = false;
    } else if (Contains(type.ranges, entity)) {
      state.diagnostics.Report(diag::RangeTwice, dim->span, entity->name.text());
      ok = false;
    } else {
      type.ranges = UnionOf(type.ranges, {entity});
    }
  }
  return ok ? std::optional(type) : std::nullopt;
}

/// Returns whether the brackets of a type contain sizes and not ranges. This is the case if no dimension is a
/// range or an unknown name.
bool IsTensorType(const FunctionState& state, const syntax::TypeRef& ref) {
  if (!ref.has_brackets) return false;
  for (const Expr* dim : ref.dims) {
    const auto* name = syntax::DynAs<syntax::NameExpr>(dim);
    if (name == nullptr) continue;
    const Entity* entity = state.scopes.Find(name->name);
    if (entity == nullptr && name->name.text() == "core_num") continue;
    if (entity == nullptr || entity->kind == EntityKind::Range || IsFaulty(*entity)) return false;
  }
  return true;
}

/// Returns whether the statement may declare a tensor, or reports an error. Programs may declare tensors
/// anywhere, kernels only at places that all cores reach.
bool MayDeclareTensor(FunctionState& state, const LetStmt& let) {
  if (state.kind() == FunctionKind::Program) return true;
  if (state.kind() == FunctionKind::Fn) {
    state.diagnostics.Report(diag::Misplaced, let.span, "the declaration of a tensor", "a fn");
    return false;
  }
  if (let.on) state.diagnostics.Report(diag::OnValue, let.on.span, let.name.name.text());
  std::string_view place = state.stages.current != nullptr ? "a stage"
                           : state.spmd_depth != 0         ? "`spmd for`"
                           : state.divergent > 0           ? "a branch that some cores do not take"
                                                           : "";
  if (place.empty()) return !let.on;
  state.diagnostics.Report(diag::LaunchTensorPlace, let.span, place)
      .Help(
          let.value
              ? "for a tile, remove the type or name ranges in it, as in f32[i]; a tensor must be "
                "declared before the loops of the kernel"
              : "declare it before the loops of the kernel, or use a `var`, which each core "
                "has for itself");
  return false;
}

/// Returns the call `random(T[…], seed)`, or null if the value is something else.
const syntax::CallExpr* RandomCall(const FunctionState& state, const LetStmt& let) {
  const auto* call = syntax::DynAs<syntax::CallExpr>(let.value);
  bool is_random = state.fn.item->test != nullptr && call != nullptr && call->receiver == nullptr &&
                   call->callee.name.text() == "random";
  return is_random ? call : nullptr;
}

void DeclareRandom(FunctionState& state, const LetStmt& let, const syntax::CallExpr& call) {
  const auto* type =
      call.args.empty() ? nullptr : syntax::DynAs<syntax::TypeExpr>(call.args[0].value);
  bool seeded =
      call.args.size() == 2 && (!call.args[1].name || call.args[1].name.name.text() == "seed");
  bool bare = !let.is_var && let.type == nullptr && !let.on;
  if (type == nullptr || !type->type->has_brackets || !seeded || !bare) {
    state.diagnostics.Report(diag::RandomForm, call.span)
        .Help(fmt::format("write `let {} = random(f32[100], seed = 1);`", let.name.name.text()));
    return DeclareFaulty(state, let.name);
  }
  std::optional<Type> tensor = TensorType(state, *type->type);
  bool ok = !CheckInteger(state, call.args[1].value, "a seed").is_error();
  Entity* entity = Declare(state, EntityKind::LocalTensor, let.name);
  state.loop_depth_of[entity] = state.loop_depth;
  state.written.insert(entity);
  if (!tensor || !ok) return;
  entity->type = *std::move(tensor);
  state.fn.stmts[&let].entities = {entity};
  state.fn.stmts[&let].seed = call.args[1].value;
}

/// Returns whether the declaration of a tensor may have a value, or reports an error.
bool MayHaveValue(FunctionState& state, const LetStmt& let) {
  if (!let.is_var && state.kind() == FunctionKind::Program) return true;
  std::string_view name = let.name.name.text();
  std::string_view word = let.is_var ? "`var` of tensor type" : "tensor in a kernel";
  Diagnostic& report = state.diagnostics.Report(diag::TensorWithValue, let.span, name, word);
  if (let.is_var) {
    report.Help(fmt::format("write `let {}: … = …;`", name));
  } else if (let.value->kind == syntax::ExprKind::List) {
    report.Help(ListHelp(state, let.value, name));
  } else {
    report.Help(fmt::format("write `let {}: …;` without a value, and a loop that fills it", name));
  }
  return false;
}

/// Checks the value with which a tensor is filled.
bool CheckFill(FunctionState& state, const LetStmt& let, const std::optional<Type>& tensor) {
  Type value = CheckValue(state, let.value);
  if (value.is_error() || !tensor || Fits(state, let.value, tensor->scalar))
    return !value.is_error() && tensor.has_value();
  state.diagnostics
      .Report(diag::ValueType, let.value->span, let.name.name.text(), Spelling(tensor->scalar),
              ToString(value))
      .Help(ConvertHelp(state, let.value, tensor->scalar));
  return false;
}

void DeclareTensor(FunctionState& state, const LetStmt& let) {
  if (!MayDeclareTensor(state, let)) return DeclareFaulty(state, let.name);
  std::optional<Type> type = TensorType(state, *let.type);
  const Entity* device = let.on ? ResolveDevice(state, let.on) : nullptr;
  bool may_fill = let.value != nullptr && MayHaveValue(state, let);
  bool lists = may_fill && ListsElements(state, let.value);
  bool fills = may_fill && !lists && CheckFill(state, let, type);
  Entity* entity = Declare(state, EntityKind::LocalTensor, let.name);
  entity->on = device;
  state.loop_depth_of[entity] = state.loop_depth;
  if (fills || lists) state.written.insert(entity);
  if (!type) return;
  if (lists) {
    std::optional<std::vector<uint64_t>> elements =
        ListedElements(state, *entity, *type, let.value);
    if (elements) entity->elements = *std::move(elements);
  }
  if (device)
    entity->distribution = CheckDistribution(state, let.name.name.text(), let.on, *type, *device);
  entity->type = *std::move(type);
  state.fn.stmts[&let].entities = {entity};
  if (fills) state.fn.stmts[&let].fill = let.value;
}

/// Checks the value of a declaration against the declared type.
bool CheckDeclared(FunctionState& state, const LetStmt& let, const Type& declared) {
  Type value = state.fn.exprs[let.value].type;
  if (!Fits(state, let.value, declared.scalar)) {
    state.diagnostics
        .Report(diag::ValueType, let.value->span, let.name.name.text(), Spelling(declared.scalar),
                ToString(value))
        .Help(ConvertHelp(state, let.value, declared.scalar));
    return false;
  }
  std::vector<const Entity*> missing = Missing(value.ranges, declared.ranges);
  if (missing.empty()) return true;
  state.diagnostics
      .Report(diag::RangeNotInVariable, let.value->span, RangesText(missing), let.name.name.text(),
              ToString(declared))
      .Help(fmt::format("declare '{}' with the ranges of the value, or reduce it: {}",
                        let.name.name.text(), ReducedText(state, let.value, missing)));
  return false;
}

/// Returns a tuple type such as `(f32, i64[i])`, or reports an error and returns an error type.
Type DeclaredTuple(FunctionState& state, const syntax::TypeRef& ref) {
  Type type;
  type.kind = TypeKind::Tuple;
  for (const syntax::TypeRef* element : ref.elements) {
    if (!element->elements.empty()) {
      state.diagnostics.Report(diag::TuplePart, element->span, state.Text(element->span))
          .Help("tuples cannot be nested; list the components of the inner one");
      return Type{};
    }
    std::optional<Type> part = TileType(state, *element);
    if (!part) return Type{};
    type.ranges = UnionOf(type.ranges, part->ranges);
    type.parts.push_back(*std::move(part));
  }
  return type;
}

/// Returns the type of a variable whose value or declared type is a tuple. If an element is declared as a
/// scalar, it gets the ranges of its value.
Type CheckTupleVariable(FunctionState& state, const LetStmt& let, const Type& value) {
  if (let.type == nullptr || value.is_error()) return value;
  Type declared = let.type->elements.empty() ? TileType(state, *let.type).value_or(Type{})
                                             : DeclaredTuple(state, *let.type);
  if (declared.is_error()) return Type{};
  if (!FitsType(state, let.value, declared) || !declared.is_tuple() || !value.is_tuple()) {
    state.diagnostics.Report(diag::TupleParts, let.value->span, Quote(state, let.value),
                             ToString(value), ToString(declared));
    return Type{};
  }
  const Type fitted = state.fn.exprs[let.value].type;
  for (size_t i = 0; i < declared.parts.size(); ++i) {
    Type& part = declared.parts[i];
    std::vector<const Entity*> missing = Missing(fitted.parts[i].ranges, part.ranges);
    if (part.ranges.empty()) {
      part.ranges = fitted.parts[i].ranges;
      declared.ranges = UnionOf(declared.ranges, part.ranges);
    } else if (!missing.empty()) {
      part.ranges = UnionOf(part.ranges, missing);
      state.diagnostics
          .Report(diag::RangeNotInVariable, let.value->span, RangesText(missing),
                  let.name.name.text(), state.Text(let.type->span))
          .Help(fmt::format("add {1} to the declaration of '{0}': {2}", let.name.name.text(),
                            missing.size() == 1 ? "it" : "them", ToString(declared)));
      return Type{};
    }
  }
  return declared;
}

/// Reports a list without a type, as in `let x = [1.0, 2.0];`.
void DeclareUntypedList(FunctionState& state, const LetStmt& let) {
  state.diagnostics.Report(diag::ListPlace, let.value->span)
      .Help(ListHelp(state, let.value, let.name.name.text()));
  DeclareFaulty(state, let.name);
}

void DeclareVariable(FunctionState& state, const LetStmt& let) {
  bool is_list = let.value != nullptr && let.value->kind == syntax::ExprKind::List;
  if (is_list && let.type == nullptr) return DeclareUntypedList(state, let);
  Type type;
  bool of_literal = false;
  if (let.value != nullptr) {
    of_literal = CheckAny(state, let.value).is_literal() && let.type == nullptr;
    type = let.type != nullptr ? state.fn.exprs[let.value].type : DefaultParts(state, let.value);
  }
  if (let.on) state.diagnostics.Report(diag::OnValue, let.on.span, let.name.name.text());
  Size size = let.value != nullptr ? state.fn.exprs[let.value].size : nullptr;
  bool is_tuple = type.is_tuple() || (let.type != nullptr && !let.type->elements.empty());
  if (is_tuple) {
    type = CheckTupleVariable(state, let, type);
  } else if (let.type != nullptr) {
    std::optional<Type> declared = TileType(state, *let.type);
    if (declared && let.value != nullptr) CheckDeclared(state, let, *declared);
    type = declared.value_or(Type{});
  }
  // An error in the declared type has already been reported.
  bool faulty = let.type != nullptr && type.is_error();
  if (let.value == nullptr && !faulty) {
    std::string_view type_text = let.type != nullptr ? state.Text(let.type->span) : "f32";
    state.diagnostics.Report(diag::NoInitialValue, let.span, let.name.name.text())
        .Help(fmt::format("write `let {}: {} = …;`", let.name.name.text(), type_text));
  }
  Entity* entity = Declare(state, let.is_var ? EntityKind::Var : EntityKind::Let, let.name);
  entity->type = std::move(type);
  if (!let.is_var && entity->type.is_scalar() && entity->type.scalar == Scalar::I64) {
    entity->size = size;
  }
  if (of_literal) entity->of_literal = &let;
  state.depth_of[entity] = state.scopes.depth();
  if (let.value != nullptr) RecordInfluence(state, entity, let.value);
  state.fn.stmts[&let].entities = {entity};
}

}  // namespace

void CheckLet(FunctionState& state, const LetStmt& let) {
  if (const syntax::CallExpr* random = RandomCall(state, let))
    return DeclareRandom(state, let, *random);
  if (let.type != nullptr && IsTensorType(state, *let.type)) return DeclareTensor(state, let);
  DeclareVariable(state, let);
}

}  // namespace kdl::sema
