#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/axis_order.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "proofs/proofs.h"
#include "targets/simt/passes.h"

// expand-reductions: replaces an op that reduces, multiplies or gathers elements of tiles by an elementwise
// loop over its result. The body of the elementwise loop contains a loop over the reduced elements. After
// this pass, the only ops on tiles are elementwise loops, scans, and products and reductions with a thread
// layout.
//
//   %u = contraction %a, %b into %t over k
//   ->
//   %u = elementwise (%i in %bi, %j in %bj) {
//     %s = loop %k in … carry(%c = %t[%i, %j]) { yield fma %a[%i, %k], %b[%k, %j], %c }
//     yield %s }
//
// A reduction in sequential order reads several elements before it combines them, because reading takes longer.
//
// A reduction in 64-lane order is done in two steps. First, each of 64 lanes reduces its elements. Then, the
// results of the lanes are combined in the specified order. If there are so few rows that no thread has several lanes,
// a lane computes several elements before it combines them.
//
//   %m = reduce max %x over c {order = lanes64}
//   ->
//   %l = elementwise (%r in %br, %lane in 0 .. 64) { loop %c in %lane .. step 64 … }
//   %m = elementwise (%r in %br) { max of %l[%r, 0], … }
//
// If an elementwise loop computes elements only for such a reduction, the reduction computes each of them where it
// needs it, instead of reading a tile from workgroup memory.

namespace kdl::simt {

namespace {

constexpr int64_t kLanes = 64;
constexpr int64_t kParts = 8;  // the number of groups of lanes that are combined in parallel
// The number of elements that are read before they are combined in order. Reading from workgroup memory takes about as
// long as eight additions that depend on each other.
constexpr int64_t kReadTogether = 8;
// The number of elements that a lane computes before it combines them, if a thread has one lane. More of them would need
// more registers, and so fewer workgroups would share a multiprocessor.
constexpr int64_t kLaneTogether = 4;

/// A point, given by its absolute index along each axis.
using Point = std::map<AxisId, Value*>;

class PointFolder {
 public:
  PointFolder(ir::Module& module, ir::Function& kernel, const SimtFacts& facts)
      : module_(module), kernel_(kernel), facts_(facts), order_(kernel), b_(module) {}

  void ExpandOp(Op* op) {
    b_.StandAt(op);
    at_ = op;
    ranges_.clear();
    switch (op->kind()) {
      case OpKind::Contraction:
      case OpKind::Reduce:
        if (op->HasAttr(AttrKey::Map)) return;
        FindRanges();
        Folded(op);
        break;
      case OpKind::MultiReduce:
        FindRanges();
        Combined(op);
        break;
      case OpKind::Gather:
        FindRanges();
        Taken(ir::GatherOp(op));
        break;
      default:
        return;
    }
    ir::Erase(op);
    for (Value* tile : std::exchange(unused_, {})) ir::Erase(tile->def());
  }

 private:
  struct Range {
    Value* begin;
    Value* end;
    Value* size;
  };

  // -- Elementwise loops -------------------------------------------------------------------------

  /// Emits an elementwise loop that computes the values which `make` returns at each point, and returns these
  /// values as tiles. If there are no axes, the values are computed only once, at the builder's position.
  Values ElementwiseLoop(const AxisList& axes, const std::function<Values(const Point&)>& make) {
    if (axes.empty()) return make({});
    AxisList sorted = order_.Sorted(axes);
    std::vector<Value*> blocks;
    for (AxisId axis : sorted) blocks.push_back(ir::FindBlock(at_, axis));
    return ElementwiseLoop(sorted, blocks, make);
  }

  Values ElementwiseLoop(const AxisList& axes, const std::vector<Value*>& blocks,
                         const std::function<Values(const Point&)>& make) {
    // The types of the results are known only once the body exists. The body is therefore built in a
    // temporary elementwise loop without results, and then moved.
    Op* draft = b_.Create(OpKind::Elementwise, {blocks}, {});
    Point point;
    for (AxisId axis : axes) point[axis] = b_.AddParam(draft->region(), b_.I64Type(), Name());
    Values made;
    FillRegion(b_, draft->region(), [&] { return made = make(point); });
    std::vector<ir::Type> types;
    for (const Value* value : made) types.push_back(b_.types().Tile(value->type()->scalar, axes));
    Op* elementwise = b_.Create(OpKind::Elementwise, {blocks}, types);
    for (Value* param : draft->region()->params())
      param->ReplaceAllUsesWith(b_.AddParam(elementwise->region(), param->type(), param->name()));
    MoveOps(draft->region(), elementwise->region());
    ir::Erase(draft);
    return elementwise->results();
  }

  /// Returns whether only this op uses the tile, and computes it as cheaply as it would read it: loads from tensors that
  /// the kernel cannot change, and pure ops. Each element of the result must need each element of the tile once, unless
  /// it only needs loads of a row that all elements share.
  bool IsComputedHere(const Value* tile) const {
    const Op* loop = tile->def();
    if (!loop || loop->kind() != OpKind::Elementwise || loop->results().size() != 1 ||
        loop->parent_region() != at_->parent_region() || tile->uses().size() != 1)
      return false;
    size_t axes = at_->attr<AttrKey::Axes>().size() + at_->result()->type()->axes.size();
    bool is_shared = loop->operands().size() != axes;
    bool is_cheap = true;
    for (const Op* op : *loop->region()) is_cheap &= IsComputedHere(op, is_shared);
    return is_cheap;
  }

  static bool IsComputedHere(const Op* op, bool is_shared) {
    if (op->info().has(ir::kTerminator)) return true;
    if (passes::MayTrap(op) || !op->regions().empty()) return false;
    if (op->kind() == OpKind::Element) return !is_shared;
    if (op->kind() == OpKind::Load)
      return op->Segment(ir::LoadOp::at_otherwise).empty() &&
             op->Segment(ir::LoadOp::at_mask).empty() &&
             proofs::IsInput(op->operand(ir::LoadOp::at_tensor));
    bool is_free = op->kind() == OpKind::Const || op->kind() == OpKind::Cast;
    return is_shared ? is_free : op->info().has(ir::kPure);
  }

  /// Emits the body of the elementwise loop that makes the tile, at a point.
  Value* ComputedHere(const Value* tile, const Point& point) {
    const Op* loop = tile->def();
    ir::ValueMap map;
    for (size_t i = 0; i < loop->operands().size(); ++i)
      map[loop->region()->param(i)] = point.at(loop->operand(i)->type()->axes[0]);
    ir::CloneBody(loop->region(), b_, map);
    return Mapped(map, loop->region()->terminator()->operand(0));
  }

  /// Returns an element of a tile, or the value itself if it is a scalar.
  Value* Element(Value* value, const Point& point) {
    if (ir::IsScalar(value->type())) return value;
    if (std::ranges::find(computed_, value) != computed_.end()) return ComputedHere(value, point);
    std::vector<Value*> index;
    for (AxisId axis : value->type()->axes) index.push_back(point.at(axis));
    return b_
        .Create(OpKind::Element, {{value}, index}, {b_.types().ScalarOf(value->type()->scalar)})
        ->result();
  }

  /// Records the ranges of the op's axes before any code is emitted for the op.
  void FindRanges() {
    for (AxisId axis : at_->attr<AttrKey::Axes>()) {
      Value* block = ir::FindBlock(at_, axis);
      Value* start = b_.BlockStart(block);
      Value* size = b_.BlockSize(block);
      ranges_[axis] = {start, b_.Add(start, size), size};
    }
    rest_ = nullptr;
    if (!ReadsTogether()) return;
    Range range = ranges_.begin()->second;
    Value* count = b_.Sub(range.end, range.begin);
    rest_ = b_.Sub(range.end, b_.Rem(count, b_.I64(kReadTogether)));
  }

  /// Returns whether the op reduces one axis, of which blocks have many elements, in sequential order.
  bool ReadsTogether() const {
    AxisList reduced = at_->attr<AttrKey::Axes>();
    if (at_->kind() != OpKind::Reduce || reduced.size() != 1 ||
        at_->attr<AttrKey::Order>() == ir::OrderKind::Lanes64)
      return false;
    Size extent = kernel_.axis(reduced[0]).extent;
    return extent && extent->kind == SizeKind::Constant && extent->value >= 2 * kReadTogether;
  }

  /// Returns the range of an axis's block.
  Range BlockRangeOf(AxisId axis) const { return ranges_.at(axis); }

  /// Emits a loop for each axis. The loop over the last axis is the innermost one.
  Values Loops(const AxisList& axes, size_t depth, Point& point, const Values& carried,
               const std::function<Values(const Point&, const Values&)>& step) {
    if (depth == axes.size()) return step(point, carried);
    Range range = BlockRangeOf(axes[depth]);
    return MakeLoop(b_, {range.begin, range.end}, carried, [&](Value* index, const Values& inner) {
      point[axes[depth]] = index;
      return Loops(axes, depth + 1, point, inner, step);
    });
  }

  // -- Reductions of values, and products ---------------------------------------------------------

  bool IsProduct() const { return at_->kind() == OpKind::Contraction; }
  Scalar Acc() const { return at_->attr<AttrKey::Acc>(); }

  Value* Identity() {
    uint64_t bits = IsProduct() ? 0 : ir::FoldIdentity(at_->attr<AttrKey::Reduction>(), Acc());
    return b_.Bits(Acc(), bits);
  }

  Value* Together(Value* a, Value* b) {
    OpKind kind = IsProduct() ? OpKind::Add : ir::CombineOf(at_->attr<AttrKey::Reduction>());
    return b_.Binary(kind, a, b);
  }

  /// Returns the factors of a product's term at the point, or the element that a reduction combines.
  Values TermAt(const Point& point) {
    Values term;
    for (size_t i = 0; i < (IsProduct() ? 2 : 1); ++i)
      term.push_back(b_.Cast(Element(at_->operand(i), point), Acc()));
    return term;
  }

  Value* Accumulate(Value* acc, const Values& term) {
    if (!IsProduct()) return Together(acc, term[0]);
    if (IsFloat(Acc())) return b_.Fma(term[0], term[1], acc);
    return b_.Add(acc, b_.Mul(term[0], term[1]));
  }

  /// Returns the accumulator combined with the term at the point.
  Value* AccumulateTerm(Value* acc, const Point& point) { return Accumulate(acc, TermAt(point)); }

  Value* Start(const Point& point) {
    return IsProduct() ? Element(ir::ContractionOp(at_).into(), point) : Identity();
  }

  void Folded(Op* op) {
    AxisList folded = op->attr<AttrKey::Axes>();
    bool lanes = op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
    computed_.clear();
    for (Value* operand : op->operands()) {
      // Only threads that load vectors read a tensor as fast as workgroup memory.
      if (lanes && facts_.vector_bytes > 0 && IsComputedHere(operand)) computed_.push_back(operand);
    }
    Values made = lanes ? InLanes(op, folded) : InSequence(op, folded);
    made[0]->set_name(op->result()->name());
    op->result()->ReplaceAllUsesWith(made[0]);
    unused_.insert(unused_.end(), computed_.begin(), computed_.end());
  }

  Values InSequence(Op* op, const AxisList& folded) {
    const ir::MatrixInstruction* instruction =
        IsProduct() ? ir::InstructionOf(*op, module_.context()) : nullptr;
    return ElementwiseLoop(op->result()->type()->axes, [&](const Point& at) -> Values {
      Point point = at;
      Values inits = {Start(point)};
      if (instruction) return VectorMma(*instruction, folded, point, inits);
      if (rest_) return ReadTogether(folded[0], point, inits);
      return Loops(folded, 0, point, inits, [&](const Point& term, const Values& acc) -> Values {
        return {AccumulateTerm(acc[0], term)};
      });
    });
  }

  /// Combines the elements in order, but reads several of them before it combines the first one.
  Values ReadTogether(AxisId axis, Point& point, const Values& inits) {
    Range range = BlockRangeOf(axis);
    auto combine = [&](Value* first, Value* acc, int64_t count) -> Values {
      Values elements;
      for (int64_t number = 0; number < count; ++number) {
        point[axis] = number == 0 ? first : b_.Add(first, b_.I64(number));
        elements.push_back(b_.Cast(Element(at_->operand(0), point), Acc()));
      }
      for (Value* element : elements) acc = Together(acc, element);
      return {acc};
    };
    Values most = MakeLoop(
        b_, {range.begin, rest_, kReadTogether}, inits,
        [&](Value* index, const Values& acc) { return combine(index, acc[0], kReadTogether); });
    return MakeLoop(b_, {rest_, range.end}, most,
                    [&](Value* index, const Values& acc) { return combine(index, acc[0], 1); });
  }

  /// Emits the steps of a matrix instruction over adjacent terms along the last axis. Beyond the end of the
  /// axis's block, both factors are 0, and these terms are added like all others.
  Values VectorMma(const ir::MatrixInstruction& instruction, const AxisList& folded, Point& point,
                   const Values& inits) {
    AxisList slow(folded.begin(), folded.end() - 1);
    Range range = BlockRangeOf(folded.back());
    return Loops(slow, 0, point, inits, [&](const Point& row, const Values& before) {
      return MakeLoop(b_, {range.begin, range.end, instruction.depth}, before,
                      [&](Value* index, const Values& acc) -> Values {
                        Point first = row;
                        first[folded.back()] = index;
                        return {VectorMma(instruction, acc[0], first, folded.back(), range.end)};
                      });
    });
  }

  /// Returns the accumulator after one step of the matrix instruction, whose first term is at the point.
  Value* VectorMma(const ir::MatrixInstruction& instruction, Value* acc, Point point, AxisId axis,
                   Value* end) {
    Value* first = point.at(axis);
    Value* left =
        b_.Sub(end, first);  // the index of a term that does not exist may be beyond the end of i64
    Value* sum = Flushed(instruction, acc);
    Values products;
    for (int iteration = 0; iteration < instruction.depth; ++iteration) {
      Value* skipped = b_.I64(ir::TermAt(instruction, iteration));
      point[axis] = b_.Add(first, skipped);
      Values factors = InstructionFactors(instruction, point, b_.Lt(skipped, left));
      if (instruction.order == ir::StepOrder::Pairs) {
        products.push_back(b_.Binary(instruction.term, factors[0], factors[1]));
      } else {
        sum = b_.Make(instruction.term, {factors[0], factors[1], sum}, acc->type());
      }
    }
    if (products.empty()) return sum;
    auto add = [&](Value* a, Value* b) { return b_.Add(a, b); };
    return add(sum, ir::InPairs(products, add));
  }

  Value* Flushed(const ir::MatrixInstruction& instruction, Value* value) {
    return instruction.flushes ? b_.Unary(OpKind::Flush, value) : value;
  }

  /// Returns the factors of the term at the point, cast to the accumulator's type, or zeros if it does not exist.
  Values InstructionFactors(const ir::MatrixInstruction& instruction, const Point& point,
                            Value* exists) {
    ir::Type type = b_.types().ScalarOf(instruction.acc);
    Value* zero = b_.Bits(instruction.acc, 0);
    return MakeIf(
        b_, exists, {type, type},
        [&]() -> Values {
          Value* a =
              Flushed(instruction, b_.Cast(Element(at_->operand(0), point), instruction.acc));
          Value* b =
              Flushed(instruction, b_.Cast(Element(at_->operand(1), point), instruction.acc));
          return {a, b};
        },
        [&]() -> Values { return {zero, zero}; });
  }

  Values InLanes(Op* op, const AxisList& folded) {
    AxisId lane = NewAxis(kLanes);
    AxisList kept = order_.Sorted(op->result()->type()->axes);
    std::vector<Value*> blocks;
    for (AxisId axis : kept) blocks.push_back(ir::FindBlock(op, axis));
    blocks.push_back(MakeBlockOf(lane, kLanes));
    AxisList axes = kept;
    axes.push_back(lane);
    Value* in_lanes = ElementwiseLoop(axes, blocks, [&](const Point& point) -> Values {
      return {FoldLane(folded, point, point.at(lane))};
    })[0];
    // Each thread combines the lanes that are `kParts` lanes apart. The `kParts` partial results are combined
    // afterwards.
    AxisId part = NewAxis(kParts);
    blocks.back() = MakeBlockOf(part, kParts);
    axes.back() = part;
    Value* in_parts = ElementwiseLoop(axes, blocks, [&](const Point& point) -> Values {
      return {Tree({in_lanes, lane, kLanes / kParts, kParts}, point, point.at(part))};
    })[0];
    return ElementwiseLoop(kept, [&](const Point& at) -> Values {
      return {Tree({in_parts, part, kParts, 1}, at, b_.I64(0))};
    });
  }

  AxisId NewAxis(int64_t extent) {
    return kernel_.AddAxis({Name(), b_.types().sizes().Constant(extent), nullptr, {}});
  }

  Value* MakeBlockOf(AxisId axis, int64_t extent) {
    Value* zero = b_.I64(0);
    Value* all = b_.I64(extent);
    return b_.Make(OpKind::MakeBlock, {zero, all, zero}, b_.types().Block(axis));
  }

  /// Reduces the elements whose position in their row, modulo 64, is `lane`.
  Value* FoldLane(const AxisList& folded, Point point, Value* lane) {
    Value* start = Identity();
    if (IsProduct()) {
      Value* is_first = b_.Eq(lane, b_.I64(0));
      Value* into = Element(ir::ContractionOp(at_).into(), point);
      start = b_.Select(is_first, into, start);
    }
    AxisList slow(folded.begin(), folded.end() - 1);
    Range range = BlockRangeOf(folded.back());
    // Beyond the block's end, an index might be too large for an i64.
    Value* first = b_.Add(range.begin, b_.Min(lane, range.size));
    return Loops(slow, 0, point, {start}, [&](const Point& row, Values acc) -> Values {
      Value* begin = first;
      auto fold = [&](Value* index, Value* sum, int64_t count) {
        std::vector<Values> terms;
        for (int64_t number = 0; number < count; ++number) {
          Point term = row;
          term[folded.back()] = number == 0 ? index : b_.Add(index, b_.I64(number * kLanes));
          terms.push_back(TermAt(term));
        }
        for (const Values& term : terms) sum = Accumulate(sum, term);
        return sum;
      };
      if (HasOneLanePerThread(folded.back())) {
        // Carries the index after the last element.
        Value* last = b_.Sub(range.end, b_.I64((kLaneTogether - 1) * kLanes));
        Values most = MakeLoop(b_, {first, last, kLaneTogether * kLanes}, {acc[0], first},
                               [&](Value* index, const Values& before) -> Values {
                                 Value* sum = fold(index, before[0], kLaneTogether);
                                 return {sum, b_.Add(index, b_.I64(kLaneTogether * kLanes))};
                               });
        acc = {most[0]};
        begin = most[1];
      }
      return MakeLoop(b_, {begin, range.end, kLanes}, acc,
                      [&](Value* index, const Values& before) -> Values {
                        return {fold(index, before[0], 1)};
                      });
    })[0];
  }

  /// Returns whether the result has so few elements that no thread has several lanes, while each lane has many elements
  /// along the axis.
  bool HasOneLanePerThread(AxisId axis) const {
    int64_t lanes = kLanes;
    for (AxisId kept : at_->result()->type()->axes) lanes *= kernel_.axis(kept).extent->value;
    Size extent = kernel_.axis(axis).extent;
    return facts_.vector_bytes > 0 && lanes <= facts_.threads &&
           extent->kind == SizeKind::Constant && extent->value >= 2 * kLaneTogether * kLanes;
  }

  /// `count` elements of a tile along an axis, each `apart` elements after the previous one.
  struct Leaves {
    Value* tile;
    AxisId axis;
    int64_t count;
    int64_t apart;
  };

  /// Combines the leaves as a binary tree. Two such trees combine lane l with lane l + 32, then with l + 16,
  /// … and l + 1. `first` is the index of the first leaf.
  Value* Tree(const Leaves& leaves, Point point, Value* first) {
    Values lanes;
    for (int64_t number = 0; number < leaves.count; ++number) {
      Value* before = b_.I64(number * leaves.apart);
      point[leaves.axis] = b_.Add(first, before);
      lanes.push_back(Element(leaves.tile, point));
    }
    for (size_t width = lanes.size() / 2; width > 0; width /= 2) {
      for (size_t l = 0; l < width; ++l) lanes[l] = Together(lanes[l], lanes[l + width]);
    }
    return lanes[0];
  }

  // -- Reductions with a region -------------------------------------------------------------------

  void Combined(Op* op) {
    ir::MultiReduceOp fold(op);
    const ir::Region* region = op->region();
    Values inits(fold.inits().begin(), fold.inits().end());
    Values made = ElementwiseLoop(op->result()->type()->axes, [&](const Point& at) {
      Point point = at;
      return Loops(op->attr<AttrKey::Axes>(), 0, point, inits,
                   [&](const Point& term, const Values& accumulators) {
                     ir::ValueMap map;
                     for (size_t i = 0; i < accumulators.size(); ++i) {
                       map[region->param(i)] = accumulators[i];
                       map[region->param(accumulators.size() + i)] =
                           Element(fold.values()[i], term);
                     }
                     ir::CloneBody(region, b_, map);
                     Values next;
                     for (Value* value : region->terminator()->operands())
                       next.push_back(Mapped(map, value));
                     return next;
                   });
    });
    for (size_t i = 0; i < made.size(); ++i) op->result(i)->ReplaceAllUsesWith(made[i]);
  }

  // -- Gathers ------------------------------------------------------------------------------------

  void Taken(ir::GatherOp take) {
    Values made = ElementwiseLoop(take.result()->type()->axes, [&](const Point& point) -> Values {
      auto element = [&] { return Unmasked(take, point); };
      if (!take.mask()) return {element()};
      Scalar scalar = take.result()->type()->scalar;
      // Where the mask is false, the element is unspecified, so zero is used.
      return MakeIf(
          b_, Element(take.mask(), point), {b_.types().ScalarOf(scalar)},
          [&]() -> Values { return {element()}; },
          [&]() -> Values { return {b_.Bits(scalar, 0)}; });
    });
    take.result()->ReplaceAllUsesWith(made[0]);
  }

  Value* Unmasked(ir::GatherOp take, const Point& at) {
    AxisList over = take->attr<AttrKey::Axes>();
    Point point = at;
    Value* inside = b_.Bool(true);
    for (size_t i = 0; i < over.size(); ++i) {
      Range range = BlockRangeOf(over[i]);
      Value* index = b_.Cast(Element(take.index()[i], at), Scalar::I64);
      point[over[i]] = index;
      Value* place = b_.Sub(index, range.begin);
      Value* size = b_.Sub(range.end, range.begin);
      if (!take.otherwise()) {
        b_.Create(OpKind::Check, {{place}, {size}}, {},
                  {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(i)),
                   ir::MakeAttr<AttrKey::Text>(take->attr<AttrKey::Text>())});
        continue;
      }
      inside = b_.And(inside, b_.Ge(place, b_.I64(0)));
      inside = b_.And(inside, b_.Lt(place, size));
    }
    if (!take.otherwise()) return Element(take.tile(), point);
    ir::Type type = b_.types().ScalarOf(take.result()->type()->scalar);
    return MakeIf(
        b_, inside, {type}, [&]() -> Values { return {Element(take.tile(), point)}; },
        [&]() -> Values { return {Element(take.otherwise(), at)}; })[0];
  }

  ir::Module& module_;
  ir::Function& kernel_;
  const SimtFacts& facts_;
  AxisOrder order_;
  ir::Builder b_;
  Op* at_ = nullptr;  ///< the op that is being replaced
  std::vector<Value*>
      computed_;                ///< its operands whose elements are computed where they are needed
  std::vector<Value*> unused_;  ///< tiles that nothing needs any more
  std::map<AxisId, Range> ranges_;  ///< the ranges of the op's axes
  Value* rest_ =
      nullptr;  ///< the first element that is read on its own, if others are read together
};

}  // namespace

void RunExpandReductions(PassContext& context, ir::Function& kernel) {
  PointFolder folder(context.module, kernel, SimtFactsOf(context));
  std::vector<Op*> ops;
  ir::Walk(kernel.body, [&](Op* op) { ops.push_back(op); });
  for (Op* op : ops) folder.ExpandOp(op);
}

}  // namespace kdl::simt
