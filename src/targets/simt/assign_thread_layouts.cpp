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

// assign-thread-layouts: a product of two tiles becomes one of blocks, each a worker's, whose factors it reads once for each term. ElementwiseLoops
// that make or read its tile have the same map, so that the tile stays in the workers' registers. Bits do not change: of each
// element one worker takes the terms in their order; where the product names a matrix unit, the map is that of its steps.
//
//   %u = contraction %a, %b into %t over k   ->   %u = contraction %a, %b into %t over k {map = [2, 16, 16, 4, 2, 16, 1, 4]}
//   elementwise (%i in %bi, %j in %bj) { … }        ->   elementwise (%i in %bi, %j in %bj) {map = [2, 16, 16, 4, 2, 16, 1, 4]} { … }

namespace kdl::simt {

namespace {

using ir::AxisDigits;
using ir::LaneMap;
using ir::Value;

constexpr int64_t kSideBytes = 16;  // what a worker reads at once
constexpr int64_t kMostHeld = 8;    // along an axis: a block of 8 x 8 does 64 steps for 16 factors
constexpr int64_t kMostUnrolled =
    4096;  // ops of a elementwise loop, written out for each of a worker's points

class MapAssigner {
 public:
  MapAssigner(const SimtFacts& facts, ir::Function& kernel) : facts_(facts), kernel_(kernel) {}

  void Run() {
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
    // Threads next to each other have columns next to each other: the second factor's rows lie so.
    size_t column = axes[0] == (*kept)[1] ? 0 : 1;
    int64_t bytes = Bytes(op->attr<AttrKey::Acc>());
    for (int64_t threads : {facts_.threads, facts_.most_threads}) {
      std::optional<LaneMap> map =
          SmallestMap(Extent(axes[1 - column]), Extent(axes[column]), bytes, threads);
      if (!map) continue;
      // Of a small tile single points are dealt to more workers.
      if (2 * ir::ThreadsOf(*map) < facts_.threads) return std::nullopt;
      if (column == 0) std::swap((*map)[0], (*map)[1]);
      return map;
    }
    return std::nullopt;
  }

  /// Of rows and columns; that with the fewest points of a worker, and of those the squarest one: the fewest factors a term.
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

  /// Whether the elementwise loop's points may be dealt so: they have few ops, in any order.
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
        map = &tile_buffers.MapOf(result);
    }
    ir::Walk(elementwise->region(), [&](const Op* op) {
      if (op->kind() == OpKind::Element && tile_buffers.IsInRegisters(op->operand(0)))
        map = &tile_buffers.MapOf(op->operand(0));
    });
    if (!map) return;
    SetMap(elementwise, *map);
  }

  /// What it folds stays where it is.
  static void MapFold(Op* fold, const TileBuffers& tile_buffers) {
    const Value* value = fold->operand(0);
    if (IsTileValue(value) && tile_buffers.IsInRegisters(value))
      SetMap(fold, tile_buffers.MapOf(value));
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
  MapAssigner(FactsOf(context), kernel).Run();
}

}  // namespace kdl::simt
