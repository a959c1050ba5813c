#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace kdl::ir {

/// A nest of loops over the elements of a tensor, in blocks of its last dimension. Its members describe the
/// access that visits all elements.
struct ElementWalk {
  Op* op = nullptr;  ///< the outermost op that was created
  Access access;
  std::vector<Value*> index;
  AxisList axes;  ///< the axes of the accessed tile
};

/// Binders that the spmd has before the binders that are created for the elements.
struct GivenBinders {
  std::vector<Value*> bounds;  ///< lo and hi of each binder
  std::vector<Type> types;
  /// For each dimension of the tensor, the given binder that iterates over it, if any. The list may be
  /// empty if no given binder iterates over a dimension.
  std::vector<std::optional<size_t>> of_dim;
};

/// Creates an spmd over the elements of a tensor of type `tensor`, and moves the builder into the region of
/// that spmd.
ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor,
                            const GivenBinders& given = {});

/// Creates loops over the elements of the tensor, except along dimensions whose index is given, and moves
/// the builder into the innermost region. The outer regions already have terminators. If all indices are
/// given, no loop is created and the builder does not move.
ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor,
                             const std::vector<Value*>& given = {});

}  // namespace kdl::ir
