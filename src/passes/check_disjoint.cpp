#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "passes/checks/inner_loops.h"
#include "passes/checks/ragged_checks.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

// check-disjoint: proves that no block accesses an element that another block writes, unless a `sync`
// separates the two accesses or both are atomic. Also proves that no store writes an element twice. Code that
// cannot be proven is an error; if an example is found, the error names two blocks and an element. Code
// outside of `spmd for` counts as one block per core. The proofs rely on rules that the front end enforces
// for sources, but that KIR text may violate: all cores reach each `sync` and `spmd for`, and stages do not
// share a tensor that one of them writes.

namespace kdl::passes {

namespace {

constexpr const char* kStoreHelp =
    "index it by the ranges of the `spmd for`; or keep one of the values with `atomic {0} = …;`; "
    "or add them with `atomic {0} += …;` or `reduce`; or separate the two accesses by a `sync;`";

/// Help for a store such as `y[0] += …`, which is usually meant as a sum over all blocks.
constexpr const char* kSumHelp =
    "add the values with `reduce {0} += …;` or `atomic {0} += …;`; or index both accesses by the "
    "ranges of the `spmd for`; or separate them by a `sync;`";

/// Help for a store that lacks an index for one of the loop variables: one block can write all values of the element.
constexpr const char* kInnerLoopHelp =
    "write the loop over {0} inside of the block: `{1}`; or add the values of the blocks with "
    "`reduce {2} += …;`";

/// Help for two loops that access the same elements in blocks with equal numbers.
constexpr const char* kDomainHelp =
    "separate the two loops by a `sync;`; or let both iterate over one domain, `domain d = (…);`, "
    "if only blocks with equal numbers access the same elements";

/// Help for a conflict between two different accesses, for which an `atomic` store is not enough.
constexpr const char* kAccessesHelp =
    "index both accesses by the ranges of the `spmd for`, or separate them by a `sync;`";

class DisjointChecker {
 public:
  DisjointChecker(PassContext& context, const ir::Function& kernel)
      : context_(context),
        kernel_(kernel),
        disjoint_(kernel, context.module.types(), {context.proof_steps}) {}

  void Check() {
    CheckPlaces();
    CheckBlocks();
    CheckStages();
    for (const proofs::Meeting& meeting : disjoint_.Meetings()) Report(meeting);
    for (const proofs::TwiceStored& stored : disjoint_.StoredTwice(reported_)) Report(stored);
    if (context_.unchecked) return;
    for (const proofs::Parts& parts : disjoint_.parts()) CheckThatPartsAreApart(context_, parts);
  }

 private:
  void CheckPlaces() {
    proofs::Varying varying(kernel_, proofs::Varying::By::Memory);
    ir::Walk(kernel_.body, [&](const Op* op) {
      bool is_met = op->kind() == OpKind::Sync || op->kind() == OpKind::Spmd;
      auto varies = [&](const Value* bound) { return varying.IsVarying(bound); };
      if (!is_met || !(varying.IsAround(op) || std::ranges::any_of(op->operands(), varies))) return;
      context_.diagnostics.Report(diag::CoresDiverge, SpanOf(op), op->info().spelling)
          .Help(
              "conditions and bounds around it can use sizes, `in` parameters and core_num, but "
              "not "
              "core_id or tensors that the kernel may write");
    });
  }

  /// Checks that no result depends on which core runs a block. The front end already rejects most such code,
  /// but not loop-carried values and values that depend on `break` and `continue`.
  void CheckBlocks() {
    proofs::Varying varying(kernel_, proofs::Varying::By::Core);
    std::set<const Value*> reported;
    ir::Walk(kernel_.body, [&](const Op* op) {
      const Op* walk = Around(op->parent_region()->parent(), OpKind::Spmd);
      if (!walk) return;
      for (const Value* value : op->operands()) {
        bool differs = varying.IsVarying(value) && !IsInside(value, walk);
        if (differs && reported.insert(value).second) ReportCoreValue(op, value->name().text());
      }
      if (op->kind() == OpKind::CoreId) ReportCoreValue(op, op->info().spelling);
    });
  }

  void ReportCoreValue(const Op* op, std::string_view name) {
    std::string text = name.empty() ? "a value" : fmt::format("'{}'", name);
    context_.diagnostics.Report(diag::CoreValueInSpmd, SpanOf(op), text)
        .Help(
            "use the index of the block, such as `k.index`, or a value that is the same on all "
            "cores: from sizes, parameters, or tensors read after a `sync`");
  }

  /// Checks that stages share no tensor that one of them writes. Code outside of stages counts as one more
  /// stage, because it is not ordered relative to the others. Updates of groups count, too, because they take
  /// effect only after all stages have ended.
  void CheckStages() {
    std::vector<proofs::AccessView> views = proofs::AccessesIn(kernel_.body);
    std::erase_if(views, [](const auto& view) { return view.is_fill(); });
    auto stage_of = [](const auto& view) { return Around(view.op, OpKind::Stage); };
    if (std::ranges::none_of(views, stage_of)) return;
    for (const proofs::AccessView& write : views) {
      const Value* memory = ir::MemoryOf(write.tensor);
      if (write.effect == ir::Effect::Read || reported_.contains(memory)) continue;
      auto other = std::ranges::find_if(views, [&](const auto& view) {
        return ir::MemoryOf(view.tensor) == memory && stage_of(view) != stage_of(write);
      });
      if (other == views.end()) continue;
      reported_.insert(memory);
      context_.diagnostics
          .Report(diag::StagesShare, SpanOf(write.op), OpText(write.op), memory->name().text())
          .Note(SpanOf(other->op), "the other access")
          .Help("pass the values through a pipe, or let one stage do both");
    }
  }

  void Report(const proofs::Meeting& meeting) {
    const auto& [write, other, of_blocks, example] = meeting;
    reported_.insert(ir::MemoryOf(write.tensor));
    if (example) return Report(*example);
    Diagnostic& report =
        context_.diagnostics.Report(diag::NotDisjoint, SpanOf(write.op), OpText(write.op),
                                    of_blocks ? "blocks" : "cores", write.tensor->name().text());
    if (other.op != write.op) report.Note(SpanOf(other.op), "the other access");
    NoteWraps(report);
    report.Help(
        of_blocks
            ? StoreHelp(write.op, other.op)
            : "put it inside a `spmd for` or inside `if core_id == 0`, or index it by `core_id`");
  }

  static bool Accumulates(const Op* store, const Op* load) {
    const Op* sum = store->kind() == ir::OpKind::Store ? store->operand(0)->def() : nullptr;
    return sum && std::ranges::any_of(sum->operands(), [&](const Value* term) {
             return term->def() == load && OpText(load) == OpText(store);
           });
  }

  static bool HaveOneDomain(const Op* walk, const Op* other) {
    return walk->HasAttr(AttrKey::Domain) && other->HasAttr(AttrKey::Domain) &&
           walk->attr<AttrKey::Domain>() == other->attr<AttrKey::Domain>();
  }

  std::string StoreHelp(const Op* store, const Op* other) const {
    const Op* walk = Around(store, OpKind::Spmd);
    const Op* other_walk = Around(other, OpKind::Spmd);
    if (walk && other_walk && walk != other_walk && !HaveOneDomain(walk, other_walk))
      return kDomainHelp;
    bool is_alone = other == store || OpText(store) == OpText(other);
    if (std::string loop = InnerLoop(kernel_, store); is_alone && !loop.empty())
      return fmt::format(kInnerLoopHelp, InnerLoopNames(store), loop, OpText(store));
    if (other == store) return fmt::format(kStoreHelp, OpText(store));
    return Accumulates(store, other) ? fmt::format(kSumHelp, OpText(store)) : kAccessesHelp;
  }

  /// Adds a note about a sum that may overflow 64 bits, because nothing can be proven about such a sum. The
  /// note suggests an assert that excludes the overflow.
  void NoteWraps(Diagnostic& report) {
    std::optional<proofs::WrappingSum> found = proofs::FindWrappingSum(kernel_);
    if (!found) return;
    report.Note(
        SpanOf(found->sum),
        fmt::format("this may overflow 64 bits; give '{0}' bounds, which are sizes or at most "
                    "2^32, before all loops: `assert(0 <= {0} && {0} < …);`",
                    found->number->name().text()));
  }

  void Report(const proofs::RaceExample& example) {
    Diagnostic& report =
        example.reads
            ? context_.diagnostics.Report(diag::BlocksRace, SpanOf(example.op), example.block,
                                          example.element, example.other_block, example.sizes)
            : context_.diagnostics.Report(diag::BlocksOverlap, SpanOf(example.op),
                                          example.other_block, example.block, example.element,
                                          example.sizes);
    if (example.other != example.op) report.Note(SpanOf(example.other), "the other access");
    report.Help(StoreHelp(example.op, example.other));
  }

  /// Reports a store that may write the same element at two of its points.
  void Report(const proofs::TwiceStored& stored) {
    const auto& [store, example] = stored;
    Span span = SpanOf(store);
    std::string help = fmt::format(
        "write `atomic {} = …` to keep one of the values, or `+=` to add them all; or reduce first",
        OpText(store));
    Diagnostic& report =
        example ? context_.diagnostics.Report(diag::StoredTwice, span, OpText(store),
                                              example->element, example->first, example->second)
                : context_.diagnostics.Report(diag::NotOnce, span, OpText(store));
    report.Help(help);
  }

  Span SpanOf(const Op* op) const { return context_.SpanOf(op->loc()); }
  static std::string_view OpText(const Op* op) {
    return op->HasAttr(AttrKey::Text) ? op->attr<AttrKey::Text>().text() : op->info().spelling;
  }

  PassContext& context_;
  const ir::Function& kernel_;
  proofs::Disjoint disjoint_;
  std::set<const Value*> reported_;
};

}  // namespace

void RunCheckDisjoint(PassContext& context, ir::Function& kernel) {
  DisjointChecker(context, kernel).Check();
}

}  // namespace kdl::passes
