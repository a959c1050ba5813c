#include "sema/types/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "sema/types/sizes.h"
#include "sema/walk/quote.h"
#include "support/rank_limit.h"

namespace kdl::sema {

namespace {

bool IsWildcard(const syntax::DistributedDim& dim) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(dim.size);
  return name != nullptr && name->name.text() == "_";
}

/// Returns a distribution that is allowed, such as `(M, _)`: that of the first dimension.
std::string Example(const Type& type) {
  std::string text = ToString(type.dims[0]);
  for (size_t d = 1; d < type.dims.size(); ++d) text += ", _";
  return text;
}

/// Returns the first `count` entries of a shape, each followed by a comma. Entries that it does not have are 1, or 2 if it has
/// none at all.
std::string ShapeText(const std::vector<int64_t>& shape, size_t count) {
  std::string text;
  for (size_t axis = 0; axis < count; ++axis)
    text += fmt::format("{}, ", axis < shape.size() ? shape[axis] : shape.empty() ? 2 : 1);
  return text;
}

/// Returns whether the expression is a name that nothing has, such as that of a loop variable of a kernel, or `auto`.
bool IsUnknown(const FunctionState& state, const syntax::Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  return syntax::DynAs<syntax::AutoLit>(expr) != nullptr ||
         (name != nullptr && state.scopes.Find(name->name) == nullptr);
}

/// Returns whether the entry is the size of dimension `d`. Reports an error if it is not.
bool IsSizeOf(FunctionState& state, std::string_view name, const syntax::DistributedDim& dim,
              const Type& type, size_t d) {
  if (!IsUnknown(state, dim.size)) {
    Size size = CheckSize(state, dim.size, "a distributed dimension");
    if (size == nullptr || size == type.dims[d]) return size != nullptr;
  }
  state.diagnostics
      .Report(diag::ByDimension, dim.span, Quote(state, dim.size), d, name, ToString(type.dims[d]))
      .Help(fmt::format("write {}, or `_` if this dimension is not distributed",
                        ToString(type.dims[d])));
  return false;
}

/// Returns the length of the blocks in which dimension `d` is distributed. Reports an error if it is not a constant that is
/// allowed.
std::optional<int64_t> BlockLength(FunctionState& state, std::string_view name,
                                   const syntax::DistributedDim& dim, size_t d) {
  Size length = CheckSize(state, dim.block, "the length of the blocks of a distributed dimension");
  if (length == nullptr) return std::nullopt;
  if (IsConstant(length) && length->value >= 1 && length->value <= kMostRankBlock)
    return length->value;
  state.diagnostics
      .Report(diag::ByBlock, dim.block->span, Quote(state, dim.block), d, name, kMostRankBlock)
      .Help(fmt::format("write a number, as in `{}: 64`", Quote(state, dim.size)));
  return std::nullopt;
}

void ReportAxes(FunctionState& state, std::string_view tensor, const syntax::DistributedDim& dim,
                size_t d, const Entity& device) {
  size_t count = std::max<size_t>(device.device.shape.size(), 1);
  std::string_view name = device.name.text();
  state.diagnostics.Report(diag::ByAxes, dim.span, d, tensor, name, count, count == 1 ? "is" : "es")
      .Note(device.span, "declared here")
      .Help(fmt::format(
          "give the ranks an axis for each dimension up to this one: `device {} = ranks({}2);`",
          name, ShapeText(device.device.shape, d)));
}

}  // namespace

Distribution CheckDistribution(FunctionState& state, std::string_view name,
                               const syntax::Placement& on, const Type& type,
                               const Entity& device) {
  const std::vector<syntax::DistributedDim>& by = on.by;
  if (by.empty()) return {};
  if (device.device.form != DeviceForm::Ranks) {
    state.diagnostics.Report(diag::ByDevice, on.span, name, device.name.text())
        .Note(device.span, "declared here")
        .Help(
            fmt::format("declare a device with ranks: `device {} = ranks();`", device.name.text()));
    return {};
  }
  if (by.size() != type.dims.size()) {
    Diagnostic& report =
        state.diagnostics.Report(diag::ByCount, on.span, type.dims.size(), name, by.size());
    if (!type.dims.empty())
      report.Help(fmt::format("write `on {} by ({})`", device.name.text(), Example(type)));
    return {};
  }
  Distribution distribution(by.size());
  bool is_distributed = false;
  for (size_t d = 0; d < by.size(); ++d) {
    if (IsWildcard(by[d])) continue;
    if (!IsSizeOf(state, name, by[d], type, d)) return {};
    if (by[d].block != nullptr) {
      std::optional<int64_t> length = BlockLength(state, name, by[d], d);
      if (!length) return {};
      distribution[d].block = *length;
    }
    // With one axis, any one dimension can be distributed along it.
    size_t count = std::max<size_t>(device.device.shape.size(), 1);
    size_t axis = count == 1 && !is_distributed ? 0 : d;
    if (axis >= count) return ReportAxes(state, name, by[d], d, device), Distribution();
    distribution[d].axis = static_cast<int64_t>(axis);
    is_distributed = true;
  }
  if (!is_distributed) {
    state.diagnostics.Report(diag::ByNothing, on.span, name)
        .Help("remove `by (…)`: without it, every rank has the whole tensor");
    return {};
  }
  return distribution;
}

}  // namespace kdl::sema
