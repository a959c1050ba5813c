#include <algorithm>

#include "ir/op_kind.h"
#include "passes/analysis/index_conditions.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/expander.h"

// Expands gathers from a tile, one element of the result at a time. Instead, a whole vector is gathered at a
// time if the indices do not vary along the last axis, or if one of them is the index of that axis.

namespace kdl::cpu {

namespace {

class Taking {
 public:
  Taking(Expander& e, ir::GatherOp take)
      : e_(e),
        take_(take),
        over_(take->attr<AttrKey::Axes>()),
        tile_(TileBufferOf(e, take.tile())) {}

  void ExpandGather() {
    const Value* result = take_.result();
    if (!IsTileValue(result)) {
      e_.scalars[result] = Element({});
      return;
    }
    const TileBuffer& tile_buffer = TileBufferOf(e_, result);
    AxisId last = tile_buffer.axes.back();
    along_ = IndexAlong(last);
    int64_t lanes = RunsAlong(last) ? e_.LanesAlong(last, Bytes(result->type()->scalar)) : 1;
    MakeChunksOf(e_, take_.op, tile_buffer.axes, lanes, position_, [&](const Chunk& chunk) {
      StoreChunk(e_, Element(chunk), tile_buffer, position_, chunk);
    });
  }

 private:
  /// Whether adjacent elements of the result along the axis are also contiguous in the tile, and have the
  /// same indices and mask.
  bool RunsAlong(AxisId last) const {
    bool masked = take_.mask() && HasAxis(take_.mask(), last);
    if (along_) return !masked && !take_.otherwise();
    bool still = std::none_of(take_.index().begin(), take_.index().end(),
                              [&](const Value* index) { return HasAxis(index, last); });
    bool kept = !Contains(over_, last);
    return still && !masked && kept && tile_.axes.back() == last &&
           AlongOrStill(take_.otherwise(), last);
  }

  /// If exactly one index varies along the last axis, and that index equals the position along the axis and
  /// selects contiguous elements of the tile, returns the number of the index. Otherwise returns nothing.
  std::optional<size_t> IndexAlong(AxisId last) const {
    if (HasAxis(take_.tile(), last)) return std::nullopt;
    std::optional<size_t> along;
    for (size_t i = 0; i < over_.size(); ++i) {
      const Value* index = take_.index()[i];
      if (!HasAxis(index, last)) continue;
      bool fits = !along && IsIndices(index) && tile_.axes.back() == over_[i];
      if (!fits) return std::nullopt;
      along = i;
    }
    return along;
  }

  bool AlongOrStill(const Value* value, AxisId last) const {
    return !value || !IsTileValue(value) || !HasAxis(value, last) ||
           TileBufferOf(e_, value).axes.back() == last;
  }

  /// Reads a vector if the value has the axis along which the vectors run, otherwise a scalar.
  Value* Read(Value* value, const Chunk& chunk) {
    bool varies = chunk.lanes > 1 && HasAxis(value, TileBufferOf(e_, take_.result()).axes.back());
    return ReadAt(e_, value, position_, varies ? chunk : Chunk{});
  }

  /// Returns the value of index `i` at the current position. It is not relative to the start of a block.
  Value* Index(size_t i) {
    Value* index = take_.index()[i];
    if (!IsTileValue(index) || !IsIndices(index)) return Read(index, {});
    ir::AxisId axis = index->type()->axes[0];
    return e_.b.Add(e_.Facts(take_.op, axis).start, position_.at(axis));
  }

  /// Returns the positions in the tile along the indexed axes, counted from the starts of their blocks.
  Values Indices() {
    Values indices;
    for (size_t i = 0; i < over_.size(); ++i) {
      Value* start = e_.Facts(take_.op, over_[i]).start;
      indices.push_back(e_.b.Sub(Index(i), start));
    }
    return indices;
  }

  Value* Element(const Chunk& chunk) {
    Value* mask = take_.mask() ? Read(take_.mask(), {}) : nullptr;
    if (!mask) return Unmasked(chunk);
    return Chosen(
        mask, chunk, [&] { return Unmasked(chunk); },
        [&] { return e_.b.Bits(take_.result()->type()->scalar, 0); });
  }

  Value* Unmasked(const Chunk& chunk) {
    Values indices = Indices();
    if (take_.otherwise()) {
      return Chosen(
          Inside(indices), chunk, [&] { return Taken(indices, chunk); },
          [&] { return Read(take_.otherwise(), chunk); });
    }
    for (size_t i = 0; i < indices.size(); ++i) Check(i, indices[i]);
    if (along_ && chunk.lanes > 1) {  // the first index out of bounds, if any, equals the size
      Value* count = chunk.count ? chunk.count : e_.b.I64(chunk.lanes);
      Value* after = e_.b.Add(indices[*along_], count);
      Value* last = e_.b.Sub(after, e_.b.I64(1));
      Check(*along_, e_.b.Min(last, e_.Facts(take_.op, over_[*along_]).size));
    }
    return Taken(indices, chunk);
  }

  void Check(size_t i, Value* index) {
    if (take_->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Proven) return;
    Value* size = e_.Facts(take_.op, over_[i]).size;
    e_.b.Create(OpKind::Check, {{index}, {size}}, {},
                {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(i)),
                 ir::MakeAttr<AttrKey::Text>(take_->attr<AttrKey::Text>())});
  }

  template <class Then, class Otherwise>
  Value* Chosen(Value* condition, const Chunk& chunk, Then then, Otherwise otherwise) {
    ir::Type type = e_.VectorType(take_.result()->type()->scalar, chunk.lanes);
    return MakeIf(
        e_.b, condition, {type}, [&]() -> Values { return {e_.b.Splat(then(), chunk.lanes)}; },
        [&]() -> Values { return {e_.b.Splat(otherwise(), chunk.lanes)}; })[0];
  }

  Value* Inside(const Values& indices) {
    Value* inside = e_.b.Bool(true);
    for (size_t i = 0; i < indices.size(); ++i) {
      Value* size = e_.Facts(take_.op, over_[i]).size;
      inside = e_.b.And(inside, e_.b.Ge(indices[i], e_.b.I64(0)));
      inside = e_.b.And(inside, e_.b.Lt(indices[i], size));
    }
    return inside;
  }

  Value* Taken(const Values& indices, const Chunk& chunk) {
    Position position = position_;
    for (size_t i = 0; i < over_.size(); ++i) position[over_[i]] = indices[i];
    return LoadChunk(e_, tile_, take_.result()->type()->scalar, position, chunk);
  }

  Expander& e_;
  ir::GatherOp take_;
  ir::AxisList over_;
  TileBuffer tile_;
  /// The position of the index that increases along the last axis, if there is one.
  std::optional<size_t> along_;
  Position position_;
};

}  // namespace

void ExpandGather(Expander& e, const Op* op) {
  Taking(e, ir::GatherOp(const_cast<Op*>(op))).ExpandGather();
}

}  // namespace kdl::cpu
