#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/analysis/index_conditions.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/combining.h"
#include "targets/cpu/analysis/kept_tiles.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/analysis/sliding_window.h"
#include "targets/cpu/passes.h"

// allocate-tiles: gives every tile a tile buffer, whose type says how the tile is laid out in memory. After
// the op that makes a tile, the tile is stored in its buffer; before each op that reads the tile, it is
// loaded. Loops and branches no longer carry tiles.
//
//   %s = loop %n in … carry(%t = %z) {
//     %u = contraction %a, %b into %t over k
//     yield %u }
//   ->
//   %h = tile_buffer : tile_buffer<f32; i j>
//   store_tile %z to %h
//   loop %n in … {
//     %t = load_tile %h ; %u = contraction %a, %b into %t over k ; store_tile %u to %h
//     yield }
//   %s = load_tile %h
//
// The buffer of a tile is chosen at the op that makes the tile. To avoid copies, it is the buffer in which
// the tile is needed later:
// - A tile that a loop carries uses the buffer of the previous iteration's tile.
// - A tile that a branch yields uses the buffer of the branch's result.
// - An elementwise loop that leaves most elements of a tile unchanged uses that tile's buffer, if nothing
//   else needs the tile.
// If the buffer's layout does not suit an op, because the op needs the tile to be contiguous along a
// different axis, the op reads a copy that is.

namespace kdl::cpu {

namespace {

bool IsUsedAfter(const Value* tile, const Op* op) {
  return std::ranges::any_of(tile->uses(), [&](const ir::Use& use) {
    return ComesAfter(AncestorIn(op->parent_region(), use.user), op);
  });
}

/// Whether `op` is the last reader of `tile`, so that the result of `op` may use the buffer of `tile`.
bool DiesAt(const Value* tile, const Op* op) {
  return passes::MadeIn(tile) == op->parent_region() && !IsUsedAfter(tile, op);
}

/// Whether the only use of `init` is as the loop's initial value, so that nothing in the loop or after it
/// reads `init`.
bool IsHandedOver(const Value* init, const Op* loop) {
  auto in_loop = [&](const ir::Use& use) { return IsInside(use.user, loop); };
  return DiesAt(init, loop) && std::ranges::count_if(init->uses(), in_loop) == 1;
}

/// A tile that a loop carries: its position among the carried values, its initial value, and its parameter in
/// the loop's body.
struct Carried {
  size_t number;
  Value* init;
  Value* param;
};

std::vector<Carried> CarriedTiles(Op* loop) {
  std::vector<Carried> carried;
  size_t params = loop->kind() == OpKind::Loop ? 1 : 0;
  size_t inits = loop->kind() == OpKind::Loop ? loop->SegmentBegin(ir::LoopOp::at_inits) : 0;
  for (size_t i = 0; i < loop->results().size(); ++i) {
    if (IsTileValue(loop->result(i)))
      carried.push_back({i, loop->operand(inits + i), loop->region()->param(params + i)});
  }
  return carried;
}

class TileAllocator {
 public:
  TileAllocator(passes::PassContext& context, const ir::Function& kernel)
      : module_(context.module),
        keeps_named_(context.keeps_tiles),
        kernel_{kernel, ProcessorFactsOf(context), AxisOrder(kernel)},
        b_(context.module) {}

  void AllocateAll(ir::Region* body) {
    PlaceRegion(body);
    StoreAndLoad();
    for (Op* op : carriers_) ForgetTiles(op);
    for (Op* op : carriers_) DropTiles(op);
  }

 private:
  // -- Choice of buffers -------------------------------------------------------------------------

  Value* NewTileBuffer(const Op* at, ir::Type tile, std::optional<AxisId> last = std::nullopt,
                       Panel panel = {}) {
    AxisList axes = kernel_.order.Sorted(tile->axes);
    if (last) {
      std::erase(axes, *last);
      axes.push_back(*last);
    }
    int64_t pad = axes.size() == 1 ? 0 : RowPadding(axes, panel, Bytes(tile->scalar));
    b_.set_loc(at->loc());
    ir::Type type =
        module_.types().TileBuffer(tile->scalar, std::move(axes), panel.columns, pad, panel.group);
    return b_.Make(OpKind::TileBuffer, {}, type);
  }

  /// Returns the padding between rows or panels. If the distance between rows is a multiple of eight cache
  /// lines, the rows map to few sets of the cache and evict each other. One cache line of padding per row
  /// avoids that. If the tile is stored in panels (groups of columns), each row is spread over all panels. In
  /// that case, each panel is padded by one row instead.
  int64_t RowPadding(const AxisList& axes, Panel panel, int64_t bytes) const {
    int64_t line = kernel_.facts.cache_line_bytes;
    int64_t columns = panel.columns ? panel.columns : kernel_.Extent(axes.back());
    int64_t rows = panel.columns ? kernel_.Extent(axes[axes.size() - 2]) : 1;
    bool crowds = rows * columns * bytes % (8 * line) == 0;
    if (!crowds) return 0;
    return panel.columns ? panel.columns * panel.group : line / bytes;
  }

  /// Names a buffer after the tile that it stores. If debuggers show the tile and the buffer has another order of axes than
  /// the tile, the name says which one: `t.by.1.0` has the tile's axes 1 and 0.
  void NameBuffer(Value* tile_buffer, Name name) {
    AxisList axes = tile_buffer->type()->axes;
    AxisList sorted = axes;
    std::ranges::sort(sorted);
    if (keeps_named_ && !name.empty() && axes != sorted) {
      std::string text = name.str() + ".by";
      for (AxisId axis : axes)
        text += fmt::format(".{}", std::ranges::find(sorted, axis) - sorted.begin());
      name = module_.context().names.Intern(text);
    }
    tile_buffer->set_name(name);
  }

  void MoveTileBuffer(Value* from, Value* to) {
    if (from != to) b_.Create(OpKind::Move, {{from}, {to}}, {});
  }

  static AxisId LastAxisOf(const Value* tile_buffer) { return tile_buffer->type()->axes.back(); }

  /// Whether no tile in the buffer is read after `op` in the same region. Uses outside the region need no
  /// check: they are in the enclosing loop or branch, and either come earlier or read what the region yields.
  bool IsFreeAfter(const Value* tile_buffer, const Op* op) const {
    return std::ranges::none_of(tile_buffers_, [&](const auto& entry) {
      return entry.second == tile_buffer && IsUsedAfter(entry.first, op);
    });
  }

  /// Whether writing to the buffer would destroy elements that `maker` still reads. An elementwise loop reads
  /// each element before it writes that element, but other ops do not.
  bool Disturbs(const Op* maker, const Value* tile_buffer) const {
    if (maker->kind() == OpKind::Elementwise) return false;
    return std::ranges::any_of(maker->operands(), [&](const Value* operand) {
      auto found = tile_buffers_.find(operand);
      return found != tile_buffers_.end() && found->second == tile_buffer;
    });
  }

  /// If the tile's only use is a yield, the tile becomes a loop parameter or the result of a branch. Returns
  /// the buffer of that value. Returns null if the tile has other uses, or if the value has no buffer yet or
  /// its buffer is still in use.
  Value* YieldTarget(const Value* tile, const Op* maker) const {
    if (tile->uses().size() != 1) return nullptr;
    const ir::Use& use = tile->uses()[0];
    const Op* parent = use.user->parent_region()->parent();
    if (use.user->kind() != OpKind::Yield || use.user->parent_region() != maker->parent_region() ||
        !parent)
      return nullptr;
    const Value* target = nullptr;
    if (parent->kind() == OpKind::If) {
      target = parent->result(use.operand);
    } else if (parent->kind() == OpKind::Loop) {
      target = use.user->parent_region()->param(use.operand + 1);
    } else if (parent->kind() == OpKind::While) {
      target = use.user->parent_region()->param(use.operand);
    }
    auto tile_buffer = target ? tile_buffers_.find(target) : tile_buffers_.end();
    bool usable = tile_buffer != tile_buffers_.end() && IsFreeAfter(tile_buffer->second, maker) &&
                  !Disturbs(maker, tile_buffer->second);
    return usable ? tile_buffer->second : nullptr;
  }

  /// If the elementwise loop's result equals a tile in all but some elements, and nothing needs that tile any
  /// more, returns the tile's buffer. Otherwise returns null.
  Value* KeptTileBuffer(const Op* elementwise, size_t i) const {
    if (elementwise->kind() != OpKind::Elementwise ||
        PanelOf(kernel_, module_.context(), elementwise->result(i)).columns)
      return nullptr;
    for (const Value* tile : KeptTiles(elementwise, i)) {
      auto tile_buffer = tile_buffers_.find(tile);
      if (tile_buffer == tile_buffers_.end() || tile_buffer->second->type()->panel ||
          !DiesAt(tile, elementwise))
        continue;
      bool taken = std::ranges::any_of(elementwise->results(), [&](const Value* result) {
        auto other = tile_buffers_.find(result);
        return other != tile_buffers_.end() && other->second == tile_buffer->second;
      });
      if (!taken && IsFreeAfter(tile_buffer->second, elementwise)) return tile_buffer->second;
    }
    return nullptr;
  }

  /// Returns the buffer for result `i` of the op. If a new buffer is needed, it is created before the op.
  Value* ResultTileBuffer(const Op* op, size_t i) {
    Value* result = op->result(i);
    if (auto chosen = tile_buffers_.find(result); chosen != tile_buffers_.end())
      return chosen->second;
    // A tile that is kept stays in its buffer, even if nothing reads it any more.
    Value* tile_buffer = keeps_named_ ? nullptr : YieldTarget(result, op);
    if (!tile_buffer && !keeps_named_) tile_buffer = KeptTileBuffer(op, i);
    if (!tile_buffer) {
      tile_buffer = NewTileBuffer(op, result->type(), std::nullopt,
                                  PanelOf(kernel_, module_.context(), result));
      NameBuffer(tile_buffer, result->name());
    }
    return tile_buffers_[result] = tile_buffer;
  }

  /// Returns a buffer in which the tile is contiguous along the axis `last`: its own buffer or that of a
  /// copy.
  Value* Along(const Op* at, Value* tile, AxisId last) {
    Value* own = tile_buffers_.at(tile);
    if (LastAxisOf(own) == last) return own;
    Value* copy = NewTileBuffer(at, tile->type(), last);
    MoveTileBuffer(own, copy);
    return copy;
  }

  // -- Planned loads and stores --------------------------------------------------------------------

  /// Plans to load an operand of `user` from the buffer. The load is emitted before `at`.
  void Read(Op* at, Op* user, size_t operand, Value* tile_buffer) {
    reads_.push_back({at, user, operand, tile_buffer});
  }
  void ReadOwn(Op* user, size_t operand) {
    Value* tile = user->operand(operand);
    if (IsTileValue(tile)) Read(user, user, operand, tile_buffers_.at(tile));
  }
  /// Plans to store the tile in `tile_buffer`. If that is not the tile's own buffer, the tile is also copied
  /// to its own buffer afterwards.
  void Write(Op* maker, Value* tile, Value* tile_buffer) {
    writes_.push_back({maker, tile, tile_buffer});
    Value* own = tile_buffers_.at(tile);
    if (own == tile_buffer) return;
    Op* before = b_.before();
    b_.SetInsertionPoint(maker->parent_region(), after_);
    MoveTileBuffer(tile_buffer, own);
    b_.SetInsertionPoint(maker->parent_region(), before);
  }

  // -- Decisions for each kind of op ---------------------------------------------------------------

  void PlaceRegion(ir::Region* region) {
    for (Op* op : *region) {
      b_.StandAt(op);
      after_ = op->next();
      PlaceOp(op);
    }
  }

  void PlaceOp(Op* op) {
    switch (op->kind()) {
      case OpKind::Elementwise:
        return PlaceElementwiseLoop(op);
      case OpKind::Reduce:
      case OpKind::Contraction:
        return op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64 ? PlaceLanes(op)
                                                                    : PlaceSequence(op);
      case OpKind::MultiReduce:
      case OpKind::Scan:
        return PlaceCombined(op);
      case OpKind::SlidingWindow:
        return PlaceSlidingWindow(op);
      case OpKind::Gather:
        return PlaceGather(op);
      case OpKind::Loop:
      case OpKind::While:
        return PlaceLoop(op);
      case OpKind::If:
        return PlaceIf(op);
      case OpKind::Print:
        for (size_t i = 0; i < op->operands().size(); ++i) ReadOwn(op, i);
        return;
      case OpKind::Yield:
        return PlaceYield(op);
      default:
        for (ir::Region* region : op->regions()) PlaceRegion(region);
    }
  }

  /// Chooses the layout of a factor whose elements are splat (copied to all lanes of a vector). The factor
  /// keeps the layout of its tensor, which costs nothing, if L1 can hold all of its cache lines that the
  /// register blocks read. Otherwise the factor is made contiguous along the reduced axis.
  void WalkForReaders(Op* elementwise) {
    std::optional<Splat> splat = SplatOf(kernel_, elementwise->result());
    if (!splat) return;
    for (const Op* op : *elementwise->region()) {
      // The axes must not be reordered if an op may trap, since the first trap must stay first. Nor may they
      // be reordered if an axis is reduced or scanned, since the last axis depends on that.
      if (MayTrap(op) || op->kind() == OpKind::Element || op->kind() == OpKind::ReduceInLoop ||
          op->kind() == OpKind::ScanInLoop)
        return;
    }
    size_t last = elementwise->operands().size() - 1;
    auto loads_rows = [elementwise] {
      LastAxis walk(elementwise);
      return walk.Transposes() && walk.Across()[0]->kind() == OpKind::Load;
    };
    bool iterations = loads_rows();
    if (splat->cached_as_it_lies && iterations) {
      MoveAxis(elementwise, LastAxis(elementwise).across_axis(), last);
    } else if (!splat->cached_as_it_lies && !iterations) {
      auto of_terms = std::ranges::find_if(elementwise->operands(), [&](const Value* v) {
        return v->type()->axes[0] == splat->along;
      });
      auto at = static_cast<size_t>(of_terms - elementwise->operands().begin());
      if (at >= last) return;
      MoveAxis(elementwise, at, last);
      if (!loads_rows()) return MoveAxis(elementwise, last, at);
    } else {
      return;
    }
    Value* result = elementwise->result();
    tile_buffers_[result] =
        NewTileBuffer(elementwise, result->type(), elementwise->operands().back()->type()->axes[0]);
    NameBuffer(tile_buffers_[result], result->name());
  }

  /// Moves an axis of the elementwise loop from position `from` to position `to`.
  static void MoveAxis(Op* elementwise, size_t from, size_t to) {
    ir::Region* body = elementwise->region();
    while (from != to) {
      size_t next = from < to ? from + 1 : from - 1;
      Value* axis = elementwise->operand(from);
      elementwise->SetOperand(from, elementwise->operand(next));
      elementwise->SetOperand(next, axis);
      SwapUses(body->param(from), body->param(next));
      from = next;
    }
  }

  static void SwapUses(Value* a, Value* b) {
    std::vector<ir::Use> of_a = a->uses();
    std::vector<ir::Use> of_b = b->uses();
    for (const ir::Use& use : of_a) use.user->SetOperand(use.operand, b);
    for (const ir::Use& use : of_b) use.user->SetOperand(use.operand, a);
    Name name = a->name();
    a->set_name(b->name());
    b->set_name(name);
  }

  /// Assigns buffers to the tiles of an elementwise loop. A vectorized loop loads and stores chunks that are
  /// contiguous along its last axis. If the loop may trap, its axes must keep their order, so a tile may be
  /// contiguous along an axis other than the last one. In that case, the loop reads or writes a copy of the
  /// tile.
  void PlaceElementwiseLoop(Op* elementwise) {
    if (elementwise->results().size() == 1) WalkForReaders(elementwise);
    LastAxis last(elementwise);
    bool by_vectors = last.Vectorizes() || last.Transposes();
    AxisId axis = elementwise->operands().back()->type()->axes[0];
    const Op* yield = elementwise->region()->terminator();
    std::vector<std::pair<Value*, Value*>> made;
    for (size_t i = 0; i < elementwise->results().size(); ++i) {
      Value* result = elementwise->result(i);
      bool is_kept = keeps_named_ && !result->name().empty();
      bool is_needed = is_kept || !result->uses().empty();
      if (!is_needed || !IsTileValue(result) || IsFolded(yield->operand(i))) continue;
      Value* tile_buffer = ResultTileBuffer(elementwise, i);
      bool lies = !by_vectors || LastAxisOf(tile_buffer) == axis;
      made.emplace_back(result,
                        lies ? tile_buffer : NewTileBuffer(elementwise, result->type(), axis));
    }
    std::map<std::pair<const Value*, std::optional<AxisId>>, Value*> read;
    for (Op* op : *elementwise->region()) {
      for (size_t i = 0; i < op->operands().size(); ++i) {
        Value* tile = op->operand(i);
        if (!IsTileValue(tile)) continue;
        std::optional<AxisId> along;
        if (by_vectors && op->kind() == OpKind::Element) along = last.MovesAlong(op);
        Value*& tile_buffer = read[{tile, along}];
        if (!tile_buffer)
          tile_buffer = along ? Along(elementwise, tile, *along) : tile_buffers_.at(tile);
        Read(elementwise, op, i, tile_buffer);
      }
    }
    for (size_t i = 0; i < elementwise->results().size(); ++i) {
      Value* result = elementwise->result(i);
      if (IsTileValue(result) && IsFolded(yield->operand(i)))
        made.emplace_back(result,
                          tile_buffers_[result] = NewTileBuffer(elementwise, result->type()));
    }
    for (const auto& [tile, tile_buffer] : made) Write(elementwise, tile, tile_buffer);
  }

  /// Assigns buffers to the tiles of a reduction that is split into register blocks. The blocks load vectors
  /// along their column axis. If possible, they accumulate directly in the result's buffer.
  void PlaceSequence(Op* op) {
    std::optional<AxisId> column = RegisterBlock::ChooseFor(kernel_, *op).column;
    Value* into = op->kind() == OpKind::Contraction ? ir::ContractionOp(op).into() : nullptr;
    size_t terms = into ? size_t{ir::ContractionOp::at_into} : op->operands().size();
    for (size_t i = 0; i < op->operands().size(); ++i) {
      if (into && i == terms) continue;
      Value* tile = op->operand(i);
      if (!IsTileValue(tile) || IsReadInPlace(tile, op)) continue;
      bool walks = column && HasAxis(tile, *column);
      Read(op, op, i, walks ? Along(op, tile, *column) : tile_buffers_.at(tile));
    }
    Value* result = op->result();
    if (!IsTileValue(result)) return;
    bool starts = into && IsTileValue(into);
    bool in_place = starts && DiesAt(into, op) && into->uses().size() == 1 &&
                    LastAxisOf(tile_buffers_.at(into)) == *column;
    Value* tile_buffer =
        in_place ? tile_buffers_[result] = tile_buffers_.at(into) : ResultTileBuffer(op, 0);
    if (starts) Read(op, op, terms, Along(op, into, *column));
    Write(op, result, tile_buffer);
  }

  void PlaceLanes(Op* op) {
    AxisId last = op->attr<AttrKey::Axes>().back();
    size_t terms = op->kind() == OpKind::Contraction ? 2 : 1;
    for (size_t i = 0; i < op->operands().size(); ++i) {
      Value* tile = op->operand(i);
      if (!IsTileValue(tile)) continue;
      bool walks = i < terms && HasAxis(tile, last);
      Read(op, op, i, walks ? Along(op, tile, last) : tile_buffers_.at(tile));
    }
    if (IsTileValue(op->result())) Write(op, op->result(), ResultTileBuffer(op, 0));
  }

  /// Assigns buffers to the tiles of a reduction or scan with a region, whose vectors run along the last axis
  /// that is not reduced.
  void PlaceCombined(Op* op) {
    bool by_vectors = CombinedLanes(kernel_, op) > 1;
    AxisList kept = KeptAxes(kernel_, op);
    for (size_t i = 0; i < op->operands().size(); ++i) {
      Value* tile = op->operand(i);
      if (IsTileValue(tile))
        Read(op, op, i, by_vectors ? Along(op, tile, kept.back()) : tile_buffers_.at(tile));
    }
    std::vector<std::pair<Value*, Value*>> made;
    for (size_t i = 0; i < op->results().size(); ++i) {
      Value* result = op->result(i);
      if (!IsTileValue(result)) continue;
      Value* tile_buffer = ResultTileBuffer(op, i);
      bool lies = !by_vectors || LastAxisOf(tile_buffer) == kept.back();
      made.emplace_back(result,
                        lies ? tile_buffer : NewTileBuffer(op, result->type(), kept.back()));
    }
    for (const auto& [tile, tile_buffer] : made) Write(op, tile, tile_buffer);
  }

  bool IsReadInPlace(const Value* tile, const Op* fold) const {
    const Op* sliding_window = tile->def();
    return sliding_window && sliding_window->kind() == OpKind::SlidingWindow &&
           SlidingWindowInPlace(kernel_, tile,
                                LastAxisOf(tile_buffers_.at(sliding_window->operand(0))), fold);
  }

  void PlaceSlidingWindow(Op* sliding_window) {
    ReadOwn(sliding_window, ir::SlidingWindowOp::at_tile);
    Value* result = sliding_window->result();
    bool in_place = result->uses().size() == 1 && IsReadInPlace(result, result->uses()[0].user);
    if (!in_place && IsTileValue(result))
      Write(sliding_window, result, ResultTileBuffer(sliding_window, 0));
  }

  /// Assigns buffers to the tiles of a gather. A tile of indices is not loaded if its elements can be
  /// computed instead.
  void PlaceGather(Op* take) {
    auto index = take->Segment(ir::GatherOp::at_index);
    size_t first = take->SegmentBegin(ir::GatherOp::at_index);
    for (size_t i = 0; i < take->operands().size(); ++i) {
      bool is_index = i >= first && i < first + index.size();
      if (!is_index || !IsIndices(take->operand(i))) ReadOwn(take, i);
    }
    if (IsTileValue(take->result())) Write(take, take->result(), ResultTileBuffer(take, 0));
  }

  /// Assigns buffers to the tiles that a loop carries. A carried tile uses the buffer of its initial value if
  /// nothing else needs that value; otherwise the value is copied.
  void PlaceLoop(Op* loop) {
    std::vector<Carried> tiles = CarriedTiles(loop);
    for (const Carried& tile : tiles) {
      Value* tile_buffer = tile_buffers_.at(tile.init);
      if (!IsHandedOver(tile.init, loop)) {
        Value* copy = NewTileBuffer(loop, tile.init->type());
        if (keeps_named_) NameBuffer(copy, tile.param->name());
        MoveTileBuffer(tile_buffer, copy);
        tile_buffer = copy;
      }
      tile_buffers_[tile.param] = tile_buffers_[loop->result(tile.number)] = tile_buffer;
    }
    PlaceRegion(loop->region());
    if (!tiles.empty()) carriers_.push_back(loop);
  }

  void PlaceIf(Op* op) {
    bool carries = false;
    for (Value* result : op->results()) {
      if (!IsTileValue(result)) continue;
      tile_buffers_[result] = NewTileBuffer(op, result->type());
      if (keeps_named_) NameBuffer(tile_buffers_[result], result->name());
      carries = true;
    }
    for (ir::Region* region : op->regions()) PlaceRegion(region);
    if (carries) carriers_.push_back(op);
  }

  /// Moves yielded tiles to their destinations as if all were moved at once. If one move would overwrite a
  /// buffer from which another move reads, that buffer is first copied to a temporary one.
  void PlaceYield(Op* yield) {
    struct Pending {
      Value* from;
      Value* to;
      ir::Type type;
    };
    std::vector<Pending> pending;
    const Op* parent = yield->parent_region()->parent();
    for (size_t i = 0; i < yield->operands().size(); ++i) {
      Value* tile = yield->operand(i);
      if (!IsTileValue(tile)) continue;
      Value* to = tile_buffers_.at(parent->result(i));
      if (tile_buffers_.at(tile) != to)
        pending.push_back({tile_buffers_.at(tile), to, tile->type()});
    }
    for (Pending& move : pending) {
      bool overwritten = std::ranges::any_of(
          pending, [&](const Pending& other) { return &other != &move && other.to == move.from; });
      if (!overwritten) continue;
      Value* temporary = NewTileBuffer(yield, move.type);
      MoveTileBuffer(move.from, temporary);
      move.from = temporary;
    }
    for (const Pending& move : pending) MoveTileBuffer(move.from, move.to);
  }

  // -- Execution of the plan -----------------------------------------------------------------------

  void StoreAndLoad() {
    std::map<std::tuple<const Op*, const Value*, const Value*>, Value*> got;
    for (const auto& [at, user, operand, tile_buffer] : reads_) {
      Value* tile = user->operand(operand);
      Value*& read = got[{at, tile, tile_buffer}];
      if (!read) {
        b_.StandAt(at);
        read = MakeOne(b_, OpKind::LoadTile, {{tile_buffer}, {}, {}, {}}, tile->type());
        read->set_name(tile->name());
      }
      user->SetOperand(operand, read);
    }
    std::unordered_map<const Op*, Op*> last;
    for (const auto& [maker, tile, tile_buffer] : writes_) {
      Op*& after = last.try_emplace(maker, maker).first->second;
      b_.SetInsertionPoint(maker->parent_region(), after->next());
      b_.set_loc(maker->loc());
      after = b_.Create(OpKind::StoreTile, {{tile}, {tile_buffer}, {}}, {});
    }
  }

  static void KeepScalars(Op* op, size_t segment) {
    std::vector<Value*> scalars;
    for (Value* value : op->Segment(segment)) {
      if (!IsTileValue(value)) scalars.push_back(value);
    }
    op->SetSegment(segment, scalars);
  }

  /// Removes tiles from the op's initial values and from the values that its regions yield.
  static void ForgetTiles(Op* op) {
    if (op->kind() != OpKind::If)
      KeepScalars(op, op->kind() == OpKind::Loop ? size_t{ir::LoopOp::at_inits}
                                                 : size_t{ir::WhileOp::at_inits});
    for (const ir::Region* region : op->regions())
      KeepScalars(region->terminator(), ir::YieldOp::at_values);
  }

  /// Replaces the op by one that carries no tiles. Nothing reads these tiles any more.
  void DropTiles(Op* op) {
    std::vector<ir::Type> types;
    for (const Value* result : op->results()) {
      if (!IsTileValue(result)) types.push_back(result->type());
    }
    auto segments = SegmentsOf(op, [](Value* operand) { return operand; });
    b_.StandAt(op);
    Op* scalars = b_.Create(op->kind(), segments, types, op->attrs());
    for (size_t r = 0; r < op->regions().size(); ++r) DropTiles(op->region(r), scalars->region(r));
    size_t next = 0;
    for (Value* result : op->results()) {
      if (IsTileValue(result)) continue;
      scalars->result(next)->set_name(result->name());
      result->ReplaceAllUsesWith(scalars->result(next++));
    }
    ir::Erase(op);
  }

  void DropTiles(ir::Region* from, ir::Region* to) {
    for (Value* param : from->params()) {
      if (!IsTileValue(param))
        param->ReplaceAllUsesWith(b_.AddParam(to, param->type(), param->name()));
    }
    MoveOps(from, to);
  }

  struct PlannedRead {
    Op* at;
    Op* user;
    size_t operand;
    Value* tile_buffer;
  };
  struct PlannedWrite {
    Op* maker;
    Value* tile;
    Value* tile_buffer;
  };

  ir::Module& module_;
  bool keeps_named_;
  KernelShape kernel_;
  ir::Builder b_;
  Op* after_ = nullptr;                                    ///< the op after the current one
  std::unordered_map<const Value*, Value*> tile_buffers_;  ///< maps each tile to its buffer
  std::vector<PlannedRead> reads_;
  std::vector<PlannedWrite> writes_;
  std::vector<Op*> carriers_;  ///< loops and branches that carry tiles, with inner ones first
};

}  // namespace

void RunAllocateTiles(PassContext& context, ir::Function& kernel) {
  TileAllocator(context, kernel).AllocateAll(kernel.body);
}

}  // namespace kdl::cpu
