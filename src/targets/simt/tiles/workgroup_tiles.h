#pragma once

#include <functional>
#include <unordered_map>

#include "ir/builder.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/analysis/tile_buffers.h"

namespace kdl::simt {

struct BlockFacts {
  ir::Value* start;
  ir::Value* size;
  ir::Value* index;
};

/// Manages the memory of a kernel's tiles while the kernel is expanded, and distributes the points of blocks
/// to GPU threads. The place of a point consists of its offsets from the start of the block, one for each
/// axis.
class WorkgroupTiles {
 public:
  using Values = passes::Values;
  using Body = std::function<void(const Values& place)>;

  WorkgroupTiles(ir::Builder& b, ir::Function& kernel, TileBuffers tile_buffers)
      : b_(b), kernel_(kernel), tile_buffers_(std::move(tile_buffers)) {}

  const ir::Function& kernel() const { return kernel_; }

  // -- Blocks
  void SetBlock(const ir::Value* block, BlockFacts facts) { blocks_[block] = facts; }
  const BlockFacts& FactsForBlock(const ir::Value* block) const { return blocks_.at(block); }
  /// Returns the start, size and index of the axis's block that is in scope at the old op `at`.
  const BlockFacts& FactsAt(const ir::Op* at, ir::AxisId axis) const;

  using Blocks = std::unordered_map<const ir::Value*, BlockFacts>;
  const Blocks& blocks() const { return blocks_; }
  void SetBlocks(Blocks blocks) { blocks_ = std::move(blocks); }

  // -- Buffers
  ir::Value*& operator[](const ir::Value* tile) { return buffers_[tile]; }
  ir::Value* BufferOf(const ir::Value* tile) const { return buffers_.at(tile); }
  ir::Value* NewBuffer(const ir::Value* tile, Name name);
  /// Returns the amount of workgroup memory, in bytes, that the tile's buffer needs, or 0 for a tile in
  /// registers.
  int64_t WorkgroupBytes(const ir::Value* tile);
  /// Returns the number of elements from one row of the tile's buffer to the next, including the padding.
  int64_t ElementsPerRow(const ir::Value* tile) { return BufferType(tile)->dims.back()->value; }
  bool IsInRegisters(const ir::Value* tile) const { return tile_buffers_.IsInRegisters(tile); }
  bool IsFactor(const ir::Value* tile) const { return tile_buffers_.IsFactor(tile); }
  bool LiesInPanels(const ir::Value* tile) const { return tile_buffers_.LiesInPanels(tile); }
  /// Returns the axes of a tile in workgroup memory, outermost first.
  ir::AxisList MemoryOrder(const ir::Value* tile) const { return tile_buffers_.MemoryOrder(tile); }
  /// Loads the element at `place` from `buffer`, which must have been made for a tile with the same axes. If
  /// the tile is in registers, loads the element that `SetHeld` has selected.
  ir::Value* Load(const ir::Value* tile, ir::Value* buffer, const Values& place);
  /// Returns whether the tile is in workgroup memory with its axes in this order.
  bool LiesAs(const ir::Value* tile, const ir::AxisList& axes) const {
    return !tile_buffers_.IsInRegisters(tile) && tile_buffers_.MemoryOrder(tile) == axes;
  }
  /// Returns whether the elements of a tile in workgroup memory are contiguous along the axis.
  bool IsLast(const ir::Value* tile, ir::AxisId axis) const {
    return tile_buffers_.MemoryOrder(tile).back() == axis;
  }
  /// Loads `count` contiguous elements, starting at `place`, with one access. Returns them as scalars.
  /// `count` must be a power of two.
  Values LoadSide(const ir::Value* tile, ir::Value* buffer, const Values& place, int64_t count);
  /// Like `LoadSide`, but returns one vector.
  ir::Value* LoadVector(const ir::Value* tile, ir::Value* buffer, const Values& place,
                        int64_t count);
  void Store(ir::Value* value, const ir::Value* tile, ir::Value* buffer, const Values& place);
  /// Returns the indices in the tile's buffer for the given place.
  Values BufferIndex(const ir::Value* tile, const Values& place);
  /// Sets a tile in registers to zero, because elements beyond the ends of blocks are also read.
  void Clear(const ir::Op* at, const ir::Value* tile, ir::Value* buffer);
  void Copy(const ir::Op* at, const ir::Value* tile, ir::Value* from, ir::Value* to);
  /// Distributes the tile's points to the threads. The points of a tile in registers are distributed by the
  /// tile's thread layout.
  void Walk(const ir::Op* at, const ir::Value* tile, bool harmless, const Body& body);

  // -- Points
  /// Distributes all points over the given axes to the threads, one by one.
  void Distribute(const ir::Op* at, const ir::AxisList& axes, const Body& body);
  /// Like `Distribute`, but if the blocks are short (see `AreShort`), each row has a thread for every few points.
  void DistributeSingly(const ir::Op* at, const ir::AxisList& axes, int64_t threads,
                        const Body& body);
  /// Distributes groups of `count` points that are contiguous along the last axis. The block must consist of
  /// whole groups.
  void DistributeSide(const ir::Op* at, const ir::AxisList& axes, int64_t threads, int64_t count,
                      const Body& body);
  /// Like `DistributeSide`, but `together` handles `at_once` groups of a thread. The blocks must be whole, and each
  /// thread must have the same number of groups, a multiple of `at_once`.
  void DistributeGroups(const ir::AxisList& axes, int64_t threads, int64_t count, int64_t at_once,
                        const std::function<void(const std::vector<Values>& places)>& together);
  /// Emits the condition that the blocks of the axes are whole.
  ir::Value* AreWhole(const ir::Op* at, const ir::AxisList& axes);
  /// Like `Distribute`, but if the blocks are whole, `together` handles several points of a thread at once.
  void DistributeTogether(const ir::Op* at, const ir::AxisList& axes, int64_t threads,
                          const std::function<void(const std::vector<Values>& places)>& together,
                          const Body& body);
  int64_t Extent(ir::AxisId axis) const { return kernel_.axis(axis).extent->value; }
  /// Returns the number of points of each thread if all blocks are whole, or 0 if it differs between threads.
  int64_t PointsPerThread(const ir::AxisList& axes, int64_t threads) const;
  /// Distributes points by a thread layout, with separate code for each of a thread's points. If `harmless`
  /// is true, the body is also executed for points beyond the ends of blocks.
  void DistributeByMap(const ir::Op* at, const ir::AxisList& axes, const AxisMap& map,
                       bool harmless, const Body& body);
  /// Like `DistributeByMap`, but `body` handles `count` points of a thread that are adjacent along the last axis. The
  /// number `held` is that of the first of them along this axis. The blocks must be whole.
  void DistributeSidesByMap(const ir::AxisList& axes, const AxisMap& map, int64_t count,
                            const std::function<void(const Values& place, int64_t held)>& body);
  /// Emits the condition that the blocks have all points of the thread layout.
  ir::Value* AreCovered(const ir::Op* at, const ir::AxisList& axes, const AxisMap& map);
  /// Returns the offset of the thread's first point along an axis.
  ir::Value* FirstPlace(ir::Value* thread, const ir::AxisDigits& digits, int64_t threads);
  /// Returns the offset of the thread's point with the number `held` along an axis. `first` is the offset of
  /// its first point.
  ir::Value* HeldPlace(ir::Value* first, const ir::AxisDigits& digits, int64_t held);
  /// Selects one of the thread's points by its number along an axis. Later loads and stores of tiles in
  /// registers access the element of this point.
  void SetHeld(ir::AxisId axis, int64_t held) { held_[axis] = held; }

 private:
  /// Returns the number of points that are distributed. Except along the first axis, blocks are treated as
  /// whole.
  ir::Value* CountPoints(const ir::Op* at, const ir::AxisList& axes);
  /// Returns the place of a point, that is, its offset along each axis. If `side` is more than 1, this is the
  /// first of `side` points that are contiguous along the last axis.
  Values PointPlace(ir::Value* number, const ir::AxisList& axes, int64_t side = 1);
  /// Emits `body` for a point, or for the first of several points, guarded by the condition that the point
  /// exists. If `guards_first` is false, the point must be known to exist along the first axis.
  void AtPoint(const ir::Op* at, const ir::AxisList& axes, ir::Value* number, const Body& body,
               int64_t side = 1, bool guards_first = false);
  /// Describes how groups of `count` points are distributed to threads. `inner` groups cover all axes but the
  /// first.
  struct Rows {
    int64_t threads;
    int64_t inner;
    int64_t count;
  };
  void DistributeRows(const ir::Op* at, const ir::AxisList& axes, const Rows& rows,
                      const Body& body);
  /// If blocks along the last of two axes are long, emits the condition that this one is short: a tensor may have short
  /// rows. Otherwise returns null.
  ir::Value* AreShort(const ir::Op* at, const ir::AxisList& axes);

  ir::Type BufferType(const ir::Value* tile);

  ir::Builder& b_;
  ir::Function& kernel_;
  TileBuffers tile_buffers_;
  std::unordered_map<const ir::Value*, ir::Value*> buffers_;  ///< maps each old tile to its buffer
  /// The start, size and index of each block of the old kernel.
  Blocks blocks_;
  std::map<ir::AxisId, int64_t> held_;
};

}  // namespace kdl::simt
