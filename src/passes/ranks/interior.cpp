#include "passes/ranks/interior.h"

#include <algorithm>
#include <utility>

namespace kdl::passes {

namespace {

constexpr int64_t kMostMargin = int64_t{1} << 32;

/// Returns the constant by which a bound differs from `param`, or nothing if it is not of this form.
std::optional<int64_t> OffsetFrom(const proofs::LaunchBound& bound, const Value* param) {
  const proofs::LaunchSum& sum = bound.sum;
  bool is_param = bound.divisor == 1 && sum.sizes.empty() && sum.params.size() == 1 &&
                  sum.params[0] == std::pair(param, int64_t{1});
  return is_param ? std::optional(sum.constant) : std::nullopt;
}

/// Returns how many of the first and of the last indices of a part need others, if a block with the index i needs indices from
/// i + constant to i + constant. Returns nothing if it needs other ones.
std::optional<Margins> MarginsAlong(const proofs::NeededIndices& needed,
                                    const proofs::KernelPart& part) {
  int64_t before = kMostMargin;
  int64_t after = kMostMargin;
  for (const proofs::LaunchBound& bound : needed.least) {
    if (std::optional<int64_t> offset = OffsetFrom(bound, part.first); offset && *offset > -before)
      before = std::max<int64_t>(0, -*offset);
  }
  for (const proofs::LaunchBound& bound : needed.most) {
    if (std::optional<int64_t> offset = OffsetFrom(bound, part.end); offset && *offset < after)
      after = std::max<int64_t>(0, *offset + 1);
  }
  if (before == kMostMargin || after == kMostMargin) return std::nullopt;
  return Margins{before, after};
}

/// Extends the margins by what one access needs. Returns whether its blocks have an interior.
bool AddMargins(const RankArgument& argument, const proofs::NeededPart& needed,
                const std::vector<LaunchAxis>& axes, const std::vector<proofs::KernelPart>& parts,
                std::vector<Margins>& margins) {
  for (size_t d = 0; d < needed.dims.size(); ++d) {
    const ir::RankDimension& dim = (*argument.distribution)[d];
    if (!dim.is_distributed()) continue;
    auto axis = std::ranges::find(axes, dim.axis, &LaunchAxis::axis);
    bool is_along = axis != axes.end() && axis->size == argument.tensor->type()->dims[d] &&
                    dim.block == axis->block;
    if (!is_along) return false;
    auto at = static_cast<size_t>(axis - axes.begin());
    std::optional<Margins> along = MarginsAlong(needed.dims[d], parts[at]);
    if (!along) return false;
    margins[at].before = std::max(margins[at].before, along->before);
    margins[at].after = std::max(margins[at].after, along->after);
  }
  return true;
}

}  // namespace

std::optional<std::vector<Margins>> MarginsOf(const std::vector<RankNeed>& needs,
                                              const std::vector<LaunchAxis>& axes,
                                              const std::vector<proofs::KernelPart>& parts) {
  // A rank owns several blocks, each with other ranks on both sides.
  if (std::ranges::any_of(axes, [](const LaunchAxis& axis) { return axis.block > 0; }))
    return std::nullopt;
  std::vector<Margins> margins(axes.size());
  for (const RankNeed& need : needs) {
    for (const proofs::NeededPart& part : need.parts)
      if (!AddMargins(need.argument, part, axes, parts, margins)) return std::nullopt;
  }
  return margins;
}

DividedPart::DividedPart(ir::Builder& b, const std::vector<LaunchAxis>& axes,
                         const std::vector<Margins>& margins, std::vector<PartValues> owned)
    : owned_(std::move(owned)) {
  for (size_t k = 0; k < axes.size(); ++k) {
    auto [first, end] = owned_[k];
    // Nobody has elements before the first index of the dimension, or after its last one.
    if (margins[k].before > 0) {
      Value* inner = b.Min(b.Add(first, b.I64(margins[k].before)), end);
      first = b.Select(b.Eq(first, b.I64(0)), first, inner);
    }
    if (margins[k].after > 0) {
      Value* inner = b.Max(b.Sub(end, b.I64(margins[k].after)), first);
      end = b.Select(b.Eq(end, RankOps::SizeValue(b, axes[k].size)), end, inner);
    }
    interior_.push_back({first, end});
  }
}

std::vector<std::vector<PartValues>> DividedPart::Rest() const {
  std::vector<std::vector<PartValues>> boxes;
  for (size_t k = 0; k < owned_.size(); ++k) {
    std::vector<PartValues> box(interior_.begin(),
                                interior_.begin() + static_cast<std::ptrdiff_t>(k));
    box.insert(box.end(), owned_.begin() + static_cast<std::ptrdiff_t>(k), owned_.end());
    for (const PartValues& side : {PartValues{owned_[k].first, interior_[k].first},
                                   PartValues{interior_[k].end, owned_[k].end}}) {
      if (side.first == side.end) continue;
      box[k] = side;
      boxes.push_back(box);
    }
  }
  return boxes;
}

}  // namespace kdl::passes
