#include <algorithm>
#include <numeric>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/fused_axes.h"
#include "targets/cpu/expand/elementwise_rows.h"
#include "targets/cpu/expand/joined_rows.h"

// Runs vectors over the last two axes of an elementwise loop whose last axis has two to four points, such as the
// channels of a pixel. Where the rows of all tensors adjoin in memory, the elements of adjacent pixels are one long
// row. A value that does not have both axes is loaded once for several pixels, and a shuffle puts each of its
// elements where it is needed. In this example, vectors have 8 lanes:
//
//   elementwise (%p in %n, %q in %c) { %v = load %x[%p, %q] ; %a = load %x[%p, 3] ; … store %w to %y[%p, %q] }
//   ->
//   %row = join_rows %x
//   loop over every second pixel %p {
//     %v = load %row[4 * %p] : vec<f32 x 8>
//     %a = pick [3, 3, 3, 3, 7, 7, 7, 7] of %v ; … }
//
// If a pixel does not divide a vector, each iteration computes as many vectors as a pixel has elements. Pixels
// that are left over run in the usual way.

namespace kdl::cpu {

namespace {

class FusedRows {
 public:
  FusedRows(ElementwiseLoopBody& body, FusedAxes axes)
      : e_(body.e()),
        body_(body),
        axes_(std::move(axes)),
        lanes_(e_.facts.vector_bits / 8 / body.last().ChunkBytes(/*shuffles=*/true)),
        vectors_(axes_.channels / std::gcd(axes_.channels, lanes_)),
        pixels_(vectors_ * lanes_ / axes_.channels),
        rest_(body) {}

  /// Whether the loop is long enough, and the buffers of its tiles can be read in vectors.
  bool Fits() const {
    if (e_.Extent(Pixels()) < pixels_) return false;
    for (const Op* op : *body_.elementwise()->region()) {
      if (op->kind() == OpKind::Element && !FitsTile(op->operand(0))) return false;
    }
    return true;
  }

  void ExpandRows() {
    for (const auto& op : *body_.elementwise()->region()) Join(op);
    Value* adjoin = DoRowsAdjoin(e_, tensors_);
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 2);
    MakeElementwiseLoop(e_, body_.elementwise(), around, body_.position(), [&] {
      for (size_t i = 0; i < around.size(); ++i) body_.MapPoint(i);
      Window row = e_.WindowOf(body_.elementwise(), Pixels());
      Value* end = RunFused(row, adjoin);
      RunRest({end, row.hi, e_.b.Sub(row.hi, end)});
    });
  }

 private:
  ir::AxisId Pixels() const { return *(body_.axes().end() - 2); }
  ir::AxisId Channels() const { return body_.axes().back(); }
  const Value* Point(size_t from_end) const {
    const auto& points = body_.elementwise()->region()->params();
    return points[points.size() - from_end];
  }

  bool FitsTile(const Value* tile) const {
    if (!IsTileValue(tile)) return true;
    bool has_pixels = HasAxis(tile, Pixels());
    bool has_channels = HasAxis(tile, Channels());
    if (!has_pixels && !has_channels) return true;
    TileBuffer buffer = TileBufferOf(e_, tile);
    ir::AxisId last = has_pixels ? Pixels() : Channels();
    return has_pixels != has_channels && buffer.axes.back() == last && buffer.panel == 0 &&
           buffer.group == 1;
  }

  void Join(const Op* op) {
    auto access = axes_.accesses.find(op);
    if (access == axes_.accesses.end() || !access->second.joins_rows) return;
    auto* tensor = const_cast<Value*>(TensorOf(op));
    if (joined_.contains(tensor)) return;
    joined_[tensor] = JoinRows(e_.b, e_.Scalar(tensor));
    tensors_.push_back(tensor);
  }

  /// Emits the vectors of a row and returns the number of the first pixel that is left.
  Value* RunFused(const Window& row, Value* adjoin) {
    Value* some = e_.b.And(adjoin, e_.b.Ge(row.size, e_.b.I64(pixels_)));
    return MakeIf(
        e_.b, some, {e_.ScalarType(Scalar::I64)},
        [&]() -> Values {
          Value* full = e_.b.Add(row.lo, RoundDown(e_, row.size, pixels_));
          MakeLoop(e_.b, {row.lo, full, pixels_, vectors_ == 1 ? 2 : 1},
                   [&](Value* pixel) { RunChunk(pixel); });
          if (!axes_.is_repeatable) return {full};
          MakeIf(e_.b, e_.b.Lt(full, row.hi),
                 [&] { RunChunk(e_.b.Sub(row.hi, e_.b.I64(pixels_))); });
          return {row.hi};
        },
        [&]() -> Values { return {row.lo}; })[0];
  }

  void RunRest(const Window& row) {
    MakeLoop(e_.b, {row.lo, row.hi}, [&](Value* pixel) {
      body_.position()[Pixels()] = pixel;
      rest_.BeginRow();
      rest_.RunRow(e_.WindowOf(body_.elementwise(), Channels()));
    });
  }

  void RunChunk(Value* pixel) {
    body_.position()[Pixels()] = pixel;
    body_.position()[Channels()] = e_.b.I64(0);
    body_.Locally([&] {
      body_.MapPoint(body_.axes().size() - 2);
      body_.MapPoint(body_.axes().size() - 1);
      for (vector_ = 0; vector_ < vectors_; ++vector_) {
        map_.clear();
        for (const Op* op : *body_.elementwise()->region()) {
          e_.b.set_loc(op->loc());
          ExpandOp(op);
        }
      }
    });
  }

  void ExpandOp(const Op* op) {
    if (op->kind() == OpKind::Yield) return;
    if (op->kind() == OpKind::Store) return ExpandStoreOp(op);
    Value* made = op->kind() == OpKind::Load ? ExpandLoadOp(op)
                  : op->kind() == OpKind::Element
                      ? ExpandElement(op->operand(0))
                      : ExpandInLanes(e_, op, [&](Value* operand) { return Lane(operand); });
    made->set_name(op->result()->name());
    map_[op->result()] = made;
  }

  /// Returns the number of the pixel to which a lane belongs, counted from the chunk's first pixel.
  int64_t PixelOf(int64_t lane) const { return (vector_ * lanes_ + lane) / axes_.channels; }
  int64_t ChannelOf(int64_t lane) const { return (vector_ * lanes_ + lane) % axes_.channels; }

  /// Returns a vector with the element of `rows` at the number that `number` returns for each lane.
  template <class Number>
  Value* Pick(const Values& rows, Number&& number) {
    if (!ir::IsVector(rows[0]->type())) return e_.b.Splat(rows[0], lanes_);
    ir::NumberList picked;
    for (int64_t lane = 0; lane < lanes_; ++lane) picked.push_back(number(lane));
    return MakeOne(e_.b, OpKind::Pick, {rows}, e_.VectorType(rows[0]->type()->scalar, lanes_),
                   {ir::MakeAttr<AttrKey::Picked>(std::move(picked))});
  }

  Value* Lane(Value* old) {
    if (auto found = map_.find(old); found != map_.end()) return found->second;
    Value* first = body_.InRow(old);
    if (old != Point(1) && old != Point(2)) return first;
    int64_t count = std::max({lanes_, pixels_, axes_.channels});
    Value* numbers = e_.b.Make(OpKind::LaneNumbers, {}, e_.VectorType(Scalar::I64, count));
    bool is_pixel = old == Point(2);
    Value* places =
        Pick({numbers}, [&](int64_t lane) { return is_pixel ? PixelOf(lane) : ChannelOf(lane); });
    return e_.b.Add(first, places);
  }

  Value* ExpandElement(Value* tile) {
    bool has_pixels = HasAxis(tile, Pixels());
    if (!IsTileValue(tile)) return e_.Scalar(tile);
    bool varies = has_pixels || HasAxis(tile, Channels());
    int64_t lanes = has_pixels ? pixels_ : varies ? axes_.channels : 1;
    Value* elements =
        LoadChunk(e_, TileBufferOf(e_, tile), tile->type()->scalar, body_.position(), {lanes});
    if (!varies) return elements;
    return Pick({elements},
                [&](int64_t lane) { return has_pixels ? PixelOf(lane) : ChannelOf(lane); });
  }

  /// The access of an op to elements of the chunk, without checks.
  struct Place {
    Value* tensor;
    Values index;
    ir::Access map;
  };
  Place PlaceOf(const Op* op, const FusedAccess& access) {
    Place place{e_.Scalar(const_cast<Value*>(TensorOf(op))), {}, op->attr<AttrKey::Access>()};
    for (Value* index : IndexOf(op)) {
      auto found = map_.find(index);
      Value* value = found == map_.end() ? body_.InRow(index) : found->second;
      place.index.push_back(e_.b.Cast(value, Scalar::I64));
    }
    if (!access.joins_rows) return place;
    Size length = TensorOf(op)->type()->dims.back();
    place.map.dims.back().offset = e_.module.types().sizes().Constant(0);
    place.map = JoinedAccess(e_.module.types().sizes(), std::move(place.map), length);
    place.tensor = joined_.at(TensorOf(op));
    return place;
  }

  /// Returns the attributes of an access that begins `elements` elements after the place.
  std::vector<ir::Attr> AttrsAt(const Place& place, int64_t elements) {
    SizeTable& sizes = e_.module.types().sizes();
    ir::Access map = place.map;
    ir::AccessDim& last = map.dims.back();
    last.offset = sizes.Binary(SizeKind::Add, last.offset, sizes.Constant(elements));
    return {ir::MakeAttr<AttrKey::Access>(map),
            ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)};
  }

  Value* LoadAt(const Place& place, int64_t elements, int64_t lanes) {
    ir::Type type = e_.VectorType(place.tensor->type()->scalar, lanes);
    return MakeOne(e_.b, OpKind::Load, {{place.tensor}, place.index, {}, {}}, type,
                   AttrsAt(place, elements));
  }

  Value* ExpandLoadOp(const Op* op) {
    const FusedAccess& access = axes_.accesses.at(op);
    Place place = PlaceOf(op, access);
    if (access.IsUniform()) return LoadAt(place, 0, 1);
    if (access.IsContiguous(axes_.channels)) return LoadAt(place, vector_ * lanes_, lanes_);
    int64_t count = access.length == 0 ? axes_.channels : access.length * pixels_;
    int64_t part = count % lanes_ == 0 ? lanes_ : count;
    Values rows;
    for (int64_t begin = 0; begin < count; begin += part)
      rows.push_back(LoadAt(place, begin, part));
    return Pick(rows, [&](int64_t lane) {
      return access.length * PixelOf(lane) + access.factor * ChannelOf(lane) + access.first;
    });
  }

  void ExpandStoreOp(const Op* op) {
    Place place = PlaceOf(op, axes_.accesses.at(op));
    Value* value = e_.b.Splat(Lane(op->operand(ir::StoreOp::at_value)), lanes_);
    e_.b.Create(OpKind::Store, {{value}, {place.tensor}, place.index, {}}, {},
                AttrsAt(place, vector_ * lanes_));
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  FusedAxes axes_;
  int64_t lanes_;
  int64_t vectors_;  ///< the number of vectors after which pixels begin at the same lanes again
  int64_t pixels_;   ///< the number of pixels in these vectors
  ElementwiseRows rest_;
  std::vector<Value*> tensors_;
  ir::ValueMap joined_;  ///< maps old tensors to new ones with joined rows
  int64_t vector_ = 0;   ///< the number of the vector that is being expanded
  ir::ValueMap map_;     ///< maps old values to those of that vector
};

}  // namespace

bool ExpandFusedRows(Expander& e, ElementwiseLoopBody& body) {
  const Op* loop = body.elementwise();
  if (loop->operands().size() < 2) return false;
  Value* block = loop->operands().back();
  int64_t channels = ConstantOf(e.WindowOf(loop, body.axes().back()).size).value_or(0);
  if (channels == 0 || ConstantOf(e.blocks.at(block).start) != 0) return false;
  std::optional<FusedAxes> axes = FuseAxes(loop, channels);
  if (!axes) return false;
  FusedRows rows(body, std::move(*axes));
  if (!rows.Fits()) return false;
  rows.ExpandRows();
  return true;
}

}  // namespace kdl::cpu
