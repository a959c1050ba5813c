#include "sema/signature.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "sema/ast_walk.h"
#include "sema/coerce.h"
#include "sema/resolve.h"
#include "sema/sizes.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Direction;
using syntax::Expr;
using syntax::FunctionItem;
using syntax::FunctionKind;
using syntax::NameExpr;

/// The name, where `expr` is one that nothing has yet.
const NameExpr* UnboundName(const FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<NameExpr>(expr);
  return name != nullptr && state.scopes.Find(name->name) == nullptr ? name : nullptr;
}

DimInfo& DeclareSize(FunctionState& state, const NameExpr& name) {
  Entity* entity = Declare(state, EntityKind::SizeName, {{name.span}, name.name});
  entity->type = ValueType(Scalar::I64);
  entity->size = state.module.sizes.Symbol(name.name);
  state.fn.dims.push_back({});
  state.fn.dims.back().entity = entity;
  return state.fn.dims.back();
}

DimInfo* FindDim(FunctionState& state, Name name) {
  for (DimInfo& dim : state.fn.dims) {
    if (dim.entity->name == name) return &dim;
  }
  return nullptr;
}

/// Names are bound in the order of the text; a value is read from an input where there is one.
void BindBareSizes(FunctionState& state) {
  const std::vector<syntax::Param>& params = state.fn.item->params;
  for (const syntax::Param& param : params) {
    for (const Expr* dim : param.type->dims) {
      if (const NameExpr* name = UnboundName(state, dim)) DeclareSize(state, *name).only_out = true;
    }
  }
  for (bool outputs : {false, true}) {
    for (uint32_t p = 0; p < params.size(); ++p) {
      if ((params[p].direction == Direction::Out) != outputs) continue;
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
  return !AnyOf(expr, [&](const Expr* inner) { return UnboundName(state, inner) != nullptr; });
}

/// `C == G*K` binds C where no parameter does and the other side is known.
bool BindByEquation(FunctionState& state, uint32_t clause, const Expr* side, const Expr* other) {
  const NameExpr* name = UnboundName(state, side);
  if (name == nullptr || !AllBound(state, other)) return false;
  DeclareSize(state, *name).where = clause;
  return true;
}

void BindEquations(FunctionState& state) {
  const std::vector<const Expr*>& clauses = state.fn.item->where;
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t i = 0; i < clauses.size(); ++i) {
      const auto* equation = syntax::DynAs<BinaryExpr>(clauses[i]);
      if (equation == nullptr || equation->op != BinaryOp::Eq) continue;
      progress |= BindByEquation(state, i, equation->lhs, equation->rhs) ||
                  BindByEquation(state, i, equation->rhs, equation->lhs);
    }
  }
}

/// Integer parameters that stand in a type or `where` are constants: `auto` does not choose them.
void CheckGenericsIn(FunctionState& state, const Expr* expr, bool in_type) {
  AnyOf(expr, [&](const Expr* inner) {
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
            .Help("leave out `= auto`: the value is then taken from the data, or given with -D");
      }
    }
    return false;
  });
}

const Entity* ResolveDevice(FunctionState& state, const syntax::Ident& name) {
  const Entity* entity = Resolve(state, name.name, name.span);
  if (entity == nullptr || entity->kind == EntityKind::Device) return entity;
  state.diagnostics.Report(diag::NotADevice, name.span, name.name.text(), Describe(entity->kind));
  return nullptr;
}

/// What a parameter may not be; true where it is that, reported.
bool IsRefused(FunctionState& state, const syntax::Param& param) {
  bool is_fn = state.kind() == FunctionKind::Fn;
  bool pipe = param.direction == Direction::Push || param.direction == Direction::Pop;
  if (!param.type->elements.empty()) {
    ReportUnsupported(state.diagnostics, Feature::Tuples, param.type->span);
  } else if (pipe) {
    ReportUnsupported(state.diagnostics, Feature::PipeFunctions, param.span);
  } else if (is_fn && !param.type->dims.empty()) {
    ReportUnsupported(state.diagnostics, Feature::TileFunctions, param.type->span);
  } else if (param.type->dims.empty() && param.direction != Direction::In) {
    state.diagnostics
        .Report(diag::ScalarDirection, param.span, param.name.name.text(),
                Spelling(param.direction))
        .Help(fmt::format("make it a tensor of one element: {}[1]", param.type->name.name.text()));
  } else {
    return false;
  }
  return true;
}

void DeclareParam(FunctionState& state, const syntax::Param& param) {
  bool tensor = !param.type->dims.empty();
  Entity* entity =
      Declare(state, tensor ? EntityKind::TensorParam : EntityKind::ScalarParam, param.name);
  entity->param = static_cast<uint32_t>(state.fn.params.size());
  state.fn.params.push_back({entity, param.direction});
  if (IsRefused(state, param)) {
    state.group.is_opaque |= state.kind() == FunctionKind::Fn;
    return;
  }
  std::optional<Scalar> scalar = ResolveScalar(state, param.type->name);
  Type type = ValueType(scalar.value_or(Scalar::F32));
  bool ok = scalar.has_value();
  if (tensor) type.kind = TypeKind::Tensor;
  for (const Expr* dim : param.type->dims) {
    Size size = CheckDim(state, dim);
    CheckGenericsIn(state, dim, true);
    type.dims.push_back(size);
    ok = ok && size != nullptr;
  }
  if (ok) entity->type = std::move(type);
  if (param.on && state.kind() != FunctionKind::Program) {
    state.diagnostics.Report(diag::OnOutsideProgram, param.on.span);
  } else if (param.on) {
    entity->on = ResolveDevice(state, param.on);
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

void CheckWhere(FunctionState& state, uint32_t number, const Expr* clause) {
  const auto* comparison = syntax::DynAs<BinaryExpr>(clause);
  if (comparison == nullptr || !IsComparison(comparison->op)) {
    state.diagnostics.Report(diag::NotAComparison, clause->span, Quote(state, clause))
        .Help("write several conditions one after the other, with commas");
    return;
  }
  CheckGenericsIn(state, clause, false);
  WhereInfo info;
  info.op = comparison->op;
  info.lhs = CheckSize(state, comparison->lhs, "a side of `where`");
  info.rhs = CheckSize(state, comparison->rhs, "a side of `where`");
  info.expr = clause;
  if (info.lhs == nullptr || info.rhs == nullptr) return;
  if (info.op == BinaryOp::Eq) {
    for (Size side : {info.lhs, info.rhs}) {
      DimInfo* dim = side->kind == SizeKind::Symbol ? FindDim(state, side->symbol) : nullptr;
      if (dim != nullptr && !dim->where) dim->where = number;
    }
  }
  state.fn.where.push_back(info);
}

void CheckResult(FunctionState& state) {
  const FunctionItem& item = *state.fn.item;
  if (item.function_kind != FunctionKind::Fn) return;
  if (item.result == nullptr) {
    state.diagnostics.Report(diag::FnWithoutResult, item.name.span, item.name.name.text())
        .Help("write the type of the result after the parameters: `-> f32`");
    return;
  }
  if (!item.result->elements.empty()) {
    ReportUnsupported(state.diagnostics, Feature::Tuples, item.result->span);
  } else if (!item.result->dims.empty()) {
    ReportUnsupported(state.diagnostics, Feature::TileFunctions, item.result->span);
  } else if (std::optional<Scalar> scalar = ResolveScalar(state, item.result->name)) {
    state.fn.result = ValueType(*scalar);
  }
}

}  // namespace

void CheckSignature(FunctionState& state) {
  state.in_signature = true;
  BindBareSizes(state);
  BindEquations(state);
  for (const syntax::Param& param : state.fn.item->params) DeclareParam(state, param);
  for (uint32_t i = 0; i < state.fn.item->where.size(); ++i) {
    CheckWhere(state, i, state.fn.item->where[i]);
  }
  CheckResult(state);
  state.in_signature = false;
}

}  // namespace kdl::sema
