#include "sema/contracts/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sema/accesses/index_names.h"
#include "sema/accesses/tensor_effects.h"
#include "sema/model/ast_walk.h"
#include "sema/model/builtins.h"
#include "sema/types/coerce.h"
#include "sema/types/size_arithmetic.h"
#include "sema/types/tables.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "support/float_bits.h"
#include "syntax/counted_outputs.h"

namespace kdl::sema {

namespace {

using syntax::Direction;
using syntax::Equation;
using syntax::Expr;
using syntax::IndexExpr;
using syntax::NameExpr;

/// Opens a scope for the index names of one equation or requirement, and closes it on destruction.
class ContractGuard {
 public:
  explicit ContractGuard(FunctionState& state, bool is_requirement = false)
      : state_(state), scope_(state.scopes) {
    contract_.is_requirement = is_requirement;
    contract_.errors_before = state.diagnostics.error_count();
    contract_.depth = state.scopes.depth() - 1;
    state_.contract = &contract_;
  }
  ~ContractGuard() { state_.contract = nullptr; }
  ContractGuard(const ContractGuard&) = delete;
  ContractGuard& operator=(const ContractGuard&) = delete;

  const ContractState& contract() const { return contract_; }

 private:
  FunctionState& state_;
  ContractState contract_;
  ScopeGuard scope_;
};

/// Returns the size, in which each name that a clause `where NAME == e` defines is replaced with `e`.
Size Solved(FunctionState& state, Size size) {
  return state.module.sizes.Substitute(size, [&](Name name) -> Size {
    for (const WhereInfo& where : state.fn.where) {
      bool gives = where.op == syntax::BinaryOp::Eq && where.lhs != nullptr &&
                   where.rhs != nullptr && where.lhs->kind == SizeKind::Symbol;
      if (gives && where.lhs->symbol == name) return where.rhs;
    }
    return nullptr;
  });
}

bool AreEqual(FunctionState& state, Size a, Size b) {
  return ConstantDifference(state.module.sizes, Solved(state, a), Solved(state, b)) == 0;
}

/// Returns the help for a name that indexes two dimensions of different sizes.
std::string HelpFor(FunctionState& state, const Entity& name, Size size) {
  Size domain = name.range.domain;
  if (ConstantDifference(state.module.sizes, Solved(state, domain), Solved(state, size))) {
    return fmt::format(
        "use another name for the other dimension, or write an `else` after one of the indices, as "
        "in [{0} else 0], which then does not determine the extent of '{0}'",
        name.name.text());
  }
  return fmt::format(
      "use another name for the other dimension, or state that both have the same size: "
      "`where {} == {}`",
      SizeText(domain), SizeText(size));
}

/// Handles a dimension of size `size` whose index consists only of the index name `range`. The size becomes
/// the extent of the name, or must agree with the extent that the name already has.
void BindExtent(FunctionState& state, const Entity* range, Size size, Span span) {
  auto is_range = [&](const Entity* entity) { return entity == range; };
  ContractState& contract = *state.contract;
  auto found = std::find_if(contract.free.begin(), contract.free.end(), is_range);
  Entity* entity = nullptr;
  if (found != contract.free.end()) {
    entity = *found;
  } else {
    found = std::find_if(contract.over.begin(), contract.over.end(), is_range);
    if (found == contract.over.end()) return;
    entity = *found;
  }
  if (entity->range.domain == nullptr) {
    entity->range.domain = size;
    entity->range.extent = size;
    contract.bound_at[entity] = span;
    return;
  }
  if (AreEqual(state, entity->range.domain, size)) return;
  state.diagnostics
      .Report(diag::ExtentsDiffer, span, entity->name.text(), SizeText(size),
              SizeText(entity->range.domain))
      .Note(contract.bound_at[entity], fmt::format("here it is {}", SizeText(entity->range.domain)))
      .Help(HelpFor(state, *entity, size));
}

using Ranges = std::vector<const Entity*>;

/// Sets the extent of an index name from one of its uses. If the name indexes a dimension both as `r` and as
/// `r + 1`, its extent is one less than the dimension's size, so that `r + 1` stays in bounds. However, if
/// the name also indexes a dimension of this size on the left side, it keeps its full extent, because all
/// elements of the left side are compared.
void BindByUse(FunctionState& state, const BareUse& use, const std::vector<BareUse>& uses,
               const Ranges& left) {
  bool is_bound = Contains(left, use.range) && use.range->range.domain != nullptr;
  if (is_bound && AreEqual(state, use.range->range.domain, use.base->type.SizeOf(use.dim))) return;
  int64_t furthest = 0;
  for (const BareUse& other : uses) {
    if (other.range == use.range && other.base == use.base && other.dim == use.dim)
      furthest = std::max(furthest, other.offset);
  }
  SizeTable& sizes = state.module.sizes;
  Size size = use.base->type.SizeOf(use.dim);
  BindExtent(state, use.range, sizes.Binary(SizeKind::Sub, size, sizes.Constant(furthest)),
             use.span);
}

/// Sets the extents of the index names that are used as whole indices. In an access with `else`, an index may
/// be out of bounds. So such an access determines an extent only if no other access does.
void BindExtents(FunctionState& state, const Ranges& left = {}) {
  std::vector<BareUse> uses = std::exchange(state.contract->uses, {});
  for (const BareUse& use : uses) {
    if (use.offset == 0 && !use.may_leave) BindByUse(state, use, uses, left);
  }
  for (const BareUse& use : uses) {
    bool is_free = use.range->range.domain == nullptr;
    if (use.offset == 0 && use.may_leave && is_free) BindByUse(state, use, uses, left);
  }
}

/// Returns the extent of the name according to other clauses of the contract: the size of a dimension of a
/// parameter that the name alone indexes. Returns null if there is no such size or if there are several
/// different sizes.
Size ExtentInContract(FunctionState& state, Name name) {
  Size found = nullptr;
  bool is_one = true;
  auto visit = [&](const Expr* expr) {
    const auto* index = syntax::DynAs<IndexExpr>(expr);
    const auto* base = index == nullptr ? nullptr : syntax::DynAs<NameExpr>(index->base);
    const Entity* tensor = base == nullptr ? nullptr : state.scopes.Find(base->name);
    if (tensor == nullptr || tensor->kind != EntityKind::TensorParam) return false;
    size_t dims = std::min(index->indices.size(), tensor->type.dims.size());
    for (size_t d = 0; d < dims && index->otherwise == nullptr; ++d) {
      const auto* alone = syntax::DynAs<NameExpr>(index->indices[d].value);
      if (alone == nullptr || alone->name != name) continue;
      Size size = Solved(state, tensor->type.SizeOf(d));
      is_one = is_one && (found == nullptr || found == size);
      found = size;
    }
    return false;
  };
  const syntax::FunctionItem& item = *state.fn.item;
  for (const Expr* requirement : item.requirements) AnySubexpression(requirement, visit);
  for (const Equation& equation : item.ensures) {
    for (const Expr* side : {equation.lhs, equation.rhs, equation.condition})
      if (side != nullptr) AnySubexpression(side, visit);
  }
  return is_one ? found : nullptr;
}

/// Returns the extent of a name that is never a whole index, such as `k` in the sliding window `x[i + k]`.
/// The extent is that of the kernel's range with the same name, if there is one. Otherwise, it is found in
/// the rest of the contract.
Size ExtentElsewhere(FunctionState& state, Name name) {
  Size found = nullptr;
  for (const Entity* entity : state.fn.entities) {
    bool walks = entity->kind == EntityKind::Range && entity->name == name &&
                 entity->range.parent == nullptr && entity->range.domain != nullptr;
    if (!walks) continue;
    if (found != nullptr && found != entity->range.domain) return nullptr;
    found = entity->range.domain;
    state.module.uses.Add(*entity);
  }
  return found != nullptr ? found : ExtentInContract(state, name);
}

/// If an index name of a contract with an error is also a variable of the kernel, says that the contract cannot use that
/// variable, and returns true.
bool ExplainVariable(const FunctionState& state, std::string_view name, Diagnostic& report) {
  const Entity* variable = DeclaredVariable(state, name);
  if (variable == nullptr) return false;
  report.Note(variable->span, "the contract cannot use this variable of the kernel")
      .Help(fmt::format("write its value instead, or define it in the contract: `{} = …;`", name));
  return true;
}

/// Checks that every index name has an extent. If a name has none, returns false and reports the name,
/// unless another error in the equation may be the cause.
bool CheckExtents(FunctionState& state, const std::vector<Entity*>& names,
                  const Ranges& left = {}) {
  BindExtents(state, left);
  bool ok = true;
  bool says = state.diagnostics.error_count() == state.contract->errors_before;
  for (Entity* entity : names) {
    if (entity->range.domain == nullptr) {
      entity->range.domain = ExtentElsewhere(state, entity->name);
      entity->range.extent = entity->range.domain;
    }
    if (entity->range.domain != nullptr || entity->type.is_error()) continue;
    entity->type = Type{};
    ok = false;
    if (!says) continue;
    Diagnostic& report =
        state.diagnostics.Report(diag::NoExtent, entity->span, entity->name.text());
    if (ExplainVariable(state, entity->name.text(), report)) continue;
    report.Help(fmt::format("use just this name as an index, as in a[{}], or correct the name",
                            entity->name.text()));
  }
  return ok;
}

/// Returns the index names of the expressions that are not bound by an `over`. Names used only for ranges
/// over which called fns reduce are not included.
std::vector<const Entity*> FreeNames(const FunctionState& state,
                                     std::initializer_list<const Expr*> values) {
  const ContractState& contract = *state.contract;
  std::vector<const Entity*> names(contract.free.begin(), contract.free.end());
  std::erase_if(names, [&](const Entity* name) {
    return Contains(contract.folded, name) && std::ranges::none_of(values, [&](const Expr* value) {
             return value != nullptr && Contains(state.fn.exprs.at(value).type.ranges, name);
           });
  });
  return names;
}

/// Reports index names that do not occur on the left side, because their extents would be unclear.
void CheckAllOnLeft(FunctionState& state, const std::vector<const Entity*>& left,
                    const std::vector<const Entity*>& free) {
  if (state.diagnostics.error_count() != state.contract->errors_before) return;
  for (const Entity* entity : free) {
    if (Contains(left, entity) || entity->type.is_error()) continue;
    Diagnostic& report =
        state.diagnostics.Report(diag::FreeOnRight, entity->span, entity->name.text());
    if (ExplainVariable(state, entity->name.text(), report)) continue;
    report.Help(fmt::format(
        "reduce over it, for example sum(… over {}), or use it as an index on the left side",
        entity->name.text()));
  }
}

/// An equation `top[r] = …`, which defines a new name with one dimension for each index. Each index must be a
/// single index name.
struct Definition {
  syntax::Ident name;
  std::vector<const Entity*> indices;
  bool ok = false;
};

Definition CheckDefinition(FunctionState& state, const Equation& equation) {
  Definition definition;
  definition.ok = true;
  const Expr* base = equation.lhs;
  const auto* index = syntax::DynAs<IndexExpr>(equation.lhs);
  if (index != nullptr) {
    base = index->base;
    for (const syntax::Index& arg : index->indices) {
      const Entity* range = arg.name || arg.hi != nullptr ? nullptr : FreeRange(state, arg.value);
      if (range == nullptr || Contains(definition.indices, range)) {
        state.diagnostics.Report(diag::DefinitionIndex, arg.value->span, Quote(state, arg.value));
        definition.ok = false;
      } else {
        definition.indices.push_back(range);
      }
    }
  }
  const auto& name = syntax::As<NameExpr>(base);
  definition.name = {{name.span}, name.name};
  const Entity* known = state.scopes.Find(name.name);
  if (known != nullptr && known->type.is_tensor() && known->kind == EntityKind::TensorParam) {
    state.diagnostics.Report(diag::ParameterDefined, equation.lhs->span, name.name.text())
        .Help("write `~` to compare it");
    definition.ok = false;
  }
  return definition;
}

void DeclareAuxiliary(FunctionState& state, const Definition& definition, bool ok,
                      const Type& value) {
  Entity* entity = Declare(state, EntityKind::Auxiliary, definition.name);
  if (!ok || value.is_error()) return;
  Type type = ValueType(value.scalar);
  if (!definition.indices.empty()) type.kind = TypeKind::Tensor;
  for (const Entity* index : definition.indices) type.dims.push_back(index->range.domain);
  entity->type = std::move(type);
}

void CheckDefining(FunctionState& state, const Equation& equation) {
  Definition definition;
  Type value;
  EquationInfo info;
  info.equation = &equation;
  bool ok = false;
  {
    ContractGuard guard(state);
    definition = CheckDefinition(state, equation);
    value = CheckFinalValue(state, equation.rhs);
    ok = CheckExtents(state, guard.contract().free) && definition.ok;
    CheckExtents(state, guard.contract().over);
    info.free = FreeNames(state, {equation.rhs});
    if (definition.ok) CheckAllOnLeft(state, definition.indices, info.free);
  }
  info.indices = definition.indices;
  if (!definition.name || !definition.ok) return;
  DeclareAuxiliary(state, definition, ok, value);
  info.defined = state.fn.entities.back();
  state.fn.ensures.push_back(std::move(info));
}

/// Checks the left side of `~`, which must be an element of an output. Returns the index names of
/// that element.
std::vector<const Entity*> CheckCompared(FunctionState& state, const Equation& equation) {
  Type type = CheckValue(state, equation.lhs);
  const auto* index = syntax::DynAs<IndexExpr>(equation.lhs);
  const ExprInfo& info = state.fn.exprs[equation.lhs];
  const Entity* base = info.index != nullptr ? info.index->base : nullptr;
  bool in_test = state.fn.item->test != nullptr;
  bool is_output = base != nullptr && base->kind == EntityKind::TensorParam && !info.index->old &&
                   state.fn.params[base->param].direction != Direction::In;
  if (in_test) is_output = base != nullptr && base->kind == EntityKind::LocalTensor;
  if (index == nullptr || (base != nullptr && !is_output)) {
    state.diagnostics.Report(diag::ComparedSide, equation.lhs->span, Quote(state, equation.lhs))
        .Help(in_test ? "write `~` after an element of a tensor, `==` between other values"
                      : "write `~` after an element of an `out` or `inout` parameter, `=` after a "
                        "new name");
  }
  return type.ranges;
}

void CheckTolerance(FunctionState& state, const Expr* expr) {
  if (expr == nullptr) return;
  Type type = CheckValue(state, expr);
  if (!type.is_error() && !Fits(state, expr, Scalar::F64)) {
    state.diagnostics.Report(diag::Tolerance, expr->span, Spelling(type.scalar));
    return;
  }
  const std::optional<Constant>& constant = state.fn.exprs[expr].constant;
  if (type.is_error() || !constant || !IsFloat(constant->scalar)) return;
  if (FloatValue(constant->scalar, constant->bits) >= 0) return;
  state.diagnostics.Report(diag::ToleranceValue, expr->span, state.Text(expr->span))
      .Help("write a number of 0 or more; `inf` accepts every difference");
}

void CheckComparedTypes(FunctionState& state, const Equation& equation, Scalar lhs) {
  Type rhs = state.fn.exprs[equation.rhs].type;
  if (rhs.is_error() || Fits(state, equation.rhs, lhs)) return;
  state.diagnostics
      .Report(diag::ComparedTypes, equation.rhs->span, Spelling(lhs), Spelling(rhs.scalar))
      .Help(fmt::format("write '{}'", AsHint(state, equation.rhs, lhs)));
}

EquationInfo CheckComparing(FunctionState& state, const Equation& equation) {
  ContractGuard guard(state);
  Ranges left = CheckCompared(state, equation);
  BindExtents(state);
  CheckValue(state, equation.rhs);
  Type lhs = state.fn.exprs[equation.lhs].type;
  if (!lhs.is_error()) CheckComparedTypes(state, equation, lhs.scalar);
  CheckTolerance(state, equation.rtol);
  CheckTolerance(state, equation.atol);
  CheckExtents(state, guard.contract().free, left);
  CheckExtents(state, guard.contract().over);
  EquationInfo info;
  info.equation = &equation;
  info.free = FreeNames(state, {equation.lhs, equation.rhs, equation.rtol, equation.atol});
  if (!lhs.is_error()) CheckAllOnLeft(state, left, info.free);
  return info;
}

/// Checks the left side of a comparison with a list: a counted output, indexed by a name for each dimension but the first.
/// Returns false after an error.
bool CheckListed(FunctionState& state, const Equation& equation, EquationInfo& info) {
  const auto* index = syntax::DynAs<IndexExpr>(equation.lhs);
  const auto* name = syntax::DynAs<NameExpr>(index != nullptr ? index->base : equation.lhs);
  const Entity* output = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  Name count = output != nullptr ? syntax::CountOf(*state.fn.item, output->name) : Name();
  if (count.empty()) {
    state.diagnostics.Report(diag::ListedSide, equation.lhs->span, Quote(state, equation.lhs))
        .Help("compare its elements with `~`, or declare it as `out T[n <= N]`");
    return false;
  }
  info.output = output;
  info.count = state.scopes.Find(count);
  size_t wanted = output->type.dims.size() - 1;
  size_t given = index != nullptr ? index->indices.size() : 0;
  bool ok = given == wanted;
  for (size_t d = 0; ok && d < given; ++d) {
    const syntax::Index& arg = index->indices[d];
    const Entity* range = arg.name || arg.hi != nullptr ? nullptr : FreeRange(state, arg.value);
    ok = range != nullptr && !Contains(info.indices, range);
    if (!ok) break;
    BindExtent(state, range, output->type.dims[d + 1], arg.value->span);
    info.indices.push_back(range);
  }
  if (ok) return true;
  Diagnostic& report = state.diagnostics.Report(
      diag::ListedIndices, equation.lhs->span, output->name.text(),
      wanted == 0
          ? std::string("do not index it")
          : fmt::format("index it by {} different new name{}", wanted, wanted == 1 ? "" : "s"));
  if (wanted == 0) report.Help(fmt::format("write '{}' without an index", output->name.text()));
  return false;
}

/// Checks a comparison of a counted output with a list. The names of its `over` are declared in an inner scope.
EquationInfo CheckListing(FunctionState& state, const Equation& equation) {
  ContractGuard guard(state);
  EquationInfo info;
  info.equation = &equation;
  bool ok = CheckListed(state, equation, info);
  ScopeGuard scope(state.scopes);
  for (const syntax::Ident& name : equation.over) DeclareOver(state, name);
  info.listed.assign(guard.contract().over.begin(), guard.contract().over.end());
  CheckValue(state, equation.rhs);
  if (ok) CheckComparedTypes(state, equation, Seen(state, info.output->type.scalar));
  if (equation.condition != nullptr) {
    Type type = CheckCondition(state, equation.condition, "the condition of a list", false);
    for (const Entity* range : type.ranges) {
      if (!Contains(info.indices, range)) continue;
      state.diagnostics
          .Report(diag::ListedCondition, equation.condition->span, Quote(state, equation.condition),
                  range->name.text())
          .Help("reduce it over another name, as in any(c[i, k] over k)");
    }
  }
  CheckTolerance(state, equation.rtol);
  CheckTolerance(state, equation.atol);
  CheckExtents(state, guard.contract().free, info.indices);
  CheckExtents(state, guard.contract().over);
  info.free = FreeNames(state, {equation.rhs, equation.condition, equation.rtol, equation.atol});
  if (ok) CheckAllOnLeft(state, info.indices, info.free);
  return info;
}

/// Returns the tensor of a test that is compared with listed elements, or null after an error.
const Entity* ListedTensor(FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<NameExpr>(expr);
  const Entity* tensor = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (name != nullptr && tensor == nullptr) {
    ReportUnknown(state, name->name.text(), expr->span);
  } else if (tensor == nullptr || (tensor->kind != EntityKind::LocalTensor && !IsFaulty(*tensor))) {
    const auto* index = syntax::DynAs<IndexExpr>(expr);
    Diagnostic& report = state.diagnostics.Report(diag::GivenSide, expr->span, Quote(state, expr));
    if (index != nullptr)
      report.Help(fmt::format("leave out the index to compare all elements: {}",
                              Quote(state, index->base)));
    return nullptr;
  }
  return tensor != nullptr && tensor->type.is_tensor() ? tensor : nullptr;
}

/// Checks the comparison of a tensor of a test with listed elements, `expect y ~ [[1.0, 2.0], [3.0, 4.0]];`.
EquationInfo CheckElements(FunctionState& state, const Equation& equation) {
  EquationInfo info;
  info.equation = &equation;
  info.output = ListedTensor(state, equation.lhs);
  if (info.output == nullptr) return info;
  const Type& type = info.output->type;
  state.fn.exprs[equation.lhs].type = type;
  state.fn.exprs[equation.lhs].entity = info.output;
  NoteRead(state, info.output, equation.lhs->span);
  std::optional<std::vector<uint64_t>> elements =
      ListedElements(state, *info.output, type, equation.rhs);
  auto make = [&](EntityKind kind) {
    auto* entity = state.module.arena.Make<Entity>(Entity{});
    entity->kind = kind;
    entity->span = equation.rhs->span;
    return entity;
  };
  Entity* table = make(EntityKind::Const);
  table->name = info.output->name;
  table->type = type;
  if (elements) table->elements = *std::move(elements);
  info.table = table;
  for (Size dim : type.dims) {
    Entity* index = make(EntityKind::Range);
    index->number = static_cast<uint32_t>(state.fn.entities.size() + info.free.size());
    index->range.domain = dim;
    index->range.extent = dim;
    info.free.push_back(index);
  }
  ContractGuard guard(state);
  CheckTolerance(state, equation.rtol);
  CheckTolerance(state, equation.atol);
  return info;
}

/// Returns the equation of `expect y == [1.0, 2.0];`, whose sides the syntax cannot tell from those of another condition.
/// Returns null if the condition is not such an equation.
const Equation* ElementsEquation(FunctionState& state, const Equation& expectation) {
  const auto* condition = syntax::DynAs<syntax::BinaryExpr>(expectation.lhs);
  bool is_equation = expectation.rhs == nullptr && condition != nullptr &&
                     condition->op == syntax::BinaryOp::Eq && ListsElements(state, condition->rhs);
  if (!is_equation) return nullptr;
  auto* equation = state.module.arena.Make<Equation>(expectation);
  equation->compared = true;
  equation->exact = true;
  equation->lhs = condition->lhs;
  equation->rhs = condition->rhs;
  return equation;
}

RequirementInfo CheckHolds(FunctionState& state, const Expr* condition, std::string_view what,
                           bool is_requirement) {
  ContractGuard guard(state, is_requirement);
  CheckCondition(state, condition, what, false);
  CheckExtents(state, guard.contract().free);
  CheckExtents(state, guard.contract().over);
  return {condition, FreeNames(state, {condition})};
}

}  // namespace

void CheckExpect(FunctionState& state, const syntax::ExpectStmt& expect) {
  const Equation& equation = expect.equation;
  auto* info = state.module.arena.Make<ExpectInfo>(ExpectInfo{});
  if (const Equation* elements = ElementsEquation(state, equation)) {
    info->equation = CheckElements(state, *elements);
  } else if (equation.rhs == nullptr) {
    info->condition = CheckHolds(state, equation.lhs, "the condition of `expect`", false);
  } else if (equation.compared && ListsElements(state, equation.rhs)) {
    info->equation = CheckElements(state, equation);
  } else if (equation.compared) {
    info->equation = CheckComparing(state, equation);
  } else {
    state.diagnostics.Report(diag::ExpectDefines, equation.span)
        .Help("write `~` to compare elements, `==` to compare exactly");
  }
  state.fn.stmts[&expect].expect = info;
}

void CheckContracts(FunctionState& state) {
  const syntax::FunctionItem& item = *state.fn.item;
  if (item.requirements.empty() && item.ensures.empty()) return;
  ScopeGuard scope(state.scopes);
  for (const Expr* requirement : item.requirements)
    state.fn.requirements.push_back(
        CheckHolds(state, requirement, "a condition of `requires`", true));
  for (const Equation& equation : item.ensures) {
    if (!equation.over.empty()) {
      state.fn.ensures.push_back(CheckListing(state, equation));
    } else if (equation.compared) {
      state.fn.ensures.push_back(CheckComparing(state, equation));
    } else {
      CheckDefining(state, equation);
    }
  }
}

}  // namespace kdl::sema
