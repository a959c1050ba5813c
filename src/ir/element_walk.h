#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace kdl::ir {

/// Loops over the elements of a tensor, in blocks of its last dimension, with the operands of an access that
/// visits all of them.
struct ElementWalk {
  Op* op = nullptr;  ///< the outermost op that was created
  Access access;
  std::vector<Value*> index;
  AxisList axes;  ///< the axes of the accessed tile
};

/// Binders that come before the ones that are created for the elements.
struct GivenBinders {
  std::vector<Value*> bounds;  ///< lo, hi of each binder
  std::vector<Type> types;
  /// For each dimension, the binder that iterates over it; empty if none of them iterates over any.
  std::vector<std::optional<size_t>> of_dim;
};

/// Creates an spmd over the elements of a tensor of type `tensor` and moves the builder into its region.
ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor,
                            const GivenBinders& given = {});

/// Creates loops over the elements, except for dimensions whose index is given, and moves the builder into
/// the innermost region. The outer regions already have their terminators. If all indices are given, no loop
/// is created and the builder does not move.
ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor,
                             const std::vector<Value*>& given = {});

}  // namespace kdl::ir
