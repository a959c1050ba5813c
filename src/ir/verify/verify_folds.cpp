#include <fmt/format.h>

#include <algorithm>

#include "ir/eval/eval.h"
#include "ir/lane_map.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

// Verifies reductions, contractions, scans and reads of tile elements by index.

namespace kdl::ir {

namespace {

std::string AxisListFault(const AxisList& axes, const std::vector<AxisId>& all) {
  AxisList sorted = Sorted(axes);
  if (sorted.empty()) return "no axis is reduced";
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return "an axis is reduced twice";
  return Includes(all, sorted) ? "" : "no operand has a reduced axis";
}

std::string ReduceFault(const Op& op, const Module&) {
  Type value = op.operand(0)->type();
  if (!IsTile(value)) return "the value is not a tile";
  AxisList over = op.attr<AttrKey::Axes>();
  if (std::string fault = AxisListFault(over, value->axes); !fault.empty()) return fault;
  auto acc = op.attr<AttrKey::Acc>();
  Type result = op.result()->type();
  if (value->scalar != acc)
    return fmt::format("cannot reduce {} with an accumulator of {}", Spelling(value->scalar),
                       Spelling(acc));
  if (!FindFold(op.attr<AttrKey::Reduction>(), acc))
    return fmt::format("this reduction is not defined on {}", Spelling(acc));
  bool fits = IsTile(result) && result->scalar == acc && result->axes == Without(value->axes, over);
  return fits ? MapFault(op)
              : "the result does not have the accumulator's type and all axes that are not reduced";
}

/// Returns whether products of integers of type `scalar` are exact in the accumulator, apart from wrapping.
bool IsNarrowInteger(Scalar scalar, Scalar acc) {
  return IsInteger(scalar) && IsInteger(acc) && Bytes(scalar) < Bytes(acc);
}

/// Checks that the matrix instruction that a contraction names exists and multiplies factors of these types.
std::string InstructionFault(const Op& op, const Module& module) {
  if (!op.HasAttr(AttrKey::Instruction)) return "";
  Name name = op.attr<AttrKey::Instruction>();
  const MatrixInstruction* instruction = FindInstruction(module.context(), name);
  if (!instruction) return fmt::format("unknown matrix instruction '{}'", name.text());
  if (op.attr<AttrKey::Order>() != OrderKind::Sequential)
    return "a matrix instruction requires the sequential order";
  Scalar a = op.operand(0)->type()->scalar;
  Scalar b = op.operand(1)->type()->scalar;
  bool is_acc = a == instruction->acc && b == instruction->acc;
  bool fits = op.attr<AttrKey::Acc>() == instruction->acc &&
              (is_acc || (a == instruction->a && b == instruction->b));
  return fits ? ""
              : fmt::format("matrix instruction '{}' does not multiply {} and {}", name.text(),
                            Spelling(a), Spelling(b));
}

std::string ContractionFault(const Op& op, const Module& module) {
  for (const Value* operand : op.operands()) {
    if (!IsTile(operand->type())) return "an operand is not a tile";
  }
  Type a = op.operand(0)->type();
  Type b = op.operand(1)->type();
  Type into = op.operand(2)->type();
  std::vector<AxisId> all = UnionAxes(a->axes, b->axes);
  AxisList over = op.attr<AttrKey::Axes>();
  if (std::string fault = AxisListFault(over, all); !fault.empty()) return fault;
  auto acc = op.attr<AttrKey::Acc>();
  bool integers = IsNarrowInteger(a->scalar, acc) && IsNarrowInteger(b->scalar, acc);
  bool byte_floats = IsByteFactor(a->scalar) && IsByteFactor(b->scalar);
  if (!integers && !byte_floats && a->scalar != b->scalar)
    return fmt::format("cannot multiply {} and {}", Spelling(a->scalar), Spelling(b->scalar));
  if (!HasArithmetic(a->scalar)) return fmt::format("is not defined on {}", Spelling(a->scalar));
  bool widens = IsNarrowFloat(a->scalar) ? acc == Scalar::F32 : acc == a->scalar;
  if (!integers && !widens)
    return fmt::format("cannot multiply {} with an accumulator of {}", Spelling(a->scalar),
                       Spelling(acc));
  if (!FindMultiplyAdd(acc)) return fmt::format("is not defined on {}", Spelling(acc));
  if (op.result()->type() != into) return "the result does not have the type of 'into'";
  if (into->scalar != acc) return "'into' does not have the accumulator's type";
  bool fits = Includes(into->axes, Without(all, over)) && Without(into->axes, over) == into->axes;
  if (!fits) return "the axes of 'into' are not the axes that are not reduced";
  if (op.HasAttr(AttrKey::Plain) && !op.HasAttr(AttrKey::Instruction))
    return "'plain' needs a matrix instruction";
  for (const Value* plus : op.Segment(ContractionOp::at_plus)) {
    bool is_tile = IsTile(plus->type()) && plus->type()->scalar == acc && IsInteger(acc) &&
                   Includes(into->axes, plus->type()->axes);
    if (!is_tile || op.attr<AttrKey::Order>() != OrderKind::Sequential)
      return "'plus' is not a tile of integers over axes of the result of a contraction in "
             "sequential "
             "order";
  }
  std::string fault = InstructionFault(op, module);
  return fault.empty() ? MapFault(op) : fault;
}

/// Checks the common properties of `multi_reduce`, `scan` and `scan_in_loop`: an initial scalar for each
/// accumulator, and a region that computes the next accumulators.
std::string FoldRegionFault(const Op& op) {
  Values values = op.Segment(MultiReduceOp::at_values);
  Values inits = op.Segment(MultiReduceOp::at_inits);
  if (values.empty() || inits.size() != values.size() || op.results().size() != values.size())
    return "it requires one init and one result for each value";
  for (size_t i = 0; i < values.size(); ++i) {
    if (!IsTile(values[i]->type())) return "a value is not a tile";
    bool starts =
        IsScalar(inits[i]->type()) && inits[i]->type()->scalar == values[i]->type()->scalar;
    if (!starts) return "an init is not a scalar of the element type of its value";
  }
  const std::vector<Value*>& all = op.region()->params();
  if (all.size() != 2 * values.size()) return "it requires two parameters for each value";
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->type() != inits[i % inits.size()]->type())
      return "a parameter does not have the element type of its value";
  }
  return SameTypes(Yielded(op.region()), {inits.begin(), inits.end()}, "accumulators");
}

/// Checks the common properties of `multi_reduce` and `scan`, whose values are tiles with equal axes.
std::string FoldedFault(const Op& op) {
  if (std::string fault = FoldRegionFault(op); !fault.empty()) return fault;
  Type first = op.operand(0)->type();
  for (const Value* value : op.Segment(MultiReduceOp::at_values)) {
    if (value->type()->axes != first->axes) return "the values have different axes";
  }
  return AxisListFault(op.attr<AttrKey::Axes>(), first->axes);
}

/// Checks that the results have these axes and the same scalar types as the values.
std::string FoldResultsFault(const Op& op, const std::vector<AxisId>& axes) {
  for (size_t i = 0; i < op.results().size(); ++i) {
    Type type = op.result(i)->type();
    bool fits = IsTile(type) && type->scalar == op.operand(i)->type()->scalar && type->axes == axes;
    if (!fits) return "a result does not have the axes or the element type that the op computes";
  }
  return "";
}

std::string FoldFault(const Op& op, const Module&) {
  if (std::string fault = FoldedFault(op); !fault.empty()) return fault;
  return FoldResultsFault(op, Without(op.operand(0)->type()->axes, op.attr<AttrKey::Axes>()));
}

std::string ScanFault(const Op& op, const Module&) {
  if (std::string fault = FoldedFault(op); !fault.empty()) return fault;
  if (op.attr<AttrKey::Axes>().size() != 1) return "it scans more than one axis";
  return FoldResultsFault(op, op.operand(0)->type()->axes);
}

/// Checks a scan in an elementwise loop. All scans of a loop have the same axis and direction, because they
/// determine the order in which the loop visits its points.
std::string ScanInLoopFault(const Op& op, const Module&) {
  const Op* elementwise = op.parent_region()->parent();
  if (!elementwise || elementwise->kind() != OpKind::Elementwise)
    return "it is not in an elementwise loop";
  for (const Value* value : op.operands()) {
    if (!IsScalar(value->type())) return "an operand is not a scalar";
  }
  for (const Value* init : op.Segment(ScanInLoopOp::at_inits)) {
    if (init->def() && init->def()->parent_region() == elementwise->region())
      return "an init is computed in the elementwise loop";
  }
  AxisList axes = op.attr<AttrKey::Axes>();
  if (axes.size() != 1) return "it scans more than one axis";
  if (!Includes(OperandAxes(elementwise->operands()), axes))
    return "the elementwise loop does not have the axis";
  for (const Op* other = elementwise->region()->first(); other != &op; other = other->next()) {
    bool differs = other->kind() == OpKind::ScanInLoop &&
                   (other->attr<AttrKey::Axes>() != axes ||
                    other->attr<AttrKey::Direction>() != op.attr<AttrKey::Direction>());
    if (differs) return "another scan in the elementwise loop has another axis or direction";
    if (other->kind() == OpKind::ReduceInLoop) return "the elementwise loop also has a reduction";
  }
  if (std::string fault = FoldRegionFault(op); !fault.empty()) return fault;
  return FoldResultsFault(op, {});
}

std::string GatherFault(const Op& op, const Module&) {
  Type tile = op.operand(0)->type();
  if (!IsTile(tile)) return "the operand is not a tile";
  AxisList over = op.attr<AttrKey::Axes>();
  if (std::string fault = AxisListFault(over, tile->axes); !fault.empty()) return fault;
  Values index = op.Segment(GatherOp::at_index);
  if (index.size() != over.size())
    return fmt::format("the number of indices is {}, but the number of axes is {}", index.size(),
                       over.size());
  for (const Value* value : index) {
    if (!IsTile(value->type()) || value->type()->scalar != Scalar::I64)
      return "an index is neither an i64 nor a tile of i64";
  }
  if (std::string fault = MaskFault(op.Segment(GatherOp::at_mask)); !fault.empty()) return fault;
  Values otherwise = op.Segment(GatherOp::at_otherwise);
  bool is_else = op.attr<AttrKey::BoundsMode>() == BoundsMode::Else;
  if (is_else == otherwise.empty())
    return is_else ? "bounds mode 'else' without a value for elements outside"
                   : "a value for elements outside, but the bounds mode is not 'else'";
  Type result = op.result()->type();
  for (const Value* value : otherwise) {
    if (!IsTile(value->type()) || value->type()->scalar != tile->scalar)
      return "the value for elements outside does not have the element type of the tile";
  }
  std::vector<AxisId> axes = OperandAxes(index, Without(tile->axes, over));
  axes = OperandAxes(op.Segment(GatherOp::at_mask), OperandAxes(otherwise, axes));
  bool fits = IsTile(result) && result->scalar == tile->scalar && result->axes == axes;
  return fits ? "" : "the result does not have the tile's other axes and the axes of the indices";
}

/// Checks a sliding window. The index along each axis of the window is a sum over blocks, whose axes replace
/// that axis in the result.
std::string SlidingWindowFault(const Op& op, const Module&) {
  Type tile = op.operand(0)->type();
  if (!IsTile(tile)) return "the operand is not a tile";
  AxisList over = op.attr<AttrKey::Axes>();
  if (std::string fault = AxisListFault(over, tile->axes); !fault.empty()) return fault;
  Values index = op.Segment(SlidingWindowOp::at_index);
  for (const Value* block : index) {
    if (!IsBlock(block)) return "an index is not a block";
  }
  Access access = op.attr<AttrKey::Access>();
  if (access.dims.size() != over.size())
    return fmt::format("the number of indices is {}, but the number of axes is {}",
                       access.dims.size(), over.size());
  for (const AccessDim& dim : access.dims) {
    for (const AccessTerm& term : dim.terms) {
      if (term.operand >= index.size())
        return fmt::format("index operand {} of {}", term.operand, index.size());
    }
  }
  Type result = op.result()->type();
  bool fits = IsTile(result) && result->scalar == tile->scalar &&
              result->axes == OperandAxes(index, Without(tile->axes, over));
  return fits ? "" : "the result does not have the tile's other axes and the axes of the indices";
}

}  // namespace

KDL_TYPE_RULE(Reduce, ReduceFault)
KDL_TYPE_RULE(Contraction, ContractionFault)
KDL_TYPE_RULE(MultiReduce, FoldFault)
KDL_TYPE_RULE(Scan, ScanFault)
KDL_TYPE_RULE(ScanInLoop, ScanInLoopFault)
KDL_TYPE_RULE(Gather, GatherFault)
KDL_TYPE_RULE(SlidingWindow, SlidingWindowFault)

}  // namespace kdl::ir
