#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/ring.h"
#include "ir/views.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/analysis/pipe_schedule.h"
#include "passes/analysis/traffic.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"

// check-pipes: proves that every pipe has one stage that pushes and another stage that pops. Also proves
// that, for all sizes, each core pushes as many tiles as it pops, and that stages never deadlock. A pipe for
// which this cannot be proven is an error. Removes unused pipes, and increases the depth of pipes that would
// otherwise block:
//
//   stage { push to %a ; push to %a ; push to %b }   stage { pop %b ; pop %a ; pop %a }     ->  %a = pipe {depth = 2}
//
// If the pipes between stages form no cycle, the stages cannot deadlock at any depth: in a deadlock, one
// stage would find a pipe empty while another stage finds a pipe full.

namespace kdl::passes {

namespace {

constexpr int64_t kMostDepth = 1024;

constexpr const char* kLoopHelp =
    "use the same loops in both stages, and push in each iteration what the other stage pops in it";
constexpr const char* kBranchHelp =
    "push and pop in the same order in both branches of an `if`, or use a condition that depends "
    "only on the kernel's arguments";

std::string_view PipeName(const Value* pipe) { return pipe->def()->attr<AttrKey::Name>().text(); }
std::string_view StageName(const Op* stage) { return stage->attr<AttrKey::Name>().text(); }

/// A pipe and the two stages that it connects. Messages point at `push` and `pop`, the first push and the
/// first pop.
struct Joint {
  Value* pipe;
  const Op* from;
  const Op* to;
  const Op* push;
  const Op* pop;
};

class PipeChecker {
 public:
  PipeChecker(PassContext& context, ir::Function& kernel) : context_(context), kernel_(kernel) {}

  void Check() {
    for (Op* pipe : ir::PipesOf(kernel_)) {
      if (pipe->result()->uses().empty()) {
        ir::Erase(pipe);  // an unused pipe would take memory on every core
      } else {
        FindJoint(pipe->result());
      }
    }
    if (failed_ || joints_.empty()) return;
    for (Op* op : *kernel_.body) {
      if (op->kind() == ir::OpKind::Stage) stages_.push_back({op, TrafficOf(op->region())});
    }
    for (const Joint& joint : joints_) CheckCounts(joint);
    if (!failed_) CheckBlocking();
  }

 private:
  Span SpanOf(const Op* op) const { return context_.SpanOf(op->loc()); }

  template <class Kind, class... Args>
  Diagnostic& Report(const Kind& kind, const Op* at, Args&&... args) {
    failed_ = true;
    return context_.diagnostics.Report(kind, SpanOf(at), std::forward<Args>(args)...);
  }

  // ---- The ends of pipes

  /// Returns the stage that contains all of the ops. If the ops are in several stages, reports an error and
  /// returns null.
  const Op* OneStage(const Value* pipe, const std::vector<Op*>& ends, std::string_view verb) {
    const Op* first = StageOf(ends[0]);
    for (const Op* end : ends) {
      if (StageOf(end) == first) continue;
      Report(diag::PipeStages, end, StageName(StageOf(end)), verb, PipeName(pipe), StageName(first))
          .Note(SpanOf(ends[0]), fmt::format("'{}' {} it here", StageName(first), verb))
          .Help("give each stage a pipe of its own");
      return nullptr;
    }
    return first;
  }

  void FindJoint(Value* pipe) {
    PipeEnds ends = PipeEndsOf(pipe);
    if (ends.pushes.empty() || ends.pops.empty()) return ReportOpen(pipe, ends);
    const Op* from = OneStage(pipe, ends.pushes, "pushes to");
    const Op* to = OneStage(pipe, ends.pops, "pops from");
    if (!from || !to) return;
    if (from == to) {
      Report(diag::PipeInOneStage, ends.pops[0], StageName(from), PipeName(pipe))
          .Note(SpanOf(ends.pushes[0]), "it pushes here")
          .Help("move one of the two into another stage");
      return;
    }
    joints_.push_back({pipe, from, to, ends.pushes[0], ends.pops[0]});
  }

  void ReportOpen(const Value* pipe, const PipeEnds& ends) {
    if (ends.pushes.empty() && ends.pops.empty()) return;  // an unused pipe is not an error
    bool pushed = !ends.pushes.empty();
    const Op* end = pushed ? ends.pushes[0] : ends.pops[0];
    Report(diag::PipeOneEnd, end, pushed ? "pushes to" : "pops from", PipeName(pipe),
           pushed ? "pops from" : "pushes to")
        .Note(SpanOf(pipe->def()), "the pipe is declared here")
        .Help(fmt::format(
            "write the stage at the other end of the pipe: stage name {{ … {}.{}(…) … }}",
            PipeName(pipe), pushed ? "pop" : "push"));
  }

  // ---- Numbers of tiles

  const Traffic& TrafficIn(const Op* stage) const {
    auto found = std::find_if(stages_.begin(), stages_.end(),
                              [&](const StageTraffic& one) { return one.stage == stage; });
    return found->traffic;
  }

  void CheckCounts(const Joint& joint) {
    const Op* conditional = nullptr;
    Count pushes = TileCount(TrafficIn(joint.from), joint.pipe, conditional);
    if (conditional) return ReportConditional(joint, conditional, joint.from);
    Count pops = TileCount(TrafficIn(joint.to), joint.pipe, conditional);
    if (conditional) return ReportConditional(joint, conditional, joint.to);
    if (pushes == pops && !IsPrivate(pushes)) return CheckOrder(joint);
    if (const Op* alone = OwnWalk(TrafficIn(joint.from), joint.pipe))
      return ReportOwn(joint, alone);
    if (const Op* alone = OwnWalk(TrafficIn(joint.to), joint.pipe)) return ReportOwn(joint, alone);
    ReportCounts(joint);
  }

  void CheckOrder(const Joint& joint) {
    if (BlockOrderOf(TrafficIn(joint.from), joint.pipe) ==
        BlockOrderOf(TrafficIn(joint.to), joint.pipe))
      return;
    Report(diag::PipeOrder, joint.push, StageName(joint.from), PipeName(joint.pipe),
           StageName(joint.to))
        .Note(SpanOf(joint.pop), "popped here")
        .Help(
            "push and pop all tiles of a block in one iteration of one loop over the domain, and "
            "use another pipe for another loop");
  }

  void ReportConditional(const Joint& joint, const Op* branch, const Op* stage) {
    bool pushes = stage == joint.from;
    Report(diag::PipeConditional, branch, pushes ? "push" : "pop", PipeName(joint.pipe),
           StageName(stage == joint.from ? joint.to : joint.from))
        .Note(SpanOf(pushes ? joint.push : joint.pop), pushes ? "the push" : "the pop")
        .Note(SpanOf(pushes ? joint.pop : joint.push), pushes ? "the pop" : "the push")
        .Help(pushes ? "push in both branches: in the other one, for example, a tile of zeros"
                     : "pop before the `if`, and use the tile in it");
  }

  /// Returns an `spmd for` that contains a push or pop of the pipe and does not iterate over a named domain.
  /// Returns null if there is none.
  const Op* OwnWalk(const Traffic& traffic, const Value* pipe) {
    for (const TrafficItem& item : traffic) {
      if (item.kind != TrafficItem::Kind::Loop) continue;
      const Op* conditional = nullptr;
      bool own = item.op->kind() == ir::OpKind::Spmd && !item.op->HasAttr(AttrKey::Domain);
      if (own && !TileCount(item.body, pipe, conditional).empty()) return item.op;
    }
    return nullptr;
  }

  void ReportOwn(const Joint& joint, const Op* walk) {
    Report(diag::PipeOwnWalk, walk, StageName(joint.from), StageName(joint.to),
           PipeName(joint.pipe))
        .Note(SpanOf(joint.push), "pushed here")
        .Note(SpanOf(joint.pop), "popped here")
        .Help(
            "declare the domain before the stages, `domain blocks = (…);`, and use it in both "
            "loops: `spmd for i, j in blocks`");
  }

  void ReportCounts(const Joint& joint) {
    std::string example = ExampleText(joint);
    Report(diag::PipeCounts, joint.push, StageName(joint.from), PipeName(joint.pipe),
           StageName(joint.to), example)
        .Note(SpanOf(joint.pop), "popped here")
        .Help("push and pop in loops over one domain, or with the same bounds and blocks");
  }

  /// Returns text like `: with M = 100, one core pushes 7 tiles and pops 1` for the first example in which
  /// the numbers differ.
  std::string ExampleText(const Joint& joint) {
    constexpr int64_t kSizes[][4] = {{100, 70, 33, 19}, {64, 130, 17, 40}, {7, 5, 3, 2}};
    constexpr int64_t kBlocks[] = {16, 32, 8, 4};
    for (const auto& sizes : kSizes) {
      Example example;
      size_t next = 0;
      for (Name dim : kernel_.dims) example[dim.str()] = sizes[next++ % 4];
      for (const ir::Param& param : kernel_.params) {
        bool integer = IsScalar(param.value->type()) && IsInteger(param.value->type()->scalar);
        if (integer) example[param.value->name().str()] = sizes[next++ % 4];
      }
      next = 0;
      for (const ir::Generic& generic : kernel_.generics) {
        bool known = generic.values.size() == 1;
        example[generic.name.str()] = known ? generic.values[0] : kBlocks[next++ % 4];
      }
      auto pushes = TilesIn(TrafficIn(joint.from), joint.pipe, example);
      auto pops = TilesIn(TrafficIn(joint.to), joint.pipe, example);
      if (!pushes || !pops || *pushes == *pops) continue;
      std::string text;
      for (const auto& [name, value] : example) {
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
      }
      return fmt::format(": {}one core pushes {} and pops {}",
                         text.empty() ? "" : fmt::format("with {}, ", text), *pushes, *pops);
    }
    return ", as far as the compiler can tell: a bound or condition depends on a value that only "
           "one stage knows";
  }

  // ---- Blocked stages

  /// Returns the stages that are connected with `first` by pipes, directly or through other stages. Sets
  /// `ring` if these pipes form a cycle.
  std::set<const Op*> Joined(const Op* first, bool& ring) const {
    std::set<const Op*> members = {first};
    for (bool grown = true; grown;) {
      grown = false;
      for (const Joint& joint : joints_) {
        if (members.contains(joint.from) == members.contains(joint.to)) continue;
        members.insert(joint.from);
        members.insert(joint.to);
        grown = true;
      }
    }
    auto inside = [&](const Joint& joint) { return members.contains(joint.from); };
    auto pipes = static_cast<size_t>(std::count_if(joints_.begin(), joints_.end(), inside));
    ring = pipes >= members.size();
    return members;
  }

  void CheckBlocking() {
    std::set<const Op*> checked;
    for (const StageTraffic& stage : stages_) {
      bool ring = false;
      if (checked.contains(stage.stage)) continue;
      std::set<const Op*> members = Joined(stage.stage, ring);
      checked.insert(members.begin(), members.end());
      if (ring) FindDepths(members);
    }
  }

  void FindDepths(const std::set<const Op*>& members) {
    std::vector<StageTraffic> group;
    for (const StageTraffic& stage : stages_) {
      if (members.contains(stage.stage)) group.push_back(stage);
    }
    Schedule schedule = FindSchedule(group);
    if (!schedule.ends) return ReportBlocked(schedule);
    for (const auto& [pipe, depth] : schedule.depth) {
      Op* def = pipe->def();
      if (depth > kMostDepth) {
        Report(diag::PipeTooDeep, def, PipeName(pipe), depth, kMostDepth);
      } else if (depth > def->attr<AttrKey::Depth>()) {
        def->SetAttr(ir::MakeAttr<AttrKey::Depth>(depth));
      }
    }
  }

  void ReportBlocked(const Schedule& schedule) {
    auto branches = [](const Op* op) { return op->kind() == ir::OpKind::If; };
    bool branch = std::any_of(schedule.stuck.begin(), schedule.stuck.end(), branches);
    Diagnostic& report =
        schedule.waiting
            ? Report(diag::PipeBlocked, schedule.stuck[0]).Help("let one of them push first")
            : Report(diag::PipeOutOfStep, schedule.stuck[0])
                  .Help(branch || schedule.guesses ? kBranchHelp : kLoopHelp);
    for (size_t i = 0; i < schedule.stuck.size(); ++i) {
      const Op* at = schedule.stuck[i];
      if (i > 0)
        report.Note(SpanOf(at), fmt::format("stage '{}' waits here", StageName(StageOf(at))));
    }
  }

  PassContext& context_;
  ir::Function& kernel_;
  std::vector<Joint> joints_;
  std::vector<StageTraffic> stages_;
  bool failed_ = false;
};

}  // namespace

void RunCheckPipes(PassContext& context, ir::Function& kernel) {
  PipeChecker(context, kernel).Check();
}

}  // namespace kdl::passes
