#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"
#include "ir/matrix_instruction.h"
#include "ir/op_table.h"
#include "ir/views.h"

// Writes ops that build, split and permute vectors.

namespace kdl::codegen::c_source {

namespace {

using ir::AttrKey;

/// The size of the lanes of a vector: of bools, that of the first operand's.
int LaneBits(const Writer& w, const Op* op, Scalar scalar) {
  if (scalar != Scalar::Bool) return 8 * Bytes(scalar);
  int bits = w.At(op->operand(0)).mask_bits;
  return bits == 0 ? 32 : bits;
}

/// Defines the op's result as a vector of these scalars.
void DefineListed(Writer& w, const ir::Value* result, const std::vector<std::string>& scalars,
                  int mask_bits) {
  Scalar scalar = result->type()->scalar;
  auto lanes = std::ssize(scalars);
  std::string type = w.helpers.Vector(scalar, lanes, mask_bits);
  std::vector<Part> parts = w.helpers.Parts(mask_bits > 0 ? mask_bits : 8 * Bytes(scalar), lanes);
  std::string list;
  for (const Part& part : parts) {
    auto first = scalars.begin() + part.first;
    std::string one =
        fmt::format("KDL_VECTOR_OF({}, {})", w.helpers.Vector(scalar, part.lanes, mask_bits),
                    part.used > 0 ? fmt::format("{}", fmt::join(first, first + part.used, ", "))
                                  : std::string("0"));
    list += (list.empty() ? "" : ", ") + one;
  }
  w.Define(result, parts.size() > 1 ? fmt::format("({}){{{}}}", type, list) : list, mask_bits);
}

/// The registers of vectors whose lanes are picked, in order.
struct Registers {
  std::string type;
  int64_t lanes;  ///< of a register
  std::vector<std::string> texts;
};

Registers RegistersOf(Writer& w, const Op* op, int bits, int mask_bits) {
  Scalar scalar = op->operand(0)->type()->scalar;
  int64_t lanes = ir::Lanes(op->operand(0)->type());
  std::vector<Part> parts = w.helpers.Parts(bits, lanes);
  Registers registers{w.helpers.Vector(scalar, parts[0].lanes, mask_bits), parts[0].lanes, {}};
  for (const ir::Value* operand : op->operands()) {
    std::string text = w.Lanes(operand, lanes, mask_bits);
    for (const Part& part : parts) registers.texts.push_back(text + part.field);
  }
  return registers;
}

/// Returns an expression for a register with the lanes that have these numbers, counted over `from`; -1 is any lane.
/// Compilers have good code for lanes of one register or of two, so further registers are added one after the other.
std::string Picked(Writer& w, const Registers& from, const std::string& type,
                   const std::vector<int64_t>& numbers) {
  int64_t padded = PaddedLanes(from.lanes);
  std::vector<int64_t> used;
  for (int64_t number : numbers)
    if (number >= 0 && std::ranges::find(used, number / from.lanes) == used.end())
      used.push_back(number / from.lanes);
  bool is_alike = PaddedLanes(std::ssize(numbers)) == padded;
  std::string text;
  for (size_t u = 0; u < used.size(); ++u) {
    auto lane_in = [&](int64_t number, size_t which) {
      return number >= 0 && number / from.lanes == used[which] ? number % from.lanes : -1;
    };
    std::vector<int64_t> own;  // those of this register
    for (int64_t number : numbers) own.push_back(lane_in(number, u));
    const std::string& source = from.texts[static_cast<size_t>(used[u])];
    if (u == 0 && is_alike && used.size() > 1) {  // both at once
      for (size_t l = 0; l < numbers.size(); ++l)
        if (int64_t second = lane_in(numbers[l], 1); second >= 0) own[l] = padded + second;
      text = fmt::format("{}({}, {})", w.helpers.Shuffle(type, from.type, 2, from.lanes, own),
                         source, from.texts[static_cast<size_t>(used[1])]);
      ++u;
      continue;
    }
    bool picks_all = is_alike;  // whether lanes keep their places
    std::vector<int64_t> blend;
    for (size_t l = 0; l < numbers.size(); ++l) {
      auto at = static_cast<int64_t>(l);
      picks_all &= own[l] == at || own[l] < 0;
      int64_t place = is_alike ? own[l] : at;
      blend.push_back(own[l] >= 0 ? PaddedLanes(std::ssize(numbers)) + place : at);
    }
    std::string moved = source;
    if (!is_alike || (used.size() == 1 && !picks_all))
      moved = fmt::format("{}({})", w.helpers.Shuffle(type, from.type, 1, from.lanes, own), source);
    text = text.empty() ? moved
                        : fmt::format("{}({}, {})",
                                      w.helpers.Shuffle(type, type, 2, std::ssize(numbers), blend),
                                      text, moved);
  }
  return text.empty() ? fmt::format("KDL_VECTOR_OF({}, 0)", type) : text;
}

/// Defines the op's result as the lanes with these numbers, counted over all operands.
void DefinePicked(Writer& w, const Op* op, const ir::Value* result, const ir::NumberList& numbers) {
  int64_t lanes = ir::Lanes(op->operand(0)->type());
  Scalar scalar = result->type()->scalar;
  int bits = LaneBits(w, op, scalar);
  int mask_bits = scalar == Scalar::Bool ? bits : 0;
  if (lanes == 1) {
    std::vector<std::string> scalars;
    for (int64_t number : numbers) {
      std::string text = w.Get(op->operand(static_cast<size_t>(number)));
      scalars.push_back(scalar == Scalar::Bool ? fmt::format("-({})", text) : text);
    }
    if (ir::Lanes(result->type()) == 1) return w.Define(result, w.Get(op->operand(0)));
    return DefineListed(w, result, scalars, mask_bits);
  }
  Registers from = RegistersOf(w, op, bits, mask_bits);
  std::vector<int64_t> counted;  // over lanes of registers
  int64_t held = from.lanes * (std::ssize(from.texts) / std::ssize(op->operands()));
  for (int64_t number : numbers) counted.push_back(number / lanes * held + number % lanes);
  if (ir::Lanes(result->type()) == 1)
    return w.Define(
        result,
        fmt::format("KDL_LANE({}, {}){}", from.texts[static_cast<size_t>(counted[0] / from.lanes)],
                    counted[0] % from.lanes, scalar == Scalar::Bool ? " != 0" : ""));
  int64_t made = ir::Lanes(result->type());
  std::vector<Part> parts = w.helpers.Parts(bits, made);
  std::string list;
  for (const Part& part : parts) {
    auto first = counted.begin() + part.first;
    std::vector<int64_t> own(first, first + part.used);
    own.resize(static_cast<size_t>(part.lanes), -1);
    std::string text = Picked(w, from, w.helpers.Vector(scalar, part.lanes, mask_bits), own);
    list += (list.empty() ? "" : ", ") + text;
  }
  std::string type = w.helpers.Vector(scalar, made, mask_bits);
  w.Define(result, parts.size() > 1 ? fmt::format("({}){{{}}}", type, list) : list, mask_bits);
}

void WriteHalf(Writer& w, const Op* op) {
  int64_t lanes = ir::Lanes(op->result()->type());
  ir::NumberList numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.push_back(op->attr<AttrKey::Part>() * lanes + lane);
  DefinePicked(w, op, op->result(), numbers);
}

void WriteZip(Writer& w, const Op* op) {
  int64_t lanes = ir::Lanes(op->operand(0)->type());
  auto rows = static_cast<int64_t>(op->operands().size());
  ir::NumberList numbers;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    for (int64_t row = 0; row < rows; ++row) numbers.push_back(row * lanes + lane);
  }
  DefinePicked(w, op, op->result(), numbers);
}

/// Rows may consist of several vectors, one after another.
void WriteTranspose(Writer& w, const Op* op) {
  auto count = static_cast<int64_t>(op->results().size());
  for (int64_t column = 0; column < count; ++column) {
    ir::NumberList numbers;
    for (int64_t row = 0; row < count; ++row) numbers.push_back(row * count + column);
    DefinePicked(w, op, op->result(static_cast<size_t>(column)), numbers);
  }
}

/// The size of the lanes that the mask selects.
int MaskedBits(const ir::Value* mask) {
  for (const ir::Use& use : mask->uses()) {
    bool stores = use.user->kind() == OpKind::Store || use.user->kind() == OpKind::BufferStore;
    if (!stores && use.user->results().empty()) continue;
    ir::Type type = stores ? use.user->operand(0)->type() : use.user->result()->type();
    if (type->scalar != Scalar::Bool) return 8 * Bytes(type->scalar);
  }
  return 32;
}

void WriteLaneMask(Writer& w, const Op* op) {
  int64_t lanes = ir::Lanes(op->result()->type());
  int bits = MaskedBits(op->result());
  w.Define(op->result(),
           fmt::format("{}({})", w.helpers.FirstLanes(bits, lanes), w.Get(op->operand(0))), bits);
}

void WriteLaneNumbers(Writer& w, const Op* op) {
  std::vector<std::string> numbers;
  for (int64_t lane = 0; lane < ir::Lanes(op->result()->type()); ++lane)
    numbers.push_back(fmt::format("{}", lane));
  DefineListed(w, op->result(), numbers, 0);
}

/// Returns the function that counts the true lanes of a vector of bools.
std::string CountFunction(Helpers& helpers, int bits, int64_t lanes) {
  std::string type = helpers.Vector(Scalar::Bool, lanes, bits);
  std::string name = "kdl_count_" + type.substr(4);
  if (helpers.IsDefined(name)) return name;
  std::string body;
  if (std::vector<Part> parts = helpers.Parts(bits, lanes); parts.size() > 1) {
    for (const Part& part : parts) {
      if (part.used > 0)
        body += fmt::format("  count += {}(a{});\n", CountFunction(helpers, bits, part.used),
                            part.field);
    }
  } else {
    body = fmt::format("  for (int l = 0; l < {}; ++l) count += KDL_LANE(a, l) != 0;\n", lanes);
  }
  helpers.Define(name, fmt::format("static inline int64_t {}({} a) {{\n"
                                   "  int64_t count = 0;\n"
                                   "{}"
                                   "  return count;\n"
                                   "}}\n",
                                   name, type, body));
  return name;
}

void WriteCountLanes(Writer& w, const Op* op) {
  int64_t lanes = ir::Lanes(op->operand(0)->type());
  int bits = LaneBits(w, op, Scalar::Bool);
  w.Define(op->result(), fmt::format("{}({})", CountFunction(w.helpers, bits, lanes),
                                     w.Lanes(op->operand(0), lanes, bits)));
}

/// Writes the lanes of a vector in one register for which the mask is true, and then others.
bool WriteCompress(Writer& w, const Op* op) {
  Scalar scalar = op->result()->type()->scalar;
  int64_t lanes = ir::Lanes(op->result()->type());
  int bits = 8 * Bytes(scalar);
  if (scalar == Scalar::Bool || w.helpers.Parts(bits, lanes).size() > 1) return false;
  std::string type = w.helpers.Vector(scalar, lanes);
  std::string name = "kdl_compress_" + type.substr(4);
  std::string text = fmt::format(
      "static inline {0} {1}({0} a, {2} mask) {{\n"
      "  {0} r = a;\n"
      "  int count = 0;\n"
      "  for (int l = 0; l < {3}; ++l) {{\n"
      "    if (KDL_LANE(mask, l)) KDL_LANE(r, count++) = KDL_LANE(a, l);\n"
      "  }}\n"
      "  return r;\n"
      "}}\n",
      type, name, w.helpers.Vector(Scalar::Bool, lanes, bits), lanes);
  if (!w.helpers.IsDefined(name)) w.helpers.Define(name, text);
  w.Define(op->result(), fmt::format("{}({}, {})", name, w.Lanes(op->operand(0), lanes),
                                     w.Lanes(op->operand(1), lanes, bits)));
  return true;
}

/// A step of a matrix instruction on vectors. A factor may have only the terms of one lane, which are then those of every
/// lane.
struct Step {
  const ir::MatrixInstruction& instruction;
  Scalar a, b, acc;
  int64_t lanes, lanes_of_a, lanes_of_b;

  int64_t terms() const { return std::max(lanes_of_a, lanes_of_b) / lanes; }
  bool is_shared(int64_t lanes_of_factor) const { return lanes_of_factor == terms() && lanes > 1; }
  /// Returns the step for so many lanes.
  Step WithLanes(int64_t count) const {
    Step step = *this;
    step.lanes = count;
    if (!is_shared(lanes_of_a)) step.lanes_of_a = count * terms();
    if (!is_shared(lanes_of_b)) step.lanes_of_b = count * terms();
    return step;
  }
  std::string Name() const {
    std::string name = fmt::format("kdl_step_{}_{}x{}_{}_{}", instruction.name, Spelling(acc),
                                   lanes, lanes_of_a, lanes_of_b);
    std::ranges::replace(name, '.', '_');
    return name;
  }
};

/// Returns the expression for a lane of the result after one more term.
std::string TermText(Helpers& helpers, const Step& step) {
  auto widened = [&](Scalar of, std::string_view name, int64_t lanes) {
    std::string lane = step.is_shared(lanes)
                           ? fmt::format("KDL_LANE({}, t)", name)
                           : fmt::format("KDL_LANE({}, l * {} + t)", name, step.terms());
    return of == step.acc ? lane : fmt::format("{}({})", helpers.Conversion(of, step.acc), lane);
  };
  std::string a = widened(step.a, "a", step.lanes_of_a);
  std::string b = widened(step.b, "b", step.lanes_of_b);
  std::string_view sum = step.lanes > 1 ? "KDL_LANE(r, l)" : "r";
  if (IsInteger(step.acc))
    return fmt::format("{}({}, {}({}, {}))", helpers.Function("add", step.acc), sum,
                       helpers.Function("mul", step.acc), a, b);
  std::string_view term = ir::kOpTable[static_cast<size_t>(step.instruction.term)].spelling;
  return fmt::format("{}({}, {}, {})", helpers.Function(term, step.acc), a, b, sum);
}

/// Returns the function for a step, whose terms are added in the instruction's order.
std::string StepFunction(Helpers& helpers, const Step& step) {
  std::string name = step.Name();
  if (helpers.IsDefined(name)) return name;
  std::string type =
      step.lanes > 1 ? helpers.Vector(step.acc, step.lanes) : std::string(VariableType(step.acc));
  std::string params = fmt::format("{} a, {} b, {} r", helpers.Vector(step.a, step.lanes_of_a),
                                   helpers.Vector(step.b, step.lanes_of_b), type);
  std::vector<Part> parts = helpers.Parts(8 * Bytes(step.acc), step.lanes);
  std::string body;
  if (parts.size() > 1) {
    for (const Part& part : parts) {
      if (part.used == 0) continue;
      body += fmt::format("  r{0} = {1}(a{2}, b{3}, r{0});\n", part.field,
                          StepFunction(helpers, step.WithLanes(part.lanes)),
                          step.is_shared(step.lanes_of_a) ? "" : part.field,
                          step.is_shared(step.lanes_of_b) ? "" : part.field);
    }
  } else {
    bool backward = step.instruction.order == ir::StepOrder::Backward;
    body = fmt::format(
        "  for (int t = {}) {{\n"
        "    for (int l = 0; l < {}; ++l) {} = {};\n"
        "  }}\n",
        backward ? fmt::format("{}; t >= 0; --t", step.terms() - 1)
                 : fmt::format("0; t < {}; ++t", step.terms()),
        step.lanes, step.lanes > 1 ? "KDL_LANE(r, l)" : "r", TermText(helpers, step));
  }
  helpers.Define(name, fmt::format("static inline {} {}({}) {{\n{}  return r;\n}}\n", type, name,
                                   params, body));
  return name;
}

/// Whether the registers of the result need the same registers of the factors, as those of all instructions do.
bool HaveEqualParts(const Helpers& helpers, const Step& step) {
  size_t parts = helpers.Parts(8 * Bytes(step.acc), step.lanes).size();
  auto fits = [&](Scalar scalar, int64_t lanes) {
    return helpers.Parts(8 * Bytes(scalar), lanes).size() == (step.is_shared(lanes) ? 1 : parts);
  };
  return fits(step.a, step.lanes_of_a) && fits(step.b, step.lanes_of_b);
}

bool WriteVectorMma(Writer& w, const Op* op) {
  const ir::MatrixInstruction* found = nullptr;
  for (const ir::MatrixInstruction* one : w.instructions)
    if (one->name == op->attr<AttrKey::Instruction>().text()) found = one;
  bool in_order =
      found && (found->order == ir::StepOrder::Forward || found->order == ir::StepOrder::Backward ||
                found->order == ir::StepOrder::Any);
  if (!in_order || op->HasAttr(AttrKey::Part)) return false;
  ir::VectorMmaOp mma(const_cast<Op*>(op));
  Step step{*found,
            mma.a()->type()->scalar,
            mma.b()->type()->scalar,
            op->result()->type()->scalar,
            ir::Lanes(op->result()->type()),
            ir::Lanes(mma.a()->type()),
            ir::Lanes(mma.b()->type())};
  if (step.terms() < 2 || !HaveEqualParts(w.helpers, step)) return false;
  w.Define(op->result(),
           fmt::format("{}({}, {}, {})", StepFunction(w.helpers, step),
                       w.Lanes(mma.a(), step.lanes_of_a), w.Lanes(mma.b(), step.lanes_of_b),
                       w.Lanes(mma.acc(), step.lanes)));
  return true;
}

}  // namespace

std::string Writer::Lanes(const ir::Value* value, int64_t lanes, int mask_bits) {
  const Expression& expression = At(value);
  if (lanes == 1) return expression.text;
  Scalar scalar = value->type()->scalar;
  if (!ir::IsVector(value->type())) {
    return fmt::format("{}({})", helpers.Splat(scalar, lanes, mask_bits), expression.text);
  }
  if (scalar != Scalar::Bool || mask_bits == 0 || expression.mask_bits == mask_bits)
    return expression.text;
  return fmt::format("{}({})", helpers.MaskConversion(expression.mask_bits, mask_bits, lanes),
                     expression.text);
}

bool WriteLanes(Writer& w, const Op* op) {
  switch (op->kind()) {
    case OpKind::Splat: {
      int bits = op->result()->type()->scalar == Scalar::Bool ? 32 : 0;
      w.Define(op->result(), w.Lanes(op->operand(0), ir::Lanes(op->result()->type()), bits), bits);
      return true;
    }
    case OpKind::LaneMask:
      WriteLaneMask(w, op);
      return true;
    case OpKind::LaneNumbers:
      WriteLaneNumbers(w, op);
      return true;
    case OpKind::CountLanes:
      WriteCountLanes(w, op);
      return true;
    case OpKind::Compress:
      return WriteCompress(w, op);
    case OpKind::Half:
      WriteHalf(w, op);
      return true;
    case OpKind::Zip:
      WriteZip(w, op);
      return true;
    case OpKind::Pick:
      DefinePicked(w, op, op->result(), op->attr<AttrKey::Picked>());
      return true;
    case OpKind::Transpose:
      WriteTranspose(w, op);
      return true;
    case OpKind::VectorMma:
      return WriteVectorMma(w, op);
    default:
      return false;
  }
}

}  // namespace kdl::codegen::c_source
