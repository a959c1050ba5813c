#include "interp/locate/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "interp/locate/element_text.h"
#include "ir/op_info.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

/// Errors of this many units of rounding are normal even for functions whose argument's error they multiply, such as
/// exp(20).
constexpr double kUsualErrors = 64;

/// Whether the op computes numbers. Loads and moves only have values that have been checked before.
bool Computes(const ir::Op& op) {
  return op.info().is_computed() || op.kind() == ir::OpKind::Reduce ||
         op.kind() == ir::OpKind::Contraction || op.kind() == ir::OpKind::Call;
}

/// Whether the function belongs to the library. Its results matter, but not the values on the way to them.
bool IsLibraryFn(const ir::Function& function) {
  return function.kind == ir::FunctionKind::Fn && function.loc.file.text().starts_with("std/");
}

double Epsilon(Scalar scalar) { return std::ldexp(1, -Info(scalar).format.fraction); }

size_t CountOf(const Activation& values, Slot slot) {
  return slot.kind == SlotKind::Tile ? values.tiles[slot.index]->elements.size() : 1;
}

double Exact(const Activation& values, Slot slot, size_t element) {
  return std::bit_cast<double>(SlotElements(values, slot)[element]);
}

/// Returns the largest magnitude that occurs while the result is computed. An element that is much smaller than others of its
/// tile may consist of their rounding errors, because terms have cancelled by chance.
double ScaleOf(const OpPair& op, size_t count) {
  double scale = 0;
  auto add = [&](double value) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  };
  for (size_t i = 0; i < count; ++i) add(Exact(op.exact, op.exact_instruction.results[0], i));
  if (op.instruction.op->info().is_computed() || op.instruction.op->kind() == ir::OpKind::Call)
    return scale;
  double terms = 1;
  size_t factors = op.instruction.op->kind() == ir::OpKind::Contraction ? 2 : 1;
  for (size_t f = 0; f < factors; ++f) {
    double largest = 0;
    Slot slot = op.exact_instruction.operands[f];
    for (size_t i = 0; i < CountOf(op.exact, slot); ++i)
      largest = std::max(largest, std::fabs(Exact(op.exact, slot, i)));
    terms *= largest;
  }
  add(terms);
  return scale;
}

Trap Describe(const OpPair& op, size_t element, double value, double exact) {
  const ir::Op& made = *op.instruction.op;
  std::string_view name = VariableOf(*made.result());
  std::string indices = IndicesOf(op, element);
  Trap trap{KDL_TRAP_SIZES, &made, -1, 0, 0};
  trap.text = fmt::format("the value{}{} is {}", name.empty() ? "" : fmt::format(" of {}", name),
                          indices.empty() ? "" : fmt::format(" at {}", indices), NumberText(value));
  bool is_same = std::isnan(value) ? std::isnan(exact) : value == exact;
  trap.text += is_same ? ", also in f64" : fmt::format(", but in f64 it is {}", NumberText(exact));
  for (const OperandPart& part : OperandParts(op, element)) {
    std::string_view of = VariableOf(*part.value);
    std::string text = of.empty() ? "this" : std::string(of);
    if (part.count > 1) {
      text = fmt::format("the largest of {} elements{}, at {},", part.count,
                         of.empty() ? "" : fmt::format(" of {}", of), part.largest_at);
    }
    text += fmt::format(" is {}", NumberText(part.largest));
    bool exact_too = std::isnan(part.largest) || part.largest == part.largest_exact;
    if (!exact_too) text += fmt::format(", in f64 {}", NumberText(part.largest_exact));
    const ir::Op* def = part.value->def();
    trap.notes.emplace_back(def && def->loc().line != 0 ? def->loc() : made.loc(), text);
  }
  return trap;
}

}  // namespace

double NarrowestEpsilon(const std::vector<const ir::Function*>& functions) {
  double narrowest = 0;
  auto see = [&](const ir::Value* value) {
    Scalar scalar = value->type()->scalar;
    if (IsFloat(scalar)) narrowest = std::max(narrowest, Epsilon(scalar));
  };
  for (const ir::Function* function : functions) {
    std::ranges::for_each(function->body->params(), see);
    ir::Walk(function->body, [&](const ir::Op* op) { std::ranges::for_each(op->results(), see); });
  }
  return narrowest;
}

Judge::Judge(Located what, double epsilon, double longest)
    : what_(what),
      tolerance_(4 * epsilon + std::max(kUsualErrors, std::sqrt(longest)) *
                                   std::min(epsilon, Epsilon(Scalar::F32))) {}

bool Judge::IsWrong(const OpPair& op, size_t element, double value, double exact,
                    double scale) const {
  if (std::isfinite(value)) {
    return what_ == Located::Errors && std::isfinite(exact) &&
           std::fabs(value - exact) > tolerance_ * scale;
  }
  // A value is wrong where it becomes NaN or infinite. An infinite constant may be meant.
  for (const OperandPart& part : OperandParts(op, element)) {
    if (part.has_nan || (part.has_infinity && std::isinf(value))) return false;
  }
  return !op.instruction.operands.empty();
}

std::optional<Trap> Judge::Check(const OpPair& op) const {
  const ir::Op& made = *op.instruction.op;
  bool is_checked = Computes(made) && IsFloat(made.result()->type()->scalar) &&
                    !IsLibraryFn(*op.here.code->function);
  if (!is_checked) return std::nullopt;
  Slot slot = op.instruction.results[0];
  Slot exact_slot = op.exact_instruction.results[0];
  size_t count = CountOf(op.here, slot);
  double scale = what_ == Located::Errors ? ScaleOf(op, count) : 0;
  const uint64_t* bits = SlotElements(op.here, slot);
  for (size_t i = 0; i < count; ++i) {
    double value = FloatValue(made.result()->type()->scalar, bits[i]);
    double exact = Exact(op.exact, exact_slot, i);
    if (IsWrong(op, i, value, exact, scale)) return Describe(op, i, value, exact);
  }
  return std::nullopt;
}

}  // namespace kdl::interp
