#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/call_growth.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

// Two passes replace calls of fns by the bodies of the fns, with the axes of the caller.
//
// inline-tile-functions runs early and inlines calls of fns that have ranges or pipes, because later passes
// need the caller's tiles to decide the order of reductions and to count pushes. Afterwards, it removes these
// fns. Calls of other fns remain.
//
//   fn @row_max (%i: block<i>, %j: block<j>, %t: tile<f32; i j>) -> tile<f32; i> { %m = reduce max %t over j ; return %m }
//   %v = call @row_max(%r, %c, %x) : tile<f32; b r>          // x has b, r and c: mapped over b
//   ->  %m = reduce max %x over c : tile<f32; b r>
//
// inline-functions inlines the remaining calls. The fns that they call have scalar bodies, which become ops
// over the union of the axes of the call.
//
//   fn @half.f32 (%x: f32) -> f32 { %c = const 0.5 : f32 ; %y = mul %x, %c : f32 ; return %y }
//   %r = call @half.f32(%t) : tile<f32; i>
//   ->  %c = const 0.5 : f32 ; %y = mul %t, %c : tile<f32; i>
//
// A call's mask, which has none of the fn's own axes, also masks those ops of the body that may trap. Where
// the mask is false, divisors are 1 and a `while` does not start.

namespace kdl::passes {

namespace {

using ir::CallOp;

bool IsTileFunction(const ir::Function& fn) {
  return fn.kind == ir::FunctionKind::Fn &&
         std::any_of(fn.params.begin(), fn.params.end(), [](const ir::Param& param) {
           ir::TypeKind kind = param.value->type()->kind;
           return kind == ir::TypeKind::Block || kind == ir::TypeKind::Pipe;
         });
}

bool NeedsMask(const Op* op) { return op->kind() == OpKind::Call || MayTrap(op); }

/// A call may map a fn over additional axes. This class finds out which of these axes each value in the fn gets:
/// those of the arguments on which the value depends.
class MappedAxes {
 public:
  /// `outside` returns the additional axes of values that are defined outside of the examined loops.
  explicit MappedAxes(std::function<AxisList(const Value*)> outside)
      : outside_(std::move(outside)) {}

  /// Finds the additional axes of the values that a `while` carries. Each value gets the axes that it has in
  /// any iteration, and those of the condition, because elements finish at different times. If a value is
  /// used after the loop, it also gets the axes of everything that the loop computes. If no value is used
  /// after the loop, the last carried value gets these axes. `condition` contains additional axes of the
  /// initial condition.
  void Study(const Op* loop, const AxisList& condition = {});
  const AxisList& ParamAxes(const Value* param) const { return known_.at(param); }

 private:
  AxisList ValueAxes(const Value* value) const;
  AxisList Flow(const ir::Region* region);

  std::function<AxisList(const Value*)> outside_;
  std::unordered_map<const Value*, AxisList> known_;
};

AxisList MappedAxes::ValueAxes(const Value* value) const {
  auto found = known_.find(value);
  return found != known_.end() ? found->second : outside_(value);
}

/// Gives each value in the region the axes of the operands from which it is computed. Returns the union of
/// all these axes.
AxisList MappedAxes::Flow(const ir::Region* region) {
  AxisList made;
  for (const Op* op : *region) {
    if (op->kind() == ir::OpKind::While) {
      Study(op);
    } else {
      AxisList axes;
      for (const Value* operand : op->operands()) axes = ir::UnionAxes(axes, ValueAxes(operand));
      for (const Value* result : op->results()) known_[result] = axes;
    }
    for (const Value* result : op->results()) made = ir::UnionAxes(made, known_[result]);
  }
  return made;
}

void MappedAxes::Study(const Op* loop, const AxisList& condition) {
  const ir::Region* region = loop->region();
  for (const Value* param : region->params()) known_[param] = {};
  known_[region->param(0)] = condition;
  auto is_used = [](const Value* result) { return !result->uses().empty(); };
  bool any_used = std::ranges::any_of(loop->results(), is_used);
  for (bool grown = true; grown;) {
    grown = false;
    AxisList all = Flow(region);
    for (const Value* param : region->params()) all = ir::UnionAxes(all, known_[param]);
    for (size_t i = 0; i < region->params().size(); ++i) {
      AxisList& axes = known_[region->param(i)];
      AxisList wider = ir::UnionAxes(axes, ValueAxes(loop->operand(i)));
      wider = ir::UnionAxes(wider, ValueAxes(region->terminator()->operand(i)));
      wider = ir::UnionAxes(wider, known_[region->param(0)]);
      bool has_all = any_used ? is_used(loop->result(i)) : i + 1 == region->params().size();
      if (has_all) wider = ir::UnionAxes(wider, all);
      grown = grown || wider != axes;
      axes = wider;
    }
  }
  for (size_t i = 0; i < loop->results().size(); ++i)
    known_[loop->result(i)] = known_[region->param(i)];
}

/// Copies one fn's body in place of one call.
class Inliner {
 public:
  /// Calls inside the copied body are appended to `calls`. If `keeps_named` is true, results of the call that
  /// debuggers show under names stay values of their own.
  Inliner(CallOp call, const ir::Function& fn, ir::Builder& builder, std::vector<Op*>& calls,
          bool keeps_named)
      : call_(call),
        fn_(fn),
        builder_(builder),
        calls_(calls),
        keeps_named_(keeps_named),
        mask_(call.mask()) {
    const std::vector<Value*>& params = fn.body->params();
    for (size_t i = 0; i < params.size(); ++i) {
      Value* argument = call.arguments()[i];
      map_[params[i]] = keeps_named ? KeptArgument(argument, params[i]) : argument;
      if (params[i]->type()->kind == ir::TypeKind::Block) {
        axes_[params[i]->type()->axes[0]] = argument->type()->axes[0];
      }
    }
  }

  void InlineCall() {
    CopyBody(fn_.body);
    Op* end = fn_.body->terminator();
    for (size_t i = 0; i < end->operands().size(); ++i) {
      Value* result = call_.result(i);
      Value* value = builder_.Broadcast(Mapped(map_, end->operand(i)), result->type()->axes);
      result->ReplaceAllUsesWith(Named(value, result));
    }
  }

 private:
  AxisId Bound(AxisId axis) const { return axes_.at(axis); }
  AxisList Bound(const AxisList& axes) const {
    AxisList bound;
    for (AxisId axis : axes) bound.push_back(Bound(axis));
    return bound;
  }
  AxisList BoundSorted(const AxisList& axes) const {
    AxisList bound = Bound(axes);
    std::sort(bound.begin(), bound.end());
    return bound;
  }

  /// Replaces the fn's axes in a type by those of the caller, and adds the axes in `mapped`, over which the
  /// call maps the fn.
  ir::Type Bound(ir::Type type, const AxisList& mapped) const {
    if (type->kind != ir::TypeKind::Tile) return type;
    return builder_.types().Tile(type->scalar, ir::UnionAxes(BoundSorted(type->axes), mapped));
  }

  /// Returns the axes that the copies of the op's operands have in addition to those of the operands
  /// themselves.
  AxisList OperandExtras(const Op* op) const {
    AxisList mapped;
    for (Value* operand : op->operands()) {
      if (operand->type()->kind != ir::TypeKind::Tile) continue;
      AxisList extra =
          ir::WithoutAxes(Mapped(map_, operand)->type()->axes, BoundSorted(operand->type()->axes));
      mapped = ir::UnionAxes(mapped, extra);
    }
    return mapped;
  }

  void CopyBody(const ir::Region* from) {
    for (const Op* op : *from) {
      if (!op->info().has(ir::kTerminator)) CopyOp(op);
    }
  }

  ir::Loc LocOf(const Op* op) const {
    return builder_.module().context().Inlined(op->loc(), fn_.name, call_->loc());
  }

  /// Returns a copy of the value for the result of the call, if debuggers show the result under another name. Otherwise
  /// returns the value itself.
  Value* Named(Value* value, const Value* result) {
    bool is_shown = keeps_named_ && ir::IsTile(value->type()) && !result->name().empty() &&
                    result->name() != value->name();
    if (!is_shown) return value;
    builder_.set_loc(call_->loc());
    OpKind kind = ir::IsScalar(value->type()) ? OpKind::Cast : OpKind::Broadcast;
    Value* copy = builder_.Make(kind, {value}, value->type());
    copy->set_name(result->name());
    return copy;
  }

  /// Returns a copy of the argument, which debuggers show as the parameter. An element of a tile keeps its name only as the
  /// result of an op that computes elements.
  Value* KeptArgument(Value* argument, const Value* param) {
    if (param->name().empty() || !ir::IsTile(param->type())) return argument;
    OpKind kind = ir::IsScalar(param->type()) ? OpKind::Cast : OpKind::Broadcast;
    builder_.set_loc(builder_.module().context().Inlined(fn_.loc, fn_.name, call_->loc()));
    Value* copy = builder_.Make(kind, {argument}, argument->type());
    copy->set_name(param->name());
    return copy;
  }

  void CopyOp(const Op* op) {
    if (op->kind() == OpKind::While) return CopyWhile(op);
    if (op->kind() == OpKind::Table) {
      Op* copy = CopyTable(op, *call_->parent_region()->function(), builder_.module());
      map_[op->result()] = copy->result();
      return;
    }
    auto segments = SegmentsOf(op, [this](Value* value) { return Mapped(map_, value); });
    AxisList mapped = OperandExtras(op);
    std::vector<ir::Type> types;
    for (const Value* result : op->results()) types.push_back(Bound(result->type(), mapped));
    builder_.set_loc(LocOf(op));
    if (op->kind() == OpKind::Contraction) {
      Value*& into = segments[ir::ContractionOp::at_into][0];
      into = builder_.Broadcast(into, types[0]->axes);
    }
    if (op->kind() == OpKind::MultiReduce || op->kind() == OpKind::Scan) Even(segments[0]);
    if (mask_ && NeedsMask(op)) Mask(op, segments, types);
    Op* copy = builder_.Create(op->kind(), segments, types, Attrs(op));
    StandFor(op, copy, map_);
    for (size_t r = 0; r < op->regions().size(); ++r) {
      CopyRegion(op->region(r), copy->region(r));
    }
    if (copy->kind() == OpKind::Call) calls_.push_back(copy);
  }

  void CopyRegion(const ir::Region* from, ir::Region* to) {
    ir::Region* region = builder_.region();
    builder_.SetInsertionPoint(to);
    for (Value* param : from->params()) {
      map_[param] = builder_.AddParam(to, Bound(param->type(), {}), param->name());
    }
    CopyBody(from);
    std::vector<Value*> yielded;
    for (Value* value : from->terminator()->operands()) yielded.push_back(Mapped(map_, value));
    builder_.Create(OpKind::Yield, {yielded}, {});
    builder_.SetInsertionPoint(region, region == call_->parent_region() ? call_.op : nullptr);
  }

  // ---- while

  /// A carried value gets the axes that it has in any iteration, and those of the condition. If a call of a
  /// fn with ranges maps a loop over additional axes, the elements along these axes finish at different
  /// times: the loop runs until all have finished, and finished elements keep their values. In a scalar loop,
  /// each element has its own iterations.
  ///   while carry(%go = …, %x = …) { … yield %c, %y }
  ///   ->  while carry(%any = …, %go = …, %x = …) { … %n = and %go, %c ; %a = reduce any %n over mapped
  ///                                                 %k = select %go, %y, %x ; yield %a, %n, %k }
  void CopyWhile(const Op* op) {
    const ir::Region* region = op->region();
    AxisList masked = mask_ ? mask_->type()->axes : AxisList();
    MappedAxes axes([this](const Value* value) { return ExtraAxes(value); });
    axes.Study(op, masked);
    AxisList mapped = IsTileFunction(fn_) ? axes.ParamAxes(region->param(0)) : AxisList();
    std::vector<Value*> inits;
    for (size_t i = 0; i < op->results().size(); ++i) {
      ir::Type type = Bound(region->param(i)->type(), axes.ParamAxes(region->param(i)));
      inits.push_back(builder_.Broadcast(Mapped(map_, op->operand(i)), type->axes));
    }
    if (mask_) inits[0] = builder_.And(mask_, inits[0]);
    if (!mapped.empty()) inits.insert(inits.begin(), AnyElement(inits[0], mapped));
    std::vector<ir::Type> types;
    for (Value* init : inits) types.push_back(init->type());
    builder_.set_loc(LocOf(op));
    Op* copy = builder_.Create(OpKind::While, {inits}, types);
    size_t first = mapped.empty() ? 0 : 1;
    CopyIteration(region, copy->region(), types, mapped);
    builder_.SetInsertionPoint(copy->parent_region(), copy->next());
    for (size_t i = 0; i < op->results().size(); ++i) {
      copy->result(first + i)->set_name(op->result(i)->name());
      map_[op->result(i)] = copy->result(first + i);
    }
  }

  void CopyIteration(const ir::Region* from, ir::Region* to, const std::vector<ir::Type>& types,
                     const AxisList& mapped) {
    size_t first = mapped.empty() ? 0 : 1;
    builder_.SetInsertionPoint(to);
    if (first > 0) builder_.AddParam(to, types[0], Name());
    for (size_t i = 0; i < from->params().size(); ++i) {
      const Value* param = from->param(i);
      map_[param] = builder_.AddParam(to, types[first + i], param->name());
    }
    // The loop's condition already masks ops that may trap.
    Value* around = std::exchange(mask_, nullptr);
    CopyBody(from);
    mask_ = around;
    std::vector<Value*> yielded;
    for (size_t i = 0; i < from->params().size(); ++i) {
      Value* next = Mapped(map_, from->terminator()->operand(i));
      yielded.push_back(builder_.Broadcast(next, types[first + i]->axes));
    }
    if (first > 0) KeepEnded(to, yielded, mapped);
    builder_.Create(OpKind::Yield, {yielded}, {});
  }

  void KeepEnded(const ir::Region* iteration, std::vector<Value*>& yielded,
                 const AxisList& mapped) {
    Value* going = iteration->param(1);
    for (size_t i = 1; i < yielded.size(); ++i)
      yielded[i] = builder_.Select(going, yielded[i], iteration->param(1 + i));
    yielded[0] = builder_.And(going, yielded[0]);
    yielded.insert(yielded.begin(), AnyElement(yielded[0], mapped));
  }

  Value* AnyElement(Value* condition, const AxisList& over) {
    return builder_.Make(
        OpKind::Reduce, {condition}, builder_.types().ScalarOf(Scalar::Bool),
        {ir::MakeAttr<ir::AttrKey::Reduction>(ir::ReductionKind::Any),
         ir::MakeAttr<ir::AttrKey::Axes>(over), ir::MakeAttr<ir::AttrKey::Acc>(Scalar::Bool),
         ir::MakeAttr<ir::AttrKey::Order>(ir::OrderKind::Open)});
  }

  AxisList ExtraAxes(const Value* value) const {
    if (value->type()->kind != ir::TypeKind::Tile) return {};
    return ir::WithoutAxes(Mapped(map_, const_cast<Value*>(value))->type()->axes,
                           BoundSorted(value->type()->axes));
  }

  std::vector<ir::Attr> Attrs(const Op* op) const {
    std::vector<ir::Attr> attrs = op->attrs();
    for (ir::Attr& attr : attrs) {
      if (auto* axes = std::get_if<AxisList>(&attr.value)) *axes = Bound(*axes);
    }
    return attrs;
  }

  /// Broadcasts values that are reduced together to the same axes.
  void Even(std::vector<Value*>& values) {
    AxisList axes;
    for (const Value* value : values) axes = ir::UnionAxes(axes, value->type()->axes);
    for (Value*& value : values) value = builder_.Broadcast(value, axes);
  }

  // ---- Masks

  /// Masks an op that may trap: where the mask is false, a divisor becomes 1. Calls, asserts and indexed
  /// reads get the mask as an operand.
  void Mask(const Op* op, ir::Builder::Segments& segments, std::vector<ir::Type>& types) {
    Value* mask = mask_;
    bool has_mask = op->kind() == OpKind::Call || op->kind() == OpKind::Assert ||
                    op->kind() == OpKind::Gather || op->kind() == OpKind::Load;
    if (has_mask) {
      std::vector<Value*>& own = segments.back();
      own = {own.empty() ? mask : builder_.And(mask, own[0])};
    } else {
      Value*& divisor = segments.back()[0];
      divisor = builder_.Select(mask, divisor, builder_.Int(divisor->type()->scalar, 1));
    }
    for (ir::Type& type : types)
      type = builder_.types().Tile(type->scalar, ir::UnionAxes(type->axes, mask->type()->axes));
  }

  CallOp call_;
  const ir::Function& fn_;
  ir::Builder& builder_;
  ir::ValueMap map_;
  std::vector<Op*>& calls_;
  bool keeps_named_;
  std::map<AxisId, AxisId> axes_;  ///< maps axes of the fn to those of the caller
  Value* mask_;  ///< the call's mask; null inside a `while`, whose condition includes it
};

void InlineCalls(ir::Module& module, const ir::Function& function, bool of_tiles,
                 bool keeps_named) {
  std::vector<Op*> calls = OpsOfKind(function, OpKind::Call);
  while (!calls.empty()) {
    CallOp call(calls.back());
    calls.pop_back();
    const ir::Function& fn = *module.FindFunction(call->attr<ir::AttrKey::Callee>());
    if (of_tiles && !IsTileFunction(fn)) continue;
    ir::Builder builder(module, call.op);
    Inliner(call, fn, builder, calls, keeps_named).InlineCall();
    ir::Erase(call.op);
  }
}

}  // namespace

void RunInlineTileFunctions(PassContext& context) {
  CheckCallGrowth(context);
  if (context.diagnostics.has_errors()) return;
  for (ir::Function* function : context.module.functions()) {
    if (function->kind == ir::FunctionKind::Kernel)
      InlineCalls(context.module, *function, true, context.keeps_tiles);
  }
  std::erase_if(context.module.functions(),
                [](const ir::Function* function) { return IsTileFunction(*function); });
}

void RunInlineFunctions(PassContext& context, ir::Function& kernel) {
  InlineCalls(context.module, kernel, false, context.keeps_tiles);
}

}  // namespace kdl::passes
