#include "interp/fallback_reads.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/views.h"

namespace kdl::interp {

bool FallbackReads::IsFallback(const ir::Op* load) {
  return std::ranges::all_of(load->result()->uses(), [](const ir::Use& use) {
    return use.user->kind() == ir::OpKind::Load &&
           use.operand == use.user->SegmentBegin(ir::LoadOp::at_otherwise);
  });
}

FallbackReads::Element FallbackReads::At(const ir::Value* value, size_t n) const {
  auto known = elements_.find(value->def());
  return known == elements_.end() ? Element() : known->second[n];
}

}  // namespace kdl::interp
