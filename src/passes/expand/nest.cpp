#include <algorithm>
#include <span>
#include <unordered_map>

#include "ir/format.h"
#include "passes/expand/expander.h"
#include "passes/expand/lane_folds.h"
#include "passes/expand/last_axis.h"
#include "passes/expand/riders.h"
#include "passes/rewrite.h"

// A nest becomes loops; its body runs once for each piece of the last axis. What does not vary along that axis runs
// before the innermost loop. Folds of what it makes are taken along: the loops carry their accumulators. Where loads walk the last axis from row to row, square blocks of them are transposed in
// registers. A body that no vector can hold, because it gathers, runs element by element.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Which point of a nest to touch ahead of time while another one runs.
struct Ahead {
  const Value* point = nullptr;  ///< the parameter that is ahead; null: nothing is prefetched
  int64_t distance = 0;
};

/// A processor looks ahead along one page, and not behind much arithmetic; so a nest asks early for the elements of
/// tensors: along its rows where they are long, else some rows on.
Ahead AheadOf(const Expander& e, const Op* nest) {
  constexpr int64_t kLongRow = 4096;  // bytes
  constexpr int64_t kAlongRow = 2048;
  constexpr int64_t kRowsOn = 4096;
  const auto& points = nest->region()->params();
  for (const Op* op : *nest->region()) {
    if (!op->HasAttr(AttrKey::Edge)) continue;
    bool stores = op->kind() == OpKind::Store;
    ir::AxisId last = nest->operands().back()->type()->axes[0];
    int64_t bytes = Bytes((stores ? op->operand(0) : op->result())->type()->scalar);
    auto window = e.windows.find(last);
    std::optional<int64_t> part;
    if (window != e.windows.end()) part = ConstantOf(window->second.size);
    int64_t row = std::max<int64_t>(part.value_or(e.Extent(last)) * bytes, 1);
    if (row >= kLongRow) return {points.back(), kAlongRow / bytes};
    if (points.size() > 1) return {points[points.size() - 2], (kRowsOn + row - 1) / row};
  }
  return {};
}

class NestBody {
 public:
  NestBody(Expander& e, const Op* nest)
      : e_(e), nest_(nest), last_(nest), ahead_(AheadOf(e, nest)) {
    if (last_.Vectorizes()) riders_ = RidersOf(e, nest);
    for (const Accumulation& rider : riders_) e.taken_along.insert(rider.op);
    for (size_t i = 0; i < nest->results().size(); ++i)
      homes_.push_back(IsKept(nest->result(i)) ? ResultHome(e, nest, i) : Home());
    for (const Value* blk : nest->operands()) axes_.push_back(blk->type()->axes[0]);
  }

  /// One piece, with `value` for elements of `tile`.
  void RunAt(const Position& position, const Piece& piece, const Value* tile, Value* value) {
    ahead_ = {};
    position_ = position;
    piece_ = piece;
    given_ = {tile, value};
    for (size_t i = 0; i < axes_.size(); ++i) MapPoint(i);
    ir::Loc outer = e_.b.loc();
    ExpandWhere([](const Op*) { return true; });
    e_.b.set_loc(outer);
  }

  void PrefetchLoads() {
    if (!last_.Vectorizes()) return;
    ir::AxisList around(axes_.begin(), axes_.end() - 1);
    MakeNest(e_, nest_, around, position_, {}, [&](const Values&) -> Values {
      MakePieces(e_, nest_, axes_.back(), Lanes(), position_, [&](const Piece& piece) {
        piece_ = piece;
        for (size_t i = 0; i < axes_.size(); ++i) MapPoint(i);
        for (const Op* op : *nest_->region()) AskFor(op, OpKind::Load, ir::IntentKind::ReadLater);
      });
      return {};
    });
  }

  void PrefetchStoresAt(const Position& position, const Piece& piece) {
    position_ = position;
    piece_ = piece;
    for (size_t i = 0; i < axes_.size(); ++i) MapPoint(i);
    for (const Op* op : *nest_->region()) AskFor(op, OpKind::Store, ir::IntentKind::Write);
  }

  void Run() {
    ir::Loc outer = e_.b.loc();
    if (last_.Transposes()) {
      RunTransposed();
    } else if (!riders_.empty()) {
      RunFolds();
    } else {
      RunPieces();
    }
    e_.b.set_loc(outer);
  }

 private:
  /// Whether anything needs the result as a tile.
  bool IsKept(const Value* result) const {
    return std::any_of(result->uses().begin(), result->uses().end(),
                       [&](const ir::Use& use) { return !e_.taken_along.contains(use.user); });
  }

  /// One walk that also carries the accumulators of folds.
  void RunFolds() {
    int64_t bytes = last_.Bytes();
    std::vector<Home> homes;
    for (const Accumulation& rider : riders_) {
      const Value* result = rider.op->result();
      bytes = std::max<int64_t>(bytes, Bytes(rider.acc));
      homes.push_back(IsTileValue(result) ? NewHome(e_, result->type()) : Home());
    }
    LaneFolds folds(e_, riders_, bytes);
    LaneFolds::Body body{[&] { BeginRow(axes_.size() - 1); },
                         [&](const Piece& piece) {
                           std::vector<Values> terms;
                           RunPiece(piece, [&] { terms = Terms(); });
                           return terms;
                         }};
    ir::AxisList kept = axes_;
    kept.resize(axes_.size() - riders_[0].folded.size());
    MakeNest(e_, nest_, kept, position_, {}, [&](const Values&) -> Values {
      Values folded = folds.Fold(position_, body);
      for (size_t i = 0; i < folded.size(); ++i) {
        const Value* result = riders_[i].op->result();
        if (!IsTileValue(result)) {
          e_.scalars[result] = folded[i];
        } else {
          StorePiece(e_, folded[i], e_.homes[result] = homes[i], position_);
        }
      }
      return {};
    });
  }

  /// For each rider what its accumulators take in from the present piece.
  std::vector<Values> Terms() {
    std::vector<Values> terms;
    for (const Accumulation& rider : riders_) {
      terms.emplace_back();
      for (Value* operand : rider.operands) {
        bool made_here = operand->def() == nest_;
        Value* yielded =
            made_here ? nest_->region()->terminator()->operand(operand->index()) : nullptr;
        terms.back().push_back(yielded ? Lane(yielded) : ElementPiece(operand));
      }
    }
    return terms;
  }

  /// What is the same for a whole row, along the first axes.
  void BeginRow(size_t axes) {
    for (size_t i = 0; i < axes; ++i) MapPoint(i);
    piece_ = {};
    ExpandWhere([&](const Op* op) { return last_.IsInvariant(op); });
  }

  /// The rest of the body, for one piece; then `behind`.
  template <class Behind>
  void RunPiece(const Piece& piece, Behind&& behind) {
    piece_ = piece;
    ir::ValueMap row = map_;
    MapPoint(axes_.size() - 1);
    ExpandWhere([&](const Op* op) { return !last_.IsInvariant(op); });
    behind();
    map_ = std::move(row);
  }

  void RunPieces() {
    ir::AxisList around(axes_.begin(), axes_.end() - 1);
    MakeNest(e_, nest_, around, position_, {}, [&](const Values&) -> Values {
      BeginRow(around.size());
      MakePieces(e_, nest_, axes_.back(), Lanes(), position_,
                 [&](const Piece& piece) { RunPiece(piece, [] {}); });
      return {};
    });
  }

  int64_t Lanes() const {
    return last_.Vectorizes() ? e_.LanesAlong(axes_.back(), last_.Bytes()) : 1;
  }

  /// Square blocks of the last axis and the one that the loads walk: rows are loaded along that one and transposed;
  /// then the body runs once for each of its points, a vector along the last axis each.
  void RunTransposed() {
    constexpr int64_t kLargest = 16;  // rows that registers hold together
    size_t side = last_.across_axis();
    int64_t lanes = std::min(kLargest, e_.facts.vector_bits / 8 / last_.Bytes());
    ir::AxisList around;
    for (size_t i = 0; i + 1 < axes_.size(); ++i) {
      if (i != side) around.push_back(axes_[i]);
    }
    MakeNest(e_, nest_, around, position_, {}, [&](const Values&) -> Values {
      for (size_t i = 0; i + 1 < axes_.size(); ++i) {
        if (i != side) MapPoint(i);
      }
      Window rows = e_.WindowOf(nest_, axes_[side]);
      Window columns = e_.WindowOf(nest_, axes_.back());
      MakeLoop(e_, {rows.lo, rows.hi, lanes}, {}, [&](Value* row, const Values&) -> Values {
        MakeLoop(e_, {columns.lo, columns.hi, lanes}, {},
                 [&](Value* column, const Values&) -> Values {
                   RunSquare({lanes, row, column, e_.b.Binary(OpKind::Sub, rows.hi, row),
                              e_.b.Binary(OpKind::Sub, columns.hi, column)});
                   return {};
                 });
        return {};
      });
      return {};
    });
  }

  /// `lanes` points of both axes from a corner on; of those that exist, `rows` and `columns`.
  struct Square {
    int64_t lanes;
    Value* row;
    Value* column;
    Value* rows;
    Value* columns;
  };

  void RunSquare(const Square& square) {
    Value* lanes = e_.b.I64(square.lanes);
    Value* full = e_.b.Binary(OpKind::And, e_.b.Binary(OpKind::Ge, square.rows, lanes),
                              e_.b.Binary(OpKind::Ge, square.columns, lanes));
    auto run = [&](bool masked) {
      return [this, &square, masked]() -> Values {
        ir::ValueMap around = map_;
        FillSquare(square, masked);
        map_ = std::move(around);
        return {};
      };
    };
    MakeIf(e_, full, {}, run(false), run(true));
  }

  void FillSquare(const Square& square, bool masked) {
    std::unordered_map<const Op*, std::vector<Value*>> transposed;
    for (const Op* load : last_.Across()) transposed[load] = LoadTransposed(load, square, masked);
    for (int64_t i = 0; i < square.lanes; ++i) {
      MoveTo(square, ExistingRow(square, i, masked), e_.b.I64(0));
      for (const auto& [load, rows] : transposed)
        map_[load->result()] = rows[static_cast<size_t>(i)];
      piece_ = PieceOf(square, square.rows, i, square.columns, masked);
      ExpandWhere([&](const Op* op) { return !transposed.contains(op); });
    }
  }

  /// For each point of the side axis the vector along the last one.
  std::vector<Value*> LoadTransposed(const Op* op, const Square& square, bool masked) {
    ir::LoadOp load(const_cast<Op*>(op));
    Scalar scalar = op->result()->type()->scalar;
    Values rows;
    for (int64_t i = 0; i < square.lanes; ++i) {
      MoveTo(square, e_.b.I64(0), e_.b.I64(i));
      ElementAccess access{op,
                           e_.Scalar(load.tensor()),
                           All(load.index()),
                           nullptr,
                           nullptr,
                           PieceOf(square, square.columns, i, square.rows, masked)};
      rows.push_back(ExpandLoad(e_, access, scalar));
    }
    std::vector<ir::Type> types(rows.size(), rows[0]->type());
    return e_.b.Create(OpKind::Transpose, {rows}, types)->results();
  }

  /// Row `i`, or the last one where there are fewer: what is the same for a row is read without a mask.
  Value* ExistingRow(const Square& square, int64_t i, bool masked) {
    Value* row = e_.b.I64(i);
    if (!masked || i == 0) return row;
    return e_.b.Binary(OpKind::Min, row, e_.b.Binary(OpKind::Sub, square.rows, e_.b.I64(1)));
  }

  /// The points `row` and `column` of the square.
  void MoveTo(const Square& square, Value* row, Value* column) {
    size_t side = last_.across_axis();
    position_[axes_[side]] = e_.b.Binary(OpKind::Add, square.row, row);
    position_[axes_.back()] = e_.b.Binary(OpKind::Add, square.column, column);
    MapPoint(side);
    MapPoint(axes_.size() - 1);
  }

  /// Vector number `i` of a square: empty where there are fewer, else of `existing` elements.
  Piece PieceOf(const Square& square, Value* vectors, int64_t i, Value* existing, bool masked) {
    Piece piece{square.lanes, nullptr, nullptr};
    if (!masked) return piece;
    Value* exists = e_.b.Binary(OpKind::Lt, e_.b.I64(i), vectors);
    piece.count = e_.b.Select(exists, existing, e_.b.I64(0));
    piece.mask = e_.b.Make(OpKind::LaneMask, {piece.count}, e_.TypeOf(Scalar::Bool, square.lanes));
    return piece;
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
    if (tile == given_.tile) return given_.value;
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
        if (homes_[i].buffer) StorePiece(e_, Lane(op->operand(i)), homes_[i], position_, piece_);
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
    bool writes = access.op->kind() == OpKind::Store;
    ExpandPrefetch(e_, access, writes ? ir::IntentKind::Write : ir::IntentKind::Read);
  }

  /// The line of the piece's last element: that of the first one belongs to the piece before too, where lines are shared.
  void AskFor(const Op* op, OpKind kind, ir::IntentKind intent) {
    if (op->kind() != kind) return;
    auto index = op->Segment(ir::AccessOperands(kind));
    ElementAccess access{
        op, e_.Scalar(op->operand(kind == OpKind::Load ? 0 : 1)), {}, nullptr, nullptr, {}};
    for (Value* operand : index) {
      if (operand->def() && operand->def()->block() == nest_->region()) return;
      Value* at = At(operand);
      bool along = operand == nest_->region()->params().back();
      access.index.push_back(along ? e_.b.Binary(OpKind::Add, at, e_.b.I64(piece_.lanes - 1)) : at);
    }
    ExpandPrefetch(e_, access, intent);
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
  std::vector<Accumulation> riders_;  ///< the folds that are taken along
  std::vector<Home> homes_;           ///< of the results; none where only riders use them
  ir::AxisList axes_;
  Position position_;
  Piece piece_;
  struct {
    const Value* tile = nullptr;
    Value* value = nullptr;
  } given_;
  ir::ValueMap map_;
};

}  // namespace

void ExpandNest(Expander& e, const Op* op) { NestBody(e, op).Run(); }

void ExpandNestAt(Expander& e, const Op* op, const Position& position, const Piece& piece,
                  const Value* tile, Value* value) {
  NestBody(e, op).RunAt(position, piece, tile, value);
}

void PrefetchLoads(Expander& e, const Op* op) { NestBody(e, op).PrefetchLoads(); }

void PrefetchStoresAt(Expander& e, const Op* op, const Position& position, const Piece& piece) {
  NestBody(e, op).PrefetchStoresAt(position, piece);
}

}  // namespace kdl::passes
