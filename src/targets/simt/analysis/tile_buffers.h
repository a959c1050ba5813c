#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "targets/simt/analysis/tile_uses.h"

namespace kdl::simt {

/// Where tiles live. Values that hand one on, into a loop and out of it, or into a product, are one tile. It lives in the
/// workers' registers by the map of the products that add to it, where nothing else makes it or reads it but elementwise loops that have
/// this map, at their own points, and folds that any order does. So do tiles that such elementwise loops make of those. Else a tile lives in
/// the team's memory, where what a product with a map folds comes slowest: a worker's
/// factors of one term are side by side. Those of matrix units lie as they were loaded, and what a block copy brings as in the
/// tensor.
class TileBuffers {
 public:
  /// Whether a elementwise loop has the map, or may have it.
  using Takes = std::function<bool(const ir::Op* elementwise, const AxisMap& map)>;

  TileBuffers(const ir::Function& kernel, Takes takes);

  /// Of a tile in registers; empty: it is in the team's memory.
  const AxisMap& MapOf(const ir::Value* tile) const { return tiles_[Find(tile)].map; }
  bool IsInRegisters(const ir::Value* tile) const { return !MapOf(tile).empty(); }
  /// Whether a product with a map folds it.
  bool IsFactor(const ir::Value* tile) const {
    return !tiles_[Find(tile)].order.empty() && !tiles_[Find(tile)].copied;
  }
  /// Whether a unit that reads near memory by itself takes it: it lies in panels.
  bool LiesInPanels(const ir::Value* tile) const { return tiles_[Find(tile)].panels; }
  /// Outermost first.
  ir::AxisList OrderOf(const ir::Value* tile) const;
  /// Elements after each row that are nobody's: rows of workers side by side begin in different banks.
  int64_t PadOf(const ir::Value* tile) const;

 private:
  struct Tile {
    std::vector<const ir::Value*> values;
    AxisMap map;
    ir::AxisList order;  ///< empty: as in its type
    bool printed = false;
    bool copied = false;
    bool panels = false;
    bool walked = false;  ///< each worker goes along rows
  };

  size_t Find(const ir::Value* value) const { return number_.at(value); }
  void Join(const ir::Value* a, const ir::Value* b);
  void JoinAll(const ir::Op* op);
  void Study(const ir::Op* op);
  ir::AxisList FactorOrder(const ir::Op* product, const ir::Value* factor) const;
  bool IsHeld(const Tile& tile) const;
  bool Follows(Tile& tile) const;
  bool MakesHeld(const Tile& tile, const ir::Value* value) const;
  bool ReadsHeld(const Tile& tile, const ir::Use& use) const;

  Takes takes_;
  std::unordered_map<const ir::Value*, size_t> number_;  ///< of a value's tile
  std::vector<Tile> tiles_;
};

}  // namespace kdl::simt
