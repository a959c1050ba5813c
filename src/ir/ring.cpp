#include "ir/ring.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_info.h"
#include "support/check.h"

namespace kdl::ir {

std::optional<int64_t> SlotBytes(Type pipe) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t bytes = Bytes(pipe->scalar);
  for (Size dim : pipe->dims) {
    KDL_CHECK(IsConstant(dim), "a slot of a pipe whose extents are not constant");
    if (__builtin_mul_overflow(bytes, dim->value, &bytes) || bytes > kMost) return std::nullopt;
  }
  return kSlotSizesBytes + (bytes + kLine - 1) / kLine * kLine;
}

Ring RingOf(const Op* pipe) {
  return {pipe->attr<AttrKey::Offset>(), pipe->attr<AttrKey::Header>(), pipe->attr<AttrKey::Slot>(),
          pipe->attr<AttrKey::Depth>()};
}

std::vector<Op*> PipesOf(const Function& kernel) {
  std::vector<Op*> pipes;
  for (Op* op : *kernel.body) {
    if (op->kind() == OpKind::Pipe) pipes.push_back(op);
  }
  return pipes;
}

std::string WaitingText(const Op& op, Name pipe) {
  bool pushes = op.kind() == OpKind::Push || op.kind() == OpKind::Acquire;
  const Attr* text = op.FindAttr(AttrKey::Text);
  return fmt::format("'{}' waits for {} of '{}'",
                     text ? std::get<Name>(text->value).text() : op.info().spelling,
                     pushes ? "a free slot" : "a tile", pipe.text());
}

int64_t Footprint(const Function& kernel) {
  int64_t end = 0;
  for (const Op* pipe : PipesOf(kernel)) {
    if (!pipe->HasAttr(AttrKey::Slot)) continue;
    Ring ring = RingOf(pipe);
    end = std::max(end, ring.offset + ring.bytes());
  }
  return end;
}

}  // namespace kdl::ir
