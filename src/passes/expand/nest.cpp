#include <algorithm>
#include <span>
#include <unordered_set>

#include "ir/format.h"
#include "passes/expand/expander.h"
#include "passes/rewrite.h"
#include "support/check.h"

// A nest becomes loops; its body runs once for each piece of the last axis. What does not vary along that axis runs
// before the innermost loop. A body that no vector can hold, because it gathers or strides, runs element by element.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::EdgeKind;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// How a nest's body behaves along its last axis.
class LastAxis {
 public:
  explicit LastAxis(const Op* nest) : point_(nest->region()->params().back()) {
    axis_ = nest->operands().back()->type()->axes[0];
    for (const Op* op : *nest->region()) Study(op);
  }

  /// Whether vectors of several elements can run the body.
  bool Vectorizes() const { return vectorizes_; }
  /// The same for every element of the axis.
  bool IsUniform(const Value* value) const { return value != point_ && !varying_.contains(value); }
  /// May stand before the loop over the axis.
  bool IsInvariant(const Op* op) const {
    return !MayTrap(op) && op->kind() != OpKind::Store && op->kind() != OpKind::Yield &&
           IsUniform(op->result());
  }
  /// The width that decides how many elements a vector takes: the widest that the body computes.
  int64_t Bytes() const { return bytes_ ? bytes_ : 8; }

 private:
  static bool MayTrap(const Op* op) {
    if (op->HasAttr(AttrKey::Edge)) return op->attr<AttrKey::Edge>() == EdgeKind::Guard;
    bool divides = op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
    return divides && IsInteger(op->result()->type()->scalar) &&
           ConstantOf(op->operand(1)).value_or(0) == 0;
  }

  void Study(const Op* op) {
    bool varies = std::any_of(op->operands().begin(), op->operands().end(),
                              [&](const Value* operand) { return !IsUniform(operand); });
    if (op->kind() == OpKind::Element) {
      const auto& axes = op->operand(0)->type()->axes;
      varies = std::find(axes.begin(), axes.end(), axis_) != axes.end();
    } else if (op->HasAttr(AttrKey::Edge)) {
      StudyAccess(op);
    } else if (varies && MayTrap(op)) {
      vectorizes_ = false;
    }
    for (const Value* result : op->results()) {
      if (varies) varying_.insert(result);
      Count(result->type()->scalar);
    }
    if (op->kind() == OpKind::Store) Count(op->operand(0)->type()->scalar);
    if (op->kind() == OpKind::Yield) {
      for (const Value* value : op->operands()) Count(value->type()->scalar);
    }
  }

  /// Indices and conditions are as wide as they must be; they do not decide.
  void Count(Scalar scalar) {
    if (scalar != Scalar::I64 && scalar != Scalar::Bool)
      bytes_ = std::max<int64_t>(bytes_, kdl::Bytes(scalar));
  }

  /// Along the axis an access stands still, or walks elements that are side by side.
  void StudyAccess(const Op* op) {
    auto index = op->Segment(ir::AccessOperands(op->kind()));
    ir::Access access = op->attr<AttrKey::Access>();
    bool walks = false;
    for (const ir::AccessDim& dim : access.dims) {
      for (const ir::AccessTerm& term : dim.terms) {
        const Value* operand = index[term.operand];
        if (IsUniform(operand)) continue;
        bool side_by_side =
            operand == point_ && &dim == &access.dims.back() && IsConstant(term.coefficient, 1);
        if (!side_by_side || walks) vectorizes_ = false;
        walks = true;
      }
    }
    bool is_load = op->kind() == OpKind::Load;
    auto mask = op->Segment(is_load ? size_t{ir::LoadOp::at_mask} : size_t{ir::StoreOp::at_mask});
    bool guarded = op->attr<AttrKey::Edge>() == EdgeKind::Guard;
    if (guarded && !mask.empty()) vectorizes_ = false;
    if (!walks &&
        !(is_load && AllUniform(mask) && AllUniform(op->Segment(ir::LoadOp::at_otherwise))))
      vectorizes_ = false;
  }

  bool AllUniform(std::span<Value* const> values) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const Value* value) { return IsUniform(value); });
  }

  const Value* point_;
  ir::AxisId axis_;
  bool vectorizes_ = true;
  int64_t bytes_ = 0;
  std::unordered_set<const Value*> varying_;
};

/// Which point of a nest to touch ahead of time while another one runs.
struct Ahead {
  const Value* point = nullptr;  ///< the parameter that is ahead; null: nothing is prefetched
  int64_t distance = 0;
};

/// A processor looks ahead along one page, and not behind much arithmetic; so a nest asks early for the elements of
/// tensors: along its rows where they are long, else, where it stores, some rows on.
Ahead AheadOf(const Expander& e, const Op* nest) {
  constexpr int64_t kLongRow = 4096;  // bytes
  constexpr int64_t kLead = 1024;
  const auto& points = nest->region()->params();
  for (const Op* op : *nest->region()) {
    if (!op->HasAttr(AttrKey::Edge)) continue;
    bool stores = op->kind() == OpKind::Store;
    ir::AxisId last = nest->operands().back()->type()->axes[0];
    int64_t bytes = Bytes((stores ? op->operand(0) : op->result())->type()->scalar);
    int64_t row = e.Extent(last) * bytes;
    if (row >= kLongRow) return {points.back(), kLead / bytes};
    if (stores && points.size() > 1) return {points[points.size() - 2], (kLead + row - 1) / row};
  }
  return {};
}

class NestBody {
 public:
  NestBody(Expander& e, const Op* nest)
      : e_(e), nest_(nest), last_(nest), ahead_(AheadOf(e, nest)) {
    for (size_t i = 0; i < nest->results().size(); ++i) homes_.push_back(ResultHome(e, nest, i));
    for (const Value* blk : nest->operands()) axes_.push_back(blk->type()->axes[0]);
  }

  void Run() {
    ir::Loc outer = e_.b.loc();
    ir::AxisList around(axes_.begin(), axes_.end() - 1);
    MakeNest(e_, nest_, around, position_, {}, [&](const Values&) -> Values {
      for (size_t i = 0; i < around.size(); ++i) MapPoint(i);
      piece_ = {};
      ExpandWhere([&](const Op* op) { return last_.IsInvariant(op); });
      MakePieces(e_, nest_, axes_.back(), Lanes(), position_, [&](const Piece& piece) {
        piece_ = piece;
        ir::ValueMap invariant = map_;
        MapPoint(axes_.size() - 1);
        ExpandWhere([&](const Op* op) { return !last_.IsInvariant(op); });
        map_ = std::move(invariant);
      });
      return {};
    });
    e_.b.set_loc(outer);
  }

 private:
  int64_t Lanes() const {
    return last_.Vectorizes() ? e_.LanesAlong(axes_.back(), last_.Bytes()) : 1;
  }

  /// The absolute index along axis `i`; along the last one that of the piece's first element.
  void MapPoint(size_t i) {
    const Value* blk = nest_->operand(i);
    map_[nest_->region()->param(i)] =
        e_.b.Binary(OpKind::Add, e_.blks.at(blk).start, position_.at(axes_[i]));
  }

  template <class Wanted>
  void ExpandWhere(Wanted&& wanted) {
    for (Op* op : *nest_->region()) {
      if (!wanted(op)) continue;
      e_.b.set_loc(op->loc());
      Expand(op);
    }
  }

  Value* At(Value* old) {
    auto found = map_.find(old);
    return found == map_.end() ? e_.Scalar(old) : found->second;
  }

  /// The operand as a value: of the last axis's index the indices of all lanes.
  Value* Lane(Value* old) {
    if (old != nest_->region()->params().back() || piece_.lanes == 1) return At(old);
    ir::Type numbers = e_.TypeOf(Scalar::I64, piece_.lanes);
    return e_.b.Binary(OpKind::Add, At(old), e_.b.Make(OpKind::LaneNumbers, {}, numbers));
  }

  Values All(std::span<Value* const> old) {
    Values values;
    for (Value* value : old) values.push_back(At(value));
    return values;
  }
  Value* Optional(Value* old) { return old ? Lane(old) : nullptr; }

  bool IsUniformAccess(const Op* op) const {
    auto index = op->Segment(ir::AccessOperands(op->kind()));
    return std::all_of(index.begin(), index.end(),
                       [&](const Value* operand) { return last_.IsUniform(operand); });
  }

  Value* ElementPiece(Value* tile) {
    if (!IsTileValue(tile)) return e_.Scalar(tile);
    const auto& axes = tile->type()->axes;
    bool varies = std::find(axes.begin(), axes.end(), axes_.back()) != axes.end();
    if (!varies || piece_.lanes == 1)
      return LoadPiece(e_, e_.homes.at(tile), tile->type()->scalar, position_);
    return LoadPiece(e_, e_.homes.at(tile), tile->type()->scalar, position_, piece_);
  }

  void Expand(Op* op) {
    if (op->kind() == OpKind::Yield) {
      for (size_t i = 0; i < op->operands().size(); ++i)
        StorePiece(e_, Lane(op->operand(i)), homes_[i], position_, piece_);
    } else if (op->kind() == OpKind::Element) {
      map_[op->result()] = ElementPiece(op->operand(0));
    } else if (auto load = ir::DynAs<ir::LoadOp>(op)) {
      Piece piece = IsUniformAccess(op) ? Piece{} : piece_;
      ElementAccess access{op,
                           e_.Scalar(load->tensor()),
                           All(load->index()),
                           Optional(load->otherwise()),
                           Optional(load->mask()),
                           piece};
      Prefetch(access, load->index());
      map_[op->result()] = ExpandLoad(e_, access, op->result()->type()->scalar);
    } else if (auto store = ir::DynAs<ir::StoreOp>(op)) {
      ElementAccess access{op,      e_.Scalar(store->tensor()), All(store->index()),
                           nullptr, Optional(store->mask()),    piece_};
      Prefetch(access, store->index());
      ExpandStore(e_, access, Lane(store->value()));
    } else {
      map_[op->result()] = ExpandElementwise(op);
    }
  }

  /// Full vectors only: what comes after the others is near its end.
  void Prefetch(ElementAccess access, std::span<Value* const> index) {
    if (!ahead_.point || access.piece.lanes == 1 || access.piece.mask) return;
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] == ahead_.point)
        access.index[i] = e_.b.Binary(OpKind::Add, access.index[i], e_.b.I64(ahead_.distance));
    }
    ExpandPrefetch(e_, access);
  }

  Value* ExpandElementwise(Op* op) {
    ir::Builder::Segments segments;
    Values operands;
    for (size_t s = 0; s < op->info().operands.size(); ++s) {
      segments.emplace_back();
      for (Value* operand : op->Segment(s)) {
        operands.push_back(Lane(operand));
        segments.back().push_back(operands.back());
      }
    }
    ir::Type type = e_.b.ElementwiseType(op->result()->type()->scalar, operands);
    Op* copy = e_.b.Create(op->kind(), segments, {type}, op->attrs());
    copy->result()->set_name(op->result()->name());
    return copy->result();
  }

  Expander& e_;
  const Op* nest_;
  LastAxis last_;
  Ahead ahead_;
  std::vector<Home> homes_;
  ir::AxisList axes_;
  Position position_;
  Piece piece_;
  ir::ValueMap map_;
};

}  // namespace

void ExpandNest(Expander& e, const Op* op) { NestBody(e, op).Run(); }

}  // namespace kdl::passes
