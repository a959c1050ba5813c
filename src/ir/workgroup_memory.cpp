#include "ir/workgroup_memory.h"

#include "ir/op.h"
#include "ir/op_kind.h"
#include "support/scalar.h"

namespace kdl::ir {

namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

int64_t WorkgroupBytes(Type buffer) {
  int64_t bytes = Bytes(buffer->scalar);
  for (Size dim : buffer->dims) bytes *= dim->value;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t WorkgroupBytes(const Function& kernel) {
  int64_t bytes = 0;
  Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::BufferNew || op->HasAttr(AttrKey::Global)) return;
    Type type = op->result()->type();
    if (type->space == Space::Workgroup) bytes += WorkgroupBytes(type);
  });
  return bytes;
}

}  // namespace kdl::ir
