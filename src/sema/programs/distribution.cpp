#include "sema/programs/distribution.h"

#include <fmt/format.h>

#include <string>

#include "sema/types/sizes.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

using syntax::DistributedDim;

bool IsWildcard(const DistributedDim& dim) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(dim.size);
  return name != nullptr && name->name.text() == "_";
}

/// Returns a distribution that is allowed, such as `(M, _)`: that of the first dimension.
std::string Example(const Type& type) {
  std::string text = ToString(type.dims[0]);
  for (size_t d = 1; d < type.dims.size(); ++d) text += ", _";
  return text;
}

/// Returns whether the entry is the size of dimension `d`. Reports an error if it is not.
bool IsSizeOf(FunctionState& state, const syntax::LetStmt& let, const DistributedDim& dim,
              const Type& type, size_t d) {
  Size size = CheckSize(state, dim.size, "a distributed dimension");
  if (size == nullptr || size == type.dims[d]) return size != nullptr;
  state.diagnostics
      .Report(diag::ByDimension, dim.span, Quote(state, dim.size), d, let.name.name.text(),
              ToString(type.dims[d]))
      .Help(fmt::format("write {}, or `_` if this dimension is not distributed",
                        ToString(type.dims[d])));
  return false;
}

}  // namespace

std::optional<size_t> CheckDistribution(FunctionState& state, const syntax::LetStmt& let,
                                        const Type& type, const Entity& device) {
  const std::vector<DistributedDim>& by = let.on.by;
  if (by.empty()) return std::nullopt;
  std::string_view name = let.name.name.text();
  if (device.device.form != DeviceForm::Ranks) {
    state.diagnostics.Report(diag::ByDevice, let.on.span, name, device.name.text())
        .Note(device.span, "declared here")
        .Help(
            fmt::format("declare a device with ranks: `device {} = ranks();`", device.name.text()));
    return std::nullopt;
  }
  if (by.size() != type.dims.size()) {
    Diagnostic& report =
        state.diagnostics.Report(diag::ByCount, let.on.span, type.dims.size(), name, by.size());
    if (!type.dims.empty())
      report.Help(fmt::format("write `on {} by ({})`", device.name.text(), Example(type)));
    return std::nullopt;
  }
  std::optional<size_t> distributed;
  for (size_t d = 0; d < by.size(); ++d) {
    if (IsWildcard(by[d])) continue;
    if (!IsSizeOf(state, let, by[d], type, d)) return std::nullopt;
    if (by[d].block != nullptr || distributed) {
      std::string_view what = by[d].block != nullptr ? "a distribution in blocks of a given size"
                                                     : "the distribution of several dimensions";
      state.diagnostics.Report(diag::RanksUnsupported, by[d].span, what)
          .Help(fmt::format("write `on {} by ({})`", device.name.text(), Example(type)));
      return std::nullopt;
    }
    distributed = d;
  }
  if (!distributed) {
    state.diagnostics.Report(diag::ByNothing, let.on.span, name)
        .Help("remove `by (…)`: without it, every rank has the whole tensor");
  }
  return distributed;
}

}  // namespace kdl::sema
