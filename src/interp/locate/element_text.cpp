#include "interp/locate/element_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <variant>

#include "ir/op_info.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

void Append(std::string& text, const std::string& more) {
  if (!text.empty()) text += ", ";
  text += more;
}

/// The absolute index along one axis.
struct AxisIndex {
  ir::AxisId axis;
  int64_t index = 0;
};

/// Returns the indices of element number `element` of a tile.
std::vector<AxisIndex> IndicesIn(const std::vector<ir::AxisId>& axes, const Tile& tile,
                                 size_t element) {
  std::vector<AxisIndex> indices(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    auto size = static_cast<size_t>(tile.ranges[a].size);
    indices[a] = {axes[a], tile.ranges[a].start + static_cast<int64_t>(element % size)};
    element /= size;
  }
  return indices;
}

std::vector<AxisIndex> ResultIndices(const OpPair& op, size_t element) {
  Slot slot = op.instruction.results[0];
  if (slot.kind != SlotKind::Tile) return {};
  return IndicesIn(op.instruction.op->result()->type()->axes, *op.here.tiles[slot.index], element);
}

const AxisIndex* Find(const std::vector<AxisIndex>& indices, ir::AxisId axis) {
  auto found = std::ranges::find(indices, axis, &AxisIndex::axis);
  return found == indices.end() ? nullptr : &*found;
}

void AddElement(OperandPart& part, double value, double exact, const std::string& at) {
  ++part.count;
  part.has_nan |= std::isnan(value);
  part.has_infinity |= std::isinf(value);
  bool is_largest =
      part.count == 1 || std::isnan(value) || std::fabs(value) > std::fabs(part.largest);
  if (!is_largest || (part.count > 1 && std::isnan(part.largest))) return;
  part.largest = value;
  part.largest_exact = exact;
  part.largest_at = at;
}

OperandPart PartOf(const OpPair& op, size_t operand, const std::vector<AxisIndex>& at) {
  OperandPart part;
  part.value = op.instruction.op->operand(operand);
  ir::Type type = part.value->type();
  Slot slot = op.instruction.operands[operand];
  const uint64_t* bits = SlotElements(op.here, slot);
  const uint64_t* exact = SlotElements(op.exact, op.exact_instruction.operands[operand]);
  auto add = [&](size_t i, const std::string& indices) {
    AddElement(part, FloatValue(type->scalar, bits[i]), std::bit_cast<double>(exact[i]), indices);
  };
  if (slot.kind != SlotKind::Tile) {
    add(0, "");
    return part;
  }
  const Tile& tile = *op.here.tiles[slot.index];
  const ir::Function& function = *op.here.code->function;
  for (size_t i = 0; i < tile.elements.size(); ++i) {
    std::string reduced;
    bool is_used = true;
    for (const AxisIndex& own : IndicesIn(type->axes, tile, i)) {
      const AxisIndex* fixed = Find(at, own.axis);
      is_used = is_used && (!fixed || fixed->index == own.index);
      if (!fixed && is_used)
        Append(reduced, fmt::format("{} = {}", function.axis(own.axis).name.text(), own.index));
    }
    if (is_used) add(i, reduced);
  }
  return part;
}

/// Returns the index, or the range of indices, of the current iteration of a loop.
std::string IterationText(const Frame& frame, size_t param) {
  Slot slot = frame.block->params[param];
  const ir::Value* value = frame.owner->op->region()->param(param);
  std::string_view name = VariableOf(*value);
  if (name.empty()) return "";
  if (slot.kind == SlotKind::Scalar && value->type()->scalar == Scalar::I64)
    return fmt::format("{} = {}", name, static_cast<int64_t>(frame.here->scalars[slot.index]));
  if (slot.kind != SlotKind::Block) return "";
  const BlockFacts& block = frame.here->blocks[slot.index];
  if (block.size == 1) return fmt::format("{} = {}", name, block.start);
  return fmt::format("{} = {} .. {}", name, block.start, block.start + block.size - 1);
}

/// Returns the point for which the current call of a fn is executed.
std::string PointText(const Core& core, size_t frame) {
  const Instruction& call = *core.frames[frame].owner;
  const auto& state = std::get<PointState>(core.frames[frame].control);
  const Activation& caller = *core.frames[frame - 1].here;
  std::string text;
  for (size_t a = 0; a < call.points->axes.size(); ++a) {
    Append(text,
           fmt::format("{} = {}", caller.code->function->axis(call.points->axes[a]).name.text(),
                       caller.blocks[call.points->blocks[a]].start + state.walk.position(a)));
  }
  return text;
}

bool IsLoop(ir::OpKind kind) {
  return kind == ir::OpKind::For || kind == ir::OpKind::Spmd || kind == ir::OpKind::Loop;
}

}  // namespace

std::vector<OperandPart> OperandParts(const OpPair& op, size_t element) {
  std::vector<AxisIndex> at = ResultIndices(op, element);
  std::vector<OperandPart> parts;
  for (size_t i = 0; i < op.instruction.operands.size(); ++i) {
    const ir::Value* operand = op.instruction.op->operand(i);
    if (ir::IsTile(operand->type()) && IsFloat(operand->type()->scalar))
      parts.push_back(PartOf(op, i, at));
  }
  return parts;
}

std::string_view VariableOf(const ir::Value& value) {
  // In printed KIR, values with the same name have numbers.
  std::string_view name = value.name().text();
  size_t dot = name.rfind('.');
  bool is_number = dot != std::string_view::npos && dot + 1 < name.size() &&
                   std::ranges::all_of(name.substr(dot + 1),
                                       [](unsigned char c) { return std::isdigit(c) != 0; });
  if (is_number) name = name.substr(0, dot);
  bool is_own = name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0;
  return is_own ? std::string_view() : name;
}

std::string IndicesOf(const OpPair& op, size_t element) {
  std::string text;
  const ir::Function& function = *op.here.code->function;
  std::vector<AxisIndex> own = ResultIndices(op, element);
  for (const AxisIndex& index : own)
    Append(text, fmt::format("{} = {}", function.axis(index.axis).name.text(), index.index));
  for (size_t f = op.core.frames.size(); f-- > 0;) {
    const Frame& frame = op.core.frames[f];
    if (!frame.owner) continue;
    if (frame.owner->op->kind() == ir::OpKind::Call && frame.owner->points &&
        std::holds_alternative<PointState>(frame.control)) {
      std::string point = PointText(op.core, f);
      if (!point.empty()) Append(text, point);
      continue;
    }
    if (!IsLoop(frame.owner->op->kind())) continue;
    for (size_t p = 0; p < frame.block->params.size(); ++p) {
      ir::Type type = frame.owner->op->region()->param(p)->type();
      bool is_known = type->kind == ir::TypeKind::Block && frame.here == &op.here &&
                      Find(own, type->axes[0]) != nullptr;
      // The values that a loop carries follow its index.
      bool is_index = frame.owner->op->kind() == ir::OpKind::Spmd || p == 0;
      std::string iteration = is_known || !is_index ? "" : IterationText(frame, p);
      if (!iteration.empty()) Append(text, iteration);
    }
  }
  return text;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{:.7g}", value);
}

}  // namespace kdl::interp
