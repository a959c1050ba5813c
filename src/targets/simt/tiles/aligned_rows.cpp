#include "ir/op_kind.h"
#include "targets/simt/tiles/side_points.h"

// Tests at run time whether the rows of a tensor begin at multiples of a number of elements.

namespace kdl::simt {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;
using passes::Values;

Value* AlignedRows::AreAligned(Value* tensor, int64_t lanes) {
  if (tensor->def()) return Find(tensor, lanes);
  Value*& known = known_[{tensor, lanes}];
  if (known) return known;
  Region* here = b_.region();
  Op* before = b_.before();
  b_.SetInsertionPoint(tensor->parent_region(), tensor->parent_region()->first());
  known = Find(tensor, lanes);
  b_.SetInsertionPoint(here, before);
  return known;
}

/// Emits the condition that all rows are aligned. This requires that the first element is aligned and that,
/// for each dimension but the last, the next element along that dimension is also aligned.
Value* AlignedRows::Find(Value* tensor, int64_t lanes) {
  size_t rank = tensor->type()->dims.size();
  SizeTable& sizes = b_.types().sizes();
  ir::Access access;
  for (size_t d = 0; d < rank; ++d)
    access.dims.push_back({{{sizes.Constant(1), static_cast<uint32_t>(d)}}, sizes.Constant(0)});
  Value* zero = b_.I64(0);
  Value* one = b_.I64(1);
  Value* aligned = nullptr;
  // The first iteration checks the tensor's first element. Each later iteration checks the next element along
  // one dimension.
  for (size_t iteration = 0; iteration < rank; ++iteration) {
    Values index(rank, zero);
    if (iteration > 0) index[iteration - 1] = one;
    Value* gap =
        b_.Create(OpKind::AlignGap, {{tensor}, index}, {zero->type()},
                  {ir::MakeAttr<AttrKey::Access>(access), ir::MakeAttr<AttrKey::Lanes>(lanes)})
            ->result();
    Value* fits = b_.Eq(gap, zero);
    aligned = aligned ? b_.And(aligned, fits) : fits;
  }
  return aligned;
}

}  // namespace kdl::simt
