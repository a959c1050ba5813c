#include "tools/explain/launch_points.h"

#include <algorithm>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/op_info.h"

namespace kdl::tools {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;
using ValueOf = std::function<std::optional<int64_t>(Name)>;

std::optional<uint64_t> AsBits(std::optional<int64_t> number) {
  return number ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

/// Returns a scalar that is computed from sizes and parameters.
std::optional<uint64_t> BitsOf(const Value* value, const ValueOf& value_of) {
  const ir::Op* def = value->def();
  if (!def) return AsBits(value_of(value->name()));
  if (def->kind() == OpKind::Const) return def->attr<AttrKey::Bits>();
  if (def->kind() == OpKind::SizeOf) return AsBits(Evaluate(def->attr<AttrKey::Size>(), value_of));
  bool is_scalar = def->info().has(ir::kElementwise) && ir::IsScalar(value->type());
  if (!is_scalar || def->results().size() != 1 || def->operands().empty()) return std::nullopt;
  std::vector<uint64_t> operands;
  for (const Value* operand : def->operands()) {
    std::optional<uint64_t> bits = BitsOf(operand, value_of);
    if (!bits) return std::nullopt;
    operands.push_back(*bits);
  }
  return ir::Evaluate(def->kind(), def->operands().back()->type()->scalar, value->type()->scalar,
                      operands.data());
}

/// Returns the length of the range between two operands, or 1 if they are not known.
double LengthOf(const ir::Op* op, size_t first, const ValueOf& value_of) {
  std::optional<uint64_t> lo = BitsOf(op->operand(first), value_of);
  std::optional<uint64_t> hi = BitsOf(op->operand(first + 1), value_of);
  if (!lo || !hi) return 1;
  return std::max(0.0, static_cast<double>(static_cast<int64_t>(*hi - *lo)));
}

double PointsOf(const ir::Op* spmd, const ValueOf& value_of) {
  double points = 1;
  for (size_t binder = 0; binder < spmd->region()->params().size(); ++binder)
    points *= LengthOf(spmd, 2 * binder, value_of);
  for (const ir::Op* op : *spmd->region())
    if (op->kind() == OpKind::For || op->kind() == OpKind::Loop)
      return points * LengthOf(op, 0, value_of);
  return points;
}

}  // namespace

double CountPoints(const ir::Function& kernel, const ValueOf& value) {
  double points = 0;
  for (const ir::Op* op : *kernel.body)
    if (op->kind() == OpKind::Spmd) points += PointsOf(op, value);
  return points;
}

}  // namespace kdl::tools
