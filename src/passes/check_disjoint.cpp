#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ir/tensor_view.h"
#include "passes/analysis/examples.h"
#include "passes/analysis/plain_accesses.h"
#include "passes/analysis/wraps.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/ragged_checks.h"

// check-disjoint: what one block writes no other block touches, unless a `sync` lies between, or both are atomic; and a
// store names no element twice. What cannot be proven is the user's mistake; where two blocks and an element are found,
// the error shows them. Code outside `spmd for` counts as one block a core.

namespace kdl::passes {

namespace {

using ir::Effect;

constexpr const char* kStoreHelp =
    "index it by the ranges that `spmd for` deals, write `atomic {0} = …;`, where one of the "
    "values "
    "stays, or add up with `atomic {0} += …;` or `reduce`, or let what one loop writes and another "
    "one touches lie on both sides of a `sync;`";

/// Of two accesses an `atomic` store alone is not enough.
constexpr const char* kAccessesHelp =
    "index both by the ranges that `spmd for` deals, or let what one loop writes and another one "
    "touches lie on both sides of a `sync;`";

class DisjointChecker {
 public:
  DisjointChecker(PassContext& context, const ir::Function& kernel)
      : context_(context),
        kernel_(kernel),
        instances_(sets_, kernel, context.module.types()),
        races_(instances_, SafeIn(kernel)),
        examples_(kernel, context.module.types()) {}

  void Run() {
    for (const Race& race : races_.Find()) {
      if (!IsRagged(ir::MemoryOf(race.a->view.tensor))) Report(race);
    }
    for (const Site& site : races_.sites()) CheckTwice(site);
    if (context_.unchecked) return;
    std::vector<Ragged> all = RaggedOf(kernel_, instances_.terms());
    for (size_t part : checked_) CheckThatPartsAreApart(context_, all[part]);
  }

 private:
  static std::set<const Value*> SafeIn(const ir::Function& kernel) {
    std::set<const Value*> safe;
    std::vector<AccessView> views = AccessesIn(kernel.body);
    for (const AccessView& view : views) safe.insert(ir::MemoryOf(view.tensor));
    std::erase_if(safe, [](const Value* memory) { return !IsDealtPlainly(memory); });
    for (const AccessView& view : views) {
      const Value* memory = ir::MemoryOf(view.tensor);
      if (view.effect == Effect::Write && safe.contains(memory) && !IsOncePlainly(view))
        safe.erase(memory);
    }
    return safe;
  }

  /// Whether the tables of ragged walks tell the blocks apart; then the launch checks those that it takes.
  bool IsRagged(const Value* memory) {
    std::vector<size_t> around = PartsAround(RaggedOf(kernel_, instances_.terms()), memory);
    if (around.empty()) return false;
    std::set<const Value*> others;
    for (const AccessView& view : AccessesIn(kernel_.body)) {
      if (ir::MemoryOf(view.tensor) != memory) others.insert(ir::MemoryOf(view.tensor));
    }
    auto needed = FewestOf(around, [&](const std::vector<size_t>& parts) {
      Instances instances(sets_, kernel_, context_.module.types());
      std::vector<Ragged> all = RaggedOf(kernel_, instances.terms());
      std::vector<Ragged> assumed;
      for (size_t part : parts) assumed.push_back(all[part]);
      instances.Assume(std::move(assumed));
      return Races(instances, others).Find().empty();
    });
    if (needed) checked_.insert(needed->begin(), needed->end());
    return needed.has_value();
  }

  void Report(const Race& race) {
    const Site& writes = race.b->view.effect == Effect::Read ? *race.a : *race.b;
    const Site& other = race.b->view.effect == Effect::Read ? *race.b : *race.a;
    const Value* memory = ir::MemoryOf(writes.view.tensor);
    reported_.insert(memory);
    if (std::optional<RaceExample> example = examples_.RaceOn(memory)) return Report(*example);
    Diagnostic& report = context_.diagnostics.Report(
        diag::NotDisjoint, SpanOf(writes.view.op), TextOf(writes.view.op),
        race.a->walk || race.b->walk ? "blocks" : "cores", writes.view.tensor->name().text());
    if (other.view.op != writes.view.op) report.Note(SpanOf(other.view.op), "the other access");
    NoteWraps(report);
    report.Help(
        race.a->walk || race.b->walk
            ? StoreHelp(writes.view.op, other.view.op)
            : "put it inside `spmd for`, under `if core_id == 0`, or index it by `core_id`");
  }

  static std::string StoreHelp(const Op* store, const Op* other) {
    return other == store ? fmt::format(kStoreHelp, TextOf(store)) : kAccessesHelp;
  }

  /// Nothing is known of a sum that may leave 64 bits; an assert says that it does not.
  void NoteWraps(Diagnostic& report) {
    Wraps wraps(kernel_);
    const Op* sum = nullptr;
    const Value* number = nullptr;
    ir::Walk(kernel_.body, [&](const Op* op) {
      bool adds = op->kind() == ir::OpKind::Add || op->kind() == ir::OpKind::Sub;
      if (sum || !adds || !wraps.MayWrap(op->result())) return;
      auto is_parameter = [&](const Value* operand) {
        return !operand->def() && operand->block() == kernel_.body && !wraps.IsBounded(operand);
      };
      auto operand = std::ranges::find_if(op->operands(), is_parameter);
      if (operand == op->operands().end()) return;
      sum = op;
      number = *operand;
    });
    if (!sum) return;
    report.Note(SpanOf(sum),
                fmt::format("this may leave 64 bits; `assert(0 <= {0} && {0} < …);` in "
                            "front of all loops says where '{0}' ends",
                            number->name().text()));
  }

  void Report(const RaceExample& example) {
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

  /// Two points of one store must not be one element.
  void CheckTwice(const Site& site) {
    const AccessView& view = site.view;
    if (view.effect != Effect::Write || view.axes().empty()) return;
    if (reported_.contains(ir::MemoryOf(view.tensor))) return;
    if (races_.Twice(site).IsSurelyEmpty()) return;
    Span span = SpanOf(view.op);
    std::string help = fmt::format(
        "write `atomic {} = …`, where one of the values stays, or `+=`, which adds all; or reduce "
        "first",
        TextOf(view.op));
    std::optional<TwiceExample> example = examples_.TwiceBy(view.op);
    Diagnostic& report =
        example ? context_.diagnostics.Report(diag::StoredTwice, span, TextOf(view.op),
                                              example->element, example->first, example->second)
                : context_.diagnostics.Report(diag::NotOnce, span, TextOf(view.op));
    report.Help(help);
  }

  Span SpanOf(const Op* op) const { return context_.SpanOf(op->loc()); }
  static std::string_view TextOf(const Op* op) {
    return op->HasAttr(AttrKey::Text) ? op->attr<AttrKey::Text>().text() : op->info().spelling;
  }

  PassContext& context_;
  const ir::Function& kernel_;
  SetContext sets_;
  Instances instances_;
  Races races_;
  Examples examples_;
  std::set<const Value*> reported_;
  std::set<size_t> checked_;  ///< of RaggedOf
};

}  // namespace

void RunCheckDisjoint(PassContext& context, ir::Function& kernel) {
  DisjointChecker(context, kernel).Run();
}

}  // namespace kdl::passes
