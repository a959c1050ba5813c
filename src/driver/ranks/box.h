#pragma once

#include <cstdint>
#include <vector>

#include "interp/program_host.h"

namespace kdl::driver {

using Indices = interp::IndexPart;
Indices Intersection(const Indices& a, const Indices& b);

/// A box of elements of a tensor: the indices of each dimension.
using Box = std::vector<Indices>;
bool IsEmpty(const Box& box);
/// Both boxes must have the same number of dimensions.
Box Intersection(const Box& a, const Box& b);
int64_t CountElements(const Box& box);
/// Returns the box of all elements of a tensor.
Box WholeBox(const std::vector<int64_t>& sizes);
/// Returns the elements of `box` that are not in `other`, as disjoint boxes.
std::vector<Box> Difference(const Box& box, const Box& other);

/// A set of elements, which consists of boxes. All of them have the same number of dimensions.
class BoxSet {
 public:
  void Add(const Box& box);
  void Clear() { boxes_.clear(); }
  /// Returns the elements of `box` that are not in the set, as disjoint boxes.
  std::vector<Box> MissingFrom(const Box& box) const;
  const std::vector<Box>& boxes() const { return boxes_; }

 private:
  std::vector<Box> boxes_;  ///< not empty, and none contains another one
};

}  // namespace kdl::driver
