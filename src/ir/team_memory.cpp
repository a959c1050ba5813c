#include "ir/team_memory.h"

#include "ir/op.h"
#include "ir/op_kind.h"
#include "support/scalar.h"

namespace kdl::ir {

namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

int64_t TeamBytes(Type buffer) {
  int64_t bytes = Bytes(buffer->scalar);
  for (Size dim : buffer->dims) bytes *= dim->value;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t TeamBytes(const Function& kernel) {
  int64_t bytes = 0;
  Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::BufferNew || op->HasAttr(AttrKey::Far)) return;
    Type type = op->result()->type();
    if (type->space == Space::Team) bytes += TeamBytes(type);
  });
  return bytes;
}

}  // namespace kdl::ir
