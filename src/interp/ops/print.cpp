#include "interp/ops/print.h"

#include <charconv>
#include <string_view>

#include "interp/launch_state.h"
#include "ir/eval/eval.h"
#include "ir/views.h"
#include "support/float_bits.h"

// Formats prints exactly as the runtime does for compiled code.

namespace kdl::interp {

namespace {

// A print with more elements than this shows only the first few, in one row.
constexpr size_t kMostShown = 64;
constexpr size_t kFirstShown = 8;

template <class Number>
std::string Shortest(Number number) {
  if (number != number) return "nan";
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string ElementText(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits != 0 ? "true" : "false";
  if (scalar == Scalar::F64) return Shortest(FloatValue(scalar, bits));
  if (IsFloat(scalar)) return Shortest(static_cast<float>(FloatValue(scalar, bits)));
  return IsSigned(scalar) ? Shortest(ir::Extended(scalar, bits)) : Shortest(bits);
}

std::string Nested(const Tile& tile, Scalar scalar, size_t axis, size_t& next) {
  if (axis == tile.ranges.size()) return ElementText(scalar, tile.elements[next++]);
  std::string text = "[";
  for (int64_t i = 0; i < tile.ranges[axis].size; ++i)
    text += (i == 0 ? "" : ", ") + Nested(tile, scalar, axis + 1, next);
  return text + "]";
}

std::string TileText(const Tile& tile, Scalar scalar) {
  size_t next = 0;
  if (tile.elements.size() <= kMostShown) return Nested(tile, scalar, 0, next);
  std::string text = "[";
  for (; next < kFirstShown; ++next) text += ElementText(scalar, tile.elements[next]) + ", ";
  return text + "…]";
}

/// Returns the elements of a buffer within the given sizes, as a tile.
Tile Shown(const Buffer& buffer, ir::Type type, const std::vector<int64_t>& sizes) {
  std::vector<AxisRange> all;
  std::vector<AxisRange> shown;
  for (size_t d = 0; d < sizes.size(); ++d) {
    all.push_back({0, type->dims[d]->value});
    shown.push_back({0, sizes[d]});
  }
  Tile tile{shown, {}};
  for (PointWalk walk(sizes, {StridesOf(all)}); !walk.done(); walk.Next())
    tile.elements.push_back(buffer.elements[static_cast<size_t>(walk.offset(0))]);
  return tile;
}

class Printer {
 public:
  Printer(Activation& here, const Instruction& print) : here_(here), print_(print) {}

  std::string Text() {
    std::string text;
    std::string_view format = print_.op->attr<ir::AttrKey::Text>().text();
    for (size_t at = 0; at < format.size(); ++at) {
      std::string_view two = format.substr(at, 2);
      bool takes = two == "{}" && value_ < print_.op->Segment(ir::PrintOp::at_values).size();
      text += takes ? NextValue() : std::string(two == "{}" ? two : two.substr(0, 1));
      if (two == "{}" || two == "{{" || two == "}}") ++at;
    }
    return text;
  }

 private:
  std::string NextValue() {
    ir::Type type = print_.op->operand(value_)->type();
    Slot slot = print_.operands[value_++];
    if (slot.kind == SlotKind::Scalar) return ElementText(type->scalar, here_.scalar(slot));
    if (slot.kind == SlotKind::Tile) return TileText(*here_.tile(slot), type->scalar);
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < type->dims.size(); ++d) {
      size_t operand = print_.op->SegmentBegin(ir::PrintOp::at_sizes) + size_++;
      sizes.push_back(static_cast<int64_t>(here_.scalar(print_.operands[operand])));
    }
    return TileText(Shown(here_.buffers[slot.index], type, sizes), type->scalar);
  }

  Activation& here_;
  const Instruction& print_;
  size_t value_ = 0;
  size_t size_ = 0;
};

}  // namespace

void RunPrint(Core& core, Activation& here, const Instruction& instruction) {
  LaunchState* launch = core.facts.launch;
  if (launch && launch->print) launch->print(Printer(here, instruction).Text() + "\n");
}

}  // namespace kdl::interp
