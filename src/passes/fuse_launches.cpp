#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/diagnostics.h"
#include "passes/fusion/apart_tensors.h"
#include "passes/fusion/block_sizes.h"
#include "passes/fusion/fused_kernel.h"
#include "passes/fusion/unfused_name.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

// fuse-launches: replaces the launches of a `fuse` by the launch of one kernel. The last kernel stays as it is, except
// that it computes what it reads from the others:
//
//   %h = alloc h
//   launch @blur_x (%x, %h) {fuse = 1}        // h[i, j] = f(x[i, j - 1], x[i, j], …)
//   launch @blur_y (%h, %y) {fuse = 1}        // y[i, j] = g(h[i - 1, j], h[i, j], …)
//   ->
//   launch @blur_x_blur_y (%x, %y)
//
// Each block of the fused kernel computes a tile over the rows of h that it needs (fusion/inlined_reads.cpp).

namespace kdl::passes {

namespace {

/// The use of a tensor by a launch.
struct TensorUse {
  size_t member;
  Value* argument;
  ir::Direction direction;
  bool writes() const { return direction != ir::Direction::In; }
  bool reads() const { return direction != ir::Direction::Out; }
};

class GroupChecker {
 public:
  GroupChecker(const ir::Module& module, FusedGroup& group, Obstacle& obstacle)
      : module_(module), group_(group), obstacle_(obstacle) {}

  bool Check() {
    FindUses();
    return AreTensorsApart() && AreArgumentsKnown() && FindProducers() && AreSizesFree() &&
           FindInternal();
  }

 private:
  bool Refuse(size_t member, const Value* tensor, std::string reason, std::string help) {
    const Value* memory = ir::MemoryOf(tensor);
    obstacle_ = {Obstacle::Kind::Tensor, member,
                 memory->name().str(),   group_.members[member].launch->loc(),
                 std::move(reason),      std::move(help)};
    return false;
  }

  std::string NameOf(size_t member) const {
    return std::string(group_.members[member].kernel->base_name());
  }

  void FindUses() {
    for (size_t m = 0; m < group_.members.size(); ++m) {
      std::span<Value* const> arguments = ir::LaunchOp(group_.members[m].launch).arguments();
      for (size_t p = 0; p < arguments.size(); ++p) {
        if (!IsTensor(arguments[p])) continue;
        order_.push_back(ir::MemoryOf(arguments[p]));
        uses_[order_.back()].push_back(
            {m, arguments[p], group_.members[m].kernel->params[p].direction});
      }
    }
  }

  bool AreTensorsApart() {
    for (const Value* memory : order_) {
      const std::vector<TensorUse>& uses = uses_.at(memory);
      for (const TensorUse& use : uses) {
        for (const TensorUse& other : uses) {
          if (&use != &other && use.writes() && !ArePartsApart(use, other) && !MayShare(use, other))
            return false;
        }
      }
    }
    return true;
  }

  bool ArePartsApart(const TensorUse& use, const TensorUse& other) const {
    return AreKnownApart(use.argument, other.argument, group_.members[0].launch);
  }

  /// Returns whether another launch may use a tensor that a launch writes.
  bool MayShare(const TensorUse& use, const TensorUse& other) {
    if (other.writes())
      return Refuse(
          std::max(use.member, other.member), use.argument,
          fmt::format("'{}' and '{}' both write it", NameOf(std::min(use.member, other.member)),
                      NameOf(std::max(use.member, other.member))),
          "let each kernel write a tensor of its own");
    if (other.member < use.member)
      return Refuse(use.member, use.argument,
                    fmt::format("'{}' writes it while other blocks of '{}' still read it",
                                NameOf(use.member), NameOf(other.member)),
                    "write another tensor");
    if (use.argument == other.argument) return true;
    return Refuse(other.member, use.argument,
                  fmt::format("'{}' and '{}' use different parts or views of it",
                              NameOf(use.member), NameOf(other.member)),
                  "pass the whole tensor to both kernels");
  }

  /// Returns whether nothing between the launches uses what they write, such as an argument `t[0]`.
  bool AreArgumentsKnown() {
    size_t m = 0;
    for (const Op* op = group_.members[0].launch; op != group_.members.back().launch;
         op = op->next()) {
      if (m + 1 < group_.members.size() && op == group_.members[m + 1].launch) ++m;
      if (op == group_.members[m].launch) continue;
      for (const Touch& touch : TouchesOf(module_, op)) {
        auto uses = uses_.find(ir::MemoryOf(touch.tensor));
        bool is_written =
            uses != uses_.end() && std::ranges::any_of(uses->second, &TensorUse::writes);
        if (is_written)
          return Refuse(m + 1, touch.tensor, "the host uses it between the launches",
                        "use its elements before or after the `fuse`");
      }
    }
    return true;
  }

  bool FindProducers() {
    for (size_t m = 0; m + 1 < group_.members.size(); ++m) {
      FusedMember& member = group_.members[m];
      member.producer = ProducerOf(*member.kernel, obstacle_);
      obstacle_.member = m;
      if (!member.producer) return false;
    }
    return true;
  }

  /// Returns whether nothing depends on the size of blocks that the compiler chooses. It may choose other sizes for
  /// the fused kernel.
  bool AreSizesFree() {
    for (size_t m = 0; m < group_.members.size(); ++m) {
      const Op* dependent = FirstThatDependsOnSize(*group_.members[m].kernel);
      if (!dependent) continue;
      obstacle_ = {Obstacle::Kind::Kernel,
                   m,
                   "",
                   dependent->loc(),
                   "this depends on the size of a block, which is `auto`",
                   "give the size of the block a value, as in `BC: int = 256`"};
      return false;
    }
    return true;
  }

  /// Finds the tensors that exist only between the launches.
  bool FindInternal() {
    for (const auto& [memory, uses] : uses_) {
      bool is_between = std::ranges::any_of(uses, [&](const TensorUse& use) {
        return use.writes() && use.member + 1 < group_.members.size();
      });
      bool is_local = memory->def() && memory->def()->kind() == OpKind::Alloc;
      bool is_only_here = std::ranges::all_of(memory->uses(), [&](const ir::Use& use) {
        return std::ranges::find(group_.members, use.user, &FusedMember::launch) !=
               group_.members.end();
      });
      if (is_between && is_local && is_only_here) group_.internal.insert(memory);
    }
    return true;
  }

  const ir::Module& module_;
  FusedGroup& group_;
  Obstacle& obstacle_;
  std::vector<const Value*> order_;
  std::map<const Value*, std::vector<TensorUse>> uses_;
};

class LaunchFuser {
 public:
  explicit LaunchFuser(PassContext& context) : context_(context), module_(context.module) {}

  void FuseIn(ir::Function& program) {
    std::map<int64_t, std::vector<Op*>> fuses;
    for (Op* launch : OpsOfKind(program, OpKind::Launch)) {
      if (launch->HasAttr(AttrKey::Fuse)) fuses[launch->attr<AttrKey::Fuse>()].push_back(launch);
    }
    if (!fuses.empty() && context_.keeps_unfused) KeepUnfused(program);
    for (const auto& [number, launches] : fuses) Fuse(launches);
  }

 private:
  void KeepUnfused(const ir::Function& program) {
    Name name = module_.context().names.Intern(UnfusedName(program.name.text()));
    ir::Function* copy = ir::CloneFunction(program, module_, name);
    copy->exported = false;
    for (Op* launch : OpsOfKind(*copy, OpKind::Launch)) launch->RemoveAttr(AttrKey::Fuse);
  }

  void Fuse(const std::vector<Op*>& launches) {
    FusedGroup group;
    for (Op* launch : launches) {
      const ir::Function* kernel = module_.FindFunction(launch->attr<AttrKey::Callee>());
      if (launch->parent_region() != launches[0]->parent_region() || IsOneOfSeveral(launch)) {
        context_.diagnostics
            .Report(diag::FuseChosenLate, context_.SpanOf(launch->loc()), kernel->base_name())
            .Help("give the parameters values in the launch, as in `blur<B = 64>(x, y)`");
        return;
      }
      group.members.push_back({launch, kernel, {}});
    }
    Obstacle obstacle;
    bool done = GroupChecker(module_, group, obstacle).Check() && Replace(group, obstacle);
    if (!done) Report(group, obstacle);
  }

  /// Returns whether the launch is in a branch that irgen has made for one value of an integer parameter.
  static bool IsOneOfSeveral(const Op* launch) {
    const Op* around = launch->parent_region()->parent();
    return around && around->kind() == OpKind::If && around->loc() == launch->loc();
  }

  void Report(const FusedGroup& group, const Obstacle& obstacle) {
    const FusedMember& member = group.members[obstacle.member];
    Span span = context_.SpanOf(obstacle.loc);
    Span launch = context_.SpanOf(member.launch->loc());
    auto with_notes = [&](Diagnostic& report) {
      if (obstacle.kind != Obstacle::Kind::Tensor)
        report.Note(launch, "it is launched in this `fuse`");
      report.Help(obstacle.help);
    };
    std::string_view name = member.kernel->base_name();
    std::string_view last = group.members.back().kernel->base_name();
    if (&member == &group.members.back()) last = group.members.front().kernel->base_name();
    switch (obstacle.kind) {
      case Obstacle::Kind::Kernel:
        return with_notes(
            context_.diagnostics.Report(diag::FuseKernel, span, name, last, obstacle.reason));
      case Obstacle::Kind::Read:
        return with_notes(
            context_.diagnostics.Report(diag::FuseRead, span, obstacle.name, obstacle.reason));
      case Obstacle::Kind::Tensor:
        return with_notes(
            context_.diagnostics.Report(diag::FuseTensor, span, obstacle.name, obstacle.reason));
    }
  }

  bool Replace(const FusedGroup& group, Obstacle& obstacle) {
    std::optional<FusedLaunch> fused = BuildFusedKernel(module_, group, obstacle);
    if (!fused) return false;
    ir::LaunchOp last(group.members.back().launch);
    ir::Builder b(module_, last.op);
    std::vector<Value*> cores;
    if (last.cores()) cores.push_back(last.cores());
    Op* launch =
        b.Create(OpKind::Launch, {cores, {}, fused->arguments, {}}, {last.result()->type()},
                 {ir::MakeAttr<AttrKey::Callee>(fused->kernel->name),
                  ir::MakeAttr<AttrKey::Device>(last->attr<AttrKey::Device>()),
                  ir::MakeAttr<AttrKey::Queue>(last->attr<AttrKey::Queue>())});
    launch->result()->set_name(last.result()->name());
    last.result()->ReplaceAllUsesWith(launch->result());
    for (const FusedMember& member : group.members) ir::Erase(member.launch);
    for (const Value* tensor : group.internal) ir::Erase(tensor->def());
    return true;
  }

  PassContext& context_;
  ir::Module& module_;
};

}  // namespace

void RunFuseLaunches(PassContext& context) {
  const std::vector<ir::Function*> functions = context.module.functions();
  for (ir::Function* function : functions) {
    if (function->kind == ir::FunctionKind::Program) LaunchFuser(context).FuseIn(*function);
  }
}

}  // namespace kdl::passes
