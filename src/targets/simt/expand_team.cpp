#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/views.h"
#include "passes/rewrite.h"
#include "passes/structured.h"
#include "support/check.h"
#include "targets/simt/access.h"
#include "targets/simt/passes.h"

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

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool IsTileValue(const Value* value) {
  return ir::IsTile(value->type()) && !value->type()->axes.empty();
}

struct BlkFacts {
  Value* start;
  Value* size;
  Value* index;
};

/// Whether the op reads each element of the tile at its own point only.
bool ReadsOwnPoints(const Op* nest, const Op* element) {
  if (element->kind() != OpKind::Element) return false;
  auto point = element->Segment(ir::ElementOp::at_point);
  const AxisList& axes = element->operand(0)->type()->axes;
  if (axes.size() != nest->operands().size()) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Value* index = point[i];
    bool own = index->block() == nest->region() &&
               nest->operand(index->index())->type()->axes[0] == axes[i];
    if (!own) return false;
  }
  return true;
}

class TeamExpander {
 public:
  TeamExpander(ir::Module& module, ir::Function& kernel)
      : module_(module), kernel_(kernel), b_(module) {}

  void Run() {
    ir::Block* old = kernel_.body;
    ir::Block* body = module_.arena().Make<ir::Block>();
    body->set_function(&kernel_);
    b_.SetInsertionPoint(body);
    for (const Value* param : old->params())
      scalars_[param] = b_.AddParam(body, param->type(), param->name());
    for (ir::Param& param : kernel_.params) param.value = scalars_.at(param.value);
    kernel_.body = body;
    ExpandBlock(old);
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
  Value* OptionalScalar(Value* old) const { return old ? Scalar(old) : nullptr; }

  const BlkFacts& Facts(const Op* at, AxisId axis) const {
    const Value* blk = ir::FindBlk(at, axis);
    KDL_CHECK(blk && blks_.contains(blk), "no block of axis '{}' in scope",
              kernel_.axis(axis).name.text());
    return blks_.at(blk);
  }
  int64_t Extent(AxisId axis) const { return kernel_.axis(axis).extent->value; }

  // -- Memory -----------------------------------------------------------------------------------

  Value* NewBuffer(ir::Type tile, Name name) {
    std::vector<int64_t> extents;
    for (AxisId axis : tile->axes) extents.push_back(Extent(axis));
    ir::Type type = b_.types().Buffer(tile->scalar, std::move(extents), ir::Space::Team);
    Value* buffer = b_.Create(OpKind::BufferNew, {}, {type})->result();
    buffer->set_name(name);
    return buffer;
  }

  /// Deals the points of the axes' blocks to the workers; `body` gets each one's distance from the blocks' starts.
  void Deal(const Op* at, const AxisList& axes, const std::function<void(const Values&)>& body) {
    Value* points = b_.I64(1);
    for (size_t i = 0; i < axes.size(); ++i) {
      Value* many = i == 0 ? Facts(at, axes[i]).size : b_.I64(Extent(axes[i]));
      points = i == 0 ? many : b_.Binary(OpKind::Mul, points, many);
    }
    Value* zero = b_.I64(0);
    MakeTeamLoop(b_, {zero, points}, [&](Value* number) {
      Values place(axes.size());
      Value* rest = number;
      Value* exists = nullptr;
      for (size_t i = axes.size(); i-- > 0;) {
        if (i == 0) {
          place[0] = rest;
          break;
        }
        Value* extent = b_.I64(Extent(axes[i]));
        place[i] = b_.Binary(OpKind::Rem, rest, extent);
        rest = b_.Binary(OpKind::Div, rest, extent);
        Value* fits = b_.Binary(OpKind::Lt, place[i], Facts(at, axes[i]).size);
        exists = exists ? b_.Binary(OpKind::And, exists, fits) : fits;
      }
      exists ? MakeIf(b_, exists, [&] { body(place); }) : body(place);
    });
  }

  /// Effects of what all workers compute alike happen once.
  void Once(const std::function<void()>& effect) {
    if (in_nest_) return effect();
    Value* zero = b_.I64(0);
    Value* one = b_.I64(1);
    MakeTeamLoop(b_, {zero, one}, [&](Value*) { effect(); });
  }

  void Copy(const Op* at, ir::Type tile, Value* from, Value* to) {
    if (from == to) return;
    Deal(at, tile->axes,
         [&](const Values& place) { BufferStore(BufferLoad(from, place), to, place); });
  }

  Value* BufferLoad(Value* buffer, const Values& place) {
    ir::Type type = b_.types().ScalarOf(buffer->type()->scalar);
    return b_.Create(OpKind::BufferLoad, {{buffer}, place, {}}, {type})->result();
  }
  void BufferStore(Value* value, Value* buffer, const Values& place) {
    b_.Create(OpKind::BufferStore, {{value}, {buffer}, place, {}}, {});
  }

  // -- Blocks and ops ---------------------------------------------------------------------------

  void ExpandBlock(const ir::Block* block) {
    for (Op* op : *block) {
      if (op->info().has(ir::kTerminator)) break;
      b_.set_loc(op->loc());
      ExpandOp(op);
    }
  }

  void ExpandOp(Op* op) {
    switch (op->kind()) {
      case OpKind::MakeBlk: {
        ir::MakeBlkOp blk(op);
        blks_[op->result()] = {Scalar(blk.start()), Scalar(blk.size()), Scalar(blk.index())};
        return;
      }
      case OpKind::BlkStart:
        scalars_[op->result()] = blks_.at(op->operand(0)).start;
        return;
      case OpKind::BlkSize:
        scalars_[op->result()] = blks_.at(op->operand(0)).size;
        return;
      case OpKind::BlkIndex:
        scalars_[op->result()] = blks_.at(op->operand(0)).index;
        return;
      case OpKind::Nest:
        return ExpandNest(op);
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
        scalars_[op->result()] = ExpandLoad(b_, AccessOf(op, ir::LoadOp::at_index));
        return;
      case OpKind::Store:
        return Once(
            [&] { ExpandStore(b_, AccessOf(op, ir::StoreOp::at_index), Scalar(op->operand(0))); });
      case OpKind::Update:
        return Once([&] {
          ExpandUpdate(b_, AccessOf(op, ir::UpdateOp::at_index), Scalar(op->operand(0)));
        });
      case OpKind::Print:
        return ExpandPrint(op);
      case OpKind::Stage:
        return ExpandStage(op);
      default:
        ir::Clone(op, b_, scalars_);
    }
  }

  ElementAccess AccessOf(const Op* op, size_t index) const {
    ElementAccess access{op, nullptr, ScalarsOf(op->Segment(index))};
    if (op->kind() == OpKind::Load) {
      ir::LoadOp load(const_cast<Op*>(op));
      access.tensor = Scalar(load.tensor());
      access.otherwise = OptionalScalar(load.otherwise());
      access.mask = OptionalScalar(load.mask());
    } else {
      access.tensor = Scalar(op->operand(ir::StoreOp::at_tensor));
      auto mask = op->Segment(op->kind() == OpKind::Store ? size_t{ir::StoreOp::at_mask}
                                                          : size_t{ir::UpdateOp::at_mask});
      if (!mask.empty()) access.mask = Scalar(mask[0]);
    }
    return access;
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
      bool harmless = user == op ? ReadsOwnPoints(op, old.user) : !ComesAfter(user, op);
      if (!harmless) return nullptr;
    }
    return tiles_.at(param);
  }

  Value* BufferOf(const Op* op, const Value* result) {
    Value* target = YieldTarget(op, result);
    return tiles_[result] = target ? target : NewBuffer(result->type(), result->name());
  }

  void ExpandNest(const Op* op) {
    Values buffers;
    for (const Value* result : op->results())
      buffers.push_back(result->uses().empty() ? nullptr : BufferOf(op, result));
    AxisList axes;
    for (const Value* blk : op->operands()) axes.push_back(blk->type()->axes[0]);
    bool ordered = UpdatesInOrder(op);
    auto body = [&](const Values& place) { ExpandPoint(op, axes, place, buffers); };
    ordered ? Once([&] { InOrder(op, axes, 0, {}, body); }) : Deal(op, axes, body);
  }

  /// Whether several points may update one element, which then takes their values in order.
  static bool UpdatesInOrder(const Op* nest) {
    bool found = false;
    ir::Walk(nest->region(), [&](const Op* op) {
      found |= op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() != ir::ScopeKind::Launch;
    });
    return found;
  }

  /// All points, one after the other.
  void InOrder(const Op* at, const AxisList& axes, size_t depth, Values place,
               const std::function<void(const Values&)>& body) {
    if (depth == axes.size()) return body(place);
    Value* zero = b_.I64(0);
    MakeLoop(b_, {zero, Facts(at, axes[depth]).size}, {}, [&](Value* index, const Values&) {
      Values next = place;
      next.push_back(index);
      InOrder(at, axes, depth + 1, next, body);
      return Values();
    });
  }

  void ExpandPoint(const Op* op, const AxisList& axes, const Values& place, const Values& buffers) {
    in_nest_ = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      Value* index = b_.Binary(OpKind::Add, Facts(op, axes[i]).start, place[i]);
      scalars_[op->region()->param(i)] = index;
      places_[index] = place[i];
    }
    ExpandBlock(op->region());
    const Op* yield = op->region()->terminator();
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!buffers[i]) continue;
      Values at;
      for (AxisId axis : op->result(i)->type()->axes)
        at.push_back(place[static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin())]);
      BufferStore(Scalar(yield->operand(i)), buffers[i], at);
    }
    in_nest_ = false;
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
    scalars_[op->result()] = BufferLoad(tiles_.at(element.tile()), place);
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
    kept.empty() ? Once([&] { row({}); }) : Deal(op, kept, row);
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
            IsTileValue(tile) ? BufferLoad(tiles_.at(tile), at(tile->type()->axes)) : Scalar(tile);
      }
      ExpandBlock(region);
      Values next = ScalarsOf(region->terminator()->operands());
      for (size_t i = 0; i < buffers.size(); ++i)
        BufferStore(after ? next[i] : before[i], buffers[i], at(scan->result(i)->type()->axes));
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
      homes[i] = tiles_.at(init);
      if (!IsHandedOver(init, op)) {
        homes[i] = NewBuffer(init->type(), op->result(i)->name());
        Copy(op, init->type(), tiles_.at(init), homes[i]);
      }
      tiles_[op->region()->param(first_param + i)] = tiles_[op->result(i)] = homes[i];
    }
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
    FillRegion(b_, loop->region(), [&] { return ExpandRegion(op->region(), homes); });
  }

  /// The scalars that a region yields; the tiles are copied to where they are wanted, all at once.
  Values ExpandRegion(const ir::Block* region, const std::vector<Value*>& homes) {
    ExpandBlock(region);
    const Op* yield = region->terminator();
    Values scalars;
    struct Pending {
      ir::Type type;
      Value* from;
      Value* to;
    };
    std::vector<Pending> pending;
    for (size_t i = 0; i < yield->operands().size(); ++i) {
      Value* value = yield->operand(i);
      if (!IsTileValue(value)) {
        scalars.push_back(Scalar(value));
      } else if (tiles_.at(value) != homes[i]) {
        pending.push_back({value->type(), tiles_.at(value), homes[i]});
      }
    }
    for (Pending& move : pending) {
      bool overwritten = std::ranges::any_of(
          pending, [&](const Pending& other) { return &other != &move && other.to == move.from; });
      if (!overwritten) continue;
      Value* between = NewBuffer(move.type, {});
      Copy(yield, move.type, move.from, between);
      move.from = between;
    }
    for (const Pending& move : pending) Copy(yield, move.type, move.from, move.to);
    return scalars;
  }

  void ExpandIf(const Op* op) {
    std::vector<Value*> homes(op->results().size());
    std::vector<ir::Type> types;
    for (size_t i = 0; i < op->results().size(); ++i) {
      const Value* result = op->result(i);
      if (IsTileValue(result)) {
        homes[i] = tiles_[result] = NewBuffer(result->type(), result->name());
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
      values.push_back(IsTileValue(value) ? tiles_.at(value) : Scalar(value));
      if (!IsTileValue(value)) continue;
      for (AxisId axis : value->type()->axes) sizes.push_back(Facts(op, axis).size);
    }
    Once([&] { b_.Create(OpKind::Print, {values, sizes}, {}, op->attrs()); });
  }

  ir::Module& module_;
  ir::Function& kernel_;
  ir::Builder b_;
  ir::ValueMap scalars_;                             ///< old scalar or tensor -> new
  std::unordered_map<const Value*, Value*> tiles_;   ///< old tile -> its buffer
  std::unordered_map<const Value*, BlkFacts> blks_;  ///< of old blks
  std::unordered_map<const Value*, Value*>
      places_;  ///< new index -> its distance from the block's start
  bool in_nest_ = false;
};

}  // namespace

void RunExpandTeam(PassContext& context, ir::Function& kernel) {
  kernel.team = FactsOf(context).workers;
  TeamExpander(context.module, kernel).Run();
}

}  // namespace kdl::simt
