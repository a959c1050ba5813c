#include <algorithm>

#include "ir/builder.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "support/check.h"

// inject-pipe-buffers: a kernel that owns pipes, and every fn that a pipe reaches, gets one parameter more: the workspace
// in which the rings lie. What has it already stays as it is.
//
//   fn @send(%q: pipe<f32,[4]> out, %x: f32)            ->   fn @send(%q: pipe<f32,[4]> out, %x: f32, %ws: workspace)
//   kernel @k (%y: tensor<f32,[M]> out) {                    kernel @k (%y: tensor<f32,[M]> out, %ws: workspace) {
//     %q = pipe {…}                                            %q = pipe in %ws {…}
//     call @send(%q, %x)                                       call @send(%q, %x, %ws)

namespace kdl::passes {

namespace {

using ir::TypeKind;

bool Takes(const ir::Function& function, TypeKind kind) {
  return std::any_of(function.params.begin(), function.params.end(),
                     [&](const ir::Param& param) { return param.value->type()->kind == kind; });
}

Value* WorkspaceOf(const ir::Function& function) {
  for (const ir::Param& param : function.params) {
    if (param.value->type()->kind == TypeKind::Workspace) return param.value;
  }
  return nullptr;
}

bool NeedsWorkspace(const ir::Function& function) {
  return Takes(function, TypeKind::Pipe) || !ir::PipesOf(function).empty();
}

void AddWorkspace(ir::Module& module, ir::Function& function) {
  if (WorkspaceOf(function)) return;
  Name name = module.context().names.Intern("workspace");
  Value* workspace = ir::Builder(module).AddParam(function.body, module.types().Workspace(), name);
  function.params.push_back({workspace, ir::Direction::In});
}

/// The pipes of the function lie in its workspace, and so do those that its calls hand on.
void UseWorkspace(const ir::Module& module, ir::Function& function) {
  Value* workspace = WorkspaceOf(function);
  ir::Walk(function.body, [&](Op* op) {
    if (op->kind() == OpKind::Pipe) op->SetSegment(ir::PipeOp::at_workspace, {&workspace, 1});
    auto call = ir::DynAs<ir::CallOp>(op);
    if (!call) return;
    const ir::Function* fn = module.FindFunction(op->attr<ir::AttrKey::Callee>());
    std::vector<Value*> arguments(call->arguments().begin(), call->arguments().end());
    if (!WorkspaceOf(*fn) || arguments.size() == fn->params.size()) return;
    KDL_CHECK(workspace, "'{}' hands on a pipe, but has none", function.name.text());
    arguments.push_back(workspace);
    op->SetSegment(ir::CallOp::at_arguments, arguments);
  });
}

}  // namespace

void RunInjectPipeBuffers(PassContext& context) {
  if (context.facts && context.facts->pipes_on_chip) return;
  for (ir::Function* function : context.module.functions()) {
    if (function->kind != ir::FunctionKind::Program && NeedsWorkspace(*function))
      AddWorkspace(context.module, *function);
  }
  for (ir::Function* function : context.module.functions()) UseWorkspace(context.module, *function);
}

}  // namespace kdl::passes
