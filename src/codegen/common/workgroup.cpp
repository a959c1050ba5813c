#include "codegen/common/workgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/attr.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

using ir::Op;
using ir::OpKind;

constexpr int64_t kAlignment = 64;

/// Returns whether the value is a positive i64 constant.
bool IsPositive(const ir::Value* value) {
  const Op* def = value->def();
  return def && value->type()->scalar == Scalar::I64 && def->kind() == OpKind::Const &&
         def->attr<ir::AttrKey::Bits>() > 0;
}

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::string WorkgroupEntry(const ir::Function& kernel, size_t number) {
  std::string name;
  for (char c : kernel.name.text()) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("kdl_{}_{}", name, number);
}

bool HasOp(const ir::Function& kernel, OpKind kind) {
  bool has = false;
  ir::Walk(kernel.body, [&](const Op* op) { has |= op->kind() == kind; });
  return has;
}

bool MayTrap(const Op* op) {
  auto is_divisor = [](const ir::Value* value) {
    const Op* def = value->def();
    if (def && def->kind() == OpKind::Max) return IsPositive(def->operand(1));
    return def && (def->kind() == OpKind::CoreNum ||
                   (def->kind() == OpKind::Const && def->attr<ir::AttrKey::Bits>() != 0));
  };
  switch (op->kind()) {
    case OpKind::Check:
    case OpKind::Assert:
      return true;
    case OpKind::Div:
    case OpKind::Rem:
      return !IsFloat(op->operand(0)->type()->scalar) && !is_divisor(op->operand(1));
    case OpKind::Loop:
      return !is_divisor(op->operand(2));
    default:
      return false;
  }
}

bool IsOfParts(const Op* loop) {
  bool syncs = false;
  ir::Walk(loop->region(), [&](const Op* op) { syncs |= op->kind() == OpKind::Sync; });
  return syncs;
}

std::optional<int64_t> OneIterationOf(const ir::Function& kernel, const Op* loop) {
  auto number = [&](size_t operand) -> std::optional<uint64_t> {
    const Op* def = loop->operand(operand)->def();
    if (!def || def->kind() != OpKind::Const) return std::nullopt;
    return static_cast<uint64_t>(def->attr<ir::AttrKey::Bits>());
  };
  std::optional<uint64_t> iterations = number(1);
  bool counts = number(0) == 0 && number(2) == 1 && iterations;
  if (!counts || *iterations > static_cast<uint64_t>(kernel.workgroup)) return std::nullopt;
  return static_cast<int64_t>(*iterations);
}

int64_t SizeInBytes(ir::Type buffer) {
  int64_t bytes = Bytes(buffer->scalar);
  for (Size dim : buffer->dims) bytes *= dim->value;
  return bytes;
}

WorkgroupPlace WorkgroupLayout::InScratch(WorkgroupPlace::Space space, int64_t bytes) {
  WorkgroupPlace place{space, code_.scratch_bytes};
  code_.scratch_bytes += Aligned(bytes);
  return place;
}

WorkgroupPlace WorkgroupLayout::PlaceBuffer(const ir::Value* buffer) {
  using Space = WorkgroupPlace::Space;
  ir::Type type = buffer->type();
  const Op* def = buffer->def();
  bool outlives = syncs_ && !(def && def->HasAttr(ir::AttrKey::Brief));
  if (type->space != ir::Space::Workgroup)
    return outlives ? InScratch(Space::GlobalOwn, SizeInBytes(type) * kernel_.workgroup)
                    : WorkgroupPlace{};
  bool global = outlives || (def && def->HasAttr(ir::AttrKey::Global));
  if (global || ir::WorkgroupBytes(type) > workgroup_bytes_)
    return InScratch(Space::Global, SizeInBytes(type));
  workgroup_bytes_ -= ir::WorkgroupBytes(type);
  return {Space::Workgroup};
}

int64_t WorkgroupLayout::KeptPlace(Scalar scalar) {
  constexpr int64_t kLeast = sizeof(int32_t);  // a bool in a register has this size
  return InScratch(WorkgroupPlace::Space::GlobalOwn,
                   std::max<int64_t>(Bytes(scalar), kLeast) * kernel_.workgroup)
      .offset;
}

}  // namespace kdl::codegen
