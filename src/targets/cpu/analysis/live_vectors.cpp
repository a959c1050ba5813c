#include "targets/cpu/analysis/live_vectors.h"

#include <algorithm>
#include <unordered_map>

#include "ir/op_info.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

namespace {

/// Whether the value is a cast or an element that is loaded. Code generation loads these where they are used.
bool IsLoaded(const Value* value) {
  const Op* op = value->def();
  return op->kind() == OpKind::Load || (op->kind() == OpKind::Cast && op->operand(0)->def() &&
                                        op->operand(0)->def()->kind() == OpKind::Load);
}

/// The values of an elementwise loop's body that are in vectors, in the order of the ops.
class LiveVectors {
 public:
  LiveVectors(const Op* elementwise, const LastAxis& last) : body_(elementwise->region()) {
    for (const Op* op : *elementwise->region()) {
      for (const Value* operand : op->operands()) last_use_[operand] = op;
      for (const Value* result : op->results()) {
        if (!last.IsUniform(result) && !IsLoaded(result)) bytes_[result] = BytesOf(op, result);
      }
    }
  }

  /// Returns the largest number of registers that contain values at the same time, if a register contains a chunk of
  /// elements of `bytes` bytes.
  int64_t Most(int64_t bytes) const {
    int64_t most = 0;
    int64_t live = 0;
    auto registers = [&](const Value* value) {
      auto found = bytes_.find(value);
      return found == bytes_.end() ? 0 : (found->second + bytes - 1) / bytes;
    };
    for (const Op* op : *body_) {
      std::vector<const Value*> ended;
      for (const Value* operand : op->operands()) {
        if (last_use_.at(operand) != op || Contains(ended, operand)) continue;
        ended.push_back(operand);
        live -= registers(operand);
      }
      for (const Value* result : op->results()) {
        if (last_use_.contains(result)) live += registers(result);
      }
      most = std::max(most, live);
    }
    return most;
  }

 private:
  /// Returns the size of the value in a lane. A condition is as wide as what was compared. Indices adapt to the width of
  /// other values.
  int64_t BytesOf(const Op* op, const Value* result) const {
    Scalar scalar = result->type()->scalar;
    if (scalar == Scalar::I64) return 0;
    if (scalar != Scalar::Bool) return Bytes(scalar);
    int64_t most = 0;
    for (const Value* operand : op->operands()) {
      Scalar compared = operand->type()->scalar;
      if (auto found = bytes_.find(operand); found != bytes_.end()) {
        most = std::max(most, found->second);
      } else if (compared != Scalar::I64 && compared != Scalar::Bool) {
        most = std::max<int64_t>(most, Bytes(compared));
      }
    }
    return most;
  }

  const ir::Region* body_;
  std::unordered_map<const Value*, int64_t> bytes_;
  std::unordered_map<const Value*, const Op*> last_use_;
};

}  // namespace

int64_t ChunkBytesOf(const Op* elementwise, const LastAxis& last, const ProcessorFacts& facts) {
  int64_t bytes = last.ChunkBytes();
  auto is_wide = [&](const Value* value) {
    Scalar scalar = value->type()->scalar;
    return IsInteger(scalar) && scalar != Scalar::I64 && Bytes(scalar) > bytes;
  };
  bool has_wide = false;
  for (const Op* op : *elementwise->region())
    has_wide = has_wide || std::ranges::any_of(op->results(), is_wide);
  if (!has_wide || !last.step_groups().empty()) return bytes;
  return LiveVectors(elementwise, last).Most(bytes) > facts.vector_registers ? 2 * bytes : bytes;
}

}  // namespace kdl::cpu
