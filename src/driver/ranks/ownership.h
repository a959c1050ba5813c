#pragma once

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "driver/ranks/box.h"
#include "driver/ranks/sharding.h"

namespace kdl::driver {

/// The ranks of a device as a grid. Consecutive ranks are neighbors along the last axis. The grid has one position along each
/// axis for which its shape has no number.
class RankGrid {
 public:
  /// A grid of one rank.
  RankGrid() = default;
  explicit RankGrid(std::vector<int64_t> shape);

  int64_t count() const { return count_; }
  // In these functions, `axis` may be kAllRanks, which means an axis with all ranks of the grid.

  /// Returns the number of positions along an axis.
  int64_t Length(int64_t axis) const;
  /// Returns the position of a rank along an axis.
  int64_t Position(int64_t rank, int64_t axis) const;
  /// Returns by how much the rank grows from one position along the axis to the next one.
  int64_t Stride(int64_t axis) const {
    return HasAxis(axis) ? strides_[static_cast<size_t>(axis)] : 1;
  }
  /// Returns how a dimension of this size is distributed along the axis.
  Sharding ShardingOf(int64_t size, int64_t axis) const;
  /// Returns the indices that a rank owns in a dimension of this size that is distributed along the axis.
  Indices Owned(int64_t size, int64_t rank, int64_t axis) const;

 private:
  bool HasAxis(int64_t axis) const { return axis >= 0 && axis < std::ssize(shape_); }

  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  int64_t count_ = 1;
};

/// Says which elements of a tensor a rank owns. If the tensor is not distributed along an axis of the grid, all ranks along
/// this axis own the same elements.
class Ownership {
 public:
  Ownership() = default;
  /// `axes` contains the axis along which each dimension is distributed, kAllRanks, or -1.
  Ownership(RankGrid grid, std::vector<int64_t> sizes, std::vector<int64_t> axes);

  const std::vector<int64_t>& sizes() const { return sizes_; }
  const RankGrid& grid() const { return grid_; }
  Box Owned(int64_t rank) const;
  /// Calls `use(owner, part)` for each rank that owns a part of the box. Of several ranks that own the same elements, this is
  /// the one that differs from `receiver` along the fewest axes.
  template <class Use>
  void ForEachOwner(const Box& box, int64_t receiver, Use use) const;

 private:
  /// Returns the positions, along the axis of a dimension, of the ranks that own any of the indices.
  Indices OwnersAlong(size_t dimension, const Indices& indices) const;
  template <class Use>
  void VisitOwners(const Box& box, size_t dimension, int64_t rank, Box& part, Use& use) const;

  RankGrid grid_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> axes_;
};

template <class Use>
void Ownership::ForEachOwner(const Box& box, int64_t receiver, Use use) const {
  if (IsEmpty(box)) return;
  Box part = box;
  VisitOwners(box, 0, receiver, part, use);
}

/// Visits the owners of the part. Its dimensions before `dimension` are those that `rank` owns.
template <class Use>
void Ownership::VisitOwners(const Box& box, size_t dimension, int64_t rank, Box& part,
                            Use& use) const {
  if (dimension == box.size()) return use(rank, std::as_const(part));
  int64_t axis = axes_[dimension];
  if (axis == -1) return VisitOwners(box, dimension + 1, rank, part, use);
  Indices owners = OwnersAlong(dimension, box[dimension]);
  int64_t first_rank = rank - grid_.Position(rank, axis) * grid_.Stride(axis);
  for (int64_t position = owners.first; position < owners.end; ++position) {
    int64_t owner = first_rank + position * grid_.Stride(axis);
    part[dimension] = Intersection(box[dimension], grid_.Owned(sizes_[dimension], owner, axis));
    if (!part[dimension].empty()) VisitOwners(box, dimension + 1, owner, part, use);
  }
}

}  // namespace kdl::driver
