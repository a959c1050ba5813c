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

/// The memory of a kernel's tiles as it is expanded, and the points of their blocks as workers are given them. A point's place
/// along an axis is its distance from the block's start.
class WorkgroupTiles {
 public:
  using Values = passes::Values;
  using Body = std::function<void(const Values& place)>;

  WorkgroupTiles(ir::Builder& b, ir::Function& kernel, TileBuffers tile_buffers)
      : b_(b), kernel_(kernel), tile_buffers_(std::move(tile_buffers)) {}

  // -- Blocks
  void SetBlock(const ir::Value* block, BlockFacts facts) { blocks_[block] = facts; }
  const BlockFacts& FactsOf(const ir::Value* block) const { return blocks_.at(block); }
  /// Of the axis's block at the old op.
  const BlockFacts& FactsAt(const ir::Op* at, ir::AxisId axis) const;

  using Blocks = std::unordered_map<const ir::Value*, BlockFacts>;
  const Blocks& blocks() const { return blocks_; }
  void SetBlocks(Blocks blocks) { blocks_ = std::move(blocks); }

  // -- Buffers
  ir::Value*& operator[](const ir::Value* tile) { return buffers_[tile]; }
  ir::Value* BufferOf(const ir::Value* tile) const { return buffers_.at(tile); }
  ir::Value* NewBuffer(const ir::Value* tile, Name name);
  /// The bytes of the team's memory that the tile's buffer takes; of one in registers 0.
  int64_t WorkgroupBytes(const ir::Value* tile);
  bool IsInRegisters(const ir::Value* tile) const { return tile_buffers_.IsInRegisters(tile); }
  bool IsFactor(const ir::Value* tile) const { return tile_buffers_.IsFactor(tile); }
  bool LiesInPanels(const ir::Value* tile) const { return tile_buffers_.LiesInPanels(tile); }
  /// Of a tile in the team's memory, outermost first.
  ir::AxisList OrderOf(const ir::Value* tile) const { return tile_buffers_.OrderOf(tile); }
  /// Of a buffer made for a tile of these axes the element at a place; in registers the one that the worker is at.
  ir::Value* Load(const ir::Value* tile, ir::Value* buffer, const Values& place);
  /// Whether rows of the tile lie in its buffer as these axes have them.
  bool LiesAs(const ir::Value* tile, const ir::AxisList& axes) const {
    return !tile_buffers_.IsInRegisters(tile) && tile_buffers_.OrderOf(tile) == axes;
  }
  /// Whether elements of a tile in the team's memory along the axis are side by side.
  bool IsLast(const ir::Value* tile, ir::AxisId axis) const {
    return tile_buffers_.OrderOf(tile).back() == axis;
  }
  /// Those from the place on that are side by side, loaded at once, as scalars; a power of two.
  Values LoadSide(const ir::Value* tile, ir::Value* buffer, const Values& place, int64_t count);
  /// The same, as one vector.
  ir::Value* LoadVector(const ir::Value* tile, ir::Value* buffer, const Values& place,
                        int64_t count);
  void Store(ir::Value* value, const ir::Value* tile, ir::Value* buffer, const Values& place);
  /// As the dimensions of the tile's buffer are.
  Values IndexOf(const ir::Value* tile, const Values& place);
  /// Gives a tile in registers its first elements, zeros: those after the blocks' ends are read, too.
  void Clear(const ir::Op* at, const ir::Value* tile, ir::Value* buffer);
  void Copy(const ir::Op* at, const ir::Value* tile, ir::Value* from, ir::Value* to);
  /// The workers take the tile's points, those of one in registers by its map.
  void Walk(const ir::Op* at, const ir::Value* tile, bool harmless, const Body& body);

  // -- Points
  /// Gives the axes' points to the workers, one after the other.
  void Distribute(const ir::Op* at, const ir::AxisList& axes, const Body& body);
  /// The same of so many points at a time that are side by side along the last axis, of which the block has whole parts.
  void DistributeSide(const ir::Op* at, const ir::AxisList& axes, int64_t threads, int64_t count,
                      const Body& body);
  /// As Distribute; where the blocks are whole, several of each worker's are taken `together`.
  void DistributeTogether(const ir::Op* at, const ir::AxisList& axes, int64_t threads,
                          const std::function<void(const std::vector<Values>& places)>& together,
                          const Body& body);
  int64_t Extent(ir::AxisId axis) const { return kernel_.axis(axis).extent->value; }
  /// How many points of whole blocks each worker has; 0: not all have as many.
  int64_t EachOf(const ir::AxisList& axes, int64_t threads) const;
  /// Gives each worker its points by a map, written out one by one; where it is `harmless` also those after the blocks' ends.
  void DistributeByMap(const ir::Op* at, const ir::AxisList& axes, const AxisMap& map,
                       bool harmless, const Body& body);
  /// The worker's first place along an axis.
  ir::Value* FirstPlace(ir::Value* thread, const ir::AxisDigits& digits, int64_t threads);
  /// Its place number `held`.
  ir::Value* HeldPlace(ir::Value* first, const ir::AxisDigits& digits, int64_t held);
  /// The worker is at its points of these numbers: what it loads and stores of registers are those.
  void SetHeld(ir::AxisId axis, int64_t held) { held_[axis] = held; }

 private:
  /// How many points are dealt, in rows of whole blocks but along the first axis.
  ir::Value* CountPoints(const ir::Op* at, const ir::AxisList& axes);
  /// Of `side` points side by side along the last axis the first one.
  Values PlaceOf(ir::Value* number, const ir::AxisList& axes, int64_t side = 1);
  /// `body` where the point exists, of several the first one; along the first axis there is none after the end, unless it is
  /// guarded, too.
  void AtPoint(const ir::Op* at, const ir::AxisList& axes, ir::Value* number, const Body& body,
               int64_t side = 1, bool guards_first = false);
  /// Parts of `count` points, of which `inner` make all axes but the first.
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
  Blocks blocks_;                                             ///< of old blocks
  std::map<ir::AxisId, int64_t> held_;
};

}  // namespace kdl::simt
