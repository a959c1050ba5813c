#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/verify/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

/// Maps each axis of the fn for which the call passes a block to the axis of that block in the caller.
using AxisMap = std::map<AxisId, AxisId>;

AxisMap BoundAxes(const Op& call, const Function& fn) {
  AxisMap bound;
  Values arguments = call.Segment(CallOp::at_arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    Type wanted = fn.body->param(i)->type();
    if (IsBlock(fn.body->param(i)) && IsBlock(arguments[i]))
      bound[wanted->axes[0]] = arguments[i]->type()->axes[0];
  }
  return bound;
}

AxisList Bound(const AxisMap& axes, const AxisList& own) {
  AxisList list;
  for (AxisId axis : own) {
    if (auto found = axes.find(axis); found != axes.end()) list.push_back(found->second);
  }
  return Sorted(list);
}

AxisList AllBound(const AxisMap& axes) {
  AxisList list;
  for (const auto& [own, bound] : axes) list.push_back(bound);
  return Sorted(list);
}

/// Checks one argument against its parameter. `bound` contains the axes that the call binds.
std::string ArgumentFault(Type found, Type wanted, const AxisMap& bound) {
  if (found->kind != wanted->kind) return "is of a different kind";
  if (wanted->kind == TypeKind::Block) return "";
  if (found->scalar != wanted->scalar)
    return fmt::format("does not have element type {}", Spelling(wanted->scalar));
  if (wanted->kind == TypeKind::Pipe)
    return found->dims.size() == wanted->dims.size() ? "" : "has a different number of positions";
  AxisList own = Bound(bound, wanted->axes);
  AxisList others = Without(AllBound(bound), own);
  if (!Includes(found->axes, own)) return "does not have an axis of the parameter";
  return Without(found->axes, others) == found->axes
             ? ""
             : "has an axis that the parameter does not have";
}

std::string ArgumentsFault(const Op& op, const Function& fn) {
  Values arguments = op.Segment(CallOp::at_arguments);
  const std::vector<Value*>& params = fn.body->params();
  if (arguments.size() != params.size()) {
    return fmt::format("{} arguments are given; '{}' has {}", arguments.size(), fn.name.text(),
                       params.size());
  }
  AxisMap bound = BoundAxes(op, fn);
  AxisList all = AllBound(bound);
  if (std::adjacent_find(all.begin(), all.end()) != all.end())
    return "an axis is bound to two axes of the fn";
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string fault = ArgumentFault(arguments[i]->type(), params[i]->type(), bound);
    if (!fault.empty()) return fmt::format("argument {} {}", i + 1, fault);
  }
  return "";
}

/// Checks the types of a call's results: the fn's axes must be replaced by the caller's, and all other axes
/// of the operands must be added.
std::string CallResultFault(const Op& op, const Function& fn) {
  if (op.results().size() != fn.results.size())
    return fmt::format("{} results are given; '{}' has {}", op.results().size(), fn.name.text(),
                       fn.results.size());
  AxisMap bound = BoundAxes(op, fn);
  std::vector<AxisId> mapped;
  for (const Value* operand : op.operands()) {
    if (IsTile(operand->type())) mapped = UnionAxes(mapped, operand->type()->axes);
  }
  mapped = Without(mapped, AllBound(bound));
  for (const Value* mask : op.Segment(CallOp::at_mask)) {
    if (Without(mask->type()->axes, AllBound(bound)) != mask->type()->axes)
      return "the mask has an axis of the fn";
  }
  for (size_t i = 0; i < fn.results.size(); ++i) {
    Type result = op.result(i)->type();
    if (!IsTile(result) || result->scalar != fn.results[i]->scalar)
      return fmt::format("the result does not have the result type of '{}'", fn.name.text());
    if (result->axes != UnionAxes(mapped, Bound(bound, fn.results[i]->axes)))
      return "the axes of the result are not those of the fn's result and those that the call maps "
             "over";
  }
  return "";
}

std::string CallFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* fn = module.FindFunction(callee);
  if (!fn || fn->kind != FunctionKind::Fn)
    return fmt::format("'{}' is not a fn of the module", callee.text());
  const Function* caller = op.parent_region()->function();
  const std::vector<Function*>& functions = module.functions();
  auto place = [&](const Function* f) { return std::find(functions.begin(), functions.end(), f); };
  if (caller->kind == FunctionKind::Fn && place(fn) >= place(caller)) {
    return fmt::format("'{}' is not defined before its caller", callee.text());
  }
  if (std::string fault = ArgumentsFault(op, *fn); !fault.empty()) return fault;
  for (const Value* mask : op.Segment(CallOp::at_mask)) {
    if (!IsTile(mask->type()) || mask->type()->scalar != Scalar::Bool)
      return "the mask is not a bool";
  }
  return CallResultFault(op, *fn);
}

std::string ReturnFault(const Op& op, const Module&) {
  const Function* function = op.parent_region()->function();
  auto same = [](const Value* value, Type type) { return value->type() == type; };
  bool equal = std::equal(op.operands().begin(), op.operands().end(), function->results.begin(),
                          function->results.end(), same);
  return equal ? "" : "the values do not have the types of the function's results";
}

}  // namespace

KDL_TYPE_RULE(Call, CallFault)
KDL_TYPE_RULE(Return, ReturnFault)

}  // namespace kdl::ir
