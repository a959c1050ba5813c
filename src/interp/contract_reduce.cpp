#include "interp/contract_eval.h"
#include "interp/contract_fold.h"

// Reductions, scans and folds with a fn.

namespace kdl::interp {

/// A reduction on its way: terms at the present indices are added.
class ContractRunning {
 public:
  ContractRunning(ContractEvaluator& evaluator, const ContractPlan& plan)
      : evaluator_(evaluator),
        node_(*plan.node),
        fold_(node_.reduce, plan.operand),
        own_(node_.kind == ir::ContractKind::Fold) {
    if (!own_) return;
    auto middle = node_.operands.begin() + static_cast<ptrdiff_t>(node_.operands.size() / 2);
    term_ = {node_.operands.begin(), middle};
    parts_ = evaluator_.EvalEach({middle, node_.operands.end()});
  }

  void Add() {
    if (!own_) {
      fold_.Add(evaluator_.Eval(node_.operands[0]), evaluator_.at(node_.over.back()));
      return;
    }
    std::vector<ContractValue> both = parts_;
    std::vector<ContractValue> term = evaluator_.EvalEach(term_);
    both.insert(both.end(), term.begin(), term.end());
    parts_ = evaluator_.Call(node_.id, both);
  }
  ContractValue Result() const { return own_ ? parts_[node_.part] : fold_.Result(); }

 private:
  ContractEvaluator& evaluator_;
  const ir::ContractNode& node_;
  ContractFold fold_;
  bool own_;  ///< with a fn
  std::vector<ir::ContractId> term_;
  std::vector<ContractValue> parts_;
};

ContractValue ContractEvaluator::Reduce(ContractPlan& plan) {
  if (plan.node->scan != ir::ContractScan::None) return Scan(plan);
  ContractRunning running(*this, plan);
  Walk(plan.node->over, [&] {
    running.Add();
    return !fault_;
  });
  return running.Result();
}

/// What is up to the present index; where values are kept, all along the index at once.
ContractValue ContractEvaluator::Scan(ContractPlan& plan) {
  const ir::ContractNode& node = *plan.node;
  ir::ContractId index = node.over[0];
  const int64_t wanted = at_[index];
  ContractRunning running(*this, plan);
  ContractValue found;
  for (int64_t n = 0; n < extents_[index]; ++n) {
    at_[index] = node.scan == ir::ContractScan::Descending ? extents_[index] - 1 - n : n;
    ContractValue before = running.Result();
    running.Add();
    ContractValue value = node.exclusive ? before : running.Result();
    if (at_[index] == wanted) found = value;
    if (!plan.memo && at_[index] == wanted) break;
    if (!plan.memo) continue;
    size_t place = PlaceIn(*plan.memo);
    plan.memo->values[place] = value;
    plan.memo->known[place] = true;
  }
  at_[index] = wanted;
  return found;
}

}  // namespace kdl::interp
