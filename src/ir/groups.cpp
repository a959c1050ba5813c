#include "ir/groups.h"

#include "support/contains.h"

namespace kdl::ir {

namespace {

NumberList KeptVariables(const Op* spmd) {
  return spmd->HasAttr(AttrKey::Kept) ? spmd->attr<AttrKey::Kept>() : NumberList();
}

}  // namespace

Size SegmentCount(SizeTable& sizes, Size blocks) {
  Size up = sizes.Binary(SizeKind::Add, blocks, sizes.Constant(kLeastBlocks - 1));
  Size segments = sizes.Binary(SizeKind::FloorDiv, up, sizes.Constant(kLeastBlocks));
  return sizes.Binary(SizeKind::Min, segments, sizes.Constant(kMostSegments));
}

bool AreDistributedAlike(const Op* a, const Op* b) {
  return a->attr<AttrKey::Distribute>() == b->attr<AttrKey::Distribute>() &&
         KeptVariables(a) == KeptVariables(b);
}

GroupVariables GroupVariablesOf(const Op* spmd) {
  NumberList kept = KeptVariables(spmd);
  GroupVariables variables;
  for (size_t b = 0; b < spmd->region()->params().size(); ++b) {
    bool is_kept = Contains(kept, static_cast<int64_t>(b));
    if (!is_kept)
      variables.combined.push_back(b);
    else if (variables.combined.empty())
      variables.outer.push_back(b);
    else
      variables.inner.push_back(b);
  }
  return variables;
}

}  // namespace kdl::ir
