#include "sema/statements/view.h"

#include <fmt/format.h>

// Checks views, such as `view v: f32[N, 2, K] = x;`. irgen determines which dimensions a view splits and
// merges. The launch checks that the sizes agree.

#include "sema/accesses/slice.h"
#include "sema/types/tensor_type.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "syntax/diagnostics.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::ViewStmt;

bool HasCoreNum(Size size) {
  if (size->kind == SizeKind::Symbol) return size->symbol.text() == "core_num";
  return size->lhs != nullptr && (HasCoreNum(size->lhs) || HasCoreNum(size->rhs));
}

/// Returns the tensor whose memory a view in a program shares, wholly or in part.
const Entity* HostSource(FunctionState& state, const ViewStmt& view) {
  Type type = CheckTensor(state, view.source);
  if (type.is_tensor()) return state.fn.Info(view.source).entity;
  if (!type.is_error())
    state.diagnostics.Report(diag::ViewSource, view.source->span, Quote(state, view.source),
                             "not a tensor");
  return nullptr;
}

/// Returns the tensor that the source of a view names, or reports an error and returns null.
const Entity* ViewedTensor(FunctionState& state, const ViewStmt& view) {
  if (state.kind() == syntax::FunctionKind::Program) return HostSource(state, view);
  const auto* name = syntax::DynAs<syntax::NameExpr>(view.source);
  const Entity* source = name != nullptr ? Resolve(state, name->name, name->span) : nullptr;
  if (name != nullptr && (source == nullptr || IsFaulty(*source))) return nullptr;
  if (source != nullptr && source->kind == EntityKind::TensorParam) return source;
  bool is_local = source != nullptr && source->kind == EntityKind::LocalTensor;
  std::string_view what = is_local            ? "a tensor of the launch"
                          : source != nullptr ? Describe(source->kind)
                                              : "not a name";
  state.diagnostics.Report(diag::ViewSource, view.source->span, Quote(state, view.source), what);
  return nullptr;
}

bool CheckSizes(FunctionState& state, const ViewStmt& view, const Type& type) {
  for (size_t d = 0; d < type.dims.size(); ++d) {
    if (!HasCoreNum(type.dims[d])) continue;
    const Expr* dim = view.type->dims[d];
    state.diagnostics.Report(diag::ViewSizes, dim->span, Quote(state, dim));
    return false;
  }
  return true;
}

/// Reports a tensor or a view without dimensions. A view changes dimensions, so both must have some.
bool HaveDimensions(FunctionState& state, const ViewStmt& view, const Type& source,
                    const Type& type) {
  if (!source.dims.empty() && !type.dims.empty()) return true;
  state.diagnostics
      .Report(diag::ViewSource, view.source->span, Quote(state, view.source),
              source.dims.empty() ? "a tensor without dimensions"
                                  : "a tensor with dimensions, but the view has none")
      .Help("index the tensor itself");
  return false;
}

}  // namespace

void CheckView(FunctionState& state, const ViewStmt& view) {
  const Entity* source = ViewedTensor(state, view);
  std::optional<Type> type = TensorType(state, *view.type);
  bool ok = source != nullptr && type && CheckSizes(state, view, *type) &&
            HaveDimensions(state, view, source->type, *type);
  if (ok && source->type.four_bit) {
    state.diagnostics.Report(syntax::diag::FourBits, view.source->span,
                             Spelling(*source->type.four_bit), "cannot be in a view");
    ok = false;
  }
  if (ok && type->scalar != source->type.scalar) {
    state.diagnostics
        .Report(diag::ViewScalar, view.type->span, source->name.text(),
                Spelling(source->type.scalar), Spelling(type->scalar))
        .Note(source->span, "declared here");
    ok = false;
  }
  if (!ok) return DeclareFaulty(state, view.name);
  Entity* entity = Declare(state, source->kind, view.name);
  entity->type = *std::move(type);
  entity->param = source->param;
  entity->of = source;
  entity->on = source->on;
  state.fn.stmts[&view].entities = {entity};
}

}  // namespace kdl::sema
