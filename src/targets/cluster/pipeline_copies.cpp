#include "targets/cluster/passes.h"

// pipeline-copies: runs pipeline-async-copies of the simt family with a default of its own. A copy moves a whole tile,
// which is large, so one iteration ahead is usually enough.

namespace kdl::cluster {

void RunPipelineCopies(PassContext& context, ir::Function& kernel) {
  simt::PipelineIterations(context, kernel, context.Value(kCopiesAhead));
}

}  // namespace kdl::cluster
