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
#include "kdl/rank_grid.hpp"

namespace kdl::ranks {

// Says which elements of a tensor a rank owns. If the tensor is not distributed along an axis of the grid, all ranks along
// this axis own the same elements.
class Ownership {
 public:
  Ownership() = default;
  // `axes` contains the axis along which each dimension is distributed, kAllRanks, or -1. `blocks` contains the length of the
  // blocks in which it is distributed, or 0 if each rank owns adjacent indices. If `blocks` is empty, this is so for each
  // dimension.
  Ownership(RankGrid grid, std::vector<std::int64_t> sizes, std::vector<std::int64_t> axes,
            std::vector<std::int64_t> blocks = {});

  bool operator==(const Ownership&) const = default;

  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const RankGrid& grid() const { return grid_; }
  // Calls `use(box)` for disjoint boxes that contain the elements of a rank. None of them is empty.
  template <class Use>
  void ForEachOwned(std::int64_t rank, Use use) const;
  std::vector<Box> Owned(std::int64_t rank) const;
  // Returns whether no rank before this one owns the same elements.
  bool IsFirstOwner(std::int64_t rank) const;
  // Calls `use(owner, part)` for each rank that owns a part of the box. Of several ranks that own the same elements, this is
  // the one that differs from `receiver` along the fewest axes.
  template <class Use>
  void ForEachOwner(const Box& box, std::int64_t receiver, Use use) const;

 private:
  // Calls `use(position, part)` for parts of the indices, with the positions of the ranks that own them along the axis of a
  // dimension.
  template <class Use>
  void ForEachOwnerAlong(std::size_t dimension, const Indices& indices, Use use) const;
  template <class Use>
  void VisitOwned(std::int64_t rank, std::size_t dimension, Box& part, Use& use) const;
  template <class Use>
  void VisitOwners(const Box& box, std::size_t dimension, std::int64_t rank, Box& part,
                   Use& use) const;

  RankGrid grid_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> axes_;
  std::vector<std::int64_t> blocks_;
};

template <class Use>
void Ownership::ForEachOwned(std::int64_t rank, Use use) const {
  Box part = WholeBox(sizes_);
  VisitOwned(rank, 0, part, use);
}

// Visits the boxes of a rank that are `part` in the dimensions before `dimension`.
template <class Use>
void Ownership::VisitOwned(std::int64_t rank, std::size_t dimension, Box& part, Use& use) const {
  if (dimension == sizes_.size()) {
    if (!IsEmpty(part)) use(std::as_const(part));
    return;
  }
  const std::int64_t size = sizes_[dimension];
  const std::int64_t axis = axes_[dimension];
  const std::int64_t block = blocks_[dimension];
  if (block == 0) {
    if (axis != -1) part[dimension] = grid_.Owned(size, rank, axis);
    return VisitOwned(rank, dimension + 1, part, use);
  }
  const std::int64_t count = grid_.CountOwnedBlocks(size, rank, axis, block);
  for (std::int64_t number = 0; number < count; ++number) {
    part[dimension] = grid_.OwnedBlock(size, rank, axis, block, number);
    VisitOwned(rank, dimension + 1, part, use);
  }
}

template <class Use>
void Ownership::ForEachOwnerAlong(std::size_t dimension, const Indices& indices, Use use) const {
  const std::int64_t size = sizes_[dimension];
  const std::int64_t axis = axes_[dimension];
  if (blocks_[dimension] != 0)
    return grid_.ShardingOf(size, axis, blocks_[dimension]).ForEachOwner(indices, use);
  const Sharding sharding = grid_.ShardingOf(size, axis);
  const Indices owners = sharding.Owners(indices);
  for (std::int64_t position = owners.first; position < owners.end; ++position)
    use(position, Intersection(indices, sharding.Owned(position)));
}

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
  std::int64_t first_rank = rank - grid_.Position(rank, axis) * grid_.Stride(axis);
  ForEachOwnerAlong(dimension, box[dimension], [&](std::int64_t position, const Indices& indices) {
    part[dimension] = indices;
    std::int64_t owner = first_rank + position * grid_.Stride(axis);
    if (!indices.empty()) VisitOwners(box, dimension + 1, owner, part, use);
  });
}

// Decides which messages give the ranks the elements of one distributed tensor that they need. A rank receives no
// element twice before it forgets what it has received.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(Ownership ownership)
      : ownership_(std::move(ownership)),
        received_(static_cast<std::size_t>(ownership_.grid().count())) {}

  const Ownership& ownership() const { return ownership_; }
  // Calls `send(owner, box)` for each box that an owner must send so that `rank` has the elements in `needed`. It only
  // visits ranks that own some of them.
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
  // The ranks no longer have what they have received.
  void Forget() {
    for (BoxSet& received : received_) received.Clear();
  }

 private:
  Ownership ownership_;
  std::vector<BoxSet> received_;  // for each rank
};

inline Ownership::Ownership(RankGrid grid, std::vector<std::int64_t> sizes,
                            std::vector<std::int64_t> axes, std::vector<std::int64_t> blocks)
    : grid_(std::move(grid)),
      sizes_(std::move(sizes)),
      axes_(std::move(axes)),
      blocks_(std::move(blocks)) {
  blocks_.resize(sizes_.size(), 0);
}

inline bool Ownership::IsFirstOwner(std::int64_t rank) const {
  if (std::ranges::find(axes_, kAllRanks) != axes_.end()) return true;
  for (std::int64_t axis = 0; axis < std::ssize(grid_.shape()); ++axis) {
    const bool is_used = std::ranges::find(axes_, axis) != axes_.end();
    if (!is_used && grid_.Position(rank, axis) != 0) return false;
  }
  return true;
}

inline std::vector<Box> Ownership::Owned(std::int64_t rank) const {
  std::vector<Box> owned;
  ForEachOwned(rank, [&](const Box& box) { owned.push_back(box); });
  return owned;
}

}  // namespace kdl::ranks
