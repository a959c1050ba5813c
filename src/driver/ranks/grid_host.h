#pragma once

#include <cstdint>
#include <utility>

#include "driver/ranks/boxes.h"
#include "interp/program_host.h"

namespace kdl::driver {

/// A host of one process that has all ranks of a grid, which own what the grid says.
template <class Base>
class GridHost : public Base {
 public:
  template <class... Arguments>
  explicit GridHost(RankGrid grid, Arguments&&... base)
      : Base(std::forward<Arguments>(base)...), grid_(std::move(grid)) {}

  const RankGrid& grid() const { return grid_; }

  interp::RankCounts Ranks(Name) const override { return {grid_.count(), 0, grid_.count()}; }
  interp::IndexPart Owned(const interp::OwnedRequest& request) const override {
    return grid_.Owned(request.size, request.rank, request.axis);
  }
  int64_t CountOwnedBlocks(const interp::OwnedBlocksRequest& request) const override {
    const interp::OwnedRequest& of = request.dimension;
    return grid_.CountOwnedBlocks(of.size, of.rank, of.axis, request.length);
  }
  interp::IndexPart OwnedBlock(const interp::OwnedBlocksRequest& request,
                               int64_t number) const override {
    const interp::OwnedRequest& of = request.dimension;
    return grid_.OwnedBlock(of.size, of.rank, of.axis, request.length, number);
  }

 private:
  RankGrid grid_;
};

}  // namespace kdl::driver
