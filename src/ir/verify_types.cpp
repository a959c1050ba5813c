#include "ir/verify_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/eval.h"
#include "ir/format.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

using Values = std::span<Value* const>;

bool IsI64(const Value* value) {
  return IsScalar(value->type()) && value->type()->scalar == Scalar::I64;
}
bool IsBlk(const Value* value) { return value->type()->kind == TypeKind::Blk; }
bool IsTensor(const Value* value) { return value->type()->kind == TypeKind::Tensor; }

std::vector<AxisId> AxesOf(Values values, std::vector<AxisId> axes = {}) {
  for (const Value* value : values) axes = UnionAxes(axes, value->type()->axes);
  return axes;
}

bool Includes(const std::vector<AxisId>& all, const std::vector<AxisId>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

AxisList Sorted(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::string AllI64(Values values) {
  for (const Value* value : values) {
    if (!IsI64(value)) return "an operand is no i64";
  }
  return "";
}

std::string SameTypes(Values values, const std::vector<Value*>& expected, std::string_view what) {
  auto same = [](const Value* a, const Value* b) { return a->type() == b->type(); };
  bool equal = std::equal(values.begin(), values.end(), expected.begin(), expected.end(), same);
  return equal ? "" : fmt::format("the types of {} differ", what);
}

Values Yielded(const Block* region) {
  const Op* last = region->terminator();
  return last && last->kind() == OpKind::Yield ? last->Segment(YieldOp::at_values) : Values();
}

// -- Elementwise ---------------------------------------------------------------------------------

bool IsComparison(OpKind kind) { return kind >= OpKind::Eq && kind <= OpKind::Ge; }

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

std::string ConstFault(const Op& op) {
  Type type = op.result()->type();
  if (!IsScalar(type)) return "the result is no scalar";
  auto bits = static_cast<uint64_t>(op.attr<AttrKey::Bits>());
  bool fits = type->scalar == Scalar::Bool
                  ? bits <= 1
                  : Bytes(type->scalar) == 8 || bits >> (Bytes(type->scalar) * 8) == 0;
  return fits ? "" : fmt::format("the bits do not fit into {}", Spelling(type->scalar));
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
  Values arguments = op.Segment(CallOp::at_arguments);
  if (arguments.size() != fn->params.size()) {
    return fmt::format("{} arguments; '{}' takes {}", arguments.size(), callee.text(),
                       fn->params.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    Type wanted = fn->params[i].value->type();
    if (!IsTile(arguments[i]->type()) || arguments[i]->type()->scalar != wanted->scalar) {
      return fmt::format("argument {} is not of {}", i + 1, Spelling(wanted->scalar));
    }
  }
  for (const Value* mask : op.Segment(CallOp::at_mask)) {
    if (!IsTile(mask->type()) || mask->type()->scalar != Scalar::Bool) return "the mask is no bool";
  }
  Type result = op.result()->type();
  bool fits = fn->results.size() == 1 && IsTile(result) && result->scalar == fn->results[0]->scalar;
  if (!fits) return fmt::format("the result is not that of '{}'", callee.text());
  return result->axes == AxesOf(op.operands())
             ? ""
             : "the result's axes are not the union of the operands'";
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

/// Of a mask that goes with a vector.
std::string LaneMaskFault(Values mask, Type vector) {
  if (mask.empty()) return "";
  Type type = mask[0]->type();
  bool fits = IsVector(type) && type->scalar == Scalar::Bool && Lanes(type) == Lanes(vector);
  return fits ? "" : fmt::format("the mask is no vector of {} bools", Lanes(vector));
}

/// Of the access alone: its operands and its number of dimensions.
std::string AccessFault(const Op& op, const Value* tensor) {
  if (!IsTensor(tensor)) return "the tensor is none";
  Values index = op.Segment(AccessOperands(op.kind()));
  for (const Value* operand : index) {
    bool fits = IsBlk(operand) || (IsTile(operand->type()) && IsInteger(operand->type()->scalar));
    if (!fits) return "an index is neither a blk nor an integer";
  }
  Access access = op.attr<AttrKey::Access>();
  size_t rank = tensor->type()->dims.size();
  if (access.dims.size() != rank)
    return fmt::format("{} indices for {} dimensions", access.dims.size(), rank);
  std::vector<bool> used(index.size());
  for (const AccessDim& dim : access.dims) {
    for (const AccessTerm& term : dim.terms) {
      if (term.operand >= index.size())
        return fmt::format("index operand {} of {}", term.operand, index.size());
      used[term.operand] = true;
    }
  }
  bool all_used = std::find(used.begin(), used.end(), false) == used.end();
  return all_used ? "" : "an index operand stands in no dimension";
}

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

std::string MaskFault(Values mask) {
  bool fits = mask.empty() || (IsTile(mask[0]->type()) && mask[0]->type()->scalar == Scalar::Bool);
  return fits ? "" : "the mask is no bool";
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
  if (fault.empty() && IsVector(op.operand(0)->type()))
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

// -- Reductions ----------------------------------------------------------------------------------

std::string AxisListFault(const AxisList& axes, const std::vector<AxisId>& all) {
  AxisList sorted = Sorted(axes);
  if (sorted.empty()) return "no axis is reduced";
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return "an axis is reduced twice";
  return Includes(all, sorted) ? "" : "a reduced axis is not the operands'";
}

std::vector<AxisId> Without(const std::vector<AxisId>& axes, const AxisList& removed) {
  std::vector<AxisId> kept;
  for (AxisId axis : axes) {
    if (std::find(removed.begin(), removed.end(), axis) == removed.end()) kept.push_back(axis);
  }
  return kept;
}

std::string ReduceFault(const Op& op, const Module&) {
  Type value = op.operand(0)->type();
  if (!IsTile(value)) return "the value is no tile";
  AxisList over = op.attr<AttrKey::Axes>();
  if (std::string fault = AxisListFault(over, value->axes); !fault.empty()) return fault;
  auto acc = op.attr<AttrKey::Acc>();
  Type result = op.result()->type();
  if (value->scalar != acc)
    return fmt::format("folds {} in {}", Spelling(value->scalar), Spelling(acc));
  if (!FindFold(op.attr<AttrKey::Fold>(), acc))
    return fmt::format("this fold is not defined on {}", Spelling(acc));
  bool fits = IsTile(result) && result->scalar == acc && result->axes == Without(value->axes, over);
  return fits ? ""
              : "the result is not the value without the reduced axes, of the accumulator's type";
}

std::string ContractFault(const Op& op, const Module&) {
  for (const Value* operand : op.operands()) {
    if (!IsTile(operand->type())) return "an operand is no tile";
  }
  Type a = op.operand(0)->type();
  Type b = op.operand(1)->type();
  Type into = op.operand(2)->type();
  std::vector<AxisId> all = UnionAxes(a->axes, b->axes);
  AxisList over = op.attr<AttrKey::Axes>();
  if (std::string fault = AxisListFault(over, all); !fault.empty()) return fault;
  auto acc = op.attr<AttrKey::Acc>();
  if (a->scalar != b->scalar)
    return fmt::format("multiplies {} and {}", Spelling(a->scalar), Spelling(b->scalar));
  bool widens = IsNarrowFloat(a->scalar) ? acc == Scalar::F32 : acc == a->scalar;
  if (!widens) return fmt::format("multiplies {} in {}", Spelling(a->scalar), Spelling(acc));
  if (!FindMultiplyAdd(acc)) return fmt::format("is not defined on {}", Spelling(acc));
  if (op.result()->type() != into) return "the result is not of the type of 'into'";
  if (into->scalar != acc) return "'into' is not of the accumulator's type";
  bool fits = Includes(into->axes, Without(all, over)) && Without(into->axes, over) == into->axes;
  return fits ? "" : "the axes of 'into' are not those that are left";
}

// -- Control flow --------------------------------------------------------------------------------

/// Parameters `first` and following carry `inits`; the yield gives them their next values, the op
/// its last ones.
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
      fault = "only scalars, tiles and vectors are carried";
  }
  return fault;
}

std::string ForFault(const Op& op, const Module&) {
  if (!IsI64(op.operand(0)) || !IsI64(op.operand(1))) return "a bound is no i64";
  if (op.region()->params().empty() || !IsBlk(op.region()->param(0)))
    return "the first parameter is no blk";
  return CarryFault(op, op.Segment(ForOp::at_inits), 1);
}

std::string LoopFault(const Op& op, const Module&) {
  for (size_t i = 0; i < 3; ++i) {
    if (!IsI64(op.operand(i))) return "a bound is no i64";
  }
  if (op.region()->params().empty() || !IsI64(op.region()->param(0)))
    return "the first parameter is no i64";
  return CarryFault(op, op.Segment(LoopOp::at_inits), 1);
}

std::string SpmdFault(const Op& op, const Module&) {
  if (std::string fault = AllI64(op.operands()); !fault.empty()) return fault;
  const std::vector<Value*>& params = op.region()->params();
  if (params.empty() || op.operands().size() != 2 * params.size())
    return "not two bounds for each binder";
  for (const Value* param : params) {
    if (!IsBlk(param) && !IsI64(param)) return "a binder is neither a blk nor an i64";
  }
  if (!Yielded(op.region()).empty()) return "the region yields values";
  for (const Op* outer = op.block()->parent(); outer; outer = outer->block()->parent()) {
    if (outer->kind() == OpKind::Spmd) return "stands in another spmd";
  }
  return "";
}

std::string IfFault(const Op& op, const Module&) {
  Type condition = op.operand(0)->type();
  if (!IsScalar(condition) || condition->scalar != Scalar::Bool)
    return "the condition is no scalar bool";
  for (const Block* region : op.regions()) {
    if (!region->params().empty()) return "a branch has parameters";
    if (std::string fault = SameTypes(Yielded(region), op.results(), "yielded values");
        !fault.empty())
      return fault;
  }
  for (const Value* result : op.results()) {
    if (!IsTile(result->type()) && !IsVector(result->type()))
      return "only scalars, tiles and vectors leave a branch";
  }
  return "";
}

std::string CoreFault(const Op& op, const Module&) {
  return IsI64(op.result()) ? "" : "the result is no i64";
}

// -- Loop level ----------------------------------------------------------------------------------

std::string NestFault(const Op& op, const Module&) {
  std::vector<AxisId> axes = AxesOf(op.operands());
  if (!std::all_of(op.operands().begin(), op.operands().end(), IsBlk))
    return "an operand is no blk";
  if (axes.size() != op.operands().size()) return "two blks of one axis";
  const std::vector<Value*>& params = op.region()->params();
  if (params.size() != op.operands().size() || !AllI64(params).empty())
    return "not one i64 for each blk";
  Values yielded = Yielded(op.region());
  if (yielded.size() != op.results().size()) return "not one yielded value for each result";
  for (size_t i = 0; i < yielded.size(); ++i) {
    Type result = op.result(i)->type();
    bool fits = IsScalar(yielded[i]->type()) && IsTile(result) && result->axes == axes &&
                result->scalar == yielded[i]->type()->scalar;
    if (!fits) return "a result is no tile of what the region yields";
  }
  return "";
}

std::string ElementFault(const Op& op, const Module&) {
  Type tile = op.operand(0)->type();
  if (!IsTile(tile)) return "the operand is no tile";
  Values point = op.Segment(ElementOp::at_point);
  if (point.size() != tile->axes.size())
    return fmt::format("{} indices for {} axes", point.size(), tile->axes.size());
  bool fits = IsScalar(op.result()->type()) && op.result()->type()->scalar == tile->scalar;
  return fits ? AllI64(point) : "the result is not of the tile's scalar";
}

std::string PrefetchFault(const Op& op, const Module&) {
  return AccessFault(op, op.Segment(PrefetchOp::at_tensor)[0]);
}

std::string CheckFault(const Op& op, const Module&) { return AllI64(op.operands()); }

constexpr int64_t kMaxBufferBytes = int64_t{1} << 40;

std::string BufferNewFault(const Op& op, const Module&) {
  Type type = op.result()->type();
  if (type->kind != TypeKind::Buffer) return "the result is no buffer";
  int64_t bytes = Bytes(type->scalar);
  for (Size dim : type->dims) {
    if (dim->value < 0) return "an extent is negative";
    if (dim->value > kMaxBufferBytes / std::max<int64_t>(bytes, 1))
      return "the buffer is too large";
    bytes *= dim->value;
  }
  return "";
}

std::string BufferFault(const Value* buffer, Values index, const Value* element, Values mask) {
  Type type = buffer->type();
  if (type->kind != TypeKind::Buffer) return "the buffer is none";
  if (index.size() != type->dims.size())
    return fmt::format("{} indices for {} dimensions", index.size(), type->dims.size());
  bool fits = IsScalar(element->type()) || (IsVector(element->type()) && !type->dims.empty());
  if (!fits || element->type()->scalar != type->scalar)
    return "the element is not of the buffer's scalar";
  if (!IsVector(element->type()) && !mask.empty()) return "a mask, but no vector";
  if (std::string fault = LaneMaskFault(mask, element->type()); !fault.empty()) return fault;
  return AllI64(index);
}

std::string BufferLoadFault(const Op& op, const Module&) {
  return BufferFault(op.operand(0), op.Segment(BufferLoadOp::at_index), op.result(),
                     op.Segment(BufferLoadOp::at_mask));
}

std::string BufferStoreFault(const Op& op, const Module&) {
  return BufferFault(op.operand(1), op.Segment(BufferStoreOp::at_index), op.operand(0),
                     op.Segment(BufferStoreOp::at_mask));
}

// -- Vectors -------------------------------------------------------------------------------------

std::string SplatFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  bool fits = IsScalar(op.operand(0)->type()) && IsVector(result) &&
              result->scalar == op.operand(0)->type()->scalar;
  return fits ? "" : "the result is no vector of the scalar";
}

std::string LaneMaskOpFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  if (!IsVector(result) || result->scalar != Scalar::Bool)
    return "the result is no vector of bools";
  return AllI64(op.operands());
}

std::string LaneNumbersFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  return IsVector(result) && result->scalar == Scalar::I64 ? "" : "the result is no vector of i64";
}

std::string HalfFault(const Op& op, const Module&) {
  Type whole = op.operand(0)->type();
  Type half = op.result()->type();
  if (!IsVector(whole) || Lanes(whole) % 2 != 0) return "the value has no halves";
  int64_t part = op.attr<AttrKey::Part>();
  if (part != 0 && part != 1) return fmt::format("there is no part {}", part);
  bool fits = (IsScalar(half) || IsVector(half)) && half->scalar == whole->scalar &&
              2 * Lanes(half) == Lanes(whole);
  return fits ? "" : "the result is not half of the value";
}

std::string TransposeFault(const Op& op, const Module&) {
  if (op.operands().empty()) return "there is no row";
  Type type = op.operand(0)->type();
  if (!IsVector(type)) return "a row is no vector";
  auto same = [&](const Value* value) { return value->type() == type; };
  auto rows = static_cast<size_t>(Lanes(type));
  if (!std::has_single_bit(rows)) return fmt::format("{} rows are no power of two", rows);
  bool square = op.operands().size() == rows && op.results().size() == rows;
  if (!square) return fmt::format("not {} rows and results", rows);
  bool equal = std::all_of(op.operands().begin(), op.operands().end(), same) &&
               std::all_of(op.results().begin(), op.results().end(), same);
  return equal ? "" : "rows and results differ in type";
}

// -- Programs ------------------------------------------------------------------------------------

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

std::string MarkFault(const Op& op, const Module&) {
  return op.result()->type()->kind == TypeKind::Event ? "" : "the result is no event";
}

std::string LaunchFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* kernel = module.FindFunction(callee);
  if (!kernel || kernel->kind != FunctionKind::Kernel)
    return fmt::format("'{}' is no kernel of the module", callee.text());
  Values arguments = op.Segment(LaunchOp::at_arguments);
  if (arguments.size() != kernel->params.size()) {
    return fmt::format("{} arguments; '{}' takes {}", arguments.size(), callee.text(),
                       kernel->params.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    Type given = arguments[i]->type();
    Type wanted = kernel->params[i].value->type();
    bool fits = given->kind == wanted->kind && given->scalar == wanted->scalar &&
                given->dims.size() == wanted->dims.size() && given->axes.empty();
    if (!fits) return fmt::format("argument {} has not the parameter's type", i + 1);
  }
  if (std::string fault = AllI64(op.Segment(LaunchOp::at_cores)); !fault.empty())
    return "the number of cores is no i64";
  if (op.result()->type()->kind != TypeKind::Event) return "the result is no event";
  return Events(op.Segment(LaunchOp::at_after));
}

struct Hook {
  OpKind kind;
  std::string (*fault)(const Op&, const Module&);
};

std::string ConstHook(const Op& op, const Module&) { return ConstFault(op); }
std::string YieldHook(const Op&, const Module&) { return ""; }  // judged by the op around

constexpr Hook kHooks[] = {
    {OpKind::Const, &ConstHook},
    {OpKind::SizeOf, &CoreFault},
    {OpKind::Call, &CallFault},
    {OpKind::Return, &ReturnFault},
    {OpKind::BlkStart, &BlkFactFault},
    {OpKind::BlkSize, &BlkFactFault},
    {OpKind::BlkIndex, &BlkFactFault},
    {OpKind::MakeBlk, &MakeBlkFault},
    {OpKind::Iota, &IotaFault},
    {OpKind::Load, &LoadFault},
    {OpKind::Store, &StoreFault},
    {OpKind::Reduce, &ReduceFault},
    {OpKind::Contract, &ContractFault},
    {OpKind::For, &ForFault},
    {OpKind::Spmd, &SpmdFault},
    {OpKind::Loop, &LoopFault},
    {OpKind::If, &IfFault},
    {OpKind::Yield, &YieldHook},
    {OpKind::CoreId, &CoreFault},
    {OpKind::CoreNum, &CoreFault},
    {OpKind::Nest, &NestFault},
    {OpKind::Element, &ElementFault},
    {OpKind::Check, &CheckFault},
    {OpKind::BufferNew, &BufferNewFault},
    {OpKind::BufferLoad, &BufferLoadFault},
    {OpKind::BufferStore, &BufferStoreFault},
    {OpKind::Prefetch, &PrefetchFault},
    {OpKind::Splat, &SplatFault},
    {OpKind::LaneMask, &LaneMaskOpFault},
    {OpKind::LaneNumbers, &LaneNumbersFault},
    {OpKind::Half, &HalfFault},
    {OpKind::Transpose, &TransposeFault},
    {OpKind::Alloc, &AllocFault},
    {OpKind::Free, &FreeFault},
    {OpKind::Transfer, &TransferFault},
    {OpKind::Mark, &MarkFault},
    {OpKind::Launch, &LaunchFault},
};

}  // namespace

std::string TypeFault(const Op& op, const Module& module) {
  for (const Hook& hook : kHooks) {
    if (hook.kind == op.kind()) return hook.fault(op, module);
  }
  if (op.info().has(kElementwise)) return ElementwiseFault(op);
  return fmt::format("'{}' has no rule of types", op.info().spelling);
}

}  // namespace kdl::ir
