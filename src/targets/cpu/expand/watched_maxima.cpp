#include "targets/cpu/expand/watched_maxima.h"

#include <algorithm>
#include <bit>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/lane_accumulators.h"

// An instruction for the maximum returns its second operand if the operands are equal, or if one of them is NaN. So it
// is exact unless an operand is NaN, or the result is -0, while an operand might have been +0. A maximum of several
// values is one of them: only the values themselves are compared with NaN, and only the last result with -0.

namespace kdl::cpu {

namespace {

/// Whether the loop may run again after it has stored some results: it reads nothing that it stores.
bool MayRunAgain(const Op* elementwise) {
  std::unordered_set<const Value*> stored;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Store) stored.insert(TensorOf(op));
  }
  for (const Op* op : *elementwise->region()) {
    bool repeats = op->kind() == OpKind::Load || op->kind() == OpKind::Store ||
                   op->kind() == OpKind::Yield || (op->info().is_computed() && !MayTrap(op));
    if (!repeats || (op->kind() == OpKind::Load && stored.contains(TensorOf(op)))) return false;
  }
  return elementwise->results().empty();
}

bool IsConstantValue(const Value* value) {
  return value->def() && value->def()->kind() == OpKind::Const;
}

}  // namespace

WatchedMaxima::WatchedMaxima(Expander& e, const Op* elementwise, const LastAxis& last) : e_(e) {
  constexpr size_t kFewest = 3;  // with fewer, watching takes as long as computing exactly
  auto has_parts = [](const StepGroup& group) {
    return std::has_single_bit(static_cast<uint64_t>(group.step));
  };
  if (e.facts.has_exact_extrema || !last.Vectorizes() || !MayRunAgain(elementwise) ||
      !std::ranges::all_of(last.step_groups(), has_parts))
    return;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() != OpKind::Max || last.IsUniform(op->result())) continue;
    Scalar scalar = op->result()->type()->scalar;
    bool is_float = scalar == Scalar::F32 || scalar == Scalar::F64;
    bool fits = is_float && (maxima_.empty() || scalar == scalar_) &&
                std::ranges::none_of(op->operands(), IsConstantValue);
    if (!fits) continue;
    scalar_ = scalar;
    maxima_.insert(op);
  }
  if (maxima_.size() < kFewest) maxima_.clear();
}

ir::Type WatchedMaxima::RecordType() const {
  return e_.VectorType(Bytes(scalar_) == 4 ? Scalar::I32 : Scalar::I64, lanes_);
}

Value* WatchedMaxima::Start(int64_t lanes) {
  lanes_ = lanes;
  return e_.b.Splat(e_.b.Int(RecordType()->scalar, 0), lanes);
}

Value* WatchedMaxima::Stop(Value* record) {
  lanes_ = 0;
  auto any = [this](Value* a, Value* b) { return e_.b.Or(a, b); };
  Value* all = CombineLanes(e_, {record}, any);
  return e_.b.Eq(all, e_.b.Int(all->type()->scalar, 0));
}

Values WatchedMaxima::Parts(Value* value) {
  if (!ir::IsVector(value->type())) return {e_.b.Splat(value, lanes_)};
  if (ir::Lanes(value->type()) == lanes_) return {value};
  ir::Type half = e_.VectorType(scalar_, ir::Lanes(value->type()) / 2);
  Values parts;
  for (int64_t number : {0, 1}) {
    Value* part = e_.b.Make(OpKind::Half, {value}, half, {ir::MakeAttr<AttrKey::Part>(number)});
    for (Value* smaller : Parts(part)) parts.push_back(smaller);
  }
  return parts;
}

Value* WatchedMaxima::Larger(const Op* op, Value* a, Value* b) {
  Values values = {a, b};
  for (size_t i = 0; i < values.size(); ++i) {
    if (!maxima_.contains(op->operand(i)->def())) Watch(values[i]);
  }
  Value* larger = e_.b.Select(e_.b.Gt(a, b), a, b);
  auto is_other = [this](const ir::Use& use) { return !maxima_.contains(use.user); };
  if (std::ranges::none_of(op->result()->uses(), is_other)) return larger;
  Scalar scalar = RecordType()->scalar;
  Value* negative = e_.b.Bits(scalar, uint64_t{1} << (8 * Bytes(scalar) - 1));
  for (Value* part : Parts(larger)) {
    Value* bits = MakeOne(e_.b, OpKind::ToBits, {{part}}, RecordType());
    found_.push_back(e_.b.Eq(bits, e_.b.Splat(negative, lanes_)));
  }
  return larger;
}

void WatchedMaxima::Watch(Value* value) {
  for (Value* part : Parts(value)) {
    if (unpaired_) {
      Value* second = e_.b.Ne(part, part);
      Value* first = e_.b.Ne(unpaired_, unpaired_);
      found_.push_back(e_.b.Or(first, second));
      unpaired_ = nullptr;
    } else {
      unpaired_ = part;
    }
  }
}

Value* WatchedMaxima::Recorded(Value* record) {
  if (unpaired_) found_.push_back(e_.b.Ne(unpaired_, unpaired_));
  unpaired_ = nullptr;
  Value* all = e_.b.Splat(e_.b.Int(RecordType()->scalar, -1), lanes_);
  Value* none = e_.b.Splat(e_.b.Int(RecordType()->scalar, 0), lanes_);
  for (Value* condition : found_) record = e_.b.Or(record, e_.b.Select(condition, all, none));
  found_.clear();
  return record;
}

}  // namespace kdl::cpu
