#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/views.h"
#include "passes/element_access.h"
#include "passes/rewrite.h"
#include "passes/structured.h"
#include "support/check.h"
#include "targets/simt/block_copies.h"
#include "targets/simt/box_loop.h"
#include "targets/simt/factor_copies.h"
#include "targets/simt/passes.h"
#include "targets/simt/team_tiles.h"
#include "targets/simt/turn_boxes.h"

// expand-team: every tile gets a buffer of the team's, and the points of a nest are dealt to the workers. Everything outside
// of nests all workers compute alike; its effects are worker 0's.
//
//   %t = nest (%i in %bi, %j in %bj) { … yield %v }   ->   %m = buffer_new : buffer<f32,[64,32]; team>
//                                                          loop %p in 0 .. size(bi) * 32 step 1 {team = 1} {
//                                                            if (%p rem 32 < size(bj)) { … buffer_store %v to %m[…] } }
//
// A tile that a loop carries has one buffer; what a turn makes goes there at once where the turn reads no other element of it.

namespace kdl::simt {

namespace {

/// Whether the op does nothing but compute scalars.
bool IsOfScalars(const Op* op) {
  return op->info().has(ir::kPure) && std::ranges::none_of(op->operands(), IsTileValue) &&
         std::ranges::none_of(op->results(), IsTileValue);
}

TileHomes HomesOf(const ir::Function& kernel) {
  return {kernel, [](const Op* nest, const AxisMap& map) { return AxisMapOf(*nest) == map; }};
}

class TeamExpander {
 public:
  TeamExpander(ir::Module& module, ir::Function& kernel, const SimtFacts& facts, int64_t workers)
      : module_(module),
        kernel_(kernel),
        facts_(facts),
        workers_(workers),
        b_(module),
        tiles_(b_, kernel, HomesOf(kernel)),
        factor_copies_(facts, b_, tiles_),
        block_copies_(b_, kernel, tiles_, [this](Value* old) { return Scalar(old); }) {}

  void Run() {
    ir::Block* old = kernel_.body;
    ir::Block* body = module_.arena().Make<ir::Block>();
    body->set_function(&kernel_);
    b_.SetInsertionPoint(body);
    for (const Value* param : old->params())
      scalars_[param] = b_.AddParam(body, param->type(), param->name());
    kernel_.body = body;
    ExpandBlock(old);
    // What is asked of the old ops is asked by the old parameters.
    for (ir::Param& param : kernel_.params) param.value = scalars_.at(param.value);
    b_.Create(OpKind::Return, {{}}, {});
    while (old->last()) ir::Erase(old->last());
  }

 private:
  // -- Values -----------------------------------------------------------------------------------

  Value* Scalar(Value* old) const {
    auto found = scalars_.find(old);
    KDL_CHECK(found != scalars_.end(), "'{}' is no scalar yet", old->name().text());
    return found->second;
  }
  Values ScalarsOf(std::span<Value* const> old) const {
    Values values;
    for (Value* value : old) values.push_back(Scalar(value));
    return values;
  }

  const BlkFacts& Facts(const Op* at, AxisId axis) const { return tiles_.FactsAt(at, axis); }

  /// Effects of what all workers compute alike happen once.
  void Once(const std::function<void()>& effect) {
    in_nest_ ? effect() : OnFirstWorker(b_, effect);
  }

  // -- Blocks and ops ---------------------------------------------------------------------------

  void ExpandBlock(const ir::Block* block) {
    for (Op* op : *block) {
      if (op->info().has(ir::kTerminator)) break;
      b_.set_loc(op->loc());
      if (!in_nest_ && !factor_copies_.Takes(op) && !IsOfScalars(op)) factor_copies_.Await();
      ExpandOp(op);
    }
    if (!in_nest_) factor_copies_.Await();
  }

  void ExpandOp(Op* op) {
    switch (op->kind()) {
      case OpKind::MakeBlk: {
        ir::MakeBlkOp blk(op);
        tiles_.SetBlk(op->result(), {Scalar(blk.start()), Scalar(blk.size()), Scalar(blk.index())});
        return;
      }
      case OpKind::BlkStart:
        scalars_[op->result()] = tiles_.FactsOf(op->operand(0)).start;
        return;
      case OpKind::BlkSize:
        scalars_[op->result()] = tiles_.FactsOf(op->operand(0)).size;
        return;
      case OpKind::BlkIndex:
        scalars_[op->result()] = tiles_.FactsOf(op->operand(0)).index;
        return;
      case OpKind::Nest:
        return ExpandNest(op);
      case OpKind::Contraction:
        if (turns_ && turns_->loop() == op->block()->parent() && GroupMultiplies(op))
          return turns_->Multiply(op, BufferOf(op, op->result()));
        if (op->HasAttr(AttrKey::Unit))
          return ExpandMatrixProduct(b_, tiles_, op, BufferOf(op, op->result()));
        return ExpandProduct(b_, tiles_, op, BufferOf(op, op->result()), facts_.in_vectors);
      case OpKind::Reduce:
        return ExpandMappedFold(b_, tiles_, op, BufferOf(op, op->result()));
      case OpKind::Scan:
        return ExpandScan(op);
      case OpKind::Element:
        return ExpandElement(op);
      case OpKind::Loop:
      case OpKind::While:
        return ExpandLoop(op);
      case OpKind::If:
        return ExpandIf(op);
      case OpKind::Load:
        if (op->HasAttr(AttrKey::Copied)) return block_copies_.Load(op);
        scalars_[op->result()] = ExpandLoad(b_, AccessOf(op));
        return;
      case OpKind::Store:
        if (op->HasAttr(AttrKey::Copied)) return block_copies_.Store(op);
        return Once([&] { ExpandStore(b_, AccessOf(op), Scalar(op->operand(0))); });
      case OpKind::Update:
        return Once([&] { ExpandUpdate(b_, AccessOf(op), Scalar(op->operand(0))); });
      case OpKind::Print:
        return ExpandPrint(op);
      case OpKind::Stage:
        return ExpandStage(op);
      default:
        ir::Clone(op, b_, scalars_);
    }
  }

  ElementAccess AccessOf(const Op* op) const {
    return passes::AccessOf(op, [&](Value* operand) { return Scalar(operand); });
  }

  // -- Nests ------------------------------------------------------------------------------------

  /// The buffer of what the op yields to the loop around, where that is free: nothing needs what stands there, but the op
  /// itself at its own points.
  Value* YieldTarget(const Op* op, const Value* result) const {
    if (result->uses().size() != 1) return nullptr;
    const ir::Use& use = result->uses()[0];
    const Op* loop = op->block()->parent();
    bool yields = use.user == op->block()->terminator() && loop &&
                  (loop->kind() == OpKind::Loop || loop->kind() == OpKind::While);
    if (!yields) return nullptr;
    const Value* param = op->block()->param(use.operand + (loop->kind() == OpKind::Loop ? 1 : 0));
    for (const ir::Use& old : param->uses()) {
      const Op* user = AncestorIn(op->block(), old.user);
      bool harmless = user == op ? TakesOwnPoints(op, old) : !ComesAfter(user, op);
      if (!harmless) return nullptr;
    }
    return tiles_.BufferOf(param);
  }

  /// Whether the op takes each element of the tile for its own point only.
  static bool TakesOwnPoints(const Op* op, const ir::Use& use) {
    if (op->kind() == OpKind::Contraction)
      return use.operand == op->SegmentBegin(ir::ContractionOp::at_into);
    return ReadsOwnPoints(op, use.user);
  }

  Value* BufferOf(const Op* op, const Value* result) {
    Value* target = YieldTarget(op, result);
    if (!target) {
      target = tiles_.NewBuffer(result, result->name());
      bool fills = op->kind() == OpKind::Nest && StaysInRegisters(op);
      if (tiles_.IsInRegisters(result) && !fills) tiles_.Clear(op, result, target);
    }
    return tiles_[result] = target;
  }

  void ExpandNest(const Op* op) {
    Values buffers;
    std::vector<const Value*> made;
    for (const Value* result : op->results()) {
      bool comes = result->uses().empty() || (turns_ && turns_->Brings(result));
      buffers.push_back(comes ? nullptr : BufferOf(op, result));
      if (!comes) made.push_back(result);
    }
    if (made.empty() && !op->results().empty()) return;
    AxisList axes;
    for (const Value* blk : op->operands()) axes.push_back(blk->type()->axes[0]);
    bool ordered = UpdatesInOrder(op);
    auto body = [&](const Values& place) { ExpandPoint(op, axes, place, buffers); };
    if (ordered) return Once([&] { InOrder(op, axes, body); });
    AxisMap map = AxisMapOf(*op);
    if (!map.empty()) {
      tiles_.DealByMap(op, axes, map, StaysInRegisters(op), body);
      return FinishFactors(b_, tiles_, op, made, workers_);
    }
    auto together = [&](const std::vector<Values>& places) {
      std::vector<Values> made;
      for (const Values& place : places) made.push_back(MakePoint(op, axes, place));
      for (size_t i = 0; i < places.size(); ++i) StorePoint(op, axes, places[i], made[i], buffers);
    };
    auto deal = [&] {
      BringsFactor(op, axes) ? tiles_.DealTogether(op, axes, workers_, together, body)
                             : tiles_.Deal(op, axes, body);
    };
    factor_copies_.Takes(op) ? ExpandCopies(op, axes, buffers, deal) : deal();
    FinishFactors(b_, tiles_, op, made, workers_);
  }

  void ExpandCopies(const Op* op, const AxisList& axes, const Values& buffers,
                    const std::function<void()>& otherwise) {
    if (!buffers[0]) return;
    auto index_at = [&](const Op* load, const Values& point) {
      for (size_t i = 0; i < axes.size(); ++i) scalars_[op->region()->param(i)] = point[i];
      return ScalarsOf(load->Segment(ir::LoadOp::at_index));
    };
    Value* tensor = Scalar(op->region()->first()->operand(ir::LoadOp::at_tensor));
    factor_copies_.Begin(op, tensor, buffers[0], index_at, otherwise);
  }

  /// Whether the nest does nothing but load a product's factors, of which each worker has a few: then all of its loads are under
  /// way before the first one is waited for.
  bool BringsFactor(const Op* nest, const AxisList& axes) const {
    constexpr int64_t kMost = 32;  // at once
    int64_t each = tiles_.EachOf(axes, workers_);
    bool brings = 2 <= each && each <= kMost && !nest->results().empty() &&
                  std::ranges::all_of(nest->results(),
                                      [&](const Value* result) { return tiles_.IsFactor(result); });
    ir::Walk(nest->region(), [&](const Op* op) {
      bool is_plain =
          op->kind() == OpKind::Load && (op->attr<ir::AttrKey::Edge>() == ir::EdgeKind::Clip ||
                                         op->attr<ir::AttrKey::Edge>() == ir::EdgeKind::Proven);
      brings &= is_plain || op->info().has(ir::kPure) || op->info().has(ir::kTerminator);
    });
    return brings;
  }

  /// Whether the nest touches nothing but registers.
  bool StaysInRegisters(const Op* nest) const {
    bool stays = std::ranges::all_of(
        nest->results(), [&](const Value* result) { return tiles_.IsInRegisters(result); });
    ir::Walk(nest->region(), [&](const Op* op) {
      bool is_far = op->kind() == OpKind::Element && !tiles_.IsInRegisters(op->operand(0));
      stays &= !is_far && (op->info().has(ir::kPure) || op->info().has(ir::kTerminator));
    });
    return stays;
  }

  /// All points, one after the other.
  void InOrder(const Op* at, const AxisList& axes, const std::function<void(const Values&)>& body) {
    Values sizes;
    for (AxisId axis : axes) sizes.push_back(Facts(at, axis).size);
    MakeLoops(b_, sizes, body);
  }

  void ExpandPoint(const Op* op, const AxisList& axes, const Values& place, const Values& buffers) {
    StorePoint(op, axes, place, MakePoint(op, axes, place), buffers);
  }

  /// What the nest yields of the point.
  Values MakePoint(const Op* op, const AxisList& axes, const Values& place) {
    in_nest_ = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      Value* index = b_.Binary(OpKind::Add, Facts(op, axes[i]).start, place[i]);
      scalars_[op->region()->param(i)] = index;
      places_[index] = place[i];
    }
    ExpandBlock(op->region());
    in_nest_ = false;
    return ScalarsOf(op->region()->terminator()->operands());
  }

  void StorePoint(const Op* op, const AxisList& axes, const Values& place, const Values& made,
                  const Values& buffers) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!buffers[i]) continue;
      Values at;
      for (AxisId axis : op->result(i)->type()->axes)
        at.push_back(place[static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin())]);
      tiles_.Store(made[i], op->result(i), buffers[i], at);
    }
  }

  void ExpandElement(const Op* op) {
    ir::ElementOp element(const_cast<Op*>(op));
    const AxisList& axes = element.tile()->type()->axes;
    Values place;
    for (size_t i = 0; i < axes.size(); ++i) {
      Value* index = Scalar(element.point()[i]);
      auto known = places_.find(index);
      place.push_back(known != places_.end()
                          ? known->second
                          : b_.Binary(OpKind::Sub, index, Facts(op, axes[i]).start));
    }
    scalars_[op->result()] = tiles_.Load(element.tile(), tiles_.BufferOf(element.tile()), place);
  }

  /// A row of the other axes is one worker's.
  void ExpandScan(const Op* op) {
    ir::ScanOp scan(const_cast<Op*>(op));
    AxisId walked = op->attr<AttrKey::Axes>()[0];
    AxisList kept = op->result()->type()->axes;
    Values buffers;
    for (const Value* result : op->results()) buffers.push_back(BufferOf(op, result));
    std::erase(kept, walked);
    auto row = [&](const Values& place) { ScanRow(scan, walked, kept, place, buffers); };
    kept.empty() ? Once([&] { row({}); }) : tiles_.Deal(op, kept, row);
  }

  void ScanRow(ir::ScanOp scan, AxisId walked, const AxisList& kept, const Values& place,
               const Values& buffers) {
    Value* size = Facts(scan.op, walked).size;
    bool down = scan->attr<AttrKey::Walk>() == ir::WalkKind::Down;
    bool after = scan->attr<AttrKey::Keep>() == ir::KeepKind::After;
    Value* zero = b_.I64(0);
    MakeLoop(b_, {zero, size}, ScalarsOf(scan.inits()), [&](Value* number, const Values& before) {
      Value* from_end = down ? b_.Binary(OpKind::Sub, size, number) : nullptr;
      Value* position = down ? b_.Binary(OpKind::Sub, from_end, b_.I64(1)) : number;
      auto at = [&](const AxisList& axes) {
        Values index;
        for (AxisId axis : axes) {
          auto found = std::ranges::find(kept, axis);
          index.push_back(axis == walked ? position
                                         : place[static_cast<size_t>(found - kept.begin())]);
        }
        return index;
      };
      const ir::Block* region = scan->region();
      for (size_t i = 0; i < before.size(); ++i) {
        Value* tile = scan.values()[i];
        scalars_[region->param(i)] = before[i];
        scalars_[region->param(before.size() + i)] =
            IsTileValue(tile) ? tiles_.Load(tile, tiles_.BufferOf(tile), at(tile->type()->axes))
                              : Scalar(tile);
      }
      ExpandBlock(region);
      Values next = ScalarsOf(region->terminator()->operands());
      for (size_t i = 0; i < buffers.size(); ++i)
        tiles_.Store(after ? next[i] : before[i], scan->result(i), buffers[i],
                     at(scan->result(i)->type()->axes));
      return next;
    });
  }

  // -- Loops and branches -------------------------------------------------------------------------

  /// Whether the loop alone goes on with the tile.
  static bool IsHandedOver(const Value* init, const Op* loop) {
    return init->def() && init->def()->block() == loop->block() && init->uses().size() == 1;
  }

  void ExpandLoop(const Op* op) {
    bool counts = op->kind() == OpKind::Loop;
    size_t first_init = counts ? op->SegmentBegin(ir::LoopOp::at_inits) : 0;
    size_t first_param = counts ? 1 : 0;
    Values inits;
    std::vector<ir::Type> types;
    std::vector<Value*> homes(op->results().size());
    for (size_t i = 0; i < op->results().size(); ++i) {
      Value* init = op->operand(first_init + i);
      if (!IsTileValue(init)) {
        inits.push_back(Scalar(init));
        types.push_back(init->type());
        continue;
      }
      homes[i] = tiles_.BufferOf(init);
      if (!IsHandedOver(init, op)) {
        homes[i] = tiles_.NewBuffer(init, op->result(i)->name());
        tiles_.Copy(op, init, tiles_.BufferOf(init), homes[i]);
      }
      tiles_[op->region()->param(first_param + i)] = tiles_[op->result(i)] = homes[i];
    }
    if (const Op* product = BoxProductIn(op)) {
      tiles_[product->result()] = homes[0];
      if (blocks_boxes_ && blocks_boxes_->loop() == op) return blocks_boxes_->RunInBlock(homes[0]);
      return BoxLoop(facts_, b_, tiles_, product, Turn()).Run(homes[0]);
    }
    std::unique_ptr<BoxLoop> boxes_of_blocks = BoxesOfBlocks(op);
    TurnBoxes boxes(b_, tiles_, op, Turn());
    TurnBoxes* around = turns_;
    if (!boxes.empty()) boxes.Open();
    Op* loop = counts ? b_.Create(OpKind::Loop,
                                  {{Scalar(op->operand(0))},
                                   {Scalar(op->operand(1))},
                                   {Scalar(op->operand(2))},
                                   inits},
                                  types, op->attrs())
                      : b_.Create(OpKind::While, {inits}, types);
    size_t next = 0;
    for (size_t i = 0; i < op->region()->params().size(); ++i) {
      const Value* param = op->region()->param(i);
      if (!IsTileValue(param))
        scalars_[param] = b_.AddParam(loop->region(), param->type(), param->name());
    }
    for (size_t i = 0; i < op->results().size(); ++i) {
      if (!IsTileValue(op->result(i))) scalars_[op->result(i)] = loop->result(next++);
    }
    FillRegion(b_, loop->region(), [&] {
      if (!boxes.empty()) boxes.BeginTurn(loop->region()->param(0));
      turns_ = &boxes;
      return ExpandRegion(op->region(), homes);
    });
    turns_ = around;
    if (!boxes.empty()) boxes.Close();
    if (!boxes_of_blocks) return;
    boxes_of_blocks->Close();
    blocks_boxes_ = nullptr;
  }

  TurnMaker Turn() {
    return {scalars_, [this](Op* of_turn) { ExpandOp(of_turn); }};
  }

  /// The loop around a product of boxes that goes on from block to block, begun; null: there is none in the op.
  std::unique_ptr<BoxLoop> BoxesOfBlocks(const Op* op) {
    std::unique_ptr<BoxLoop> found;
    for (const Op* inner : *op->region()) {
      const Op* product = inner->kind() == OpKind::Loop ? BoxProductIn(inner) : nullptr;
      if (product) found = std::make_unique<BoxLoop>(facts_, b_, tiles_, product, Turn());
    }
    if (!found || !found->GoesOnWith(op)) return nullptr;
    blocks_boxes_ = found.get();
    found->BeginBlocks();
    return found;
  }

  /// The scalars that a region yields; the tiles are copied to where they are wanted, all at once.
  Values ExpandRegion(const ir::Block* region, const std::vector<Value*>& homes) {
    ExpandBlock(region);
    const Op* yield = region->terminator();
    Values scalars;
    struct Pending {
      const Value* tile;
      Value* from;
      Value* to;
    };
    std::vector<Pending> pending;
    for (size_t i = 0; i < yield->operands().size(); ++i) {
      Value* value = yield->operand(i);
      if (!IsTileValue(value)) {
        scalars.push_back(Scalar(value));
      } else if (tiles_.BufferOf(value) != homes[i]) {
        pending.push_back({value, tiles_.BufferOf(value), homes[i]});
      }
    }
    for (Pending& move : pending) {
      bool overwritten = std::ranges::any_of(
          pending, [&](const Pending& other) { return &other != &move && other.to == move.from; });
      if (!overwritten) continue;
      Value* between = tiles_.NewBuffer(move.tile, {});
      tiles_.Copy(yield, move.tile, move.from, between);
      move.from = between;
    }
    for (const Pending& move : pending) tiles_.Copy(yield, move.tile, move.from, move.to);
    return scalars;
  }

  void ExpandIf(const Op* op) {
    std::vector<Value*> homes(op->results().size());
    std::vector<ir::Type> types;
    for (size_t i = 0; i < op->results().size(); ++i) {
      const Value* result = op->result(i);
      if (IsTileValue(result)) {
        homes[i] = tiles_[result] = tiles_.NewBuffer(result, result->name());
      } else {
        types.push_back(result->type());
      }
    }
    Op* branch = b_.Create(OpKind::If, {{Scalar(op->operand(0))}}, types);
    size_t next = 0;
    for (const Value* result : op->results()) {
      if (!IsTileValue(result)) scalars_[result] = branch->result(next++);
    }
    for (size_t r = 0; r < 2; ++r)
      FillRegion(b_, branch->region(r), [&] { return ExpandRegion(op->region(r), homes); });
  }

  void ExpandStage(const Op* op) {
    const Op* stage = b_.Create(OpKind::Stage, {}, {}, op->attrs());
    FillRegion(b_, stage->region(), [&]() -> Values {
      ExpandBlock(op->region());
      return {};
    });
  }

  void ExpandPrint(const Op* op) {
    Values values;
    Values sizes;
    for (Value* value : op->Segment(ir::PrintOp::at_values)) {
      values.push_back(IsTileValue(value) ? tiles_.BufferOf(value) : Scalar(value));
      if (!IsTileValue(value)) continue;
      for (AxisId axis : value->type()->axes) sizes.push_back(Facts(op, axis).size);
    }
    Once([&] { b_.Create(OpKind::Print, {values, sizes}, {}, op->attrs()); });
  }

  ir::Module& module_;
  ir::Function& kernel_;
  const SimtFacts& facts_;
  int64_t workers_;
  ir::Builder b_;
  ir::ValueMap scalars_;  ///< old scalar or tensor -> new
  TeamTiles tiles_;
  FactorCopies factor_copies_;
  BlockCopies block_copies_;
  std::unordered_map<const Value*, Value*>
      places_;                  ///< new index -> its distance from the block's start
  TurnBoxes* turns_ = nullptr;  ///< of the loop around
  BoxLoop* blocks_boxes_ = nullptr;
  bool in_nest_ = false;
};

}  // namespace

void RunExpandTeam(PassContext& context, ir::Function& kernel) {
  const SimtFacts& facts = FactsOf(context);
  int64_t workers = facts.workers;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->HasAttr(ir::AttrKey::Map)) workers = std::max(workers, ir::WorkersOf(ir::MapOf(*op)));
  });
  TeamExpander(context.module, kernel, facts, workers).Run();
  kernel.team = workers;
}

}  // namespace kdl::simt
