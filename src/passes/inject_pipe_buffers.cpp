#include <algorithm>

#include "ir/builder.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "passes/passes.h"

// inject-pipe-buffers: adds a parameter to each kernel that owns pipes: the workspace that contains the ring
// buffers of the pipes. If the kernel already has such a parameter, that one is used.
//
//   kernel @k (%y: tensor<f32,[M]> out) {         ->   kernel @k (%y: tensor<f32,[M]> out, %ws: workspace) {
//     %q = pipe {…}                                      %q = pipe in %ws {…}

namespace kdl::passes {

namespace {

/// Returns the kernel's workspace parameter. Adds one if there is none.
Value* WorkspaceParam(ir::Module& module, ir::Function& kernel) {
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
  Value* workspace = WorkspaceParam(context.module, kernel);
  for (Op* pipe : pipes) pipe->SetSegment(ir::PipeOp::at_workspace, {&workspace, 1});
}

}  // namespace kdl::passes
