#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace kdl::ir {

/// Nested loops over the elements of a tensor, with blocks along its last dimension, and the access with
/// which the body of these loops reaches each element.
struct ElementWalk {
  Op* op = nullptr;  ///< the outermost op that was created
  Access access;
  std::vector<Value*> index;
  AxisList axes;  ///< the axes of the accessed tile
};

/// Existing loop variables of the spmd, which precede the loop variables that are created for the elements.
struct GivenBinders {
  std::vector<Value*> bounds;  ///< lo and hi of each loop variable
  std::vector<Type> types;
  /// For each dimension of the tensor, the existing loop variable that iterates over it, if any. The list may
  /// be empty if there is no such variable for any dimension.
  std::vector<std::optional<size_t>> of_dim;
};

/// Creates an spmd over the elements of a tensor of type `tensor`, and moves the builder into the region of
/// this spmd.
ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor,
                            const GivenBinders& given = {});

/// Creates loops over the elements of the tensor, except along dimensions whose index is given, and moves the
/// builder into the innermost region. Only this region has no terminator yet. If all indices are given,
/// creates no loop and does not move the builder.
ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor,
                             const std::vector<Value*>& given = {});

}  // namespace kdl::ir
