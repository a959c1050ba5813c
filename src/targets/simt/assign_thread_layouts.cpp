#include <algorithm>
#include <optional>
#include <set>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "support/scalar.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/analysis/outer_product.h"
#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/analysis/tile_buffers.h"
#include "targets/simt/passes.h"

// assign-thread-layouts: splits the result of a product of two tiles into blocks, one for each GPU thread.
// For each term, a thread reads its factors only once. Elementwise loops that produce or read the result's
// tile get the same layout (the attribute `map`), so that the tile stays in registers. The values do not
// change, because one thread adds all terms of an element in order. If the product uses a matrix instruction,
// the layout is that of the instruction.
//
//   %u = contraction %a, %b into %t over k
//   elementwise (%i in %bi, %j in %bj) { … }
//   ->
//   %u = contraction %a, %b into %t over k {map = [2, 16, 16, 4, 2, 16, 1, 4]}
//   elementwise (%i in %bi, %j in %bj) {map = [2, 16, 16, 4, 2, 16, 1, 4]} { … }

namespace kdl::simt {

namespace {

using ir::AxisDigits;
using ir::LaneMap;
using ir::Value;

constexpr int64_t kSideBytes = 16;  // the number of bytes in one load of a thread
// The maximum number of elements that a thread has along one axis. A block of 8 x 8 elements needs 16 factors
// for 64 multiply-adds.
constexpr int64_t kMostHeld = 8;
// The maximum number of ops in an elementwise loop after it has been unrolled for all elements of a thread.
constexpr int64_t kMostUnrolled = 4096;

class MapAssigner {
 public:
  MapAssigner(const SimtFacts& facts, ir::Function& kernel) : facts_(facts), kernel_(kernel) {}

  void AssignLayouts() {
    for (Op* op : OpsOfKind(kernel_, OpKind::Contraction)) {
      std::optional<LaneMap> map = BestMap(op);
      if (map) op->SetAttr(ir::MapAttr(*map));
    }
    TileBuffers tile_buffers(kernel_, MayTake);
    for (Op* elementwise : OpsOfKind(kernel_, OpKind::Elementwise))
      MapElementwiseLoop(elementwise, tile_buffers);
    for (Op* fold : OpsOfKind(kernel_, OpKind::Reduce)) MapFold(fold, tile_buffers);
  }

 private:
  int64_t Extent(AxisId axis) const { return kernel_.axis(axis).extent->value; }

  std::optional<LaneMap> BestMap(const Op* op) const {
    std::optional<AxisList> kept = OuterAxes(op);
    if (!kept) return std::nullopt;
    if (const MmaShape* instruction = NamedMmaShape(op)) return MatrixMap(facts_, *instruction, op);
    if (op->HasAttr(AttrKey::Instruction)) return std::nullopt;
    const AxisList& axes = op->result()->type()->axes;
    // Adjacent threads have adjacent columns, because rows of the second factor are contiguous.
    size_t column = axes[0] == (*kept)[1] ? 0 : 1;
    int64_t bytes = Bytes(op->attr<AttrKey::Acc>());
    for (int64_t threads : {facts_.threads, facts_.most_threads}) {
      std::optional<LaneMap> map =
          SmallestMap(Extent(axes[1 - column]), Extent(axes[column]), bytes, threads);
      if (!map) continue;
      // A small tile gets no layout, because more threads are used if its elements are distributed one by
      // one.
      if (2 * ir::ThreadsOf(*map) < facts_.threads) return std::nullopt;
      if (column == 0) std::swap((*map)[0], (*map)[1]);
      return map;
    }
    return std::nullopt;
  }

  /// Returns the layout of rows and columns with the fewest elements in each thread. Of several such layouts,
  /// returns the one whose block is closest to a square, because it needs the fewest factors for each term.
  std::optional<LaneMap> SmallestMap(int64_t rows, int64_t columns, int64_t bytes,
                                     int64_t threads) const {
    std::optional<LaneMap> best;
    auto cost = [](const LaneMap& map) {
      return std::pair(map[0].held() * map[1].held(), map[0].held() + map[1].held());
    };
    for (int64_t down = kMostHeld; down >= 2; down /= 2) {
      for (int64_t across = kMostHeld; across >= 2; across /= 2) {
        AxisDigits column = Digits(columns, across, bytes);
        AxisDigits row = Digits(rows, down, bytes);
        row.apart = column.threads;
        bool fits =
            row.threads * column.threads <= threads && down * across * bytes <= facts_.held_bytes;
        LaneMap map = {row, column};
        if (fits && (!best || cost(map) < cost(*best))) best = map;
      }
    }
    return best;
  }

  static AxisDigits Digits(int64_t extent, int64_t held, int64_t bytes) {
    int64_t side = std::min(held, kSideBytes / bytes);
    return {held / side, (extent + held - 1) / held, 1, side};
  }

  /// Returns whether the elementwise loop may get this layout. It must have few ops, and it must be possible
  /// to compute its elements in any order.
  static bool MayTake(const Op* elementwise, const AxisMap& map) {
    int64_t ops = 0;
    ir::Walk(elementwise->region(), [&](const Op*) { ++ops; });
    for (const auto& [axis, digits] : map) ops *= digits.held();
    return !UpdatesInOrder(elementwise) && ops <= kMostUnrolled;
  }

  void MapElementwiseLoop(Op* elementwise, const TileBuffers& tile_buffers) const {
    const AxisMap* map = nullptr;
    for (const ir::Value* result : elementwise->results()) {
      if (IsTileValue(result) && tile_buffers.IsInRegisters(result))
        map = &tile_buffers.RegisterLayout(result);
    }
    ir::Walk(elementwise->region(), [&](const Op* op) {
      if (op->kind() == OpKind::Element && tile_buffers.IsInRegisters(op->operand(0)))
        map = &tile_buffers.RegisterLayout(op->operand(0));
    });
    if (!map) return;
    SetMap(elementwise, *map);
  }

  /// Gives a reduction the layout of its operand, because it reads the operand from registers.
  static void MapFold(Op* fold, const TileBuffers& tile_buffers) {
    const Value* value = fold->operand(0);
    if (IsTileValue(value) && tile_buffers.IsInRegisters(value))
      SetMap(fold, tile_buffers.RegisterLayout(value));
  }

  static void SetMap(Op* op, const AxisMap& map) {
    LaneMap digits;
    for (AxisId axis : ir::MappedAxes(*op)) digits.push_back(map.at(axis));
    op->SetAttr(ir::MapAttr(digits));
  }

  const SimtFacts& facts_;
  ir::Function& kernel_;
};

}  // namespace

void RunAssignThreadLayouts(PassContext& context, ir::Function& kernel) {
  MapAssigner(SimtFactsOf(context), kernel).AssignLayouts();
}

}  // namespace kdl::simt
