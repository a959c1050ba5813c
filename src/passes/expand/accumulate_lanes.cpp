#include <algorithm>

#include "passes/expand/accumulate.h"

// 64 accumulators, as 64 / L vectors of L lanes. A block's last elements, fewer than 64, change only the lanes that
// they go to.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kLanes = 64;

class Lanes {
 public:
  Lanes(Expander& e, const Accumulation& what)
      : e_(e),
        what_(what),
        last_(what.folded.back()),
        width_(std::min<int64_t>(kLanes, e.facts.vector_bits / 8 / Bytes(what.acc))) {
    for (Value* operand : what.operands) {
      homes_.push_back(Varies(operand) ? HomeAlong(e, what.op, operand, last_) : Home());
    }
  }

  /// The folded value of the element at the position.
  Value* Fold(Position& position) {
    ir::AxisList slow(what_.folded.begin(), what_.folded.end() - 1);
    Values lanes = MakeNest(e_, what_.op, slow, position, Start(position),
                            [&](const Values& carried) { return Block(carried, position); });
    for (; lanes.size() > 1; lanes.resize(lanes.size() / 2)) {
      for (size_t i = 0; i < lanes.size() / 2; ++i)
        lanes[i] = e_.b.Binary(what_.combine, lanes[i], lanes[i + lanes.size() / 2]);
    }
    Value* folded = lanes[0];
    while (ir::IsVector(folded->type()))
      folded = e_.b.Binary(what_.combine, HalfOf(folded, 0), HalfOf(folded, 1));
    return folded;
  }

 private:
  bool Varies(const Value* operand) const {
    if (!IsTileValue(operand)) return false;
    const auto& axes = operand->type()->axes;
    return std::find(axes.begin(), axes.end(), last_) != axes.end();
  }

  Values Start(const Position& position) {
    Values lanes(static_cast<size_t>(kLanes / width_), e_.b.Splat(what_.identity, width_));
    if (what_.into) {
      Value* into = IsTileValue(what_.into)
                        ? LoadPiece(e_, e_.homes.at(what_.into), what_.acc, position)
                        : e_.Scalar(what_.into);
      lanes[0] = e_.b.Select(Mask(e_.b.I64(1)), into, lanes[0]);
    }
    return lanes;
  }

  /// One block of the last axis.
  Values Block(const Values& carried, Position& position) {
    Value* size = e_.Facts(what_.op, last_).size;
    Value* full = RoundDown(e_, size, kLanes);
    Values lanes = carried;
    if (e_.Extent(last_) >= kLanes) {
      lanes = MakeLoop(
          e_, {e_.b.I64(0), full, kLanes}, carried,
          [&](Value* index, const Values& inner) { return Step(inner, index, nullptr, position); });
    }
    std::vector<ir::Type> types(lanes.size(), lanes[0]->type());
    return MakeIf(
        e_, e_.b.Binary(OpKind::Lt, full, size), types,
        [&] { return Step(lanes, full, e_.b.Binary(OpKind::Sub, size, full), position); },
        [&] { return lanes; });
  }

  /// 64 elements from `index` on, or `count` of them.
  Values Step(const Values& carried, Value* index, Value* count, Position& position) {
    Values next;
    for (size_t i = 0; i < carried.size(); ++i) {
      int64_t skipped = static_cast<int64_t>(i) * width_;
      position[last_] = e_.b.Binary(OpKind::Add, index, e_.b.I64(skipped));
      Piece piece{width_};
      if (count) piece.mask = Mask(e_.b.Binary(OpKind::Sub, count, e_.b.I64(skipped)));
      Value* stepped = what_.step(carried[i], Terms(position, piece));
      next.push_back(count ? e_.b.Select(piece.mask, stepped, carried[i]) : stepped);
    }
    return next;
  }

  Values Terms(const Position& position, const Piece& piece) {
    Values terms;
    for (size_t i = 0; i < homes_.size(); ++i) {
      Value* operand = what_.operands[i];
      kdl::Scalar scalar = operand->type()->scalar;
      Value* term = nullptr;
      if (Varies(operand)) {
        term = LoadPiece(e_, homes_[i], scalar, position, piece);
      } else {
        term = IsTileValue(operand) ? LoadPiece(e_, e_.homes.at(operand), scalar, position)
                                    : e_.Scalar(operand);
      }
      terms.push_back(e_.b.Cast(term, what_.acc));
    }
    return terms;
  }

  Value* Mask(Value* count) {
    return e_.b.Make(OpKind::LaneMask, {count}, e_.TypeOf(kdl::Scalar::Bool, width_));
  }

  Value* HalfOf(Value* value, int64_t part) {
    ir::Type half = e_.TypeOf(what_.acc, ir::Lanes(value->type()) / 2);
    return e_.b.Make(OpKind::Half, {value}, half, {ir::MakeAttr<AttrKey::Part>(part)});
  }

  Expander& e_;
  const Accumulation& what_;
  ir::AxisId last_;
  int64_t width_;
  std::vector<Home> homes_;  ///< of the operands that have the last axis
};

}  // namespace

void AccumulateLanes(Expander& e, const Accumulation& what) {
  const Value* result = what.op->result();
  Lanes lanes(e, what);
  Position position;
  if (!IsTileValue(result)) {
    e.scalars[result] = lanes.Fold(position);
    return;
  }
  Home home = ResultHome(e, what.op, 0);
  MakeNest(e, what.op, home.axes, position, {}, [&](const Values&) -> Values {
    StorePiece(e, lanes.Fold(position), home, position);
    return {};
  });
}

}  // namespace kdl::passes
