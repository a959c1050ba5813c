#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

bool IsBool(Type type) { return type->scalar == Scalar::Bool; }

std::string BreaksFault(const Op& op, Values inits) {
  if (op.attr<AttrKey::Breaks>() != 1) return "'breaks' must be 1 or absent";
  bool ends = !inits.empty() && IsScalar(inits[0]->type()) && IsBool(inits[0]->type());
  return ends ? "" : "the first carried value, which ends the loop, is not a scalar bool";
}

/// Checks the attribute `ahead`, which says how many iterations in advance copies are started.
std::string AheadFault(const Op& op) {
  constexpr int64_t kMost = 1024;
  int64_t iterations = op.HasAttr(AttrKey::Ahead) ? op.attr<AttrKey::Ahead>() : 0;
  return 0 <= iterations && iterations <= kMost ? "" : "'ahead' is not a number from 0 to 1024";
}

/// Checks that the carried parameters (from number `first` on), the yielded values and the results have the
/// same types as `inits`.
std::string CarryFault(const Op& op, Values inits, size_t first) {
  const std::vector<Value*>& params = op.region()->params();
  if (params.size() < first) return "a parameter is missing";
  std::string fault =
      SameTypes(Values(params).subspan(first), {inits.begin(), inits.end()}, "carried parameters");
  if (fault.empty())
    fault = SameTypes(Yielded(op.region()), {inits.begin(), inits.end()}, "yielded values");
  if (fault.empty()) fault = SameTypes(op.results(), {inits.begin(), inits.end()}, "results");
  for (const Value* init : inits) {
    if (fault.empty() && !IsTile(init->type()) && !IsVector(init->type()))
      fault = "only scalars, tiles and vectors can be carried";
  }
  if (fault.empty() && op.HasAttr(AttrKey::Breaks)) fault = BreaksFault(op, inits);
  return fault;
}

std::string ForFault(const Op& op, const Module&) {
  if (!IsI64(op.operand(0)) || !IsI64(op.operand(1))) return "a bound is not an i64";
  if (op.region()->params().empty() || !IsBlock(op.region()->param(0)))
    return "the first parameter is not a block";
  if (std::string fault = AheadFault(op); !fault.empty()) return fault;
  return CarryFault(op, op.Segment(ForOp::at_inits), 1);
}

std::string SplitFault(const Op& op, const Module&) {
  const std::vector<Value*>& params = op.region()->params();
  if (!IsBlock(op.operand(0)) || params.size() != 1 || !IsBlock(params[0]))
    return "the operand or the parameter is not a block";
  const Axis& axis = op.parent_region()->function()->axis(params[0]->type()->axes[0]);
  if (axis.parent != op.operand(0)->type()->axes[0])
    return "the axis does not split the axis of the block";
  NumberList sizes = op.attr<AttrKey::Sizes>();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || (i > 0 && sizes[i] >= sizes[i - 1])) return "the sizes do not descend to 1";
  }
  if (sizes.empty() || !IsConstant(axis.extent, sizes[0]))
    return "the axis does not have the extent of the first size";
  return Yielded(op.region()).empty() ? "" : "the region yields values";
}

/// Checks a dynamically scheduled loop: the cores of a launch take the iteration numbers 0, 1, 2 … from a
/// counter, so that each iteration is executed by one core. No other loop may use the same counter.
std::string DynamicCounterFault(const Op& op) {
  auto is_const = [&](size_t operand, int64_t value) {
    const Op* def = op.operand(operand)->def();
    return def && def->kind() == OpKind::Const && def->attr<AttrKey::Bits>() == value;
  };
  if (!op.results().empty()) return "a dynamically scheduled loop cannot carry values";
  if (!is_const(0, 0) || !is_const(2, 1))
    return "a dynamically scheduled loop must start at 0 and have step 1";
  const Region* body = op.parent_region();
  for (; body->parent(); body = body->parent()->parent_region()) {
    if (body->parent()->HasAttr(AttrKey::DynamicCounter))
      return "is inside another dynamically scheduled loop";
  }
  int64_t loops = 0;
  int64_t same = 0;
  auto dynamic_counter = op.attr<AttrKey::DynamicCounter>();
  Walk(body, [&](const Op* other) {
    if (!other->HasAttr(AttrKey::DynamicCounter)) return;
    ++loops;
    same += other->attr<AttrKey::DynamicCounter>() == dynamic_counter ? 1 : 0;
  });
  if (same != 1)
    return fmt::format("uses dynamic counter {}, as another loop does", dynamic_counter);
  bool known = 0 <= dynamic_counter && dynamic_counter < loops;
  return known ? ""
               : fmt::format("uses dynamic counter {}, but the kernel has only {}", dynamic_counter,
                             loops);
}

std::string WorkgroupFault(const Op& op) {
  if (!op.results().empty()) return "a loop of a workgroup cannot carry values";
  if (op.HasAttr(AttrKey::DynamicCounter) || op.HasAttr(AttrKey::Breaks))
    return "a loop of a workgroup must run all of its iterations";
  for (const Op* outer = op.parent_region()->parent(); outer;
       outer = outer->parent_region()->parent()) {
    if (outer->HasAttr(AttrKey::Threads)) return "is inside another loop of the workgroup";
  }
  return "";
}

std::string LoopFault(const Op& op, const Module&) {
  for (size_t i = 0; i < 3; ++i) {
    if (!IsI64(op.operand(i))) return "a bound is not an i64";
  }
  if (op.region()->params().empty() || !IsI64(op.region()->param(0)))
    return "the first parameter is not an i64";
  constexpr int64_t kMostUnrolled = 64;
  int64_t iterations = op.HasAttr(AttrKey::Unroll) ? op.attr<AttrKey::Unroll>() : 1;
  if (iterations < 1 || iterations > kMostUnrolled) return "'unroll' is not a number from 1 to 64";
  std::string fault = AheadFault(op);
  if (fault.empty()) fault = CarryFault(op, op.Segment(LoopOp::at_inits), 1);
  if (fault.empty() && op.HasAttr(AttrKey::Threads)) fault = WorkgroupFault(op);
  return fault.empty() && op.HasAttr(AttrKey::DynamicCounter) ? DynamicCounterFault(op) : fault;
}

/// Returns whether a value that is computed in the stage could also be computed before the stage.
bool MayLeave(const Value* value, const Op* stage, std::set<const Op*>& known) {
  const Op* def = value->def();
  if (!def || def->parent_region() != stage->region() || !known.insert(def).second) return true;
  if (!def->info().has(kPure) && !def->info().has(kElementwise)) return false;
  return std::ranges::all_of(def->operands(),
                             [&](const Value* operand) { return MayLeave(operand, stage, known); });
}

/// Checks an spmd with updates that are combined in groups. All updates of one tensor must use the same
/// operator. If the spmd is in a stage, groups are combined after all stages. So it must be possible to
/// compute the number of groups outside of the stage.
std::string GroupsFault(const Op& spmd) {
  std::map<const Value*, UpdateKind> folds;
  bool one_each = true;
  Walk(spmd.region(), [&](const Op* op) {
    // Missing attributes are reported where the update is verified.
    bool is_update =
        op->kind() == OpKind::Update && op->HasAttr(AttrKey::Scope) && op->HasAttr(AttrKey::How);
    if (!is_update || op->attr<AttrKey::Scope>() != ScopeKind::Group) return;
    auto how = op->attr<AttrKey::How>();
    auto [known, is_new] = folds.try_emplace(op->Segment(UpdateOp::at_tensor)[0], how);
    one_each = one_each && known->second == how;
  });
  if (!one_each) return "its groups reduce into one tensor with two operators";
  const Op* around = spmd.parent_region()->parent();
  const Op* stage = folds.empty() ? nullptr : Around(around, OpKind::Stage);
  if (!stage) return "";
  if (stage != around) return "it has reductions of groups, but is in a loop or branch of a stage";
  std::set<const Op*> known;
  bool leaves = std::ranges::all_of(
      spmd.operands(), [&](const Value* bound) { return MayLeave(bound, stage, known); });
  return leaves ? "" : "it has reductions of groups, but its stage computes one of its bounds";
}

/// Checks the list of loop variables that reductions over blocks keep.
std::string KeptFault(const Op& spmd) {
  if (!spmd.HasAttr(AttrKey::Kept)) return "";
  if (spmd.attr<AttrKey::Distribute>() != DistributionKind::Grouped)
    return "only an spmd that is distributed in groups keeps loop variables";
  int64_t least = 0;
  for (int64_t kept : spmd.attr<AttrKey::Kept>()) {
    if (kept < least || kept >= std::ssize(spmd.region()->params()))
      return "the kept loop variables are not positions in ascending order";
    least = kept + 1;
  }
  return "";
}

std::string SpmdFault(const Op& op, const Module&) {
  if (op.parent_region()->function()->kind != FunctionKind::Kernel) return "it is not in a kernel";
  if (std::string fault = AllI64(op.operands()); !fault.empty()) return fault;
  if (std::string fault = AheadFault(op); !fault.empty()) return fault;
  const std::vector<Value*>& params = op.region()->params();
  if (params.empty() || op.operands().size() != 2 * params.size())
    return "it requires two bounds for each binder";
  for (const Value* param : params) {
    if (!IsBlock(param) && !IsI64(param)) return "a binder is neither a block nor an i64";
  }
  if (!Yielded(op.region()).empty()) return "the region yields values";
  for (const Op* outer = op.parent_region()->parent(); outer;
       outer = outer->parent_region()->parent()) {
    if (outer->kind() == OpKind::Spmd) return "is inside another spmd";
  }
  if (std::string fault = ElementwisePlaceFault(op); !fault.empty()) return fault;
  if (std::string fault = KeptFault(op); !fault.empty()) return fault;
  return GroupsFault(op);
}

/// Checks that `core_id` is used only in a kernel, so that the result of a fn is the same on all cores and
/// callers need not analyze the fn.
std::string CoreIdFault(const Op& op, const Module&) {
  if (op.parent_region()->function()->kind != FunctionKind::Kernel) return "it is not in a kernel";
  return IsI64(op.result()) ? "" : "the result is not an i64";
}

/// Checks a `while`. Each element of the condition has its own carried values, so the carried values must
/// have all axes or lanes of the condition.
std::string WhileFault(const Op& op, const Module&) {
  Values inits = op.operands();
  if (inits.empty() || !IsBool(inits[0]->type()))
    return "the first carried value, its condition, is not a bool";
  Type condition = inits[0]->type();
  for (const Value* init : inits) {
    Type type = init->type();
    bool fits = IsVector(condition) ? IsVector(type) && Lanes(type) == Lanes(condition)
                                    : Includes(type->axes, condition->axes);
    if (!fits) return "a carried value does not have the axes or lanes of the condition";
  }
  return CarryFault(op, inits, 0);
}

/// Checks that the operands are a bool and, optionally, a mask, which is also a bool.
std::string AssertFault(const Op& op, const Module&) {
  for (const Value* operand : op.operands()) {
    Type type = operand->type();
    if ((!IsTile(type) && !IsVector(type)) || !IsBool(type)) return "an operand is not a bool";
  }
  return "";
}

std::string StaticAssertFault(const Op& op, const Module&) {
  Type type = op.operand(0)->type();
  return IsScalar(type) && IsBool(type) ? "" : "the condition is not a scalar bool";
}

/// Checks a `print`. Its values are either tiles, which have no size operands, or buffers, which have one
/// size operand for each dimension.
std::string PrintFault(const Op& op, const Module&) {
  size_t dims = 0;
  for (const Value* value : op.Segment(PrintOp::at_values)) {
    Type type = value->type();
    if (type->kind == TypeKind::Buffer) {
      dims += type->dims.size();
    } else if (!IsTile(type)) {
      return "a value is neither a scalar, a tile nor a buffer";
    }
  }
  if (op.Segment(PrintOp::at_sizes).size() != dims)
    return "it requires one size for each dimension";
  return AllI64(op.Segment(PrintOp::at_sizes));
}

std::string IfFault(const Op& op, const Module&) {
  Type condition = op.operand(0)->type();
  if (!IsScalar(condition) || condition->scalar != Scalar::Bool)
    return "the condition is not a scalar bool";
  for (const Region* region : op.regions()) {
    if (!region->params().empty()) return "a branch has parameters";
    if (std::string fault = SameTypes(Yielded(region), op.results(), "yielded values");
        !fault.empty())
      return fault;
  }
  for (const Value* result : op.results()) {
    if (!IsTile(result->type()) && !IsVector(result->type()))
      return "only scalars, tiles and vectors can be results of a branch";
  }
  return "";
}

}  // namespace

KDL_TYPE_RULE(CoreId, CoreIdFault)
KDL_TYPE_RULE(For, ForFault)
KDL_TYPE_RULE(Spmd, SpmdFault)
KDL_TYPE_RULE(Loop, LoopFault)
KDL_TYPE_RULE(Split, SplitFault)
KDL_TYPE_RULE(While, WhileFault)
KDL_TYPE_RULE(If, IfFault)
KDL_TYPE_RULE(Assert, AssertFault)
KDL_TYPE_RULE(StaticAssert, StaticAssertFault)
KDL_TYPE_RULE(Print, PrintFault)
KDL_TYPE_RULE(Yield, NoTypes)  // checked by the rule of the enclosing op

}  // namespace kdl::ir
