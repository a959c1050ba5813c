#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/expand/accumulate.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/expand/prefetching.h"

namespace kdl::cpu {

/// The body of one elementwise loop, expanded once for each place where it runs.
class ElementwiseLoopBody {
 public:
  ElementwiseLoopBody(Expander& e, const ir::Op* elementwise);

  Expander& e() const { return e_; }
  const ir::Op* elementwise() const { return elementwise_; }
  const LastAxis& last() const { return last_; }
  const ir::AxisList& axes() const { return axes_; }
  const std::vector<Accumulation>& folds() const { return folds_; }
  const std::vector<TileBuffer>& tile_buffers() const { return tile_buffers_; }
  /// How many elements of the last axis a vector takes.
  int64_t Lanes() const;

  /// Where the body runs. MapPoint makes the absolute index along axis `i` from it; along the last one that of the
  /// piece's first element.
  Position& position() { return position_; }
  void MapPoint(size_t i);
  void PlaceAt(const Position& position);
  /// `run` where the body is at a point of all axes but these two.
  void Around(ir::AxisId a, ir::AxisId b, const std::function<void()>& run);

  /// The ops for which `wanted` holds, for a piece of the last axis.
  template <class Wanted>
  void Expand(const Chunk& chunk, Wanted&& wanted) {
    chunk_ = chunk;
    for (ir::Op* op : *elementwise_->region()) {
      if (!wanted(op)) continue;
      e_.b.set_loc(op->loc());
      ExpandOp(op);
    }
  }
  /// What `make` maps is forgotten afterwards.
  template <class Make>
  void Locally(Make&& make) {
    ir::ValueMap around = map_;
    make();
    map_ = std::move(around);
  }
  /// The term of a fold, for the piece that was expanded last.
  ir::Value* Term(ir::Value* term) { return Lane(term); }
  void Bind(const ir::Value* old, ir::Value* value) { map_[old] = value; }

  /// Elements of `tile` are `value`, and nothing is asked for ahead of time.
  void Give(const ir::Value* tile, ir::Value* value);
  /// The next piece begins so many elements into a turn of a walk.
  void ComeTo(int64_t before) { before_ = before; }

  /// From here on these stores go past the caches wherever a full vector is stored; none: all stay in them.
  void StorePastCaches(std::span<const ir::Op* const> stores) { past_caches_ = stores; }
  /// The load or store without its value, `else` and mask, where the body runs now.
  ElementAccess AccessOf(const ir::Op* op, const Chunk& chunk);

 private:
  bool IsKept(const ir::Value* result) const;
  bool RunsByElements() const { return !last_.Vectorizes() && !last_.Transposes(); }
  ir::Value* At(ir::Value* old);
  ir::Value* Lane(ir::Value* old);
  ir::Value* Optional(ir::Value* old) { return old ? Lane(old) : nullptr; }
  bool IsUniformAccess(const ir::Op* op) const;
  ir::Value* ElementChunk(ir::Value* tile);
  bool BeginsPair(const ElementAccess& access) const;
  bool GoesOnInLine(const ElementAccess& access) const;
  void Prefetch(const ElementAccess& access);
  void ExpandPrefetchOp(ir::Op* op);
  void ExpandLoadOp(ir::Op* op);
  void ExpandStoreOp(ir::Op* op);
  void ExpandUpdateOp(ir::Op* op);
  ir::Value* ExpandElementwise(ir::Op* op);
  void ExpandWhile(ir::Op* op);
  void ExpandAssert(ir::Op* op);
  void ExpandOp(ir::Op* op);

  Expander& e_;
  const ir::Op* elementwise_;
  LastAxis last_;
  Prefetching prefetching_;
  std::vector<Accumulation> folds_;
  std::vector<TileBuffer>
      tile_buffers_;  ///< of the results; none of folds and of what nothing uses
  ir::AxisList axes_;
  std::span<const ir::Op* const> past_caches_;
  bool looks_ahead_ = true;
  int64_t before_ = 0;  ///< elements of the present turn
  struct {
    const ir::Value* tile = nullptr;
    ir::Value* value = nullptr;
  } given_;
  Position position_;
  Chunk chunk_;
  ir::ValueMap map_;
};

/// The stores of a elementwise loop that go past the caches where its outputs are too large for them, and when.
struct Streaming {
  std::vector<const ir::Op*> stores;
  ir::Value* large = nullptr;  ///< a bool; null: they never do
};
// streaming.cpp
/// Whether the tensors of the accesses, together, are larger than what the last cache holds, a bool; null: never.
ir::Value* AreLarge(Expander& e, const std::vector<const ir::Op*>& accesses);
/// Of a elementwise loop that runs by vectors of so many lanes.
Streaming StreamingOf(ElementwiseLoopBody& body, int64_t lanes);
/// How many elements stand before the first vector that may go past the caches, where the body is placed at the start of
/// a row; and whether all stores of it agree.
struct RowStart {
  ir::Value* gap;
  ir::Value* agrees;
};
RowStart RowStartOf(ElementwiseLoopBody& body, const Streaming& streaming);

// groups.cpp
/// Whether what the elementwise loop makes stands in groups of rows.
bool MakesGroups(const ElementwiseLoopBody& body);
void RunGroups(ElementwiseLoopBody& body);
/// Fills the last groups of the rows that the elementwise loop makes.
void FillGroups(ElementwiseLoopBody& body);

// register_transposes.cpp
/// Runs a elementwise loop whose accesses of LastAxis::Across() are transposed.
void RunRegisterTransposes(ElementwiseLoopBody& body);

}  // namespace kdl::cpu
