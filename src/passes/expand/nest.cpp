#include "passes/expand/expander.h"
#include "support/check.h"

// A nest becomes loops; its body runs once a point.

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

class PointBody {
 public:
  PointBody(Expander& e, const Op* nest, const Position& position, const std::vector<Home>& homes)
      : e_(e), nest_(nest), position_(position), homes_(homes) {}

  void Run() {
    ir::Loc outer = e_.b.loc();
    for (const Value* param : nest_->region()->params()) {
      const Value* blk = ir::NestOp(const_cast<Op*>(nest_)).blks()[param->index()];
      ir::AxisId axis = blk->type()->axes[0];
      map_[param] = e_.b.Binary(OpKind::Add, e_.blks.at(blk).start, position_.at(axis));
    }
    for (Op* op : *nest_->region()) {
      e_.b.set_loc(op->loc());
      Expand(op);
    }
    e_.b.set_loc(outer);
  }

 private:
  Value* At(Value* old) {
    auto found = map_.find(old);
    return found == map_.end() ? e_.Scalar(old) : found->second;
  }

  Values All(std::span<Value* const> old) {
    Values values;
    for (Value* value : old) values.push_back(At(value));
    return values;
  }

  void Expand(Op* op) {
    if (op->kind() == OpKind::Yield) {
      for (size_t i = 0; i < op->operands().size(); ++i)
        StoreElement(e_, At(op->operand(i)), homes_[i], position_);
    } else if (op->kind() == OpKind::Element) {
      map_[op->result()] = ElementOf(e_, op->operand(0), position_);
    } else if (auto load = ir::DynAs<ir::LoadOp>(op)) {
      ElementAccess access{op, e_.Scalar(load->tensor()), All(load->index()),
                           Optional(load->otherwise()), Optional(load->mask())};
      map_[op->result()] = ExpandLoad(e_, access, op->result()->type()->scalar);
    } else if (auto store = ir::DynAs<ir::StoreOp>(op)) {
      ElementAccess access{op, e_.Scalar(store->tensor()), All(store->index()), nullptr,
                           Optional(store->mask())};
      ExpandStore(e_, access, At(store->value()));
    } else {
      ir::ValueMap map;
      for (Value* operand : op->operands()) map[operand] = At(operand);
      map_[op->result()] = ir::Clone(op, e_.b, map)->result();
    }
  }

  Value* Optional(Value* old) { return old ? At(old) : nullptr; }

  Expander& e_;
  const Op* nest_;
  const Position& position_;
  const std::vector<Home>& homes_;
  ir::ValueMap map_;
};

}  // namespace

void ExpandNest(Expander& e, const Op* op) {
  std::vector<Home> homes;
  for (size_t i = 0; i < op->results().size(); ++i) homes.push_back(ResultHome(e, op, i));
  ir::AxisList axes;
  for (const Value* blk : op->operands()) axes.push_back(blk->type()->axes[0]);
  Position position;
  MakeNest(e, op, axes, position, {}, [&](const Values&) -> Values {
    PointBody(e, op, position, homes).Run();
    return {};
  });
}

}  // namespace kdl::passes
