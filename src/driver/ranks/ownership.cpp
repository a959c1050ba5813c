#include "driver/ranks/ownership.h"

#include "support/rank_limit.h"

namespace kdl::driver {

RankGrid::RankGrid(std::vector<int64_t> shape) : shape_(std::move(shape)), strides_(shape_.size()) {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    strides_[axis] = count_;
    count_ *= shape_[axis];
  }
}

int64_t RankGrid::Length(int64_t axis) const {
  if (axis == kAllRanks) return count_;
  return HasAxis(axis) ? shape_[static_cast<size_t>(axis)] : 1;
}

int64_t RankGrid::Position(int64_t rank, int64_t axis) const {
  return rank / Stride(axis) % Length(axis);
}

Sharding RankGrid::ShardingOf(int64_t size, int64_t axis) const {
  return {size, Length(axis), axis == kAllRanks ? Shares::Balanced : Shares::Equal};
}

Indices RankGrid::Owned(int64_t size, int64_t rank, int64_t axis) const {
  return ShardingOf(size, axis).Owned(Position(rank, axis));
}

Ownership::Ownership(RankGrid grid, std::vector<int64_t> sizes, std::vector<int64_t> axes)
    : grid_(std::move(grid)), sizes_(std::move(sizes)), axes_(std::move(axes)) {}

Box Ownership::Owned(int64_t rank) const {
  Box owned = WholeBox(sizes_);
  for (size_t d = 0; d < axes_.size(); ++d) {
    if (axes_[d] != -1) owned[d] = grid_.Owned(sizes_[d], rank, axes_[d]);
  }
  return owned;
}

Indices Ownership::OwnersAlong(size_t dimension, const Indices& indices) const {
  return grid_.ShardingOf(sizes_[dimension], axes_[dimension]).Owners(indices);
}

}  // namespace kdl::driver
