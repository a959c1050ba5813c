#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// scale-pipe-buffers: makes a program allocate the memory for the pipes of its launches. Each of the cores
// that run at the same time gets one slice, which is as large as one instance of the kernel needs:
//
//   launch @k on @npu queue 0 cores(%n) (%x, %y) after()
//   -> %w = workspace on @npu {name = "k: q"} : workspace                   at the start of the program
//      %slices = instances on @npu cores(%n) : i64
//      %bytes = const 16512 : i64                                           `footprint @k on @npu` where targets differ
//      reserve %w, %slices * %bytes
//      launch @k on @npu queue 0 cores(%n) workspace(%w) (%x, %y) after()
//
// Launches in the same queue run in order and share a workspace. Launches in different queues may overlap, so
// each queue has its own workspace. Reserving memory that has already been reserved costs nothing, so a
// launch in a loop allocates only when its size grows.

namespace kdl::passes {

namespace {

using ir::MakeAttr;

/// The workspace for the launches in one queue.
struct QueueWorkspace {
  Name device;
  int64_t queue = 0;
  Op* op = nullptr;
  std::vector<std::string> users;  ///< strings such as "matmul_residual: q, r"
};

/// Returns the compiled versions of the kernel, one for each target that has the kernel.
std::vector<const ir::Function*> VariantsOf(const PassContext& context, Name kernel) {
  std::vector<const ir::Function*> variants;
  for (const ir::Module* module : context.variants) {
    const ir::Function* variant = module->FindFunction(kernel);
    if (variant) variants.push_back(variant);
  }
  KDL_CHECK(!variants.empty(), "no target has a kernel '{}'", kernel.text());
  return variants;
}

/// Returns text like "matmul_residual: q, r" for the first variant whose pipes are in memory, or nothing if
/// there is no such variant.
std::optional<std::string> UserText(const std::vector<const ir::Function*>& variants) {
  for (const ir::Function* variant : variants) {
    if (ir::Footprint(*variant) == 0) continue;
    std::string pipes;
    for (const Op* pipe : ir::PipesOf(*variant)) {
      fmt::format_to(std::back_inserter(pipes), "{}{}", pipes.empty() ? "" : ", ",
                     pipe->attr<AttrKey::Name>().text());
    }
    return fmt::format("{}: {}", variant->base_name(), pipes);
  }
  return std::nullopt;
}

class ProgramScaler {
 public:
  ProgramScaler(PassContext& context, ir::Function& program)
      : context_(context), program_(program) {}

  void ScaleBuffers() {
    first_ = program_.body->first();
    auto is_open = [](const Op* op) {
      return op->kind() == OpKind::Launch && op->Segment(ir::LaunchOp::at_workspace).empty();
    };
    for (Op* launch : OpsIn(program_.body, is_open)) Scale(launch);
    for (const QueueWorkspace& workspace : workspaces_) SetName(workspace);
  }

 private:
  void Scale(Op* launch) {
    std::vector<const ir::Function*> variants =
        VariantsOf(context_, launch->attr<AttrKey::Callee>());
    std::optional<std::string> user = UserText(variants);
    if (!user) return;
    Value* workspace = WorkspaceFor(launch, *user);
    ir::Builder builder(context_.module, launch);
    Value* slices = Instances(builder, launch);
    Value* bytes = Footprint(builder, launch, variants);
    builder.Create(OpKind::Reserve, {{workspace}, {slices}, {bytes}}, {});
    launch->SetSegment(ir::LaunchOp::at_workspace, {&workspace, 1});
  }

  Value* WorkspaceFor(const Op* launch, const std::string& user) {
    Name device = launch->attr<AttrKey::Device>();
    int64_t queue = launch->attr<AttrKey::Queue>();
    auto known = std::find_if(workspaces_.begin(), workspaces_.end(), [&](const QueueWorkspace& w) {
      return w.device == device && w.queue == queue;
    });
    if (known == workspaces_.end()) {
      ir::Builder builder(context_.module, program_.body, first_);
      builder.set_loc(launch->loc());
      Value* made =
          builder.Make(OpKind::Workspace, {}, builder.types().Workspace(),
                       {MakeAttr<AttrKey::Device>(device), MakeAttr<AttrKey::Name>(Name())});
      known = workspaces_.insert(known, {device, queue, made->def(), {}});
    }
    if (!Contains(known->users, user)) known->users.push_back(user);
    return known->op->result();
  }

  Value* Instances(ir::Builder& builder, const Op* launch) const {
    std::vector<Value*> cores(launch->Segment(ir::LaunchOp::at_cores).begin(),
                              launch->Segment(ir::LaunchOp::at_cores).end());
    // From here on, each count is used twice. It gets a name so that the generated code is readable.
    for (Value* count : cores) {
      bool is_literal = count->def() && count->def()->kind() == OpKind::Const;
      if (count->name().empty() && !is_literal)
        count->set_name(context_.module.context().names.Intern("cores"));
    }
    return MakeOne(builder, OpKind::Instances, {cores}, builder.I64Type(),
                   {MakeAttr<AttrKey::Device>(launch->attr<AttrKey::Device>())});
  }

  /// Returns a constant if the kernel needs the same number of bytes on all targets, otherwise an op that
  /// queries the device.
  static Value* Footprint(ir::Builder& builder, const Op* launch,
                          const std::vector<const ir::Function*>& variants) {
    int64_t first = ir::Footprint(*variants[0]);
    bool agree = std::all_of(variants.begin(), variants.end(), [&](const ir::Function* variant) {
      return ir::Footprint(*variant) == first;
    });
    if (agree) return builder.I64(first);
    std::vector<ir::Attr> attrs = {MakeAttr<AttrKey::Callee>(launch->attr<AttrKey::Callee>()),
                                   MakeAttr<AttrKey::Device>(launch->attr<AttrKey::Device>())};
    if (launch->HasAttr(AttrKey::Constants))
      attrs.push_back(MakeAttr<AttrKey::Constants>(launch->attr<AttrKey::Constants>()));
    return builder.Make(OpKind::Footprint, {}, builder.I64Type(), std::move(attrs));
  }

  void SetName(const QueueWorkspace& workspace) {
    Name name =
        context_.module.context().names.Intern(fmt::format("{}", fmt::join(workspace.users, "; ")));
    workspace.op->SetAttr(MakeAttr<AttrKey::Name>(name));
  }

  PassContext& context_;
  ir::Function& program_;
  Op* first_ = nullptr;  ///< the first op after the workspaces
  std::vector<QueueWorkspace> workspaces_;
};

}  // namespace

void RunScalePipeBuffers(PassContext& context, ir::Function& program) {
  ProgramScaler(context, program).ScaleBuffers();
}

}  // namespace kdl::passes
