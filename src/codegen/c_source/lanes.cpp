#include <algorithm>
#include <string>

#include "codegen/c_source/writer.h"
#include "ir/matrix_instruction.h"
#include "ir/op_table.h"
#include "ir/views.h"

// Writes ops that build, split and permute vectors.

namespace kdl::codegen::c_source {

namespace {

using ir::AttrKey;

/// Defines the op's result as the lanes with these numbers, counted over all operands.
void DefinePicked(Writer& w, const Op* op, const ir::Value* result, const ir::NumberList& numbers) {
  int64_t lanes = ir::Lanes(op->operand(0)->type());
  Scalar scalar = result->type()->scalar;
  int bits = scalar == Scalar::Bool ? w.At(op->operand(0)).mask_bits : 0;
  auto row = [&](int64_t number) {
    const ir::Value* value = op->operand(static_cast<size_t>(number / lanes));
    return ir::IsVector(value->type()) ? w.Lanes(value, lanes, bits) : w.Get(value);
  };
  if (ir::Lanes(result->type()) == 1)
    return w.Define(
        result, lanes == 1 ? row(numbers[0])
                           : fmt::format("KDL_LANE({}, {}){}", row(numbers[0]), numbers[0] % lanes,
                                         scalar == Scalar::Bool ? " != 0" : ""));
  std::string list;
  bool shuffles = op->operands().size() <= 2 && lanes > 1;
  for (int64_t number : numbers) {
    if (!list.empty()) list += ", ";
    list += shuffles    ? fmt::format("{}", number / lanes * PaddedLanes(lanes) + number % lanes)
            : lanes > 1 ? fmt::format("KDL_LANE({}, {})", row(number), number % lanes)
                        : row(number);
  }
  if (shuffles) {
    for (int64_t lane = std::ssize(numbers); lane < PaddedLanes(std::ssize(numbers)); ++lane)
      list += ", -1";
    std::string type = w.helpers.Vector(scalar, ir::Lanes(result->type()), bits);
    std::string name = w.helpers.Shuffle(type, w.helpers.Vector(scalar, lanes, bits),
                                         op->operands().size(), lanes, list, numbers.size());
    std::string rest = op->operands().size() == 2 ? ", " + row(lanes) : "";
    return w.Define(result, fmt::format("{}({}{})", name, row(0), rest), bits);
  }
  std::string type = w.helpers.Vector(scalar, ir::Lanes(result->type()), bits == 0 ? 32 : bits);
  w.Define(result, fmt::format("KDL_VECTOR_OF({}, {})", type, list),
           bits == 0 && scalar == Scalar::Bool ? 32 : bits);
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
  std::string type = w.helpers.Vector(Scalar::Bool, lanes, bits);
  std::string name = fmt::format("kdl_first_m{}x{}", bits, lanes);
  w.helpers.Define(
      name,
      fmt::format("static inline {0} {1}(int64_t count) {{\n"
                  "  {0} r = {{0}};\n"
                  "  KDL_LOOP for (int l = 0; l < {2}; ++l) KDL_LANE(r, l) = l < count ? -1 : 0;\n"
                  "  return r;\n"
                  "}}\n",
                  type, name, lanes));
  w.Define(op->result(), fmt::format("{}({})", name, w.Get(op->operand(0))), bits);
}

void WriteLaneNumbers(Writer& w, const Op* op) {
  std::string list;
  for (int64_t lane = 0; lane < ir::Lanes(op->result()->type()); ++lane)
    list += fmt::format("{}{}", lane > 0 ? ", " : "", lane);
  w.Define(op->result(), fmt::format("KDL_VECTOR_OF({}, {})", w.Type(op->result()), list));
}

/// The terms of each lane are added in the instruction's order.
bool WriteVectorMma(Writer& w, const Op* op) {
  const ir::MatrixInstruction* found = nullptr;
  for (const ir::MatrixInstruction* one : w.instructions)
    if (one->name == op->attr<AttrKey::Instruction>().text()) found = one;
  bool in_order =
      found && (found->order == ir::StepOrder::Forward || found->order == ir::StepOrder::Backward ||
                found->order == ir::StepOrder::Any);
  if (!in_order || op->HasAttr(AttrKey::Part)) return false;
  ir::VectorMmaOp mma(const_cast<Op*>(op));
  int64_t lanes = ir::Lanes(op->result()->type());
  Scalar a = mma.a()->type()->scalar;
  Scalar b = mma.b()->type()->scalar;
  Scalar acc = op->result()->type()->scalar;
  int64_t lanes_of_a = ir::Lanes(mma.a()->type());
  int64_t lanes_of_b = ir::Lanes(mma.b()->type());
  int64_t terms = std::max(lanes_of_a, lanes_of_b) / lanes;
  if (terms < 2) return false;
  bool of_integers = IsInteger(acc);
  std::string type = w.Type(op->result());
  std::string of_a = w.helpers.Vector(a, lanes_of_a);
  std::string of_b = w.helpers.Vector(b, lanes_of_b);
  // A factor may have only the terms of one lane, which are then those of every lane.
  auto widened = [&](Scalar of, std::string_view name) {
    bool is_shared = (name == "a" ? lanes_of_a : lanes_of_b) == terms && lanes > 1;
    std::string lane = is_shared ? fmt::format("KDL_LANE({}, t)", name)
                                 : fmt::format("KDL_LANE({}, l * {} + t)", name, terms);
    return of == acc ? lane : fmt::format("{}({})", w.helpers.Conversion(of, acc), lane);
  };
  std::string sum = lanes > 1 ? "KDL_LANE(r, l)" : "r";
  std::string term =
      of_integers ? fmt::format("{}({}, {}({}, {}))", w.helpers.Function("add", acc), sum,
                                w.helpers.Function("mul", acc), widened(a, "a"), widened(b, "b"))
                  : fmt::format("{}({}, {}, {})",
                                w.helpers.Function(
                                    ir::kOpTable[static_cast<size_t>(found->term)].spelling, acc),
                                widened(a, "a"), widened(b, "b"), sum);
  std::string name = fmt::format("kdl_step_{}_{}x{}_{}_{}", found->name, Spelling(acc), lanes,
                                 lanes_of_a, lanes_of_b);
  std::ranges::replace(name, '.', '_');
  bool backward = found->order == ir::StepOrder::Backward;
  w.helpers.Define(name, fmt::format("static inline {0} {1}({2} a, {3} b, {0} r) {{\n"
                                     "  for (int t = {4}) {{\n"
                                     "    for (int l = 0; l < {5}; ++l) {7} = {6};\n"
                                     "  }}\n"
                                     "  return r;\n"
                                     "}}\n",
                                     type, name, of_a, of_b,
                                     backward ? fmt::format("{}; t >= 0; --t", terms - 1)
                                              : fmt::format("0; t < {}; ++t", terms),
                                     lanes, term, sum));
  w.Define(op->result(), fmt::format("{}({}, {}, {})", name, w.Lanes(mma.a(), lanes_of_a),
                                     w.Lanes(mma.b(), lanes_of_b), w.Lanes(mma.acc(), lanes)));
  return true;
}

}  // namespace

std::string Writer::Lanes(const ir::Value* value, int64_t lanes, int mask_bits) {
  const Expression& expression = At(value);
  if (lanes == 1) return expression.text;
  Scalar scalar = value->type()->scalar;
  if (!ir::IsVector(value->type())) {
    std::string type = helpers.Vector(scalar, lanes, mask_bits);
    std::string name = scalar == Scalar::Bool
                           ? fmt::format("kdl_splat_m{}x{}", mask_bits, lanes)
                           : fmt::format("kdl_splat_{}x{}", Spelling(scalar), lanes);
    helpers.Define(name,
                   fmt::format("static inline {0} {1}({2} a) {{\n"
                               "  {0} r = {{0}};\n"
                               "  KDL_LOOP for (int l = 0; l < {3}; ++l) KDL_LANE(r, l) = {4};\n"
                               "  return r;\n"
                               "}}\n",
                               type, name, VariableType(scalar), lanes,
                               scalar == Scalar::Bool ? "a ? -1 : 0" : "a"));
    return fmt::format("{}({})", name, expression.text);
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
