#include "driver/run/launch_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "driver/run/contracts.h"
#include "ir/op_kind.h"
#include "support/size.h"

namespace kdl::driver {

namespace {

/// Returns the value of `name` in "NAME=64, OTHER=32".
std::optional<int64_t> NamedConstant(std::string_view constants, std::string_view name) {
  while (!constants.empty()) {
    std::string_view one = constants.substr(0, constants.find(','));
    constants.remove_prefix(std::min(constants.size(), one.size() + 1));
    one.remove_prefix(std::min(one.size(), one.find_first_not_of(' ')));
    size_t equals = one.find('=');
    if (equals == std::string_view::npos || one.substr(0, equals) != name) continue;
    int64_t value = 0;
    auto [end, error] = std::from_chars(one.data() + equals + 1, one.data() + one.size(), value);
    if (error == std::errc()) return value;
  }
  return std::nullopt;
}

using Sizes = std::map<Name, int64_t>;

/// Derives a size from an equation, such as OH from `OH == (H - KH) / S + 1`. Returns false if the
/// equation determines no further size.
bool Solve(const ir::Op& require, Sizes& sizes) {
  auto value = [&](Name name) -> std::optional<int64_t> {
    auto known = sizes.find(name);
    return known == sizes.end() ? std::nullopt : std::optional(known->second);
  };
  Size sides[] = {require.attr<ir::AttrKey::Left>(), require.attr<ir::AttrKey::Right>()};
  for (int side : {0, 1}) {
    if (sides[side]->kind != SizeKind::Symbol || sizes.contains(sides[side]->symbol)) continue;
    std::optional<int64_t> other = Evaluate(sides[1 - side], value);
    if (other) sizes[sides[side]->symbol] = *other;
    if (other) return true;
  }
  return false;
}

void SolveAll(const ir::Function& kernel, Sizes& sizes) {
  for (bool progress = true; progress;) {
    progress = false;
    for (const ir::Op* op : *kernel.body) {
      bool gives = op->kind() == ir::OpKind::Require &&
                   op->attr<ir::AttrKey::Compare>() == ir::CompareKind::Eq;
      progress = (gives && Solve(*op, sizes)) || progress;
    }
  }
}

}  // namespace

std::optional<Sizes> SizesAtLaunch(const ir::Function& kernel,
                                   const std::vector<HostTensor>& arguments,
                                   std::string_view constants) {
  Sizes sizes;
  for (const ir::Generic& generic : kernel.generics) {
    std::optional<int64_t> value = NamedConstant(constants, generic.name.text());
    if (!value && generic.values.size() == 1) value = generic.values[0];
    if (value) sizes[generic.name] = *value;
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const std::vector<Size>& dims = kernel.params[i].value->type()->dims;
    for (size_t d = 0; d < dims.size() && d < arguments[i].shape.size(); ++d) {
      if (dims[d]->kind == SizeKind::Symbol)
        sizes.try_emplace(dims[d]->symbol, arguments[i].shape[d]);
    }
  }
  SolveAll(kernel, sizes);
  bool all = std::all_of(kernel.dims.begin(), kernel.dims.end(),
                         [&](Name dim) { return sizes.contains(dim); });
  return all ? std::optional(std::move(sizes)) : std::nullopt;
}

namespace {

std::string Describe(const interp::ContractFailure& broken, const SourceManager& sources,
                     std::string_view what) {
  Span span = FailureSpan(broken, sources);
  LineColumn place = sources.Locate(span);
  std::string text = broken.malformed
                         ? fmt::format("cannot evaluate the contract: {}", broken.text)
                         : fmt::format("{} '{}'{}", what, sources.text(span), broken.text);
  return fmt::format("{}:{}:{}: error: {}", sources.path(span.file), place.line, place.column,
                     text);
}

}  // namespace

std::string DescribeRequired(const interp::ContractFailure& broken, const SourceManager& sources) {
  return Describe(broken, sources, "the inputs violate");
}

std::string DescribeEnsured(const interp::ContractFailure& broken, const SourceManager& sources) {
  interp::ContractFailure told = broken;
  if (!told.malformed) told.text = ": " + told.text;
  return Describe(told, sources, "the launch violates");
}

}  // namespace kdl::driver
