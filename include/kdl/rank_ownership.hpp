// Which elements of a distributed tensor a rank owns, and which of them it must receive from others. The compiler, `kernelc
// run` and the runtime share this code, so that they agree about every message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "kdl/rank_boxes.hpp"

namespace kdl::ranks {

// In place of an axis of a grid of ranks: a dimension is distributed over all ranks of the grid, in balanced parts.
inline constexpr std::int64_t kAllRanks = -2;

// How many indices each part has. Equal: all parts but the last ones have ceil(size / parts). Balanced: each part has
// floor(size / parts) or one more.
enum class Shares : std::uint8_t { Equal, Balanced };

// Distributes the indices 0 .. size - 1 over parts of a grid of ranks. Each part has adjacent indices. If there are more parts
// than indices, some parts have none: the last ones, if the shares are equal.
class Sharding {
 public:
  // The size must be at least 0, and there must be at least one part.
  Sharding(std::int64_t size, std::int64_t parts, Shares shares = Shares::Equal);

  // Returns the indices in a part.
  Indices Owned(std::int64_t part) const;
  // Returns the first and the last of the parts that contain any of the indices, which must be in 0 .. size - 1. If the shares
  // are balanced, parts between them may have no indices. The parts are found by division, so that the time does not depend
  // on their number.
  Indices Owners(const Indices& of) const;

 private:
  std::int64_t BeginOfBalanced(std::int64_t part) const;
  std::int64_t PartOf(std::int64_t index) const;

  std::int64_t size_;
  std::int64_t parts_;
  Shares shares_;
  std::int64_t length_;  // the number of indices in a part; at least 1
};

// The ranks of a device as a grid. Consecutive ranks are neighbors along the last axis. The grid has one position along each
// axis for which its shape has no number.
class RankGrid {
 public:
  // A grid of one rank.
  RankGrid() = default;
  explicit RankGrid(std::vector<std::int64_t> shape);

  std::int64_t count() const { return count_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // In these functions, `axis` may be kAllRanks, which means an axis with all ranks of the grid.

  // Returns the number of positions along an axis.
  std::int64_t Length(std::int64_t axis) const;
  // Returns the position of a rank along an axis.
  std::int64_t Position(std::int64_t rank, std::int64_t axis) const;
  // Returns by how much the rank grows from one position along the axis to the next one.
  std::int64_t Stride(std::int64_t axis) const {
    return HasAxis(axis) ? strides_[static_cast<std::size_t>(axis)] : 1;
  }
  // Returns how a dimension of this size is distributed along the axis.
  Sharding ShardingOf(std::int64_t size, std::int64_t axis) const;
  // Returns the indices that a rank owns in a dimension of this size that is distributed along the axis.
  Indices Owned(std::int64_t size, std::int64_t rank, std::int64_t axis) const;

 private:
  bool HasAxis(std::int64_t axis) const { return axis >= 0 && axis < std::ssize(shape_); }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 1;
};

// Says which elements of a tensor a rank owns. If the tensor is not distributed along an axis of the grid, all ranks along
// this axis own the same elements.
class Ownership {
 public:
  Ownership() = default;
  // `axes` contains the axis along which each dimension is distributed, kAllRanks, or -1.
  Ownership(RankGrid grid, std::vector<std::int64_t> sizes, std::vector<std::int64_t> axes);

  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const RankGrid& grid() const { return grid_; }
  Box Owned(std::int64_t rank) const;
  // Calls `use(owner, part)` for each rank that owns a part of the box. Of several ranks that own the same elements, this is
  // the one that differs from `receiver` along the fewest axes.
  template <class Use>
  void ForEachOwner(const Box& box, std::int64_t receiver, Use use) const;

 private:
  // Returns the positions, along the axis of a dimension, of the ranks that own any of the indices.
  Indices OwnersAlong(std::size_t dimension, const Indices& indices) const;
  template <class Use>
  void VisitOwners(const Box& box, std::size_t dimension, std::int64_t rank, Box& part,
                   Use& use) const;

  RankGrid grid_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> axes_;
};

template <class Use>
void Ownership::ForEachOwner(const Box& box, std::int64_t receiver, Use use) const {
  if (IsEmpty(box)) return;
  Box part = box;
  VisitOwners(box, 0, receiver, part, use);
}

// Visits the owners of the part. Its dimensions before `dimension` are those that `rank` owns.
template <class Use>
void Ownership::VisitOwners(const Box& box, std::size_t dimension, std::int64_t rank, Box& part,
                            Use& use) const {
  if (dimension == box.size()) return use(rank, std::as_const(part));
  std::int64_t axis = axes_[dimension];
  if (axis == -1) return VisitOwners(box, dimension + 1, rank, part, use);
  Indices owners = OwnersAlong(dimension, box[dimension]);
  std::int64_t first_rank = rank - grid_.Position(rank, axis) * grid_.Stride(axis);
  for (std::int64_t position = owners.first; position < owners.end; ++position) {
    std::int64_t owner = first_rank + position * grid_.Stride(axis);
    part[dimension] = Intersection(box[dimension], grid_.Owned(sizes_[dimension], owner, axis));
    if (!part[dimension].empty()) VisitOwners(box, dimension + 1, owner, part, use);
  }
}

// Decides which messages give the ranks the elements of one distributed tensor that they need. A rank receives no
// element twice before the tensor is rewritten.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(Ownership ownership)
      : ownership_(std::move(ownership)),
        received_(static_cast<std::size_t>(ownership_.grid().count())) {}

  const Ownership& ownership() const { return ownership_; }
  // Calls `send(owner, box)` for each box that an owner must send so that `rank` has the elements in `needed`. The time does
  // not depend on the number of ranks.
  template <class Send>
  void Fetch(std::int64_t rank, const Box& needed, Send send) {
    BoxSet& received = received_[static_cast<std::size_t>(rank)];
    for (const Box& missing : received.MissingFrom(needed)) {
      ownership_.ForEachOwner(missing, rank, [&](std::int64_t owner, const Box& part) {
        if (owner != rank) send(owner, part);
      });
    }
    received.Add(needed);
  }
  // Forgets what the ranks have received, because their owners have written it.
  void Rewritten() {
    for (BoxSet& received : received_) received.Clear();
  }

 private:
  Ownership ownership_;
  std::vector<BoxSet> received_;  // for each rank
};

// Products of sizes and numbers of ranks.
__extension__ typedef __int128 Wide;

inline Sharding::Sharding(std::int64_t size, std::int64_t parts, Shares shares)
    : size_(size),
      parts_(parts),
      shares_(shares),
      length_(std::max<std::int64_t>(size / parts + (size % parts != 0 ? 1 : 0), 1)) {}

inline Indices Sharding::Owned(std::int64_t part) const {
  if (shares_ == Shares::Balanced) return {BeginOfBalanced(part), BeginOfBalanced(part + 1)};
  // The number is compared first, because its product with the length may overflow.
  if (part > size_ / length_) return {size_, size_};
  std::int64_t first = std::min(part * length_, size_);
  return {first, first + std::min(length_, size_ - first)};
}

inline Indices Sharding::Owners(const Indices& of) const {
  if (of.empty()) return {};
  return {PartOf(of.first), PartOf(of.end - 1) + 1};
}

// Returns floor(part * size / parts).
inline std::int64_t Sharding::BeginOfBalanced(std::int64_t part) const {
  return static_cast<std::int64_t>(static_cast<Wide>(part) * size_ / parts_);
}

inline std::int64_t Sharding::PartOf(std::int64_t index) const {
  if (shares_ == Shares::Equal) return index / length_;
  return static_cast<std::int64_t>((static_cast<Wide>(index + 1) * parts_ - 1) / size_);
}

inline RankGrid::RankGrid(std::vector<std::int64_t> shape)
    : shape_(std::move(shape)), strides_(shape_.size()) {
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    strides_[axis] = count_;
    count_ *= shape_[axis];
  }
}

inline std::int64_t RankGrid::Length(std::int64_t axis) const {
  if (axis == kAllRanks) return count_;
  return HasAxis(axis) ? shape_[static_cast<std::size_t>(axis)] : 1;
}

inline std::int64_t RankGrid::Position(std::int64_t rank, std::int64_t axis) const {
  return rank / Stride(axis) % Length(axis);
}

inline Sharding RankGrid::ShardingOf(std::int64_t size, std::int64_t axis) const {
  return {size, Length(axis), axis == kAllRanks ? Shares::Balanced : Shares::Equal};
}

inline Indices RankGrid::Owned(std::int64_t size, std::int64_t rank, std::int64_t axis) const {
  return ShardingOf(size, axis).Owned(Position(rank, axis));
}

inline Ownership::Ownership(RankGrid grid, std::vector<std::int64_t> sizes,
                            std::vector<std::int64_t> axes)
    : grid_(std::move(grid)), sizes_(std::move(sizes)), axes_(std::move(axes)) {}

inline Box Ownership::Owned(std::int64_t rank) const {
  Box owned = WholeBox(sizes_);
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    if (axes_[d] != -1) owned[d] = grid_.Owned(sizes_[d], rank, axes_[d]);
  }
  return owned;
}

inline Indices Ownership::OwnersAlong(std::size_t dimension, const Indices& indices) const {
  return grid_.ShardingOf(sizes_[dimension], axes_[dimension]).Owners(indices);
}

}  // namespace kdl::ranks
