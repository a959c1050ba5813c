// Views of tensors whose dimensions have another order.
#pragma once

#include <initializer_list>
#include <string>

#include "kdl/tensor.hpp"

namespace kdl::inline KDL_VERSIONED {

// Returns a view of the tensor's memory whose dimension d is dimension order[d] of the tensor, such as its transpose for
// {1, 0}. Kernels accept it for `strided` and `broadcast` parameters. Throws if `order` is not a permutation of all
// dimensions.
inline Tensor Permuted(const Tensor& tensor, std::initializer_list<int> order) {
  const kdl_tensor& from = tensor.array().view;
  kdl_array array = tensor.array();
  int made = 0;
  unsigned seen = 0;
  for (const int dimension : order) {
    const bool is_new = dimension >= 0 && dimension < from.rank && (seen >> dimension & 1U) == 0;
    if (!is_new) break;
    seen |= 1U << dimension;
    array.view.size[made] = from.size[dimension];
    array.view.stride[made++] = from.stride[dimension];
  }
  if (made != from.rank || order.size() != static_cast<std::size_t>(made))
    throw Error(KDL_ERROR_INVALID_ARGUMENT,
                "the order of a permuted tensor must have each of its " +
                    std::to_string(from.rank) + " dimensions once");
  kdl_buffer_retain(array.buffer);
  return Tensor(array);
}

}  // namespace kdl::inline KDL_VERSIONED
