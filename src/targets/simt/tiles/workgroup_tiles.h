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

/// The memory of a kernel's tiles while the kernel is expanded, and the distribution of the points of their
/// blocks to GPU threads. A point's place along an axis is its distance from the start of the block.
class WorkgroupTiles {
 public:
  using Values = passes::Values;
  using Body = std::function<void(const Values& place)>;

  WorkgroupTiles(ir::Builder& b, ir::Function& kernel, TileBuffers tile_buffers)
      : b_(b), kernel_(kernel), tile_buffers_(std::move(tile_buffers)) {}

  // -- Blocks
  void SetBlock(const ir::Value* block, BlockFacts facts) { blocks_[block] = facts; }
  const BlockFacts& FactsForBlock(const ir::Value* block) const { return blocks_.at(block); }
  /// Returns the facts about the axis's block that are valid at the old op `at`.
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
  bool IsInRegisters(const ir::Value* tile) const { return tile_buffers_.IsInRegisters(tile); }
  bool IsFactor(const ir::Value* tile) const { return tile_buffers_.IsFactor(tile); }
  bool LiesInPanels(const ir::Value* tile) const { return tile_buffers_.LiesInPanels(tile); }
  /// Returns the axes of a tile in workgroup memory, outermost first.
  ir::AxisList MemoryOrder(const ir::Value* tile) const { return tile_buffers_.MemoryOrder(tile); }
  /// Loads the element at a place from a buffer that was made for a tile with these axes. For a tile in
  /// registers, this is the element that `SetHeld` has selected.
  ir::Value* Load(const ir::Value* tile, ir::Value* buffer, const Values& place);
  /// Whether the tile is in workgroup memory with its axes in this order.
  bool LiesAs(const ir::Value* tile, const ir::AxisList& axes) const {
    return !tile_buffers_.IsInRegisters(tile) && tile_buffers_.MemoryOrder(tile) == axes;
  }
  /// Whether the elements of a tile in workgroup memory are contiguous along the axis.
  bool IsLast(const ir::Value* tile, ir::AxisId axis) const {
    return tile_buffers_.MemoryOrder(tile).back() == axis;
  }
  /// Loads `count` contiguous elements, beginning at the place, with one access. Returns them as scalars.
  /// `count` must be a power of two.
  Values LoadSide(const ir::Value* tile, ir::Value* buffer, const Values& place, int64_t count);
  /// Like `LoadSide`, but returns one vector.
  ir::Value* LoadVector(const ir::Value* tile, ir::Value* buffer, const Values& place,
                        int64_t count);
  void Store(ir::Value* value, const ir::Value* tile, ir::Value* buffer, const Values& place);
  /// Returns the indices for the dimensions of the tile's buffer.
  Values BufferIndex(const ir::Value* tile, const Values& place);
  /// Sets a tile in registers to zero, because elements after the blocks' ends are also read.
  void Clear(const ir::Op* at, const ir::Value* tile, ir::Value* buffer);
  void Copy(const ir::Op* at, const ir::Value* tile, ir::Value* from, ir::Value* to);
  /// Distributes the tile's points to the threads. If the tile is in registers, they are distributed by its
  /// layout.
  void Walk(const ir::Op* at, const ir::Value* tile, bool harmless, const Body& body);

  // -- Points
  /// Distributes the points over the axes to the threads, one point after another.
  void Distribute(const ir::Op* at, const ir::AxisList& axes, const Body& body);
  /// Distributes groups of `count` points that are contiguous along the last axis. The block must consist of
  /// whole groups.
  void DistributeSide(const ir::Op* at, const ir::AxisList& axes, int64_t threads, int64_t count,
                      const Body& body);
  /// Like `Distribute`, but if the blocks are whole, `together` handles several points of a thread at once.
  void DistributeTogether(const ir::Op* at, const ir::AxisList& axes, int64_t threads,
                          const std::function<void(const std::vector<Values>& places)>& together,
                          const Body& body);
  int64_t Extent(ir::AxisId axis) const { return kernel_.axis(axis).extent->value; }
  /// Returns the number of points of whole blocks that each thread has, or 0 if the number differs between
  /// threads.
  int64_t PointsPerThread(const ir::AxisList& axes, int64_t threads) const;
  /// Distributes points by a layout, with separate code for each of a thread's points. If the body is
  /// `harmless`, it also runs for points after the blocks' ends.
  void DistributeByMap(const ir::Op* at, const ir::AxisList& axes, const AxisMap& map,
                       bool harmless, const Body& body);
  /// Returns the thread's first place along an axis.
  ir::Value* FirstPlace(ir::Value* thread, const ir::AxisDigits& digits, int64_t threads);
  /// Returns the thread's place with the number `held` along an axis; `first` is its first place.
  ir::Value* HeldPlace(ir::Value* first, const ir::AxisDigits& digits, int64_t held);
  /// Selects a thread's point by its number along an axis. Loads and stores in registers then access the
  /// point's element.
  void SetHeld(ir::AxisId axis, int64_t held) { held_[axis] = held; }

 private:
  /// Returns the number of points that are distributed. Blocks of all axes but the first count as whole.
  ir::Value* CountPoints(const ir::Op* at, const ir::AxisList& axes);
  /// Returns the place of a point, or of the first of `side` points that are contiguous along the last axis.
  Values PointPlace(ir::Value* number, const ir::AxisList& axes, int64_t side = 1);
  /// Emits `body` for a point, or for the first of several points, guarded by the condition that the point
  /// exists. Unless `guards_first`, every point is known to exist along the first axis.
  void AtPoint(const ir::Op* at, const ir::AxisList& axes, ir::Value* number, const Body& body,
               int64_t side = 1, bool guards_first = false);
  /// A distribution of groups of `count` points to threads; `inner` groups cover all axes but the first.
  struct Rows {
    int64_t threads;
    int64_t inner;
    int64_t count;
  };
  void DistributeRows(const ir::Op* at, const ir::AxisList& axes, const Rows& rows,
                      const Body& body);

  ir::Type BufferType(const ir::Value* tile);

  ir::Builder& b_;
  ir::Function& kernel_;
  TileBuffers tile_buffers_;
  std::unordered_map<const ir::Value*, ir::Value*> buffers_;  ///< old tile -> its buffer
  Blocks blocks_;                                             ///< the facts about each old block
  std::map<ir::AxisId, int64_t> held_;
};

}  // namespace kdl::simt
