#include "sema/functions/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "sema/functions/optional_params.h"
#include "sema/functions/strided_params.h"
#include "sema/model/ast_walk.h"
#include "sema/types/distribution.h"
#include "sema/types/sizes.h"
#include "sema/types/tuples.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Direction;
using syntax::Expr;
using syntax::FunctionItem;
using syntax::FunctionKind;
using syntax::NameExpr;

/// Returns `expr` as a name if it is a name that has not been declared yet; otherwise returns null.
const NameExpr* UnboundName(const FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<NameExpr>(expr);
  return name != nullptr && state.scopes.Find(name->name) == nullptr ? name : nullptr;
}

DimInfo& DeclareSize(FunctionState& state, const NameExpr& name) {
  Entity* entity = Declare(state, EntityKind::SizeName, {{name.span}, name.name});
  entity->type = ValueType(Scalar::I64);
  entity->size = state.module.sizes.Symbol(name.name);
  entity->is_pack = name.is_pack;
  state.fn.dims.push_back({});
  state.fn.dims.back().entity = entity;
  return state.fn.dims.back();
}

/// Reports a parameter or size such as `rank_A` next to a size `A`, or `strides_x` next to a tensor `x`. In KIR, these names say
/// that A is a pack, and x is `strided`.
void CheckReserved(FunctionState& state, Name name, Span span) {
  if (state.kind() != FunctionKind::Kernel) return;
  auto check = [&](std::string_view prefix, Name of) {
    std::string_view text = name.text();
    if (!text.starts_with(prefix) || text.substr(prefix.size()) != of.text()) return;
    state.diagnostics.Report(diag::RankName, span, text, of.text()).Help("choose another name");
  };
  for (const DimInfo& dim : state.fn.dims) check("rank_", dim.entity->name);
  for (const syntax::Param& param : state.fn.item->params) {
    check("strides_", param.name.name);
    check("broadcast_", param.name.name);
    check("counted_", param.name.name);
  }
}

DimInfo* FindDim(FunctionState& state, Name name) {
  for (DimInfo& dim : state.fn.dims) {
    if (dim.entity->name == name) return &dim;
  }
  return nullptr;
}

bool IsPipeEnd(const syntax::Param& param) {
  return param.direction == Direction::Push || param.direction == Direction::Pop;
}

/// Returns whether the parameter is a tile, which means that the brackets of its type contain names
/// of ranges.
bool IsTile(const FunctionState& state, const syntax::Param& param) {
  return state.kind() == FunctionKind::Fn && param.type->has_brackets && !IsPipeEnd(param);
}

/// Declares each size name that is a whole dimension of a parameter, in source order. If possible, its value
/// comes from an `in` or `inout` parameter.
void BindBareSizes(FunctionState& state) {
  const std::vector<syntax::Param>& params = state.fn.item->params;
  for (const syntax::Param& param : params) {
    if (IsTile(state, param) || state.fn.IsAbsent(param.name.name)) continue;
    for (const Expr* dim : param.type->dims) {
      if (const NameExpr* name = UnboundName(state, dim)) DeclareSize(state, *name).only_out = true;
    }
  }
  for (bool outputs : {false, true}) {
    for (uint32_t p = 0; p < params.size(); ++p) {
      if ((params[p].direction == Direction::Out) != outputs) continue;
      if (state.fn.IsAbsent(params[p].name.name)) continue;
      for (uint32_t d = 0; d < params[p].type->dims.size(); ++d) {
        const auto* name = syntax::DynAs<NameExpr>(params[p].type->dims[d]);
        DimInfo* dim = name != nullptr ? FindDim(state, name->name) : nullptr;
        if (dim == nullptr || dim->param) continue;
        dim->param = p;
        dim->dim = d;
        dim->only_out = outputs;
      }
    }
  }
}

bool AllBound(const FunctionState& state, const Expr* expr) {
  return !AnySubexpression(expr,
                           [&](const Expr* inner) { return UnboundName(state, inner) != nullptr; });
}

/// Handles an equation such as `C == G*K`. If no parameter binds C and the other side is known, C becomes a
/// name for the other side.
bool BindByEquation(FunctionState& state, const Expr* side, const Expr* other) {
  const NameExpr* name = UnboundName(state, side);
  if (name == nullptr || !AllBound(state, other)) return false;
  Entity* entity = Declare(state, EntityKind::SizeName, {{name->span}, name->name});
  entity->size = CheckSize(state, other, "a side of `where`");
  if (entity->size != nullptr) entity->type = ValueType(Scalar::I64);
  return true;
}

void BindEquations(FunctionState& state) {
  const std::vector<const Expr*>& clauses = state.fn.item->where;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Expr* clause : clauses) {
      const auto* equation = syntax::DynAs<BinaryExpr>(clause);
      if (equation == nullptr || equation->op != BinaryOp::Eq) continue;
      progress |= BindByEquation(state, equation->lhs, equation->rhs) ||
                  BindByEquation(state, equation->rhs, equation->lhs);
    }
  }
}

/// Declares the sizes that only absent parameters have.
void BindAbsentSizes(FunctionState& state) {
  for (const syntax::Param& param : state.fn.item->params) {
    if (!state.fn.IsAbsent(param.name.name)) continue;
    for (const Expr* dim : param.type->dims) {
      const NameExpr* name = UnboundName(state, dim);
      if (name == nullptr) continue;
      Entity* entity = Declare(state, EntityKind::SizeName, {{name->span}, name->name});
      entity->type = ValueType(Scalar::I64);
      entity->size = state.module.sizes.Constant(0);
      entity->is_absent = true;
    }
  }
}

/// Returns whether the expression names a size that only absent parameters have.
bool IsOfAbsent(const FunctionState& state, const Expr* expr) {
  return AnySubexpression(expr, [&](const Expr* inner) {
    const auto* name = syntax::DynAs<NameExpr>(inner);
    const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
    return entity != nullptr && entity->is_absent;
  });
}

/// Finds the integer parameters in an expression of a type or of a `where` clause. Reports those with the
/// default `auto`, which is not allowed in either place. If the expression belongs to a type, records that
/// the parameters are used there.
void CheckGenericsIn(FunctionState& state, const Expr* expr, bool in_type) {
  AnySubexpression(expr, [&](const Expr* inner) {
    const auto* name = syntax::DynAs<NameExpr>(inner);
    const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
    if (entity == nullptr || entity->kind != EntityKind::IntGeneric) return false;
    for (size_t i = 0; i < state.fn.generics.size(); ++i) {
      IntGenericInfo& info = state.fn.generics[i];
      if (info.entity != entity) continue;
      info.in_type |= in_type;
      bool is_auto = false;
      for (const syntax::GenericParam& generic : state.fn.item->generics) {
        is_auto |= generic.name.name == entity->name &&
                   syntax::DynAs<syntax::AutoLit>(generic.default_value) != nullptr;
      }
      if (is_auto) {
        state.diagnostics.Report(diag::AutoInType, inner->span, entity->name.text())
            .Note(entity->span, "declared here")
            .Help("remove `= auto`: the value then comes from the data or from -D");
      }
    }
    return false;
  });
}

/// Reports a dimension `A..` that is not one of a kernel's tensor, and one that is a size elsewhere. Returns whether it
/// was reported.
bool IsWronglyPacked(FunctionState& state, const Expr* dim) {
  const auto* name = syntax::DynAs<NameExpr>(dim);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (name == nullptr || (entity != nullptr && entity->is_absent)) return false;
  if (name->is_pack && state.kind() != FunctionKind::Kernel) {
    state.diagnostics.Report(diag::PackPlace, dim->span, name->name.text());
    return true;
  }
  if (entity == nullptr || entity->is_pack == name->is_pack) return false;
  state.diagnostics.Report(diag::PackMixed, dim->span, name->name.text())
      .Note(entity->span, "declared here")
      .Help(fmt::format("write {}.. in all types, or in none", name->name.text()));
  return true;
}

/// Reports a parameter of a kind that the function cannot have. Returns whether it was reported.
bool IsRefused(FunctionState& state, const syntax::Param& param) {
  bool is_fn = state.kind() == FunctionKind::Fn;
  if (!param.type->elements.empty() && !is_fn) {
    state.diagnostics.Report(diag::TupleParam, param.type->span, param.name.name.text())
        .Help("declare one parameter for each component");
  } else if (IsPipeEnd(param)) {
    return false;
  } else if (is_fn && param.direction != Direction::In) {
    state.diagnostics
        .Report(diag::FnDirection, param.span, param.name.name.text(), Spelling(param.direction))
        .Help("return the result instead: `-> f32`");
  } else if (is_fn && param.type->has_brackets && param.type->dims.empty()) {
    state.diagnostics.Report(diag::EmptyTile, param.type->span)
        .Help(fmt::format("remove the brackets: {}", ToString(param.type->name)));
  } else if (!param.type->has_brackets && param.direction != Direction::In) {
    state.diagnostics
        .Report(diag::ScalarDirection, param.span, param.name.name.text(),
                Spelling(param.direction))
        .Help(fmt::format("make it a tensor without dimensions: {}[]", ToString(param.type->name)));
  } else {
    return false;
  }
  return true;
}

/// Returns the range that a dimension of a fn's tile names. The signature declares the range, and each call
/// binds it.
const Entity* TileRange(FunctionState& state, const Expr* dim) {
  const auto* name = syntax::DynAs<NameExpr>(dim);
  const Entity* known = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (known != nullptr && known->kind == EntityKind::Range) return known;
  if (name == nullptr || known != nullptr) {
    state.diagnostics.Report(diag::FnTileDim, dim->span, Quote(state, dim))
        .Help("name the ranges of the tile: t: f32[i, j]");
    return nullptr;
  }
  Entity* range = Declare(state, EntityKind::Range, {{name->span}, name->name});
  range->type.kind = TypeKind::Range;
  state.fn.ranges.push_back(range);
  return range;
}

/// Adds the ranges of a tile of a fn to the tile's type. The tile is a parameter or the result.
bool AddRanges(FunctionState& state, const syntax::TypeRef& ref, Type& type) {
  bool ok = true;
  for (const Expr* dim : ref.dims) {
    const Entity* range = TileRange(state, dim);
    if (range != nullptr && Contains(type.ranges, range)) {
      state.diagnostics.Report(diag::RangeTwice, dim->span, range->name.text());
    }
    ok = ok && range != nullptr;
    if (range != nullptr) type.ranges = UnionOf(type.ranges, {range});
  }
  return ok;
}

EntityKind ParamEntityKind(const FunctionState& state, const syntax::Param& param) {
  if (IsPipeEnd(param)) return EntityKind::Pipe;
  if (!param.type->has_brackets) return EntityKind::ScalarParam;
  return IsTile(state, param) ? EntityKind::TileParam : EntityKind::TensorParam;
}

void DeclareParam(FunctionState& state, const syntax::Param& param) {
  EntityKind kind = ParamEntityKind(state, param);
  Entity* entity = Declare(state, kind, param.name);
  entity->end = kind == EntityKind::Pipe ? param.direction : Direction::In;
  entity->param = static_cast<uint32_t>(state.fn.params.size());
  state.fn.params.push_back({entity, param.direction, param.strides});
  bool is_packed = std::ranges::any_of(
      param.type->dims, [&](const Expr* dim) { return IsWronglyPacked(state, dim); });
  if (is_packed || IsRefused(state, param) || IsWronglyOptional(state, param) ||
      IsWronglyStrided(state, param)) {
    state.group.is_opaque |= state.kind() == FunctionKind::Fn;
    return;
  }
  if (!param.type->elements.empty()) {
    entity->type = ResolveTuple(state, *param.type);
    return;
  }
  std::optional<Scalar> scalar = ResolveScalar(state, param.type->name);
  Type type = ValueType(scalar.value_or(Scalar::F32));
  bool ok = scalar.has_value();
  if (kind == EntityKind::TensorParam) {
    type.kind = TypeKind::Tensor;
    ok = CheckRank(state, *param.type) && ok;
  }
  if (kind == EntityKind::Pipe) type.kind = TypeKind::Pipe;
  entity->is_absent = state.fn.IsAbsent(param.name.name);
  if (entity->is_absent) {
    type.dims.assign(param.type->dims.size(), state.module.sizes.Constant(0));
    if (ok) entity->type = std::move(type);
    return;
  }
  if (kind == EntityKind::TileParam) ok = AddRanges(state, *param.type, type) && ok;
  for (const Expr* dim : param.type->dims) {
    if (kind == EntityKind::TileParam) break;
    Size size = CheckDim(state, dim);
    CheckGenericsIn(state, dim, true);
    type.dims.push_back(size);
    ok = ok && size != nullptr;
  }
  if (param.type->four_bit && ok) {
    type.four_bit = param.type->four_bit;
    type.elements_in_row = CheckDim(state, param.type->elements_in_row);
  }
  if (ok) entity->type = std::move(type);
  if (param.on && state.kind() != FunctionKind::Program) {
    state.diagnostics.Report(diag::OnOutsideProgram, param.on.span);
  } else if (param.on) {
    entity->on = ResolveDevice(state, param.on);
    if (ok && entity->on != nullptr)
      entity->distribution =
          CheckDistribution(state, param.name.name.text(), param.on, entity->type, *entity->on);
  }
}

bool IsComparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
      return true;
    default:
      return false;
  }
}

void CheckWhere(FunctionState& state, const Expr* clause) {
  const auto* comparison = syntax::DynAs<BinaryExpr>(clause);
  if (comparison == nullptr || !IsComparison(comparison->op)) {
    state.diagnostics.Report(diag::NotAComparison, clause->span, Quote(state, clause))
        .Help("write several conditions separated by commas");
    return;
  }
  if (IsOfAbsent(state, clause)) return;
  CheckGenericsIn(state, clause, false);
  WhereInfo info;
  info.op = comparison->op;
  info.lhs = CheckSize(state, comparison->lhs, "a side of `where`");
  info.rhs = CheckSize(state, comparison->rhs, "a side of `where`");
  info.expr = clause;
  if (info.lhs == nullptr || info.rhs == nullptr) return;
  bool names_a_size = info.op == BinaryOp::Eq && info.lhs == info.rhs;
  if (!names_a_size || MayDivideByZero(info.lhs)) state.fn.where.push_back(info);
  const auto* name = syntax::DynAs<NameExpr>(comparison->lhs);
  if (name == nullptr) name = syntax::DynAs<NameExpr>(comparison->rhs);
  if (!names_a_size || name == nullptr) return;
  Size zero = state.module.sizes.Constant(0);
  state.fn.where.push_back({BinaryOp::Ge, info.lhs, zero, clause, name->name});
}

void CheckResult(FunctionState& state) {
  const FunctionItem& item = *state.fn.item;
  if (item.function_kind != FunctionKind::Fn) return;
  if (state.fn.HasPipes()) {
    if (item.result == nullptr) {
      state.fn.result.kind = TypeKind::Nothing;
      return;
    }
    state.diagnostics.Report(diag::PipeFnResult, item.result->span, item.name.name.text())
        .Help("remove the result, or push it into a pipe");
    return;
  }
  if (item.result == nullptr) {
    state.diagnostics.Report(diag::FnWithoutResult, item.name.span, item.name.name.text())
        .Help("write the type of the result after the parameters: `-> f32`");
    return;
  }
  if (!item.result->elements.empty()) {
    state.fn.result = ResolveTuple(state, *item.result);
  } else if (std::optional<Scalar> scalar = ResolveScalar(state, item.result->name)) {
    size_t bound = state.fn.ranges.size();
    Type type = ValueType(*scalar);
    bool ok = AddRanges(state, *item.result, type);
    if (state.fn.ranges.size() != bound) {
      const Entity* unbound = state.fn.ranges[bound];
      state.diagnostics.Report(diag::ResultRange, unbound->span, unbound->name.text())
          .Help("use the ranges of the parameters");
      ok = false;
    }
    if (ok) state.fn.result = type;
  }
}

}  // namespace

void CheckSignature(FunctionState& state) {
  state.in_signature = true;
  BindBareSizes(state);
  BindEquations(state);
  BindAbsentSizes(state);
  for (const DimInfo& dim : state.fn.dims) CheckReserved(state, dim.entity->name, dim.entity->span);
  for (const IntGenericInfo& generic : state.fn.generics)
    CheckReserved(state, generic.entity->name, generic.entity->span);
  for (const syntax::Param& param : state.fn.item->params) {
    CheckReserved(state, param.name.name, param.name.span);
    DeclareParam(state, param);
  }
  if (state.kind() == FunctionKind::Fn && !state.fn.item->where.empty())
    state.diagnostics
        .Report(diag::WhereOfFn, state.fn.item->where[0]->span, state.fn.item->name.name.text())
        .Help(fmt::format("state it in the body: static_assert({}, \"…\");",
                          Quote(state, state.fn.item->where[0])));
  for (const Expr* clause : state.fn.item->where) CheckWhere(state, clause);
  CheckResult(state);
  state.in_signature = false;
}

}  // namespace kdl::sema
