#include "targets/cpu/analysis/interior.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

namespace {

/// Computes the conditions under which loads are in bounds.
class Conditions {
 public:
  Conditions(const Op* elementwise, const LastAxis& last)
      : elementwise_(elementwise), point_(elementwise->region()->params().back()), last_(last) {}

  /// Adds the conditions under which the load is in bounds. Returns false, and adds nothing, if one of them
  /// is not linear in the index along the last axis.
  bool AddBounds(const Op* load) {
    std::vector<PointCondition> added;
    ir::Access access = load->attr<AttrKey::Access>();
    ir::Type tensor = TensorOf(load)->type();
    for (size_t d = 0; d < access.dims.size(); ++d) {
      std::optional<PointCondition> low = IndexOfDim(load, access.dims[d]);
      if (!low) return false;
      added.push_back(*low);
      added.push_back(Below(*low, tensor->dims[d]));
    }
    for (PointCondition& condition : added) Add(std::move(condition));
    return true;
  }

  std::vector<PointCondition> Take() { return std::move(conditions_); }

 private:
  /// Returns the condition that the index of a dimension is at least 0.
  std::optional<PointCondition> IndexOfDim(const Op* load, const ir::AccessDim& dim) const {
    PointCondition index;
    AddSize(index, dim.offset, 1);
    for (const ir::AccessTerm& term : dim.terms) {
      const Value* value = passes::IndexOf(load)[term.operand];
      if (!IsConstant(term.coefficient) || !IsKnownInRow(value)) return std::nullopt;
      index.terms.emplace_back(value, term.coefficient->value);
    }
    auto is_point = [&](const auto& term) { return term.first == point_; };
    return std::ranges::count_if(index.terms, is_point) <= 1 ? std::optional(index) : std::nullopt;
  }

  /// Returns the condition that the index is less than the size.
  static PointCondition Below(PointCondition index, Size size) {
    for (auto& [value, factor] : index.terms) factor = -factor;
    for (auto& [part, factor] : index.sizes) factor = -factor;
    index.constant = -index.constant - 1;
    AddSize(index, size, 1);
    return index;
  }

  static void AddSize(PointCondition& condition, Size size, int64_t factor) {
    if (IsConstant(size)) {
      condition.constant += size->value * factor;
    } else {
      condition.sizes.emplace_back(size, factor);
    }
  }

  /// Whether the value is the index along the last axis, or can be computed once for a row.
  bool IsKnownInRow(const Value* value) const {
    const Op* def = value->def();
    if (value == point_ || !def || !IsInside(def, elementwise_)) return true;
    return def->parent_region() == elementwise_->region() && last_.IsInvariant(def);
  }

  /// Adds a condition. Of conditions that differ only in the constant, keeps the strictest.
  void Add(PointCondition condition) {
    for (PointCondition& other : conditions_) {
      if (other.terms != condition.terms || other.sizes != condition.sizes) continue;
      other.constant = std::min(other.constant, condition.constant);
      return;
    }
    conditions_.push_back(std::move(condition));
  }

  const Op* elementwise_;
  const Value* point_;
  const LastAxis& last_;
  std::vector<PointCondition> conditions_;
};

/// Whether the points of the loop may run in any order. They may not if an op traps, because the first trap
/// must stay the same, or if several points may update the same element.
bool MayReorder(const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (MayTrap(op) || op->kind() == OpKind::Update || op->kind() == OpKind::ReduceInLoop)
      return false;
  }
  return true;
}

/// Whether the loop reads a tensor that it writes, or may read a tile in whose buffer it stores a result.
bool ReadsWhatItWrites(const Op* elementwise) {
  std::vector<const Value*> read;
  bool reads_tiles = false;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Load) read.push_back(ir::MemoryOf(TensorOf(op)));
    reads_tiles |= op->kind() == OpKind::Element;
  }
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Store && Contains(read, ir::MemoryOf(TensorOf(op)))) return true;
  }
  return reads_tiles && !elementwise->results().empty();
}

}  // namespace

std::optional<Interior> InteriorOf(const Op* elementwise, const LastAxis& last) {
  if (!MayReorder(elementwise)) return std::nullopt;
  Conditions conditions(elementwise, last);
  Interior interior;
  for (const Op* op : *elementwise->region()) {
    bool has_else =
        op->kind() == OpKind::Load && op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Else;
    if (has_else && conditions.AddBounds(op)) interior.inside.push_back(op);
  }
  if (interior.inside.empty()) return std::nullopt;
  interior.conditions = conditions.Take();
  interior.is_repeatable = !ReadsWhatItWrites(elementwise);
  return interior;
}

Op* MakeInteriorLoop(ir::Module& module, const Op* elementwise, const Interior& interior) {
  ir::Builder b(module, const_cast<Op*>(elementwise));
  ir::ValueMap copies;
  Op* copy = ir::Clone(elementwise, b, copies);
  for (const Op* load : interior.inside) {
    Op* inside = copies.at(load->result())->def();
    inside->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
    inside->SetSegment(ir::LoadOp::at_otherwise, {});
  }
  passes::DropUnused(copy->region());
  return copy;
}

}  // namespace kdl::cpu
