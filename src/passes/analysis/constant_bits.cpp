#include "passes/analysis/constant_bits.h"

#include "ir/eval.h"

namespace kdl::passes {

std::optional<uint64_t> ConstantBits(const ir::Value* value, const Sizes& known) {
  const ir::Op* op = value->def();
  if (!op) return std::nullopt;
  if (op->kind() == OpKind::Const) return static_cast<uint64_t>(op->attr<AttrKey::Bits>());
  if (op->kind() == OpKind::SizeOf) {
    auto size = EvaluateChecked(op->attr<AttrKey::Size>(), [&](Name name) {
      auto found = known.find(name);
      return found == known.end() ? std::nullopt : std::optional(found->second);
    });
    return size ? std::optional(static_cast<uint64_t>(*size)) : std::nullopt;
  }
  if (!op->info().has(ir::kElementwise) || op->operands().size() > 3) return std::nullopt;
  uint64_t bits[3];
  for (size_t i = 0; i < op->operands().size(); ++i) {
    std::optional<uint64_t> operand = ConstantBits(op->operand(i), known);
    if (!operand) return std::nullopt;
    bits[i] = *operand;
  }
  Scalar operand = op->operands().back()->type()->scalar;
  return ir::Evaluate(op->kind(), operand, op->result()->type()->scalar, bits);
}

}  // namespace kdl::passes
