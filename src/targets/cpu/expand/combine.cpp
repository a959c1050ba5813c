#include "ir/op_info.h"
#include "targets/cpu/analysis/combining.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/expand/fold_notes.h"

// Expands reductions and scans that have a region.
//
//   %s = scan carry(%a = %z) (%x in %t) {axes = (k)} { … yield %n }
//   -> for each row of the other axes, a vector of the last one at a time:
//      loop %k carry(%a = %z): %x = %t[row, %k]; …; %s[row, %k] = %n

namespace kdl::cpu {

namespace {

bool IsScan(const Op* op) { return op->kind() == OpKind::Scan; }

/// Returns a map from the values that the region reads from outside to their new values. They are constants
/// that other passes have moved out of the region.
ir::ValueMap Outside(const Expander& e, const ir::Region* region) {
  ir::ValueMap map;
  auto look = [&](const Op* op) {
    for (Value* operand : op->operands()) {
      if (e.scalars.contains(operand)) map[operand] = e.Scalar(operand);
    }
  };
  ir::Walk(region, look);
  return map;
}

}  // namespace

Values StepOnce(Expander& e, const Op* op, const Values& accumulators, const Values& terms,
                int64_t lanes) {
  const ir::Region* region = op->region();
  ir::ValueMap map = Outside(e, region);
  for (size_t i = 0; i < accumulators.size(); ++i) {
    map[region->param(i)] = accumulators[i];
    map[region->param(accumulators.size() + i)] = terms[i];
  }
  if (lanes == 1) {
    ir::CloneBody(region, e.b, map);
  } else {
    for (const Op* inner : *region) {
      if (!inner->info().has(ir::kTerminator))
        map[inner->result()] =
            ExpandInLanes(e, inner, [&](Value* operand) { return map.at(operand); });
    }
  }
  Values next;
  for (const Value* value : region->terminator()->operands())
    next.push_back(e.b.Splat(map.at(value), lanes));
  return next;
}

namespace {

Values Inits(Expander& e, const Op* op, int64_t lanes) {
  Values inits;
  for (Value* init : op->Segment(ir::MultiReduceOp::at_inits))
    inits.push_back(e.b.Splat(e.Scalar(init), lanes));
  return inits;
}

/// Emits one reduction or scan in sequential order for each element of the other axes.
class SequentialReduction {
 public:
  SequentialReduction(Expander& e, const Op* op)
      : e_(e), op_(op), folded_(op->attr<AttrKey::Axes>()) {
    kept_ = KeptAxes(e, op);
    lanes_ = CombinedLanes(e, op);
    NoteCombine(e, op, lanes_);
    for (Value* value : op->Segment(ir::MultiReduceOp::at_values))
      values_.push_back(TileBufferOf(e, value));
    for (const Value* result : op->results())
      targets_.push_back(IsTileValue(result) ? TileBufferOf(e, result) : TileBuffer());
  }

  void ExpandChains() {
    if (kept_.empty()) {
      Element({});
    } else {
      auto element = [&](const Chunk& chunk) { Element(chunk); };
      MakeChunksOf(e_, op_, kept_, lanes_, position_, element);
    }
  }

 private:
  void Store(const Values& accumulators, const Chunk& chunk) {
    for (size_t i = 0; i < accumulators.size(); ++i)
      StoreChunk(e_, accumulators[i], targets_[i], position_, chunk);
  }

  void Element(const Chunk& chunk) {
    auto step = [&](const Values& before) -> Values {
      Values terms;
      for (size_t i = 0; i < values_.size(); ++i)
        terms.push_back(
            LoadChunk(e_, values_[i], op_->operand(i)->type()->scalar, position_, chunk));
      Values after = StepOnce(e_, op_, before, terms, chunk.lanes);
      if (IsScan(op_))
        Store(op_->attr<AttrKey::Keep>() == ir::KeepKind::After ? after : before, chunk);
      return after;
    };
    Values inits = Inits(e_, op_, chunk.lanes);
    if (IsScan(op_)) return Along(inits, step);
    Values folded = MakeElementwiseLoop(e_, op_, folded_, position_, inits, step);
    if (!kept_.empty()) return Store(folded, chunk);
    for (size_t i = 0; i < folded.size(); ++i) e_.scalars[op_->result(i)] = folded[i];
  }

  void Along(const Values& inits, const std::function<Values(const Values&)>& step) {
    Window window = e_.WindowOf(op_, folded_[0]);
    bool down = op_->attr<AttrKey::Direction>() == ir::DirectionKind::Down;
    Value* last = down ? e_.b.Sub(window.hi, e_.b.I64(1)) : nullptr;
    MakeLoop(e_.b, {window.lo, window.hi}, inits, [&](Value* index, const Values& before) {
      Value* from_end = down ? e_.b.Sub(index, window.lo) : nullptr;
      position_[folded_[0]] = down ? e_.b.Sub(last, from_end) : index;
      return step(before);
    });
  }

  Expander& e_;
  const Op* op_;
  ir::AxisList folded_;
  ir::AxisList kept_;
  int64_t lanes_ = 1;
  std::vector<TileBuffer> values_;
  std::vector<TileBuffer> targets_;  ///< the buffers of those results that are tiles
  Position position_;
};

}  // namespace

void ExpandCombine(Expander& e, const Op* op) { SequentialReduction(e, op).ExpandChains(); }

}  // namespace kdl::cpu
