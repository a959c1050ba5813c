#include "passes/analysis/pipe_ends.h"

#include "ir/module.h"
#include "ir/views.h"
#include "passes/rewrite.h"
#include "support/check.h"

namespace kdl::passes {

PipeEnd EndOf(const ir::Use& use, const ir::Module& module) {
  switch (use.user->kind()) {
    case ir::OpKind::Push:
    case ir::OpKind::Acquire:
      return PipeEnd::Push;
    case ir::OpKind::Pop:
    case ir::OpKind::Wait:
      return PipeEnd::Pop;
    case ir::OpKind::Call: {
      const ir::Function* fn = module.FindFunction(use.user->attr<ir::AttrKey::Callee>());
      size_t param = use.operand - (fn ? fn->dims.size() : 0);  // sizes come first
      KDL_CHECK(fn && param < fn->params.size(), "a call hands a pipe to no parameter");
      return fn->params[param].direction == ir::Direction::Out ? PipeEnd::Push : PipeEnd::Pop;
    }
    default:
      return PipeEnd::Neither;
  }
}

PipeEnds EndsOf(const ir::Value* pipe, const ir::Module& module) {
  PipeEnds ends;
  for (const ir::Use& use : pipe->uses()) {
    PipeEnd end = EndOf(use, module);
    if (end == PipeEnd::Push) ends.pushes.push_back(use.user);
    if (end == PipeEnd::Pop) ends.pops.push_back(use.user);
  }
  return ends;
}

ir::Op* StageOf(const ir::Op* op) { return Around(op->block()->parent(), ir::OpKind::Stage); }

}  // namespace kdl::passes
