#pragma once

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

/// An spmd over the elements of a tensor of that type; the builder then stands in its region.
ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor);

/// Loops over them; the builder then stands in the innermost region, the others end already.
ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor);

}  // namespace kdl::ir
