#include "passes/analysis/pipe_ends.h"

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

PipeEnds PipeEndsOf(const ir::Value* pipe) {
  PipeEnds ends;
  for (const ir::Use& use : pipe->uses()) {
    OpKind kind = use.user->kind();
    if (kind == OpKind::Push || kind == OpKind::Acquire) ends.pushes.push_back(use.user);
    if (kind == OpKind::Pop || kind == OpKind::Wait) ends.pops.push_back(use.user);
  }
  return ends;
}

ir::Op* StageOf(const ir::Op* op) {
  return Around(op->parent_region()->parent(), ir::OpKind::Stage);
}

}  // namespace kdl::passes
