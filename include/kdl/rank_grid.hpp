// How the indices of a dimension are distributed over a grid of ranks.
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

// The greatest length of the blocks in which a dimension can be distributed.
inline constexpr std::int64_t kMostBlock = std::int64_t{1} << 31;

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

// Distributes the indices 0 .. size - 1 in blocks over parts of a grid of ranks. Part p has the blocks p, p + parts, p + 2 * parts
// and so on. All blocks but the last one have the same length.
class BlockSharding {
 public:
  // The size must be at least 0, there must be at least one part, and the length must be in 1 .. kMostBlock.
  BlockSharding(std::int64_t size, std::int64_t parts, std::int64_t length)
      : size_(size), parts_(parts), length_(length) {}

  // Returns how many blocks a part has.
  std::int64_t CountOwned(std::int64_t part) const {
    const std::int64_t blocks = size_ / length_ + (size_ % length_ != 0 ? 1 : 0);
    return part < blocks ? (blocks - part - 1) / parts_ + 1 : 0;
  }
  // Returns the indices in a block of a part. The number must be at least 0 and below CountOwned(part).
  Indices Owned(std::int64_t part, std::int64_t number) const {
    return Block(part + number * parts_);
  }
  // Calls `use(part, indices)` for each block that contains any of the indices, which must be in 0 .. size - 1.
  template <class Use>
  void ForEachOwner(const Indices& of, Use use) const {
    if (of.empty()) return;
    for (std::int64_t block = of.first / length_; block <= (of.end - 1) / length_; ++block)
      use(block % parts_, Intersection(of, Block(block)));
  }

 private:
  Indices Block(std::int64_t number) const {
    const std::int64_t first = number * length_;
    return {first, first + std::min(length_, size_ - first)};
  }

  std::int64_t size_;
  std::int64_t parts_;
  std::int64_t length_;
};

// The ranks of a device as a grid. Consecutive ranks are neighbors along the last axis. The grid has one position along each
// axis for which its shape has no number.
class RankGrid {
 public:
  // A grid of one rank.
  RankGrid() = default;
  explicit RankGrid(std::vector<std::int64_t> shape);

  bool operator==(const RankGrid&) const = default;

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
  BlockSharding ShardingOf(std::int64_t size, std::int64_t axis, std::int64_t block) const {
    return {size, Length(axis), block};
  }
  // Returns the indices that a rank owns in a dimension of this size that is distributed along the axis.
  Indices Owned(std::int64_t size, std::int64_t rank, std::int64_t axis) const;
  // If the dimension is distributed in blocks of this length, return how many of them the rank owns, and the indices in one of
  // them.
  std::int64_t CountOwnedBlocks(std::int64_t size, std::int64_t rank, std::int64_t axis,
                                std::int64_t block) const {
    return ShardingOf(size, axis, block).CountOwned(Position(rank, axis));
  }
  Indices OwnedBlock(std::int64_t size, std::int64_t rank, std::int64_t axis, std::int64_t block,
                     std::int64_t number) const {
    return ShardingOf(size, axis, block).Owned(Position(rank, axis), number);
  }

 private:
  bool HasAxis(std::int64_t axis) const { return axis >= 0 && axis < std::ssize(shape_); }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 1;
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

}  // namespace kdl::ranks
