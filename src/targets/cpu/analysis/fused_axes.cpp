#include "targets/cpu/analysis/fused_axes.h"

#include <algorithm>
#include <unordered_set>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/interior.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/steps.h"

namespace kdl::cpu {

namespace {

class AxesFuser {
 public:
  AxesFuser(const Op* elementwise, int64_t channels)
      : elementwise_(elementwise),
        pixel_(*(elementwise->region()->params().end() - 2)),
        channel_(elementwise->region()->params().back()) {
    fused_.channels = channels;
  }

  std::optional<FusedAxes> Fuse() {
    for (const Op* op : *elementwise_->region()) {
      if (!Visit(op)) return std::nullopt;
    }
    if (!stores_) return std::nullopt;
    fused_.is_repeatable = !ReadsWhatItWrites(elementwise_);
    return std::move(fused_);
  }

 private:
  bool Visit(const Op* op) {
    if (op->kind() == OpKind::Yield) return op->operands().empty();
    if (MayTrap(op) || !op->regions().empty()) return false;
    if (op->kind() == OpKind::Load || op->kind() == OpKind::Store) return VisitAccess(op);
    if (op->kind() == OpKind::Element) {
      if (IsTileValue(op->operand(0))) varying_.insert(op->result());
      return true;
    }
    if (!op->info().has(ir::kElementwise)) return false;
    if (std::ranges::any_of(op->operands(), [&](const Value* v) { return Varies(v); }))
      varying_.insert(op->result());
    return true;
  }

  bool Varies(const Value* value) const {
    return value == pixel_ || value == channel_ || varying_.contains(value);
  }

  bool VisitAccess(const Op* op) {
    bool is_load = op->kind() == OpKind::Load;
    auto mode = op->attr<AttrKey::BoundsMode>();
    auto mask = op->Segment(is_load ? size_t{ir::LoadOp::at_mask} : size_t{ir::StoreOp::at_mask});
    bool exist = mode == ir::BoundsMode::Proven || mode == ir::BoundsMode::Clip;
    if (!exist || !mask.empty()) return false;
    std::optional<FusedAccess> access = AccessOf(op);
    if (!access || !IsInside(*access)) return false;
    fused_.accesses[op] = *access;
    if (is_load) {
      if (!access->IsUniform()) varying_.insert(op->result());
      return true;
    }
    stores_ = true;
    return access->IsContiguous(fused_.channels);
  }

  /// Whether all elements between the ones of two accessed pixels exist.
  bool IsInside(const FusedAccess& access) const {
    if (access.IsUniform() || access.joins_rows) return true;
    if (access.length == 0) return access.factor == 1;
    bool by_pixel = access.length == 1 && access.factor == 0;
    return by_pixel || access.IsContiguous(fused_.channels);
  }

  std::optional<FusedAccess> AccessOf(const Op* op) const {
    auto index = IndexOf(op);
    ir::Access map = op->attr<AttrKey::Access>();
    FusedAccess access;
    int64_t rows = 0;
    for (size_t d = 0; d < map.dims.size(); ++d) {
      bool is_last = d + 1 == map.dims.size();
      for (const ir::AccessTerm& term : map.dims[d].terms) {
        const Value* operand = index[term.operand];
        if (!Varies(operand)) continue;
        bool is_point = operand == pixel_ || operand == channel_;
        if (!is_point || !IsConstant(term.coefficient)) return std::nullopt;
        int64_t* place = is_last ? operand == pixel_ ? &access.length : &access.factor
                         : operand == pixel_ && d + 2 == map.dims.size() ? &rows
                                                                         : nullptr;
        if (!place || *place != 0) return std::nullopt;
        *place = term.coefficient->value;
      }
    }
    if (access.length < 0 || access.length > kLargestStep) return std::nullopt;
    return rows == 0 ? std::optional(access) : InShortRows(op, access, rows);
  }

  /// Returns the access if each pixel is a short row, whose elements are all loaded.
  static std::optional<FusedAccess> InShortRows(const Op* op, FusedAccess access, int64_t rows) {
    ir::AccessDim in_row = op->attr<AttrKey::Access>().dims.back();
    Size length = TensorOf(op)->type()->dims.back();
    bool is_short = IsConstant(length) && length->value <= kLargestStep && rows == 1;
    size_t known = access.factor != 0 ? 1 : 0;
    bool is_known = IsConstant(in_row.offset) && in_row.terms.size() == known;
    if (access.length != 0 || !is_short || !is_known) return std::nullopt;
    access.length = length->value;
    access.first = in_row.offset->value;
    access.joins_rows = true;
    return access;
  }

  const Op* elementwise_;
  const Value* pixel_;
  const Value* channel_;
  FusedAxes fused_;
  bool stores_ = false;
  std::unordered_set<const Value*> varying_;
};

}  // namespace

std::optional<FusedAxes> FuseAxes(const Op* elementwise, int64_t channels) {
  bool fits = elementwise->operands().size() > 1 && elementwise->results().empty() &&
              channels > 1 && channels <= kLargestStep;
  return fits ? AxesFuser(elementwise, channels).Fuse() : std::nullopt;
}

}  // namespace kdl::cpu
