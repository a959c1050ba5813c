#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace kdl::ir {

/// The elements of a tensor, in blocks of its last dimension: what an access that visits all of them has.
struct ElementWalk {
  Op* op = nullptr;  ///< the outermost one that was made
  Access access;
  std::vector<Value*> index;
  AxisList axes;  ///< of a tile of elements
};

/// Binders that stand before those of an spmd over elements.
struct GivenBinders {
  std::vector<Value*> bounds;  ///< lo, hi of each
  std::vector<Type> types;
  std::vector<std::optional<size_t>>
      of_dim;  ///< which one walks a dimension; empty: none walks any
};

/// An spmd over the elements of a tensor of that type; the builder then stands in its region.
ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor,
                            const GivenBinders& given = {});

/// Loops over them, but for dimensions whose index is given; the builder then stands in the innermost region, the others end
/// already. Where all are given there is no loop, and the builder stays.
ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor,
                             const std::vector<Value*>& given = {});

}  // namespace kdl::ir
