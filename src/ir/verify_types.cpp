#include "ir/verify_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/bound.h"
#include "ir/comparisons.h"
#include "ir/eval.h"
#include "ir/format.h"
#include "ir/tensor_view.h"
#include "ir/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

// -- Elementwise ---------------------------------------------------------------------------------

/// The operand that need not have the others' scalar: a select's condition, a mask.
bool StandsApart(OpKind kind, size_t operand) { return kind == OpKind::Select && operand == 0; }

std::string TileShapeFault(const Op& op) {
  for (const Value* operand : op.operands()) {
    if (!IsTile(operand->type())) return "an operand is no scalar or tile";
  }
  Type result = op.result()->type();
  if (!IsTile(result)) return "the result is no scalar or tile";
  std::vector<AxisId> axes = AxesOf(op.operands());
  bool broadcast = op.kind() == OpKind::Broadcast;
  if (broadcast ? !Includes(result->axes, axes) : axes != result->axes) {
    return broadcast ? "the result lacks an axis of the value"
                     : "the result's axes are not the union of the operands'";
  }
  return "";
}

/// Of an elementwise op with a vector: all vectors have as many lanes.
std::string LanesFault(const Op& op) {
  Type result = op.result()->type();
  if (!IsVector(result)) return "the result is no vector";
  bool any = false;
  for (const Value* operand : op.operands()) {
    Type type = operand->type();
    if (!IsScalar(type) && !IsVector(type)) return "an operand is neither scalar nor vector";
    if (IsVector(type) && Lanes(type) != Lanes(result))
      return fmt::format("vectors of {} and {} lanes", Lanes(type), Lanes(result));
    any = any || IsVector(type);
  }
  return any ? "" : "no operand is a vector";
}

bool HasVector(const Op& op) {
  auto is_vector = [](const Value* value) { return IsVector(value->type()); };
  return std::any_of(op.operands().begin(), op.operands().end(), is_vector) ||
         std::any_of(op.results().begin(), op.results().end(), is_vector);
}

std::string ElementwiseFault(const Op& op) {
  bool has_vector = HasVector(op);
  if (has_vector && op.info().has(kTileForm)) return "takes tiles, not vectors";
  std::string fault = has_vector ? LanesFault(op) : TileShapeFault(op);
  if (!fault.empty()) return fault;
  Type result = op.result()->type();
  Scalar scalar = op.operands().back()->type()->scalar;
  for (size_t i = 0; i < op.operands().size(); ++i) {
    Scalar other = op.operand(i)->type()->scalar;
    if (StandsApart(op.kind(), i)) {
      if (other != Scalar::Bool) return "the condition is no bool";
    } else if (other != scalar) {
      return fmt::format("operands of {} and {}", Spelling(other), Spelling(scalar));
    }
  }
  if (!FindEval(op.kind(), scalar, result->scalar))
    return fmt::format("is not defined on {}", Spelling(scalar));
  bool converts =
      op.kind() == OpKind::Cast || op.kind() == OpKind::ToBits || op.kind() == OpKind::FromBits;
  Scalar expected = IsComparison(op.kind()) ? Scalar::Bool : scalar;
  if (converts || result->scalar == expected) return "";
  return fmt::format("the result is {}, not {}", Spelling(result->scalar), Spelling(expected));
}

/// Of f64 scalars: a value, the operands of the op that made it, as that has them, and a bound for each.
std::string BoundFault(const Op& op, const Module& module) {
  std::optional<OpKind> rule = OpFromSpelling(op.attr<AttrKey::Rule>().text());
  if (!rule || !FindBound(*rule)) return "its rule is that of no op";
  Values operands = op.Segment(BoundOp::at_operands);
  bool fits = operands.empty() || operands.size() == Info(*rule).operands.size();
  if (!fits || op.Segment(BoundOp::at_bounds).size() != operands.size())
    return "it has other operands than its rule";
  Type f64 = module.types().ScalarOf(Scalar::F64);
  auto is_f64 = [&](const Value* value) { return value->type() == f64; };
  bool all = std::all_of(op.operands().begin(), op.operands().end(), is_f64);
  return all && is_f64(op.result()) ? "" : "it takes f64 and gives f64";
}

bool FitInto(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits <= 1;
  return Bytes(scalar) == 8 || bits >> (Bytes(scalar) * 8) == 0;
}

std::string ConstFault(const Op& op) {
  Type type = op.result()->type();
  if (!IsScalar(type)) return "the result is no scalar";
  bool fits = FitInto(type->scalar, static_cast<uint64_t>(op.attr<AttrKey::Bits>()));
  return fits ? "" : fmt::format("the bits do not fit into {}", Spelling(type->scalar));
}

/// The caller's axis for each axis of the fn that the call hands a blk for.
using AxisMap = std::map<AxisId, AxisId>;

AxisMap BoundAxes(const Op& call, const Function& fn) {
  AxisMap bound;
  Values arguments = call.Segment(CallOp::at_arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    Type wanted = fn.body->param(i)->type();
    if (IsBlk(fn.body->param(i)) && IsBlk(arguments[i]))
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

/// One argument against its parameter; `bound` are the axes of the call.
std::string ArgumentFault(Type found, Type wanted, const AxisMap& bound) {
  if (found->kind != wanted->kind) return "is of another kind";
  if (wanted->kind == TypeKind::Blk) return "";
  if (found->scalar != wanted->scalar) return fmt::format("is not of {}", Spelling(wanted->scalar));
  if (wanted->kind == TypeKind::Pipe)
    return found->dims.size() == wanted->dims.size() ? "" : "has other positions";
  AxisList own = Bound(bound, wanted->axes);
  AxisList others = Without(AllBound(bound), own);
  if (!Includes(found->axes, own)) return "lacks an axis of the parameter";
  return Without(found->axes, others) == found->axes ? "" : "has an axis that the parameter lacks";
}

std::string ArgumentsFault(const Op& op, const Function& fn) {
  Values arguments = op.Segment(CallOp::at_arguments);
  const std::vector<Value*>& params = fn.body->params();
  if (arguments.size() != params.size()) {
    return fmt::format("{} arguments; '{}' takes {}", arguments.size(), fn.name.text(),
                       params.size());
  }
  AxisMap bound = BoundAxes(op, fn);
  AxisList all = AllBound(bound);
  if (std::adjacent_find(all.begin(), all.end()) != all.end())
    return "an axis stands for two of the fn's";
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string fault = ArgumentFault(arguments[i]->type(), params[i]->type(), bound);
    if (!fault.empty()) return fmt::format("argument {} {}", i + 1, fault);
  }
  return "";
}

/// The fn's axes become those that they stand for; all others of the operands are mapped over.
std::string CallResultFault(const Op& op, const Function& fn) {
  if (op.results().size() != fn.results.size())
    return fmt::format("{} results; '{}' has {}", op.results().size(), fn.name.text(),
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
      return fmt::format("the result is not that of '{}'", fn.name.text());
    if (result->axes != UnionAxes(mapped, Bound(bound, fn.results[i]->axes)))
      return "the result's axes are not the fn's and those that the call maps over";
  }
  return "";
}

std::string CallFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* fn = module.FindFunction(callee);
  if (!fn || fn->kind != FunctionKind::Fn)
    return fmt::format("'{}' is no fn of the module", callee.text());
  const Function* caller = op.block()->function();
  const std::vector<Function*>& functions = module.functions();
  auto place = [&](const Function* f) { return std::find(functions.begin(), functions.end(), f); };
  if (caller->kind == FunctionKind::Fn && place(fn) >= place(caller)) {
    return fmt::format("'{}' does not stand before its caller", callee.text());
  }
  if (std::string fault = ArgumentsFault(op, *fn); !fault.empty()) return fault;
  for (const Value* mask : op.Segment(CallOp::at_mask)) {
    if (!IsTile(mask->type()) || mask->type()->scalar != Scalar::Bool) return "the mask is no bool";
  }
  return CallResultFault(op, *fn);
}

std::string ReturnFault(const Op& op, const Module&) {
  const Function* function = op.block()->function();
  auto same = [](const Value* value, Type type) { return value->type() == type; };
  bool equal = std::equal(op.operands().begin(), op.operands().end(), function->results.begin(),
                          function->results.end(), same);
  return equal ? "" : "the values are not of the function's results' types";
}

// -- Blks ----------------------------------------------------------------------------------------

std::string BlkFactFault(const Op& op, const Module&) {
  if (!IsBlk(op.operand(0))) return "the operand is no blk";
  return IsI64(op.result()) ? "" : "the result is no i64";
}

std::string MakeBlkFault(const Op& op, const Module&) {
  return IsBlk(op.result()) ? AllI64(op.operands()) : "the result is no blk";
}

std::string IotaFault(const Op& op, const Module&) {
  if (!IsBlk(op.operand(0))) return "the operand is no blk";
  Type type = op.result()->type();
  bool fits =
      IsTile(type) && type->scalar == Scalar::I64 && type->axes == op.operand(0)->type()->axes;
  return fits ? "" : "the result is no i64 tile over the blk's axis";
}

// -- Tensors -------------------------------------------------------------------------------------

/// Of a load or store of a vector: scalar indices, a proven edge, a mask of as many lanes.
std::string VectorAccessFault(const Op& op, const Value* tensor, Type vector, Values mask) {
  if (vector->scalar != tensor->type()->scalar) return "the vector is not of the tensor's type";
  for (const Value* index : op.Segment(AccessOperands(op.kind()))) {
    if (!IsScalar(index->type())) return "an index of a vector's access is no scalar";
  }
  if (op.attr<AttrKey::Edge>() != EdgeKind::Proven) return "a vector's access is not proven";
  if (tensor->type()->dims.empty()) return "a tensor without dimensions has no vectors";
  return LaneMaskFault(mask, vector);
}

std::string LoadFault(const Op& op, const Module&) {
  const Value* tensor = op.Segment(LoadOp::at_tensor)[0];
  std::string fault = AccessFault(op, tensor);
  if (fault.empty() && IsVector(op.result()->type())) {
    return op.Segment(LoadOp::at_otherwise).empty()
               ? VectorAccessFault(op, tensor, op.result()->type(), op.Segment(LoadOp::at_mask))
               : "a vector's access has a value for outside";
  }
  if (fault.empty()) fault = MaskFault(op.Segment(LoadOp::at_mask));
  if (!fault.empty()) return fault;
  Values otherwise = op.Segment(LoadOp::at_otherwise);
  bool is_else = op.attr<AttrKey::Edge>() == EdgeKind::Else;
  if (is_else == otherwise.empty())
    return is_else ? "edge 'else' without a value" : "a value for outside, but no edge 'else'";
  Scalar scalar = tensor->type()->scalar;
  if (!otherwise.empty() &&
      (!IsTile(otherwise[0]->type()) || otherwise[0]->type()->scalar != scalar)) {
    return "the value for outside is not of the tensor's type";
  }
  std::vector<AxisId> axes = AxesOf(op.Segment(LoadOp::at_index));
  axes = AxesOf(op.Segment(LoadOp::at_mask), AxesOf(otherwise, axes));
  Type type = op.result()->type();
  if (!IsTile(type) || type->scalar != scalar)
    return fmt::format("the result is not of {}", Spelling(scalar));
  return type->axes == axes
             ? ""
             : "the result's axes are not those of index, mask and value for outside";
}

std::string StoreFault(const Op& op, const Module&) {
  const Value* tensor = op.Segment(StoreOp::at_tensor)[0];
  std::string fault = AccessFault(op, tensor);
  bool vector = IsVector(op.operand(0)->type());
  if (op.HasAttr(AttrKey::Cache) && (!vector || !op.Segment(StoreOp::at_mask).empty()))
    return "only a vector without mask goes past the caches";
  if (fault.empty() && vector)
    return VectorAccessFault(op, tensor, op.operand(0)->type(), op.Segment(StoreOp::at_mask));
  if (fault.empty()) fault = MaskFault(op.Segment(StoreOp::at_mask));
  if (!fault.empty()) return fault;
  if (op.attr<AttrKey::Edge>() == EdgeKind::Else) return "a store has no value for outside";
  Type value = op.Segment(StoreOp::at_value)[0]->type();
  if (!IsTile(value) || value->scalar != tensor->type()->scalar)
    return "the value is not of the tensor's type";
  std::vector<AxisId> axes = AxesOf(op.Segment(StoreOp::at_index));
  if (!Includes(axes, value->axes)) return "the value has an axis that no index has";
  return Includes(axes, AxesOf(op.Segment(StoreOp::at_mask)))
             ? ""
             : "the mask has an axis that no index has";
}

bool HasUpdate(UpdateKind how, Scalar scalar) {
  bool is_arithmetic = how == UpdateKind::Add || how == UpdateKind::Max || how == UpdateKind::Min;
  if (is_arithmetic) return scalar != Scalar::Bool;
  return how == UpdateKind::Set || !IsFloat(scalar);
}

std::string UpdateFault(const Op& op, const Module&) {
  const Value* tensor = op.Segment(UpdateOp::at_tensor)[0];
  std::string fault = AccessFault(op, tensor);
  if (fault.empty()) fault = MaskFault(op.Segment(UpdateOp::at_mask));
  if (!fault.empty()) return fault;
  if (op.attr<AttrKey::Edge>() == EdgeKind::Else) return "an update has no value for outside";
  Type value = op.Segment(UpdateOp::at_value)[0]->type();
  Scalar scalar = tensor->type()->scalar;
  if (!IsTile(value) || value->scalar != scalar) return "the value is not of the tensor's type";
  auto how = op.attr<AttrKey::How>();
  if (!HasUpdate(how, scalar)) return fmt::format("{} have no such update", Spelling(scalar));
  bool folds = how == UpdateKind::Add || how == UpdateKind::Max || how == UpdateKind::Min;
  return op.attr<AttrKey::Scope>() != ScopeKind::Group || folds ? ""
                                                                : "groups do not fold in that way";
}

std::string LaunchTensorFault(const Op& op, const Module&) {
  if (op.result()->type()->kind != TypeKind::Tensor) return "the result is no tensor";
  return op.block()->function()->kind == FunctionKind::Kernel ? "" : "it stands in no kernel";
}

bool IsWritten(const Use& use) {
  OpKind kind = use.user->kind();
  return kind != OpKind::Load && kind != OpKind::Prefetch && kind != OpKind::AlignGap;
}

std::string TableFault(const Op& op, const Module&) {
  Type type = op.result()->type();
  if (type->kind != TypeKind::Tensor || type->dims.empty()) return "the result is no tensor";
  ElementBits elements = op.attr<AttrKey::Elements>();
  uint64_t count = 1;
  for (Size dim : type->dims) {
    if (!IsConstant(dim) || dim->value < 1) return "a size of it is no positive constant";
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim->value), &count)) count = 0;
  }
  if (elements.size() != count) return fmt::format("{} elements, not {}", elements.size(), count);
  for (uint64_t bits : elements) {
    if (!FitInto(type->scalar, bits))
      return fmt::format("the bits of an element do not fit into {}", Spelling(type->scalar));
  }
  bool written = std::ranges::any_of(op.result()->uses(), &IsWritten);
  return written ? "it is used by what does not only read it" : "";
}

std::string ViewFault(const Op& op, const Module&) {
  Type before = op.operand(0)->type();
  Type after = op.result()->type();
  FunctionKind kind = op.block()->function()->kind;
  bool in_kernel = kind == FunctionKind::Kernel;
  if (in_kernel ? op.block()->parent() != nullptr : kind != FunctionKind::Program)
    return "it stands in a region of a kernel, or in a fn";
  const Op* def = op.operand(0)->def();
  if (in_kernel && def && def->kind() != OpKind::View)
    return "the operand is no parameter and no view";
  bool fits = before->kind == TypeKind::Tensor && after->kind == TypeKind::Tensor &&
              before->scalar == after->scalar && op.attr<AttrKey::Dimension>() >= 0;
  if (!fits) return "operand and result are no tensors of one scalar";
  auto [first, from, to] = ViewedDimsOf(&op);
  if (first + from > before->dims.size() || first + to > after->dims.size())
    return fmt::format("there is no dimension {}", first);
  auto differs = [&](size_t count, size_t at_before, size_t at_after) {
    return !std::equal(before->dims.begin() + static_cast<std::ptrdiff_t>(at_before),
                       before->dims.begin() + static_cast<std::ptrdiff_t>(at_before + count),
                       after->dims.begin() + static_cast<std::ptrdiff_t>(at_after));
  };
  if (differs(first, 0, 0) || differs(before->dims.size() - first - from, first + from, first + to))
    return "another dimension changes";
  return "";
}

std::string SyncFault(const Op& op, const Module&) {
  if (op.block()->function()->kind != FunctionKind::Kernel) return "it stands in no kernel";
  for (const Op* around = op.block()->parent(); around; around = around->block()->parent()) {
    if (around->kind() == OpKind::Spmd || around->kind() == OpKind::Stage)
      return fmt::format("it stands in '{}'", around->info().spelling);
  }
  bool behind_pipe = false;  // a barrier may bring the core another workspace
  bool behind_sync = false;
  for (const Op* other : *op.block()) {
    if (other == &op && behind_pipe) behind_sync = true;
    behind_pipe = behind_pipe || other->kind() == OpKind::Pipe;
    if (behind_sync && other->kind() == OpKind::Stage) return "it stands between stages";
  }
  return "";
}

// -- Programs ------------------------------------------------------------------------------------

std::string CoreFault(const Op& op, const Module&) {
  return IsI64(op.result()) ? "" : "the result is no i64";
}

std::string Events(Values values) {
  for (const Value* value : values) {
    if (value->type()->kind != TypeKind::Event) return "waits for what is no event";
  }
  return "";
}

std::string AllocFault(const Op& op, const Module&) {
  return IsTensor(op.result()) ? "" : "the result is no tensor";
}

std::string FreeFault(const Op& op, const Module&) {
  return IsTensor(op.operand(0)) ? Events(op.Segment(FreeOp::at_after))
                                 : "the operand is no tensor";
}

std::string TransferFault(const Op& op, const Module&) {
  bool fits = IsTensor(op.operand(0)) && op.result(0)->type() == op.operand(0)->type() &&
              op.result(1)->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(TransferOp::at_after))
              : "the results are not the operand's type and an event";
}

std::string CopyFault(const Op& op, const Module&) {
  const Value* from = op.operand(0);
  const Value* to = op.operand(1);
  bool fits = IsTensor(from) && IsTensor(to) && from->type()->scalar == to->type()->scalar &&
              from->type()->dims.size() == to->type()->dims.size() &&
              op.result()->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(CopyOp::at_after))
              : "it takes two tensors of one kind of element and as many dimensions";
}

std::string FillFault(const Op& op, const Module&) {
  const Value* tensor = op.operand(0);
  const Value* value = op.operand(1);
  bool fits = IsTensor(tensor) && IsScalar(value->type()) &&
              value->type()->scalar == tensor->type()->scalar &&
              op.result()->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(FillOp::at_after))
              : "it takes a tensor and a value of its elements";
}

/// All dimensions but the one, which stays with another size, or goes.
std::string SliceFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0)) || !IsTensor(op.result())) return "operand or result is no tensor";
  if (std::string fault = AllI64(Values(op.operands()).subspan(1)); !fault.empty()) return fault;
  std::vector<Size> wanted = op.operand(0)->type()->dims;
  const std::vector<Size>& dims = op.result()->type()->dims;
  auto dimension = op.attr<AttrKey::Dimension>();
  if (dimension < 0 || static_cast<size_t>(dimension) >= wanted.size())
    return fmt::format("there is no dimension {}", dimension);
  auto at = static_cast<size_t>(dimension);
  bool stays = !op.Segment(SliceOp::at_hi).empty();
  if (stays && at < dims.size()) wanted[at] = dims[at];
  if (!stays && at + 1 == wanted.size()) return "it drops the last dimension";
  if (!stays) wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(at));
  bool fits = wanted == dims && op.result()->type()->scalar == op.operand(0)->type()->scalar;
  return fits ? "" : "another dimension changes";
}

std::string SwapFault(const Op& op, const Module&) {
  const Op* a = op.operand(0)->def();
  const Op* b = op.operand(1)->def();
  bool allocated = a && b && a->kind() == OpKind::Alloc && b->kind() == OpKind::Alloc;
  if (!allocated) return "it exchanges what no `alloc` made";
  Name on_a = a->attr<AttrKey::Device>();
  Name on_b = b->attr<AttrKey::Device>();
  bool one_place = on_a == on_b || on_a.empty() || on_b.empty();  // without one on the only device
  bool alike = op.operand(0)->type() == op.operand(1)->type() && one_place;
  return alike ? "" : "the tensors differ in type or device";
}

std::string BindSizeFault(const Op& op, const Module&) {
  return IsI64(op.result()) ? AllI64(op.operands()) : "the result is no i64";
}

/// An index for each dimension, and an element of the tensor's scalar.
std::string HostAccessFault(const Value* tensor, const Value* element, Values index, Values after) {
  if (!IsTensor(tensor)) return "there is no tensor";
  if (index.size() != tensor->type()->dims.size())
    return fmt::format("{} indices for {} dimensions", index.size(), tensor->type()->dims.size());
  if (std::string fault = AllI64(index); !fault.empty()) return fault;
  if (!IsScalar(element->type()) || element->type()->scalar != tensor->type()->scalar)
    return "the element has not the tensor's scalar";
  return Events(after);
}

std::string HostLoadFault(const Op& op, const Module&) {
  return HostAccessFault(op.operand(0), op.result(), op.Segment(HostLoadOp::at_index),
                         op.Segment(HostLoadOp::at_after));
}

std::string HostStoreFault(const Op& op, const Module&) {
  return HostAccessFault(op.operand(1), op.operand(0), op.Segment(HostStoreOp::at_index),
                         op.Segment(HostStoreOp::at_after));
}

std::string DrawFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0))) return "there is no tensor";
  if (std::string fault = AllI64(op.Segment(DrawOp::at_seed)); !fault.empty()) return fault;
  return Events(op.Segment(DrawOp::at_after));
}

std::string ExpectFault(const Op& op, const Module&) {
  for (const Value* argument : op.Segment(ExpectOp::at_arguments)) {
    if (!IsTensor(argument) && !IsScalar(argument->type())) return "it takes tensors and scalars";
  }
  return Events(op.Segment(ExpectOp::at_after));
}

std::string DeviceCoresFault(const Op& op, const Module&) {
  bool is_i64 = IsScalar(op.result()->type()) && op.result()->type()->scalar == Scalar::I64;
  return is_i64 ? "" : "the result is no i64";
}

std::string RequireFault(const Op& op, const Module&) {
  bool in_program = op.block()->function()->kind == FunctionKind::Program;
  return op.block()->parent() && !in_program ? "it stands in a region" : "";
}

std::string MarkFault(const Op& op, const Module&) {
  return op.result()->type()->kind == TypeKind::Event ? "" : "the result is no event";
}

std::string LaunchFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* kernel = module.FindFunction(callee);
  if (!kernel || kernel->kind != FunctionKind::Kernel)
    return fmt::format("'{}' is no kernel of the module", callee.text());
  Values arguments = op.Segment(LaunchOp::at_arguments);
  std::vector<Type> wanted;  // a workspace is the launch's own matter
  for (const Param& param : kernel->params) {
    if (param.value->type()->kind != TypeKind::Workspace) wanted.push_back(param.value->type());
  }
  if (arguments.size() != wanted.size()) {
    return fmt::format("{} arguments; '{}' takes {}", arguments.size(), callee.text(),
                       wanted.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    Type given = arguments[i]->type();
    bool fits = given->kind == wanted[i]->kind && given->scalar == wanted[i]->scalar &&
                given->dims.size() == wanted[i]->dims.size() && given->axes.empty();
    if (!fits) return fmt::format("argument {} has not the parameter's type", i + 1);
  }
  if (std::string fault = AllI64(op.Segment(LaunchOp::at_cores)); !fault.empty())
    return "the number of cores is no i64";
  for (const Value* workspace : op.Segment(LaunchOp::at_workspace)) {
    if (workspace->type()->kind != TypeKind::Workspace) return "runs in what is no workspace";
  }
  if (op.result()->type()->kind != TypeKind::Event) return "the result is no event";
  return Events(op.Segment(LaunchOp::at_after));
}

std::string WorkspaceFault(const Op& op, const Module&) {
  return op.result()->type()->kind == TypeKind::Workspace ? "" : "the result is no workspace";
}

std::string FootprintFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* kernel = module.FindFunction(callee);
  if (!kernel || kernel->kind != FunctionKind::Kernel)
    return fmt::format("'{}' is no kernel of the module", callee.text());
  return DeviceCoresFault(op, module);
}

std::string InstancesFault(const Op& op, const Module& module) {
  if (!AllI64(op.Segment(InstancesOp::at_cores)).empty()) return "the number of cores is no i64";
  return DeviceCoresFault(op, module);
}

std::string ReserveFault(const Op& op, const Module&) {
  if (op.operand(0)->type()->kind != TypeKind::Workspace) return "reserves what is no workspace";
  return AllI64(Values(op.operands()).subspan(1));
}

std::string ConstHook(const Op& op, const Module&) { return ConstFault(op); }

constexpr TypeRule kRules[] = {
    {OpKind::Const, &ConstHook},          {OpKind::SizeOf, &CoreFault},
    {OpKind::Call, &CallFault},           {OpKind::Bound, &BoundFault},
    {OpKind::Return, &ReturnFault},       {OpKind::BlkStart, &BlkFactFault},
    {OpKind::BlkSize, &BlkFactFault},     {OpKind::BlkIndex, &BlkFactFault},
    {OpKind::MakeBlk, &MakeBlkFault},     {OpKind::Iota, &IotaFault},
    {OpKind::Load, &LoadFault},           {OpKind::Store, &StoreFault},
    {OpKind::Update, &UpdateFault},       {OpKind::LaunchTensor, &LaunchTensorFault},
    {OpKind::Table, &TableFault},         {OpKind::View, &ViewFault},
    {OpKind::Sync, &SyncFault},           {OpKind::CoreId, &CoreFault},
    {OpKind::CoreNum, &CoreFault},        {OpKind::Alloc, &AllocFault},
    {OpKind::Free, &FreeFault},           {OpKind::Transfer, &TransferFault},
    {OpKind::Copy, &CopyFault},           {OpKind::Fill, &FillFault},
    {OpKind::Slice, &SliceFault},         {OpKind::Swap, &SwapFault},
    {OpKind::BindSize, &BindSizeFault},   {OpKind::HostLoad, &HostLoadFault},
    {OpKind::HostStore, &HostStoreFault}, {OpKind::Draw, &DrawFault},
    {OpKind::Expect, &ExpectFault},       {OpKind::DeviceCores, &DeviceCoresFault},
    {OpKind::Require, &RequireFault},     {OpKind::Mark, &MarkFault},
    {OpKind::Launch, &LaunchFault},       {OpKind::Workspace, &WorkspaceFault},
    {OpKind::Footprint, &FootprintFault}, {OpKind::Instances, &InstancesFault},
    {OpKind::Reserve, &ReserveFault},
};

}  // namespace

std::string TypeFault(const Op& op, const Module& module) {
  for (std::span<const TypeRule> rules : {std::span<const TypeRule>(kRules), ControlRules(),
                                          FoldRules(), HomeRules(), LoopRules(), PipeRules()}) {
    for (const TypeRule& rule : rules) {
      if (rule.kind == op.kind()) return rule.fault(op, module);
    }
  }
  if (op.info().has(kElementwise)) return ElementwiseFault(op);
  return fmt::format("'{}' has no rule of types", op.info().spelling);
}

}  // namespace kdl::ir
