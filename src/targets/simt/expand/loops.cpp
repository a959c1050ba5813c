#include <algorithm>

#include "ir/op_kind.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/expand/expander.h"

// Expands loops and branches. Scalars remain loop-carried values. A loop-carried tile has one buffer for all
// iterations.

namespace kdl::simt {

bool WorkgroupExpander::IsHandedOver(const Value* init, const Op* loop) {
  return init->def() && init->def()->parent_region() == loop->parent_region() &&
         init->uses().size() == 1;
}

void WorkgroupExpander::ExpandLoop(const Op* op) {
  bool counts = op->kind() == OpKind::Loop;
  size_t first_init = counts ? op->SegmentBegin(ir::LoopOp::at_inits) : 0;
  size_t first_param = counts ? 1 : 0;
  Values inits;
  std::vector<ir::Type> types;
  std::vector<Value*> tile_buffers(op->results().size());
  for (size_t i = 0; i < op->results().size(); ++i) {
    Value* init = op->operand(first_init + i);
    if (!IsTileValue(init)) {
      inits.push_back(Scalar(init));
      types.push_back(init->type());
      continue;
    }
    tile_buffers[i] = tiles_.BufferOf(init);
    if (!IsHandedOver(init, op)) {
      tile_buffers[i] = tiles_.NewBuffer(init, op->result(i)->name());
      tiles_.Copy(op, init, tiles_.BufferOf(init), tile_buffers[i]);
    }
    tiles_[op->region()->param(first_param + i)] = tiles_[op->result(i)] = tile_buffers[i];
  }
  if (const Op* product = TensorTileProductIn(op)) {
    tiles_[product->result()] = tile_buffers[0];
    if (!HasSumsInWorkgroupMemory(facts_, tiles_, product))
      tile_buffers[0]->def()->SetAttr(ir::MakeAttr<AttrKey::Global>(1));
  }
  LoopProducts products(b_, tiles_, scalars_, op);
  LoopProducts* around = products_;
  if (!tile_buffers.empty()) products.Open(tile_buffers[0]);
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
    products_ = &products;
    return ExpandRegion(op->region(), tile_buffers);
  });
  products_ = around;
  if (!tile_buffers.empty()) products.Close(tile_buffers[0]);
}

Values WorkgroupExpander::ExpandRegion(const ir::Region* region,
                                       const std::vector<Value*>& tile_buffers) {
  ExpandRegion(region);
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
    } else if (tiles_.BufferOf(value) != tile_buffers[i]) {
      pending.push_back({value, tiles_.BufferOf(value), tile_buffers[i]});
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

void WorkgroupExpander::ExpandIf(const Op* op) {
  std::vector<Value*> tile_buffers(op->results().size());
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op->results().size(); ++i) {
    const Value* result = op->result(i);
    if (IsTileValue(result)) {
      tile_buffers[i] = tiles_[result] = tiles_.NewBuffer(result, result->name());
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
    FillRegion(b_, branch->region(r), [&] { return ExpandRegion(op->region(r), tile_buffers); });
}

}  // namespace kdl::simt
