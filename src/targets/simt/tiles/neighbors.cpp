#include <cstdlib>

#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "support/contains.h"
#include "support/scalar.h"
#include "targets/simt/tiles/side_points.h"

// Loads the neighbors of a group of points. Here, a group has four points:
//
//   elementwise (%i in …, %j in …) { %e = load %x[%i, %j + 1] else 0.0 ; … }
//   ->
//   %v = load %x[…, …] : vector<f32,4>           the group itself: its columns are in bounds
//   %n = if … + 4 < W { load %x[…, … + 4] } else { 0.0 }
//   … of the last three elements of %v, and %n

namespace kdl::simt {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::Values;

/// Returns whether the load has another value out of bounds, and its points are at a constant distance from those of the
/// group along the row, which the loop covers.
bool SidePoints::IsNeighbor(const Op* op) const {
  if (op->kind() != OpKind::Load || op->attr<AttrKey::BoundsMode>() != ir::BoundsMode::Else ||
      op->parent_region() != elementwise_->region() ||
      !IsSame(op->Segment(ir::LoadOp::at_otherwise)[0]))
    return false;
  auto index = passes::IndexOf(op);
  const ir::Access access = op->attr<AttrKey::Access>();
  size_t row = access.dims.size() - 1;
  for (size_t d = 0; d < row; ++d) {
    for (const ir::AccessTerm& term : access.dims[d].terms)
      if (!IsSame(index[term.operand])) return false;
  }
  return passes::WalksDimension(tiles_.kernel(), elementwise_, op, row) &&
         index[access.dims[row].terms[0].operand] == last_param_ &&
         IsConstant(access.dims[row].offset) &&
         passes::TensorOf(op)->type()->scalar != Scalar::Bool;
}

/// Returns the index along the row of an access, or of the group whose neighbors it loads.
ir::AccessDim SidePoints::AlignedRow(const Op* op) const {
  ir::AccessDim row = op->attr<AttrKey::Access>().dims.back();
  if (Contains(neighbors_, op)) row.offset = b_.types().sizes().Constant(0);
  return row;
}

void SidePoints::LoadNeighbors(const Op* op) {
  Values loaded;
  for (size_t group = 0; group < groups_; ++group) {
    Values elements = NeighborsOf(op, group);
    loaded.insert(loaded.end(), elements.begin(), elements.end());
  }
  made_[op->result()] = std::move(loaded);
}

/// Emits whether the indices of all dimensions but the last are in bounds. Returns null if they always are.
Value* SidePoints::IsRowInside(const passes::ElementAccess& access) {
  Value* inside = nullptr;
  auto ask = [&](Value* condition) { inside = inside ? b_.And(inside, condition) : condition; };
  const ir::Access map = access.op->attr<AttrKey::Access>();
  for (size_t d = 0; d + 1 < map.dims.size(); ++d) {
    const ir::AccessDim& dim = map.dims[d];
    Value* index = passes::IndexValue(b_, dim, access.index);
    bool is_walked = access.in_domain[d] && IsConstant(dim.offset);
    if (!is_walked || dim.offset->value < 0) ask(b_.Ge(index, b_.I64(0)));
    if (!is_walked || dim.offset->value > 0)
      ask(b_.Lt(index, b_.SizeValue(access.tensor->type()->dims[d])));
  }
  return inside;
}

/// Emits a vector load of the group's row, if it exists, and loads of the elements that are next to the group.
Values SidePoints::NeighborsOf(const Op* op, size_t group) {
  passes::ElementAccess access = passes::Widened(b_, AccessAt(op, group));
  ir::Access aligned = op->attr<AttrKey::Access>();
  int64_t offset = aligned.dims.back().offset->value;
  aligned.dims.back() = AlignedRow(op);
  auto vector = [&] {
    ir::Type type = b_.types().Vector(access.tensor->type()->scalar, count_);
    return Parts(b_.Create(OpKind::Load, {{access.tensor}, access.index, {}, {}}, {type},
                           {ir::MakeAttr<AttrKey::Access>(aligned),
                            ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)})
                     ->result());
  };
  auto count = static_cast<size_t>(count_);
  Values row;
  if (std::abs(offset) < count_) {
    Value* exists = IsRowInside(access);
    std::vector<ir::Type> types(count, b_.types().ScalarOf(access.tensor->type()->scalar));
    row = exists
              ? MakeIf(b_, exists, types, vector, [&] { return Values(count, access.otherwise); })
              : vector();
  }
  Values elements;
  for (int64_t point = 0; point < count_; ++point) {
    int64_t place = point + offset;
    if (0 <= place && place < count_) {
      elements.push_back(row[static_cast<size_t>(place)]);
      continue;
    }
    SetCurrent(op, group * count + static_cast<size_t>(point));
    passes::ElementAccess single =
        passes::ElementAccessOf(op, [&](Value* operand) { return maker_.scalars.at(operand); });
    single.in_domain = access.in_domain;
    elements.push_back(passes::ExpandLoad(b_, single));
  }
  return elements;
}

}  // namespace kdl::simt
