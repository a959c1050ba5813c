#include "sema/accesses/index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sema/accesses/index_dim.h"
#include "sema/accesses/slice.h"
#include "sema/accesses/tensor_effects.h"
#include "sema/accesses/tile_parts.h"
#include "sema/stages/stages.h"
#include "sema/types/coerce.h"
#include "sema/types/size_arithmetic.h"
#include "sema/types/tables.h"
#include "sema/walk/constants.h"
#include "sema/walk/imports.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "syntax/diagnostics.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Expr;

/// Reports an index that is out of bounds whatever values the sizes have.
void CheckInside(FunctionState& state, const IndexDim& index, const Entity& base, size_t dim) {
  if (!index.terms.empty() || base.type.dims.size() <= dim) return;
  Size size = base.type.SizeOf(dim);
  std::optional<int64_t> beyond = ConstantDifference(state.module.sizes, index.offset, size);
  bool below = IsConstant(index.offset) && index.offset->value < 0;
  if (!below && !(beyond && *beyond >= 0)) return;
  Diagnostic& report =
      state.diagnostics.Report(diag::IndexOutside, index.span, ToString(index.offset),
                               base.name.text(), dim, ToString(size));
  if (below)
    report.Help(
        fmt::format("write '{} - {}' to count from the end", ToString(size), -index.offset->value));
}

/// Whether the index is the `None` of Python, which adds a dimension there.
bool IsNewAxis(const syntax::Index& index) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(index.value);
  return name != nullptr && name->name.text() == "None";
}

/// Returns the pack of dimensions that has this size, or null.
const Entity* PackOfSize(const FunctionState& state, Size size) {
  for (const DimInfo& dim : state.fn.dims)
    if (dim.entity->is_pack && dim.entity->size == size) return dim.entity;
  return nullptr;
}

/// Reports an index of a pack that computes something. The memory of its elements need not be in the order of their
/// numbers, so neighbours have no meaning.
void CheckWhole(FunctionState& state, const IndexDim& index, const Entity& base, size_t dim) {
  const Entity* pack =
      dim < base.type.dims.size() ? PackOfSize(state, base.type.dims[dim]) : nullptr;
  bool is_whole = index.terms.size() == 1 && IsConstant(index.terms[0].coefficient, 1) &&
                  IsConstant(index.offset, 0);
  if (pack == nullptr || is_whole) return;
  state.diagnostics
      .Report(diag::PackIndex, index.span, std::string(state.Text(index.span)), pack->name.text())
      .Help(
          fmt::format("index it with the range of a loop: for i in {}.. by 64", pack->name.text()));
}

/// Returns the type of a loaded element.
Scalar ElementScalar(const Type& tensor) {
  if (!tensor.four_bit) return tensor.scalar;
  switch (*tensor.four_bit) {
    case syntax::FourBitType::I4:
      return Scalar::I8;
    case syntax::FourBitType::U4:
      return Scalar::U8;
    case syntax::FourBitType::F4E2M1:
      return Scalar::F32;
  }
  return tensor.scalar;
}

struct Base {
  const Entity* entity = nullptr;  ///< null if an error was reported
  bool old = false;
};

/// Returns how to write a size instead of `x.shape[0]`, or an empty string.
std::string HelpForShape(FunctionState& state, const Expr* expr) {
  const auto* field = syntax::DynAs<syntax::FieldExpr>(expr);
  const auto* name = field != nullptr ? syntax::DynAs<syntax::NameExpr>(field->base) : nullptr;
  const Entity* tensor = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (tensor == nullptr || !tensor->type.is_tensor() || tensor->type.dims.empty()) return "";
  std::vector<std::string> sizes;
  for (Size size : tensor->type.dims) sizes.push_back(ToString(size));
  return fmt::format("write {}: the sizes of '{}' have names", fmt::join(sizes, " or "),
                     name->name.text());
}

/// Returns how to write `x[i][j]`, of which `expr` is `x[i]`, or an empty string.
std::string HelpForBrackets(FunctionState& state, const Expr* expr) {
  const auto* index = syntax::DynAs<syntax::IndexExpr>(expr);
  const auto* name = index != nullptr ? syntax::DynAs<syntax::NameExpr>(index->base) : nullptr;
  if (name == nullptr || index->otherwise != nullptr) return "";
  std::string text = Quote(state, expr);
  text.pop_back();
  return fmt::format("write all indices in one pair of brackets: {}, …]", text);
}

Base ReportBase(FunctionState& state, const Expr* expr) {
  for (std::string help : {HelpForShape(state, expr), HelpForBrackets(state, expr)}) {
    if (help.empty()) continue;
    state.diagnostics.Report(diag::NotIndexable, expr->span, Quote(state, expr)).Help(help);
    return {};
  }
  state.diagnostics.Report(diag::NotIndexable, expr->span, Quote(state, expr))
      .Help("index a tensor by its name: x[…]");
  return {};
}

Base CheckOld(FunctionState& state, const syntax::CallExpr& call) {
  if (state.contract == nullptr || call.callee.name.text() != "old" || call.receiver != nullptr ||
      call.args.size() != 1) {
    return ReportBase(state, &call);
  }
  const Expr* argument = call.args[0].value;
  const auto* name = syntax::DynAs<syntax::NameExpr>(argument);
  if (name == nullptr) {
    state.diagnostics.Report(diag::OldOfOther, argument->span, Quote(state, argument))
        .Help("write the parameter's name without an index: old(y)[i]");
    return {};
  }
  const Entity* entity = Resolve(state, name->name, name->span);
  if (entity == nullptr) return {};
  bool is_inout = entity->kind == EntityKind::TensorParam &&
                  state.fn.params[entity->param].direction == syntax::Direction::InOut;
  if (!is_inout) {
    state.diagnostics.Report(diag::OldOfOther, name->span, entity->name.text());
    return {};
  }
  return {entity, true};
}

/// Returns the tensor that is indexed. `span` is the span of the tensor's name.
Base IndexedBase(FunctionState& state, const Entity& entity, const syntax::IndexExpr& index,
                 Span span) {
  if (entity.kind == EntityKind::Const) ConstValue(state, &entity);
  if (entity.type.is_tensor()) return {&entity, false};
  if (IsFaulty(entity)) return {};
  if (entity.type.is_value() && !entity.type.ranges.empty()) {
    state.diagnostics
        .Report(diag::TileIndexed, index.span, entity.name.text(), RangesText(entity.type.ranges))
        .Help(fmt::format(
            "{2}write '{0}' without brackets, since its elements are matched by the names of its "
            "ranges; or index it by name: {0}[{1} = …]",
            entity.name.text(), entity.type.ranges[0]->name.text(),
            entity.kind == EntityKind::TileParam ? "a fn takes tiles, not tensors: " : ""));
  } else {
    state.diagnostics.Report(diag::NotATensor, span, entity.name.text(), Describe(entity.kind));
  }
  return {};
}

Base CheckBase(FunctionState& state, const syntax::IndexExpr& index) {
  if (const auto* call = syntax::DynAs<syntax::CallExpr>(index.base)) return CheckOld(state, *call);
  const auto* field = syntax::DynAs<syntax::FieldExpr>(index.base);
  if (const Entity* import = field != nullptr ? ImportOf(state, field->base) : nullptr) {
    const Entity* member = ResolveMember(state, *import, field->name);
    return member != nullptr ? IndexedBase(state, *member, index, field->name.span) : Base{};
  }
  const auto* name = syntax::DynAs<syntax::NameExpr>(index.base);
  if (name == nullptr) return ReportBase(state, index.base);
  const Entity* entity = Resolve(state, name->name, name->span);
  return entity != nullptr ? IndexedBase(state, *entity, index, name->span) : Base{};
}
/// Reports a `requires` clause that reads an `out` parameter. The contents of `out` parameters are undefined
/// before the launch.
void CheckRequired(FunctionState& state, const Entity* base, Span span) {
  bool undefined = state.contract != nullptr && state.contract->is_requirement &&
                   base->kind == EntityKind::TensorParam &&
                   state.fn.params[base->param].direction == syntax::Direction::Out;
  if (!undefined) return;
  state.diagnostics.Report(diag::RequiresOfOut, span, base->name.text())
      .Help("use an `in` or `inout` parameter here; `ensures` describes what the launch writes");
}

/// In a contract, records an index of the form `r` or `r + 1`, where `r` is an index name. Such indices
/// determine the extent of `r`. `may_leave` says that the access has an `else`, so the index may be out of
/// bounds.
void RecordBare(FunctionState& state, const Entity* base, const IndexInfo& access, size_t number,
                bool may_leave) {
  const IndexDim& dim = access.dims[number];
  if (state.contract == nullptr || dim.terms.size() != 1 || dim.terms[0].range == nullptr) return;
  if (!IsConstant(dim.terms[0].coefficient, 1) || !IsConstant(dim.offset)) return;
  int64_t offset = dim.offset->value;
  if (offset == 0 || (offset > 0 && !may_leave))
    state.contract->uses.push_back({dim.terms[0].range, base, number, offset, may_leave, dim.span});
}

/// If the indices of a table are constants, computes the element. An integer element is also a size. In a
/// program, the indices of a table must be constants.
void FoldElement(FunctionState& state, ExprInfo& info) {
  info.constant = TableElement(*info.index);
  if (!info.constant || !IsInteger(info.constant->scalar)) return;
  std::optional<int64_t> value = ToInt64(FromConstant(*info.constant));
  if (value) info.size = state.module.sizes.Constant(*value);
}

std::string Indices(size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "index" : "indices");
}

}  // namespace

Type CheckIndex(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info, bool stored) {
  if (HasSlice(state, index)) return Type{};
  if (!stored && IsTilePart(state, &index)) return CheckTilePart(state, index, info);
  Base base = CheckBase(state, index);
  auto* access = state.module.arena.Make<IndexInfo>(IndexInfo{});
  access->base = base.entity;
  access->old = base.old;
  access->otherwise = index.otherwise;
  Type type;
  bool ok = base.entity != nullptr;
  size_t number = 0;
  for (const syntax::Arg& arg : index.indices) {
    bool is_dimension = base.entity != nullptr && number < base.entity->type.dims.size();
    bool is_name = arg.value->kind == syntax::ExprKind::Name;
    state.indexed = is_name && is_dimension ? base.entity->type.SizeOf(number) : nullptr;
    ++number;
    if (arg.name && ok) {
      state.diagnostics.Report(diag::NamedIndex, arg.name.span, base.entity->name.text());
      ok = false;
    }
    std::optional<IndexDim> dim = CheckIndexDim(state, arg.value);
    state.indexed = nullptr;
    ok = ok && dim.has_value();
    if (!dim) continue;
    access->dims.push_back(*std::move(dim));
    type.ranges = UnionOf(type.ranges, RangesOfIndex(state, access->dims.back()));
  }
  if (std::ranges::any_of(index.indices, IsNewAxis)) {
    ok = false;  // the name itself is reported
  } else if (base.entity != nullptr && index.indices.size() != base.entity->type.dims.size()) {
    state.diagnostics
        .Report(diag::IndexCount, index.span, base.entity->name.text(),
                Indices(base.entity->type.dims.size()), index.indices.size())
        .Note(base.entity->span,
              fmt::format("'{}' is {}", base.entity->name.text(), ToString(base.entity->type)));
    ok = false;
  }
  if (ok) {
    for (size_t i = 0; i < access->dims.size(); ++i) {
      RecordBare(state, base.entity, *access, i, index.otherwise != nullptr);
      CheckWhole(state, access->dims[i], *base.entity, i);
      if (index.otherwise == nullptr) CheckInside(state, access->dims[i], *base.entity, i);
    }
    type.kind = TypeKind::Value;
    type.scalar = Seen(state, ElementScalar(base.entity->type));
    info.index = access;
    info.entity = base.entity;
    if (state.contract == nullptr && !stored) FoldElement(state, info);
    RecordTensorUse(state, base.entity, index.span, stored);
    CheckRequired(state, base.entity, index.span);
    bool expects = state.contract != nullptr && state.fn.item->test != nullptr;
    bool on_host = state.kind() == syntax::FunctionKind::Program && state.contract == nullptr;
    if (on_host && base.entity->kind == EntityKind::Const && !info.constant && !stored) {
      state.diagnostics.Report(diag::TableOnHost, index.span, Quote(state, &index))
          .Help("look it up in a kernel");
      return Type{};
    }
    bool is_tensor = base.entity->kind == EntityKind::LocalTensor ||
                     base.entity->kind == EntityKind::TensorParam;
    if ((on_host || expects) && is_tensor && !stored) NoteRead(state, base.entity, index.span);
  } else {
    type = Type{};
  }
  if (ok && index.otherwise != nullptr && base.entity->type.four_bit) {
    state.diagnostics
        .Report(syntax::diag::FourBits, index.span, Spelling(*base.entity->type.four_bit),
                "cannot be read with `else`")
        .Help(fmt::format("choose an index inside with `clamp`, and the value with `if`"));
    return Type{};
  }
  if (index.otherwise != nullptr) type = CheckOtherwise(state, index.otherwise, std::move(type));
  return type;
}

}  // namespace kdl::sema
