#include <algorithm>
#include <utility>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/expand/mapped.h"
#include "targets/simt/tiles/product_block.h"

// Expands products with a thread layout to loops over threads. Each thread keeps its block of the result in
// scalars, which the loops over the terms carry.
//
//   loop %w in 0 .. 256 {threads} {
//     %0 = buffer_load %acc[0, 0] …                 the thread's block
//     %s, … = loop %k in 0 .. size(bk) carry(%c = %0, …) {
//       %a = buffer_load %A[%k, %i] : vec<f32 x 4>   its factors of one term, in contiguous vectors
//       %b0 = buffer_load %B[%k, %j] …
//       yield fma %a0, %b0, %c; … }                 their outer product
//     buffer_store %s to %acc[0, 0] … }
//
// If an offset is beyond the end of a block, the thread uses its first offset instead, and the result for
// this point is not stored.

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeLoop;
using passes::MakeWorkgroupLoop;
using passes::Values;

class ProductExpander {
 public:
  ProductExpander(ir::Builder& b, WorkgroupTiles& tiles, const Op* op, bool in_vectors)
      : b_(b),
        tiles_(tiles),
        op_(op),
        block_(b, tiles, op),
        axes_(op->result()->type()->axes),
        folded_(op->attr<AttrKey::Axes>()),
        acc_(op->attr<AttrKey::Acc>()),
        lanes_(in_vectors && tiles.IsLast(FactorWithAxis(axes_[1]), axes_[1]) ? block_.Lanes()
                                                                              : 1) {}

  void ExpandTo(Value* target) {
    Value* zero = b_.I64(0);
    Value* all = b_.I64(block_.threads());
    MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
      block_.PlaceFor(thread);
      Value* exists = nullptr;
      Value* whole = nullptr;
      for (AxisId axis : axes_) {
        places_[axis] = block_.PlacesAlong(axis);
        exists = Both(exists, block_.IsInside(axis, places_[axis].front()));
        whole = Both(whole, block_.IsInside(axis, places_[axis].back()));
      }
      MakeIf(b_, exists, [&] { lanes_ > 1 ? InVectors(whole, target) : Block(whole, target); });
    });
  }

 private:
  Value* Both(Value* a, Value* b) { return a ? b_.And(a, b) : b; }

  const Value* FactorWithAxis(AxisId axis) const {
    return Has(op_->operand(0), axis) ? op_->operand(0) : op_->operand(1);
  }

  /// Computes a whole block in vectors and a partial block in scalars.
  void InVectors(Value* whole, Value* target) {
    auto vectors = [&]() -> Values {
      whole_ = true;
      block_.StoreVectors(Terms(block_.LoadVectors()), target);
      return {};
    };
    auto scalars = [&]() -> Values {
      whole_ = false;
      auto inside = std::exchange(places_, Clamped());
      block_.Store(Terms(block_.Load()), target);
      places_ = std::move(inside);
      return {};
    };
    MakeIf(b_, whole, {}, vectors, scalars);
  }

  /// Computes the thread's block, with separate code for the case that the block is whole.
  void Block(Value* whole, Value* target) {
    Values before = block_.Load();
    std::vector<ir::Type> types(before.size(), b_.types().ScalarOf(acc_));
    Values after = MakeIf(
        b_, whole, types,
        [&] {
          whole_ = true;
          return Terms(before);
        },
        [&] {
          whole_ = false;
          auto inside = std::exchange(places_, Clamped());
          Values made = Terms(before);
          places_ = std::move(inside);
          return made;
        });
    block_.Store(after, target);
  }

  std::map<AxisId, Values> Clamped() {
    std::map<AxisId, Values> clamped;
    for (const auto& [axis, places] : places_) {
      for (Value* place : places) {
        bool exists = place == places[0];
        clamped[axis].push_back(exists ? place
                                       : b_.Select(block_.IsInside(axis, place), place, places[0]));
      }
    }
    return clamped;
  }

  Values Terms(const Values& before) { return Loops(0, before); }

  /// Emits a loop for each reduced axis. The loop over the last axis is the innermost one.
  Values Loops(size_t depth, const Values& before) {
    if (depth == folded_.size()) return Term(before);
    Value* zero = b_.I64(0);
    Value* size = tiles_.FactsAt(op_, folded_[depth]).size;
    auto one = [&](Value* place, const Values& carried) {
      term_[folded_[depth]] = place;
      return Loops(depth + 1, carried);
    };
    if (depth + 1 < folded_.size() || !whole_ || Together() == 1)
      return MakeLoop(b_, {zero, size}, before, one);
    Value* together = b_.I64(Together());
    Value* rest = b_.Sub(size, b_.Rem(size, together));
    Values carried = MakeLoop(b_, {zero, rest, Together()}, before, [&](Value* place, Values sums) {
      for (int64_t i = 0; i < Together(); ++i)
        sums = one(i == 0 ? place : b_.Add(place, b_.I64(i)), sums);
      return sums;
    });
    return MakeLoop(b_, {rest, size}, carried, one);
  }

  /// Returns the number of terms of a whole block that one iteration computes. Two terms per iteration
  /// amortize the overhead of the loop.
  int64_t Together() const {
    constexpr int64_t kSteps = 128;
    int64_t held = block_.DigitsOf(axes_[0]).held() * block_.DigitsOf(axes_[1]).held();
    return lanes_ == 1 && 2 * held <= kSteps && held > kSteps / 16 ? 2 : 1;
  }

  Values Term(const Values& carried) {
    std::map<AxisId, Values> factors;
    for (size_t i = 0; i < 2; ++i) Factors(op_->operand(i), factors);
    Values next;
    // The first factor in the source must be the first operand, because the order of operands determines
    // which of two NaNs is the result.
    bool swapped = !Has(op_->operand(0), axes_[0]);
    for (Value* x : factors.at(axes_[0])) {
      for (Value* y : factors.at(axes_[1])) {
        Value* a = swapped ? y : x;
        Value* b = swapped ? x : y;
        Value* acc = carried[next.size()];
        next.push_back(IsFloat(acc_) ? b_.Fma(a, b, acc) : b_.Add(acc, b_.Mul(a, b)));
      }
    }
    return next;
  }

  static bool Has(const Value* tile, AxisId axis) { return Contains(tile->type()->axes, axis); }

  /// Loads the thread's elements of one factor, along the axis that this factor and the result share.
  void Factors(const Value* tile, std::map<AxisId, Values>& factors) {
    AxisId kept = Has(tile, axes_[0]) ? axes_[0] : axes_[1];
    const Values& places = places_.at(kept);
    Value* buffer = tiles_.BufferOf(tile);
    int64_t side = whole_ && tiles_.IsLast(tile, kept) ? block_.DigitsOf(kept).side : 1;
    for (size_t held = 0; held < places.size(); held += static_cast<size_t>(side)) {
      Values place;
      for (AxisId axis : tile->type()->axes)
        place.push_back(axis == kept ? places[held] : term_.at(axis));
      bool at_once = side == lanes_ && side > 1 && kept == axes_[1];
      Values loaded = at_once ? Values{tiles_.LoadVector(tile, buffer, place, side)}
                              : tiles_.LoadSide(tile, buffer, place, side);
      for (Value* factor : loaded) factors[kept].push_back(b_.Cast(factor, acc_));
    }
  }

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const Op* op_;
  ProductBlock block_;
  const AxisList& axes_;
  AxisList folded_;
  kdl::Scalar acc_;
  std::map<AxisId, Values> places_;  ///< the offsets of the thread's points along the kept axes
  std::map<AxisId, Value*> term_;    ///< the offset of the current term along the reduced axes
  /// The number of points that are computed at once, as a vector.
  int64_t lanes_;
  /// Whether the block is whole. If so, the offsets of the thread's points are contiguous, as the layout
  /// says.
  bool whole_ = false;
};

}  // namespace

void ExpandProduct(ir::Builder& b, WorkgroupTiles& tiles, const Op* op, Value* target,
                   bool in_vectors) {
  ProductExpander(b, tiles, op, in_vectors).ExpandTo(target);
}

}  // namespace kdl::simt
