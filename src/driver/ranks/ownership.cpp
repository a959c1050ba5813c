#include "driver/ranks/ownership.h"

#include "driver/ranks/sharding.h"

namespace kdl::driver {

RankGrid::RankGrid(std::vector<int64_t> shape) : shape_(std::move(shape)), strides_(shape_.size()) {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    strides_[axis] = count_;
    count_ *= shape_[axis];
  }
}

int64_t RankGrid::Position(int64_t rank, size_t axis) const {
  return rank / Stride(axis) % Length(axis);
}

Indices RankGrid::Owned(int64_t size, int64_t rank, size_t axis) const {
  return Sharding(size, Length(axis)).Owned(Position(rank, axis));
}

Ownership::Ownership(RankGrid grid, std::vector<int64_t> sizes, std::vector<int64_t> axes)
    : grid_(std::move(grid)), sizes_(std::move(sizes)), axes_(std::move(axes)) {}

Box Ownership::Owned(int64_t rank) const {
  Box owned = WholeBox(sizes_);
  for (size_t d = 0; d < axes_.size(); ++d) {
    if (axes_[d] >= 0) owned[d] = grid_.Owned(sizes_[d], rank, static_cast<size_t>(axes_[d]));
  }
  return owned;
}

Indices Ownership::OwnersAlong(size_t dimension, const Indices& indices) const {
  int64_t parts = grid_.Length(static_cast<size_t>(axes_[dimension]));
  return Sharding(sizes_[dimension], parts).Owners(indices);
}

}  // namespace kdl::driver
