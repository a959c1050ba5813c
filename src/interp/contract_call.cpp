#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "interp/contract_eval.h"
#include "support/check.h"

// The fns that a contract calls, statement by statement. Values carry their errors along, so that a fn adds what its
// operations add on the path that is taken.

namespace kdl::interp {

using ir::ContractStatement;
using ir::ContractStatementKind;

namespace {

constexpr int64_t kMostTurns = int64_t{1} << 22;  ///< of one loop

}  // namespace

std::vector<ContractValue> ContractEvaluator::EvalEach(const std::vector<ir::ContractId>& ids) {
  std::vector<ContractValue> values;
  values.reserve(ids.size());
  for (ir::ContractId id : ids) values.push_back(Eval(id));
  return values;
}

std::vector<ContractValue> ContractEvaluator::Call(ir::ContractId function,
                                                   const std::vector<ContractValue>& args) {
  const ir::ContractFunction& callee = contract_.functions[function];
  size_t around = frame_;
  frame_ = slots_.size();
  slots_.resize(frame_ + callee.slots);
  std::copy(args.begin(), args.end(), slots_.begin() + static_cast<ptrdiff_t>(frame_));
  Run(callee.body);
  slots_.resize(frame_);
  frame_ = around;
  std::vector<ContractValue> given = std::exchange(given_, {});
  given.resize(callee.parts);  // nothing is given after a fault
  return given;
}

ContractEvaluator::Flow ContractEvaluator::Run(const std::vector<ContractStatement>& statements) {
  for (const ContractStatement& statement : statements) {
    Flow flow = RunOne(statement);
    if (fault_) return Flow::Return;
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

ContractEvaluator::Flow ContractEvaluator::RunOne(const ContractStatement& statement) {
  switch (statement.kind) {
    case ContractStatementKind::Assign: {
      std::vector<ContractValue> values = EvalEach(statement.values);
      for (size_t i = 0; i < values.size(); ++i) slots_[frame_ + statement.slots[i]] = values[i];
      return Flow::Next;
    }
    case ContractStatementKind::If:
      return Run(Eval(statement.values[0]).integer != 0 ? statement.body : statement.other);
    case ContractStatementKind::Loop:
      return RunLoop(statement);
    case ContractStatementKind::Break:
      return Flow::Break;
    case ContractStatementKind::Continue:
      return Flow::Continue;
    case ContractStatementKind::Return:
      given_ = EvalEach(statement.values);
      return Flow::Return;
    case ContractStatementKind::Assert:
      if (Eval(statement.values[0]).integer == 0)
        Fault(statement.span, "this is asserted and false");
      return Flow::Next;
  }
  KDL_UNREACHABLE();
}

ContractEvaluator::Flow ContractEvaluator::RunLoop(const ContractStatement& loop) {
  for (int64_t turn = 0; Eval(loop.values[0]).integer != 0; ++turn) {
    if (turn == kMostTurns) {
      Fault(loop.span, fmt::format("this loop has not ended after {} turns", kMostTurns));
      return Flow::Return;
    }
    Flow flow = Run(loop.body);
    if (flow == Flow::Break) break;
    if (flow == Flow::Return) return flow;
    Run(loop.other);
  }
  return Flow::Next;
}

}  // namespace kdl::interp
