#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "targets/simt/analysis/tile_uses.h"

namespace kdl::simt {

/// Determines where tiles are stored. Values that are connected by passing a tile into or out of a loop, or
/// into a product, are treated as the same tile.
///
/// A tile is in registers, with the thread layout of the products that add to it, if all other ops that
/// produce or read the tile allow that. Elementwise loops must have the same layout, and at each point, they
/// must access only the tile's element at that point. Reductions must allow any order. Tiles that such
/// elementwise loops compute from tiles in registers are also in registers.
///
/// All other tiles are in workgroup memory. If a tile is a factor of a product with a thread layout, its
/// reduced axes are outermost, so that a thread's factors of one term are contiguous. Factors of matrix
/// instructions keep the order in which they were loaded, tiles from block copies keep the order of the
/// tensor, and tiles that only elementwise loops know keep the order of the loop that makes them.
class TileBuffers {
 public:
  /// Returns whether an elementwise loop has the layout or may get it.
  using Takes = std::function<bool(const ir::Op* elementwise, const AxisMap& map)>;

  TileBuffers(const ir::Function& kernel, Takes takes);

  /// Returns the layout of a tile in registers; empty if the tile is in workgroup memory.
  const AxisMap& RegisterLayout(const ir::Value* tile) const { return tiles_[Find(tile)].map; }
  bool IsInRegisters(const ir::Value* tile) const { return !RegisterLayout(tile).empty(); }
  /// Returns whether the tile is a factor of a product with a thread layout.
  bool IsFactor(const ir::Value* tile) const {
    return !tiles_[Find(tile)].order.empty() && !tiles_[Find(tile)].copied;
  }
  /// Returns whether a matrix instruction reads the tile directly from workgroup memory, in swizzled panels.
  bool LiesInPanels(const ir::Value* tile) const { return tiles_[Find(tile)].panels; }
  /// Returns the axes in memory order, outermost first.
  ir::AxisList MemoryOrder(const ir::Value* tile) const;
  /// Returns the number of padding elements after each row. The padding makes the rows of adjacent threads
  /// begin in different banks.
  int64_t PaddingPerRow(const ir::Value* tile) const;

 private:
  struct Tile {
    std::vector<const ir::Value*> values;
    AxisMap map;
    /// The axes in memory order, if a product or a copy determines it.
    ir::AxisList order;
    /// The order in which the elementwise loop that makes the tile walks its axes, if no other op knows the tile.
    ir::AxisList made;
    bool printed = false;
    bool copied = false;
    bool panels = false;
    bool walked = false;   ///< whether each thread reads along a row of its own
    bool columns = false;  ///< whether adjacent threads read from adjacent rows
  };

  size_t Find(const ir::Value* value) const { return number_.at(value); }
  void Join(const ir::Value* a, const ir::Value* b);
  void JoinAll(const ir::Op* op);
  void Study(const ir::Op* op);
  void StudyElement(const ir::Op* op);
  ir::AxisList FactorOrder(const ir::Op* product, const ir::Value* factor) const;
  bool IsHeld(const Tile& tile) const;
  bool Follows(Tile& tile) const;
  bool MakesHeld(const Tile& tile, const ir::Value* value) const;
  bool ReadsHeld(const Tile& tile, const ir::Use& use) const;

  Takes takes_;
  std::unordered_map<const ir::Value*, size_t> number_;  ///< each value's index in `tiles_`
  std::vector<Tile> tiles_;
};

}  // namespace kdl::simt
