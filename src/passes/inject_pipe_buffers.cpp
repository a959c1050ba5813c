#include <algorithm>

#include "ir/builder.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "passes/passes.h"

// inject-pipe-buffers: a kernel that owns pipes gets one parameter more: the workspace in which the rings lie. What has it
// already stays as it is.
//
//   kernel @k (%y: tensor<f32,[M]> out) {         ->   kernel @k (%y: tensor<f32,[M]> out, %ws: workspace) {
//     %q = pipe {…}                                      %q = pipe in %ws {…}

namespace kdl::passes {

namespace {

/// The workspace that is a parameter; made where there is none.
Value* WorkspaceOf(ir::Module& module, ir::Function& kernel) {
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind == ir::TypeKind::Workspace) return param.value;
  }
  Name name = module.context().names.Intern("workspace");
  Value* workspace = ir::Builder(module).AddParam(kernel.body, module.types().Workspace(), name);
  kernel.params.push_back({workspace, ir::Direction::In});
  return workspace;
}

}  // namespace

void RunInjectPipeBuffers(PassContext& context, ir::Function& kernel) {
  std::vector<Op*> pipes = ir::PipesOf(kernel);
  bool on_chip = context.facts && context.facts->pipes_on_chip;
  if (pipes.empty() || on_chip) return;
  Value* workspace = WorkspaceOf(context.module, kernel);
  for (Op* pipe : pipes) pipe->SetSegment(ir::PipeOp::at_workspace, {&workspace, 1});
}

}  // namespace kdl::passes
