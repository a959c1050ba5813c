#include <algorithm>

#include "passes/expand/folds.h"

// contract: `into` plus the products of a and b over the reduced axes, one fma a term.
//   chain    ascending from `into`; with axes that only b has, they run innermost, so that a row of the result and a
//            row of b are walked together: each element still takes its terms in ascending order
//   lanes64  lane 0 starts from `into`, the others from +0

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool Has(const Value* value, ir::AxisId axis) {
  const AxisList& axes = value->type()->axes;
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Value* MultiplyAdd(Expander& e, Value* a, Value* b, Value* c) {
  if (IsFloat(c->type()->scalar)) return e.b.Fma(a, b, c);
  return e.b.Binary(OpKind::Add, c, e.b.Binary(OpKind::Mul, a, b));
}

class Contraction {
 public:
  Contraction(Expander& e, const Op* op)
      : e_(e),
        op_(op),
        view_(const_cast<Op*>(op)),
        over_(op->attr<AttrKey::Axes>()),
        acc_(op->attr<AttrKey::Acc>()) {
    for (ir::AxisId axis : op->result()->type()->axes) {
      bool only_b = Has(view_.b(), axis) && !Has(view_.a(), axis);
      (only_b ? inner_ : outer_).push_back(axis);
    }
  }

  void Run() {
    if (op_->attr<AttrKey::Order>() == ir::OrderKind::Lanes64) return RunByElement(true);
    if (inner_.empty()) return RunByElement(false);
    RunByRows();
  }

 private:
  Value* Term(Value* operand) { return e_.b.Cast(ElementOf(e_, operand, position_), acc_); }
  Value* AddTerm(Value* sum) {
    Value* a = Term(view_.a());
    Value* b = Term(view_.b());
    return MultiplyAdd(e_, a, b, sum);
  }

  /// In the place of `into` where nothing looks at it any more.
  Home HomeWithInto() {
    bool in_place = ir::IsTile(view_.into()->type()) && e_.homes.contains(view_.into()) &&
                    DiesAt(view_.into(), op_) && view_.into()->uses().size() == 1;
    if (in_place) return e_.homes[op_->result()] = e_.homes.at(view_.into());
    Home home = ResultHome(e_, op_, 0);
    Position position;
    MakeNest(e_, op_, home.axes, position, {}, [&](const Values&) -> Values {
      StoreElement(e_, ElementOf(e_, view_.into(), position), home, position);
      return {};
    });
    return home;
  }

  void RunByRows() {
    Home home = HomeWithInto();
    AxisList order = outer_;
    order.insert(order.end(), over_.begin(), over_.end());
    order.insert(order.end(), inner_.begin(), inner_.end());
    MakeNest(e_, op_, order, position_, {}, [&](const Values&) -> Values {
      StoreElement(e_, AddTerm(LoadElement(e_, home, acc_, position_)), home, position_);
      return {};
    });
  }

  void RunByElement(bool lanes) {
    std::optional<Home> home;
    const AxisList& axes = op_->result()->type()->axes;
    if (!axes.empty()) home = ResultHome(e_, op_, 0);
    MakeNest(e_, op_, axes, position_, {}, [&](const Values&) -> Values {
      Value* into = ElementOf(e_, view_.into(), position_);
      TakeResult(e_, op_, home, position_, lanes ? SumLanes(into) : SumChain(into));
      return {};
    });
  }

  Value* SumChain(Value* into) {
    return MakeNest(e_, op_, over_, position_, {into},
                    [&](const Values& carried) -> Values { return {AddTerm(carried[0])}; })[0];
  }

  Value* SumLanes(Value* into) {
    Value* lanes = NewLanes(e_, acc_, into, e_.b.Bits(acc_, 0));
    MakeNest(e_, op_, over_, position_, {}, [&](const Values&) -> Values {
      UpdateLane(e_, lanes, acc_, position_.at(over_.back()),
                 [&](Value* lane) { return AddTerm(lane); });
      return {};
    });
    return FoldLanes(e_, lanes, acc_, OpKind::Add);
  }

  Expander& e_;
  const Op* op_;
  ir::ContractOp view_;
  AxisList over_;
  kdl::Scalar acc_;
  AxisList outer_;  ///< axes of the result that a has, or neither
  AxisList inner_;  ///< those that only b has
  Position position_;
};

}  // namespace

void ExpandContract(Expander& e, const Op* op) { Contraction(e, op).Run(); }

}  // namespace kdl::passes
