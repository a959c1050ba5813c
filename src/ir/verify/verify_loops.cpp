#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/eval/eval.h"
#include "ir/lane_map.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

std::string ElementwiseLoopFault(const Op& op, const Module&) {
  std::vector<AxisId> axes = OperandAxes(op.operands());
  if (!std::all_of(op.operands().begin(), op.operands().end(), IsBlock))
    return "an operand is not a block";
  if (axes.size() != op.operands().size()) return "two blocks have the same axis";
  const std::vector<Value*>& params = op.region()->params();
  if (params.size() != op.operands().size() || !AllI64(params).empty())
    return "it requires one i64 for each block";
  Values yielded = Yielded(op.region());
  if (yielded.size() != op.results().size()) return "must yield one value for each result";
  for (size_t i = 0; i < yielded.size(); ++i) {
    Type result = op.result(i)->type();
    const Op* fold = yielded[i]->def();
    bool folds =
        fold && fold->kind() == OpKind::ReduceInLoop && fold->parent_region() == op.region();
    const std::vector<AxisId> own = folds ? Without(axes, fold->attr<AttrKey::Axes>()) : axes;
    bool fits = IsScalar(yielded[i]->type()) && IsTile(result) && result->axes == own &&
                result->scalar == yielded[i]->type()->scalar;
    if (!fits)
      return "a result does not have the type that the yielded value and the blocks determine";
  }
  return MapFault(op);
}

std::string ElementFault(const Op& op, const Module&) {
  Type tile = op.operand(0)->type();
  if (!IsTile(tile)) return "the operand is not a tile";
  Values point = op.Segment(ElementOp::at_point);
  if (point.size() != tile->axes.size())
    return fmt::format("the number of indices is {}, but the number of axes is {}", point.size(),
                       tile->axes.size());
  bool fits = IsScalar(op.result()->type()) && op.result()->type()->scalar == tile->scalar;
  return fits ? AllI64(point) : "the result does not have the element type of the tile";
}

/// Checks that the reduced terms have types that the ops `reduce` and `contraction` allow.
std::string FoldedTermsFault(const Op& op) {
  Values terms = op.Segment(ReduceInLoopOp::at_terms);
  auto acc = op.attr<AttrKey::Acc>();
  if (terms.empty() || terms.size() > 2)
    return "it requires one value, or two whose products are reduced";
  for (const Value* term : terms) {
    if (!IsScalar(term->type())) return "a term is not a scalar";
    if (term->type()->scalar != terms[0]->type()->scalar) return "the factors differ in type";
  }
  Scalar scalar = terms[0]->type()->scalar;
  bool widens = IsNarrowFloat(scalar) && HasArithmetic(scalar) && acc == Scalar::F32;
  bool fits = scalar == acc || (terms.size() == 2 && widens);
  if (!fits)
    return fmt::format("cannot reduce {} with an accumulator of {}", Spelling(scalar),
                       Spelling(acc));
  auto fold = op.attr<AttrKey::Reduction>();
  bool defined = terms.size() == 1 ? FindFold(fold, acc) != nullptr
                                   : fold == ReductionKind::Sum && FindMultiplyAdd(acc) != nullptr;
  if (!defined) return fmt::format("this reduction is not defined on {}", Spelling(acc));
  Type result = op.result()->type();
  return IsScalar(result) && result->scalar == acc
             ? ""
             : "the result does not have the accumulator's type";
}

std::string ReduceInLoopFault(const Op& op, const Module&) {
  if (std::string fault = FoldedTermsFault(op); !fault.empty()) return fault;
  const Op* elementwise = op.parent_region()->parent();
  if (!elementwise || elementwise->kind() != OpKind::Elementwise)
    return "it is not in an elementwise loop";
  AxisList walked;
  for (const Value* block : elementwise->operands()) walked.push_back(block->type()->axes[0]);
  if (op.attr<AttrKey::Order>() != OrderKind::Lanes64) return "its order is not 'lanes64'";
  AxisList over = op.attr<AttrKey::Axes>();
  bool last = !over.empty() && over.size() <= walked.size() &&
              std::equal(over.rbegin(), over.rend(), walked.rbegin());
  if (!last) return "the axes are not the innermost ones of the elementwise loop";
  for (const Op* other = elementwise->region()->first(); other != &op; other = other->next()) {
    if (other->kind() == OpKind::ReduceInLoop && other->attr<AttrKey::Axes>() != over)
      return "another reduction in the elementwise loop reduces other axes";
  }
  for (const Value* into : op.Segment(ReduceInLoopOp::at_into)) {
    if (into->def() && into->def()->parent_region() == elementwise->region())
      return "'into' is computed in the elementwise loop";
    bool fits = IsTile(into->type()) && into->type()->scalar == op.attr<AttrKey::Acc>() &&
                Includes(Without(OperandAxes(elementwise->operands()), over), into->type()->axes);
    if (!fits)
      return "'into' does not have the accumulator's type and only the other axes of the "
             "elementwise "
             "loop";
  }
  const std::vector<Use>& uses = op.result()->uses();
  bool yielded = uses.size() == 1 && uses[0].user == elementwise->region()->terminator();
  return yielded ? "" : "the elementwise loop does not yield the result exactly once";
}

std::string PrefetchFault(const Op& op, const Module&) {
  return AccessFault(op, op.Segment(PrefetchOp::at_tensor)[0]);
}

std::string AlignGapFault(const Op& op, const Module&) {
  int64_t lanes = op.attr<AttrKey::Lanes>();
  if (lanes < 1 || !std::has_single_bit(static_cast<uint64_t>(lanes)))
    return fmt::format("{} lanes are not a power of two", lanes);
  Type result = op.result()->type();
  if (!IsScalar(result) || result->scalar != Scalar::I64) return "the result is not an i64";
  return AccessFault(op, op.Segment(AlignGapOp::at_tensor)[0]);
}

std::string CheckFault(const Op& op, const Module&) { return AllI64(op.operands()); }

constexpr int64_t kMaxBufferBytes = int64_t{1} << 40;

/// Checks a buffer that is stored in panels.
std::string PanelsFault(const Op& op) {
  constexpr int64_t kPanelBytes = 128;
  constexpr int64_t kRows = 8;  // the number of rows whose chunks are swizzled together
  Type type = op.result()->type();
  if (op.attr<AttrKey::Swizzle>() != kPanelBytes) return "panels must have 128 bytes";
  if (type->space != Space::Workgroup || type->dims.size() != 3)
    return "panels require a buffer in workgroup memory with slots of two dimensions";
  bool whole = type->dims[1]->value % kRows == 0 &&
               type->dims[2]->value * Bytes(type->scalar) % kPanelBytes == 0;
  return whole ? "" : "its slots do not consist of whole panels";
}

std::string BufferNewFault(const Op& op, const Module&) {
  Type type = op.result()->type();
  if (type->kind != TypeKind::Buffer) return "the result is not a buffer";
  int64_t bytes = Bytes(type->scalar);
  for (Size dim : type->dims) {
    if (dim->value < 0) return "an extent is negative";
    if (dim->value > kMaxBufferBytes / std::max<int64_t>(bytes, 1))
      return "the buffer is too large";
    bytes *= dim->value;
  }
  if (op.HasAttr(AttrKey::MbarrierOrdered) && type->space != Space::Workgroup)
    return "mbarriers require a buffer in workgroup memory";
  return op.HasAttr(AttrKey::Swizzle) ? PanelsFault(op) : "";
}

std::string BufferFault(const Value* buffer, Values index, const Value* element, Values mask) {
  Type type = buffer->type();
  if (type->kind != TypeKind::Buffer) return "the operand is not a buffer";
  if (index.size() != type->dims.size())
    return fmt::format("the number of indices is {}, but the number of dimensions is {}",
                       index.size(), type->dims.size());
  bool fits = IsScalar(element->type()) || (IsVector(element->type()) && !type->dims.empty());
  if (!fits || element->type()->scalar != type->scalar)
    return "the element does not have the element type of the buffer";
  if (!IsVector(element->type()) && !mask.empty()) return "has a mask, but is not a vector";
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
  return fits ? "" : "the result is not a vector of the operand's type";
}

std::string LaneMaskOpFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  if (!IsVector(result) || result->scalar != Scalar::Bool)
    return "the result is not a vector of bools";
  return AllI64(op.operands());
}

std::string LaneNumbersFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  return IsVector(result) && result->scalar == Scalar::I64 ? ""
                                                           : "the result is not a vector of i64";
}

std::string CountLanesFault(const Op& op, const Module&) {
  Type mask = op.operand(0)->type();
  if (!IsVector(mask) || mask->scalar != Scalar::Bool)
    return "the operand is not a vector of bools";
  Type result = op.result()->type();
  return IsScalar(result) && result->scalar == Scalar::I64 ? "" : "the result is not an i64";
}

std::string CompressFault(const Op& op, const Module&) {
  Type value = op.operand(0)->type();
  if (!IsVector(value) || op.result()->type() != value)
    return "the value and the result are not vectors of one type";
  return LaneMaskFault(op.Segment(CompressOp::at_mask), value);
}

std::string HalfFault(const Op& op, const Module&) {
  Type whole = op.operand(0)->type();
  Type half = op.result()->type();
  if (!IsVector(whole) || Lanes(whole) % 2 != 0) return "the value has no halves";
  int64_t part = op.attr<AttrKey::Part>();
  if (part != 0 && part != 1) return fmt::format("there is no half {}; use 0 or 1", part);
  bool fits = (IsScalar(half) || IsVector(half)) && half->scalar == whole->scalar &&
              2 * Lanes(half) == Lanes(whole);
  return fits ? "" : "the result is not half of the value";
}

std::string ZipFault(const Op& op, const Module&) {
  if (op.operands().size() < 2) return "it requires two rows or more";
  Type row = op.operand(0)->type();
  auto is_row = [&](const Value* value) { return value->type() == row; };
  if (!(IsScalar(row) || IsVector(row)) || !std::ranges::all_of(op.operands(), is_row))
    return "the rows have different types";
  Type result = op.result()->type();
  auto rows = static_cast<int64_t>(op.operands().size());
  bool fits =
      IsVector(result) && result->scalar == row->scalar && Lanes(result) == rows * Lanes(row);
  return fits ? "" : "the result does not have the lanes of all rows";
}

std::string PickFault(const Op& op, const Module&) {
  Type row = op.operands().empty() ? nullptr : op.operand(0)->type();
  auto is_row = [&](const Value* value) { return value->type() == row; };
  if (!row || !IsVector(row) || !std::ranges::all_of(op.operands(), is_row))
    return "the rows are not vectors of one type";
  Type result = op.result()->type();
  NumberList picked = op.attr<AttrKey::Picked>();
  if (!IsVector(result) || result->scalar != row->scalar ||
      Lanes(result) != static_cast<int64_t>(picked.size()))
    return fmt::format("the result is not a vector of {} lanes", picked.size());
  int64_t lanes = static_cast<int64_t>(op.operands().size()) * Lanes(row);
  bool fit = std::ranges::all_of(picked, [&](int64_t lane) { return 0 <= lane && lane < lanes; });
  return fit ? "" : fmt::format("it picks a lane that is not among the {} lanes", lanes);
}

std::string RowsAdjoinFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  if (!IsScalar(result) || result->scalar != Scalar::Bool) return "the result is not a bool";
  Type tensor = op.operand(0)->type();
  return tensor->kind == TypeKind::Tensor && tensor->dims.size() > 1
             ? ""
             : "the operand is not a tensor of rank 2 or more";
}

std::string JoinRowsFault(const Op& op, const Module&) {
  Type before = op.operand(0)->type();
  Type after = op.result()->type();
  bool fits = before->kind == TypeKind::Tensor && after->kind == TypeKind::Tensor &&
              before->scalar == after->scalar && before->dims.size() == after->dims.size() + 1 &&
              op.attr<AttrKey::Dimension>() + 1 == static_cast<int64_t>(after->dims.size());
  if (!fits) return "the result does not combine the last two dimensions of the operand";
  bool kept = std::equal(after->dims.begin(), after->dims.end() - 1, before->dims.begin());
  return kept ? "" : "another dimension changes";
}

std::string VectorMmaFault(const Op& op, const Module& module) {
  const MatrixInstruction* instruction =
      FindInstruction(module.context(), op.attr<AttrKey::Instruction>());
  if (!instruction) return "unknown matrix instruction";
  VectorMmaOp step(const_cast<Op*>(&op));
  Type acc = step.acc()->type();
  bool in_sequence = op.HasAttr(AttrKey::Part);
  if (in_sequence && (instruction->order != StepOrder::TwoSequences ||
                      op.attr<AttrKey::Part>() < 0 || op.attr<AttrKey::Part>() > 1))
    return "the matrix instruction does not have this accumulation sequence";
  int depth = in_sequence ? TermsPerGroup(*instruction) : instruction->depth;
  bool is_acc = (IsScalar(acc) || IsVector(acc)) && acc->scalar == instruction->acc;
  if (!is_acc || step.result()->type() != acc)
    return "the accumulator does not fit the matrix instruction";
  auto fits = [&](Type factors, Scalar scalar) {
    int64_t steps = IsVector(factors) ? Lanes(factors) / depth : 0;
    return factors->scalar == scalar && Lanes(factors) == steps * depth &&
           (steps == 1 || steps == Lanes(acc));
  };
  bool both = fits(step.a()->type(), instruction->a) && fits(step.b()->type(), instruction->b);
  return both ? "" : "a factor does not have the elements of one step for each lane";
}

/// Checks the buffers from which an mma step reads its factors.
std::string FactorsFault(const Op& op, const MatrixInstruction& instruction) {
  NumberList folded = op.attr<AttrKey::Folded>();
  if (folded.size() != 2) return "it requires one reduced dimension for each factor";
  for (size_t i = 0; i < 2; ++i) {
    Type type = op.operand(i)->type();
    bool is_factor = type->kind == TypeKind::Buffer &&
                     (type->dims.size() == 2 || type->dims.size() == 3) &&
                     type->scalar == (i == 0 ? instruction.a : instruction.b);
    if (!is_factor)
      return "a factor is not a buffer of two or three dimensions with the element type of the "
             "matrix "
             "instruction";
    if (folded[i] != 0 && folded[i] != 1) return "a reduced dimension does not exist";
  }
  return "";
}

std::string MmaFault(const Op& op, const Module& module) {
  const MatrixInstruction* instruction =
      FindInstruction(module.context(), op.attr<AttrKey::Instruction>());
  if (!instruction) return "unknown matrix instruction";
  if (std::string fault = FactorsFault(op, *instruction); !fault.empty()) return fault;
  MmaOp step(const_cast<Op*>(&op));
  auto lies_in_panels = [](const Value* factor) {
    return factor->def() && factor->def()->HasAttr(AttrKey::Swizzle);
  };
  if (instruction->goes_on && !(lies_in_panels(step.a()) && lies_in_panels(step.b())))
    return "the matrix instruction is asynchronous, but a factor is not stored in panels";
  if (step.place().size() != 4) return "the place must have four numbers";
  if (std::string fault = AllI64(step.place()); !fault.empty()) return fault;
  auto has_slots = [](const Value* factor) { return factor->type()->dims.size() == 3; };
  int rings = (has_slots(step.a()) ? 1 : 0) + (has_slots(step.b()) ? 1 : 0);
  if (std::ssize(step.slots()) != rings)
    return "it requires one slot number for each factor with slots";
  if (std::string fault = AllI64(step.slots()); !fault.empty()) return fault;
  NumberList numbers = op.attr<AttrKey::Map>();
  if (std::ranges::any_of(numbers, [](int64_t number) { return number < 1; }))
    return "a number of the thread layout is out of range";
  LaneMap map = MapOf(op);
  Values accs = step.accs();
  bool fits = map.size() == 2 && (numbers.size() == 8 || numbers.size() == 10) &&
              static_cast<size_t>(map[0].held() * map[1].held()) == accs.size();
  if (!fits) return "it requires one accumulator for each element of the thread";
  if (op.results().size() != accs.size()) return "it requires one result for each accumulator";
  for (size_t i = 0; i < accs.size(); ++i) {
    bool is_acc = IsScalar(accs[i]->type()) && accs[i]->type()->scalar == instruction->acc &&
                  op.result(i)->type() == accs[i]->type();
    if (!is_acc) return "an accumulator does not fit the matrix instruction";
  }
  return "";
}

std::string TileMmaFault(const Op& op, const Module& module) {
  const MatrixInstruction* instruction =
      FindInstruction(module.context(), op.attr<AttrKey::Instruction>());
  if (!instruction) return "unknown matrix instruction";
  if (instruction->tile_groups == 0) return "the matrix instruction does not multiply tiles";
  TileMmaOp step(const_cast<Op*>(&op));
  Type rows = step.rows()->type();
  Type columns = step.columns()->type();
  bool are_buffers = rows->kind == TypeKind::Buffer && columns->kind == TypeKind::Buffer &&
                     rows->dims.size() >= 2 && columns->dims.size() >= 2;
  if (!are_buffers) return "a factor is not a buffer of two dimensions or more";
  bool are_factors = (rows->scalar == instruction->a && columns->scalar == instruction->b) ||
                     (rows->scalar == instruction->b && columns->scalar == instruction->a);
  if (!are_factors) return "the factors do not fit the matrix instruction";
  NumberList along = op.attr<AttrKey::Along>();
  if (along.size() != 1 || along[0] < 0 || along[0] + 1 >= std::ssize(rows->dims))
    return "'along' must be a dimension before the last one";
  if (step.place().size() != rows->dims.size() + columns->dims.size() + 1)
    return "the place must have the indices of both buffers and a number of steps";
  if (std::string fault = AllI64(step.place()); !fault.empty()) return fault;
  NumberList sizes = op.attr<AttrKey::Sizes>();
  Values accs = step.accs();
  bool fits = sizes.size() == 2 && sizes[0] >= 1 && sizes[1] >= 1 &&
              sizes[0] * sizes[1] == std::ssize(accs) && op.results().size() == accs.size();
  if (!fits) return "it requires one accumulator and one result for each vector of the rows";
  for (size_t i = 0; i < accs.size(); ++i) {
    Type type = accs[i]->type();
    bool is_acc = IsVector(type) && type->scalar == instruction->acc && type == accs[0]->type() &&
                  op.result(i)->type() == type;
    if (!is_acc) return "an accumulator is not a vector that fits the matrix instruction";
  }
  return "";
}

std::string TransposeFault(const Op& op, const Module&) {
  if (op.operands().empty() || op.results().empty()) return "a row is missing";
  Type part = op.operand(0)->type();
  Type result = op.result(0)->type();
  if (!IsVector(part) || !IsVector(result)) return "a row is not a vector";
  size_t rows = op.results().size();
  if (!std::has_single_bit(rows)) return fmt::format("{} rows are not a power of two", rows);
  if (static_cast<size_t>(Lanes(result)) != rows ||
      op.operands().size() * static_cast<size_t>(Lanes(part)) != rows * rows)
    return fmt::format("it requires {} rows and results", Lanes(result));
  auto are = [](Values values, Type type) {
    return std::all_of(values.begin(), values.end(),
                       [&](const Value* value) { return value->type() == type; });
  };
  bool equal =
      are(op.operands(), part) && are(op.results(), result) && part->scalar == result->scalar;
  return equal ? "" : "rows and results have different types";
}

/// Returns whether the op is in a loop whose iterations are distributed to the GPU threads of a workgroup.
bool IsThreads(const Op& op) {
  for (const Op* around = op.parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    if (around->HasAttr(AttrKey::Threads)) return true;
  }
  return false;
}

std::string BarrierFault(const Op& op, const Module&) {
  return IsThreads(op) ? "not all threads of the workgroup reach it" : "";
}

}  // namespace

KDL_TYPE_RULE(Elementwise, ElementwiseLoopFault)
KDL_TYPE_RULE(Element, ElementFault)
KDL_TYPE_RULE(ReduceInLoop, ReduceInLoopFault)
KDL_TYPE_RULE(Check, CheckFault)
KDL_TYPE_RULE(Barrier, BarrierFault)
KDL_TYPE_RULE(BusyCores, NoTypes)
KDL_TYPE_RULE(BufferNew, BufferNewFault)
KDL_TYPE_RULE(BufferLoad, BufferLoadFault)
KDL_TYPE_RULE(BufferStore, BufferStoreFault)
KDL_TYPE_RULE(Prefetch, PrefetchFault)
KDL_TYPE_RULE(AlignGap, AlignGapFault)
KDL_TYPE_RULE(Splat, SplatFault)
KDL_TYPE_RULE(LaneMask, LaneMaskOpFault)
KDL_TYPE_RULE(LaneNumbers, LaneNumbersFault)
KDL_TYPE_RULE(CountLanes, CountLanesFault)
KDL_TYPE_RULE(Compress, CompressFault)
KDL_TYPE_RULE(Half, HalfFault)
KDL_TYPE_RULE(Zip, ZipFault)
KDL_TYPE_RULE(Pick, PickFault)
KDL_TYPE_RULE(RowsAdjoin, RowsAdjoinFault)
KDL_TYPE_RULE(JoinRows, JoinRowsFault)
KDL_TYPE_RULE(VectorMma, VectorMmaFault)
KDL_TYPE_RULE(Mma, MmaFault)
KDL_TYPE_RULE(TileMma, TileMmaFault)
KDL_TYPE_RULE(Transpose, TransposeFault)

}  // namespace kdl::ir
