#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/tensor_view.h"
#include "passes/analysis/collision.h"
#include "passes/analysis/enumeration.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"

// check-disjoint: what one block writes no other block touches, unless a `sync` lies between, or both are atomic; and a
// store names no element twice. What cannot be proven is the user's mistake; where two blocks and an element are found,
// the error shows them. Code outside `spmd for` counts as one block a core.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Effect;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr const char* kStoreHelp =
    "index it by the ranges that `spmd for` deals, write `atomic {0} = …;`, where one of the "
    "values "
    "stays, or add up with `atomic {0} += …;` or `reduce`, or let what one loop writes and another "
    "one touches lie on both sides of a `sync;`";
/// An access with where it stands among walks and barriers.
struct Site {
  AccessView view;
  const Op* walk;                ///< the `spmd for` around it; null: on each core
  int phase;                     ///< between which barriers
  std::set<int> open;            ///< phases from which some way leads here without a barrier
  std::vector<int> turns;        ///< of the loops outside of walks: each is gone through twice
  std::vector<const Op*> loops;  ///< these, outermost first
  size_t kind = 0;               ///< the same for accesses with the same indices in the same walk
};

/// The accesses of a kernel in order.
class SiteFinder {
 public:
  explicit SiteFinder(Terms& terms) : terms_(terms) {}

  std::vector<Site> Find(const ir::Function& kernel) {
    Visit(kernel.body, nullptr);
    return std::move(sites_);
  }

 private:
  void Add(const AccessView& view, const Op* walk) {
    Kind kind{
        view.tensor, view.access(), {view.index.begin(), view.index.end()}, view.is_partial(), walk,
        loops_,      turns_};
    auto known = std::find(kinds_.begin(), kinds_.end(), kind);
    if (known == kinds_.end()) known = kinds_.insert(known, std::move(kind));
    sites_.push_back(
        {view, walk, phase_, open_, turns_, loops_, static_cast<size_t>(known - kinds_.begin())});
  }

  void Visit(const ir::Block* block, const Op* walk) {
    for (Op* op : *block) {
      if (op->info().has(ir::kSyncs)) Pass();
      if (auto view = AccessOf(op)) Add(*view, walk);
      if (op->kind() == OpKind::Stage) Pass();  // joined by pipes alone, checked before
      const Op* inner = op->kind() == OpKind::Spmd ? op : walk;
      if (!inner && IsLoop(op)) {
        VisitTwice(op);
      } else if (!inner && op->kind() == OpKind::If && HasBarrier(op)) {
        VisitEither(op);
      } else {
        for (const ir::Block* region : op->regions()) Visit(region, inner);
      }
    }
  }

  /// A barrier: nothing from before it is open behind it.
  void Pass() {
    phase_ = next_++;
    open_ = {phase_};
  }

  static bool HasBarrier(const Op* op) {
    if (op->info().has(ir::kSyncs)) return true;
    for (const ir::Block* region : op->regions()) {
      for (const Op* inner : *region) {
        if (HasBarrier(inner)) return true;
      }
    }
    return false;
  }

  /// On a way that all cores take or none does: what it holds is not what stands before it.
  void Enter() {
    phase_ = next_++;
    open_.insert(phase_);
  }

  /// Behind two ways of which one, `phase` and `open`, was not the last one looked at.
  void Join(int phase, const std::set<int>& open) {
    if (phase != phase_) phase_ = next_++;
    open_.insert(open.begin(), open.end());
    open_.insert(phase_);
  }

  void VisitEither(const Op* branch) {
    int phase = phase_;
    std::set<int> open = open_;
    Enter();
    Visit(branch->region(0), nullptr);
    std::swap(phase, phase_);
    std::swap(open, open_);
    Enter();
    Visit(branch->region(1), nullptr);
    Join(phase, open);
  }

  static bool IsLoop(const Op* op) {
    return !op->regions().empty() && op->kind() != OpKind::If && op->kind() != OpKind::Stage;
  }

  /// What one turn leaves behind meets what the next one does.
  void VisitTwice(const Op* loop) {
    int phase = phase_;
    std::set<int> open = open_;
    if (HasBarrier(loop)) Enter();
    loops_.push_back(loop);
    for (int turn : {0, 1}) {
      turns_.push_back(turn);
      for (const ir::Block* region : loop->regions()) Visit(region, nullptr);
      turns_.pop_back();
    }
    loops_.pop_back();
    if (!HasTurns(loop)) Join(phase, open);
  }

  /// Whether it has at least one turn in every launch.
  bool HasTurns(const Op* loop) {
    std::optional<LoopBounds> bounds =
        loop->region()->params().empty() ? std::nullopt : LoopBoundsOf(loop->region()->param(0));
    if (!bounds) return false;
    Prover prover(terms_, terms_.FactsAt(loop, {}));
    return prover.NonNegative(terms_.OfValue(bounds->hi, {}) - terms_.OfValue(bounds->lo, {}) - 1);
  }

  struct Kind {
    const Value* tensor;
    ir::Access access;
    std::vector<Value*> index;
    bool is_partial;
    const Op* walk;
    std::vector<const Op*> loops;
    std::vector<int> turns;
    bool operator==(const Kind&) const = default;
  };

  Terms& terms_;
  std::vector<Site> sites_;
  std::vector<Kind> kinds_;
  std::vector<int> turns_;
  std::vector<const Op*> loops_;
  int phase_ = 0;
  int next_ = 1;
  std::set<int> open_ = {0};
};

class DisjointChecker {
 public:
  DisjointChecker(PassContext& context, const ir::Function& kernel)
      : context_(context), kernel_(kernel), terms_(kernel, context.module.types()) {}

  void Run() {
    std::vector<Site> sites = SiteFinder(terms_).Find(kernel_);
    for (size_t i = 0; i < sites.size(); ++i) {
      for (size_t j = i; j < sites.size(); ++j) CheckPair(sites[i], sites[j]);
    }
    for (const Site& site : sites) CheckTwice(site.view);
  }

 private:
  /// `a` comes first.
  static bool MayConflict(const Site& a, const Site& b) {
    if (ir::MemoryOf(a.view.tensor) != ir::MemoryOf(b.view.tensor)) return false;
    if (!b.open.contains(a.phase)) return false;
    if (a.view.effect == Effect::Read && b.view.effect == Effect::Read) return false;
    if (IsStart(a.view, b.view) || IsStart(b.view, a.view)) return false;
    bool both_update = a.view.effect == Effect::Accumulate && b.view.effect == Effect::Accumulate;
    return !both_update || a.view.is_partial() != b.view.is_partial();
  }

  /// irgen's fill of an `out` tensor, which quotes no source, and an update that folds onto it behind the next barrier.
  static bool IsStart(const AccessView& fill, const AccessView& update) {
    return fill.op->kind() == OpKind::Store && !fill.op->HasAttr(AttrKey::Text) &&
           update.op->kind() == OpKind::Update &&
           update.op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
  }

  void CheckPair(const Site& a, const Site& b) {
    if (!MayConflict(a, b) || AreDisjointAnywhere(a, b)) return;
    if (!checked_.insert({a.view.op, b.view.op, a.turns == b.turns}).second) return;
    if (IsDisjoint(a, b)) return;
    const Site& writes = b.view.effect == Effect::Read ? a : b;
    const Site& other = b.view.effect == Effect::Read ? b : a;
    const Value* memory = ir::MemoryOf(writes.view.tensor);
    if (!reported_.insert(memory).second) return;
    if (!failed_) FindConflicts();
    failed_ = true;
    auto found = conflicts_.find(memory);
    if (found != conflicts_.end()) return ReportConflict(found->second);
    Diagnostic& report = context_.diagnostics.Report(
        diag::NotDisjoint, SpanOf(writes.view.op), TextOf(writes.view.op),
        a.walk || b.walk ? "blocks" : "cores", writes.view.tensor->name().text());
    if (other.view.op != writes.view.op) report.Note(SpanOf(other.view.op), "the other access");
    report.Help(HelpFor(a, b, TextOf(writes.view.op)));
  }

  std::string HelpFor(const Site& a, const Site& b, std::string_view written) const {
    if (!a.walk && !b.walk)
      return "put it inside `spmd for`, under `if core_id == 0`, or index it by `core_id`";
    return fmt::format(kStoreHelp, written);
  }

  /// Asked once for all accesses with these indices.
  bool AreDisjointAnywhere(const Site& a, const Site& b) {
    auto [known, is_new] = anywhere_.try_emplace({a.kind, b.kind});
    if (is_new) known->second = IsDisjoint(a, b, true);
    return known->second;
  }

  bool IsDisjoint(const Site& a, const Site& b, bool anywhere = false) {
    bool same_turn = a.turns == b.turns;
    Touch first{a.view, {1, same_turn ? a.walk : OutermostLoop(a)}, anywhere};
    Touch second{b.view, {2, same_turn ? b.walk : OutermostLoop(b)}, anywhere};
    if (!same_turn && MeetInOneTurn(a, b, Collision(terms_, first, second))) return true;
    Collision collision(terms_, first, second);
    if (a.view.is_partial() || b.view.is_partial()) return collision.Never();
    if (!a.walk && !b.walk) return collision.OnlyWhereEqual({{}});
    if (!a.walk || !b.walk || !GoAlike(*a.walk, *b.walk, same_turn)) return collision.Never();
    std::vector<KeyPair> keys;
    for (size_t i = 0; i < a.walk->region()->params().size(); ++i)
      keys.push_back({a.walk->region()->param(i), b.walk->region()->param(i)});
    return collision.OnlyWhereEqual(keys);
  }

  static const Op* OutermostLoop(const Site& site) {
    return site.loops.empty() ? nullptr : site.loops[0];
  }

  /// Of two turns of the loops around both: they meet in none but one and the same.
  static bool MeetInOneTurn(const Site& a, const Site& b, Collision collision) {
    std::vector<KeyPair> counters;
    for (size_t i = 0; i < std::min(a.loops.size(), b.loops.size()); ++i) {
      const Op* loop = a.loops[i];
      if (loop != b.loops[i]) break;
      if (loop->kind() != OpKind::Loop && loop->kind() != OpKind::For) return false;
      counters.push_back({loop->region()->param(0), loop->region()->param(0)});
    }
    return !counters.empty() && collision.OnlyWhereEqual(counters);
  }

  /// One core runs the same blocks of both.
  static bool GoAlike(const Op& a, const Op& b, bool same_turn) {
    if (&a == &b && same_turn) return true;
    return a.HasAttr(AttrKey::Domain) && b.HasAttr(AttrKey::Domain) &&
           a.attr<AttrKey::Domain>() == b.attr<AttrKey::Domain>() && a.operands() == b.operands();
  }

  /// Two points of one store must not be one element.
  void CheckTwice(const AccessView& view) {
    if (view.effect != Effect::Write || AxesOf(view).empty()) return;
    if (!once_.insert(view.op).second || reported_.contains(ir::MemoryOf(view.tensor))) return;
    Touch first{view, {1, nullptr, true}};
    Touch second{view, {2, nullptr, true}};
    if (Collision(terms_, first, second).OnlyAtOnePoint()) return;
    if (!failed_) FindConflicts();
    failed_ = true;
    auto twice = twice_.find(view.op);
    Span span = SpanOf(view.op);
    std::string help = fmt::format(
        "write `atomic {} = …`, where one of the values stays, or `+=`, which adds all; or reduce "
        "first",
        TextOf(view.op));
    if (twice == twice_.end()) {
      context_.diagnostics.Report(diag::NotOnce, span, TextOf(view.op)).Help(help);
      return;
    }
    context_.diagnostics
        .Report(diag::StoredTwice, span, TextOf(view.op), twice->second.element,
                twice->second.first, twice->second.second)
        .Help(help);
  }

  struct Conflict {
    const Op* op;
    const Op* other;
    std::string element;
    std::string first;
    std::string second;
    bool reads;  ///< the other one
    std::string sizes;
  };

  /// Small launches in which two blocks meet, or a store names an element twice.
  void FindConflicts() {
    int64_t steps_left = kMostStepsOfSearch;
    for (const Sizes& sizes : SmallSizes(kernel_)) {
      seen_.clear();
      points_.clear();
      Enumerate(terms_, sizes, steps_left, [&](const Touched& touched) { Meet(touched, sizes); });
    }
  }

  struct Seen {
    BlockId block;
    Op* op;
    Effect effect;
  };

  void Meet(const Touched& touched, const Sizes& sizes) {
    if (!touched.certain || !touched.element) return;
    const AccessView& view = *touched.view;
    std::string element = ElementText(terms_.Coordinates(view.tensor), *touched.element);
    if (view.effect == Effect::Write) {
      auto [point, fresh] = points_.try_emplace({touched.op_run, *touched.element}, touched.text);
      if (!fresh && point->second != touched.text)
        twice_.try_emplace(view.op, Conflict{view.op, nullptr, element, point->second, touched.text,
                                             false, ToText(sizes, kernel_)});
    }
    auto& seen = seen_[{touched.memory, *touched.element, touched.phase}];
    for (const Seen& before : seen) {
      if (before.block == touched.block) continue;
      if (before.effect == Effect::Read && view.effect == Effect::Read) continue;
      if (before.effect == Effect::Accumulate && view.effect == Effect::Accumulate) continue;
      if (IsStart(*AccessOf(before.op), view) || IsStart(view, *AccessOf(before.op))) continue;
      bool second_writes = view.effect != Effect::Read;
      conflicts_.try_emplace(
          touched.memory,
          Conflict{second_writes ? view.op : before.op, second_writes ? before.op : view.op,
                   element, ToText(second_writes ? touched.block : before.block),
                   ToText(second_writes ? before.block : touched.block),
                   before.effect == Effect::Read || view.effect == Effect::Read,
                   ToText(sizes, kernel_)});
      return;
    }
    if (seen.size() < 4) seen.push_back({touched.block, view.op, view.effect});
  }

  void ReportConflict(const Conflict& conflict) {
    std::string where = conflict.sizes.empty() ? "" : fmt::format(", for {}", conflict.sizes);
    Diagnostic& report =
        conflict.reads
            ? context_.diagnostics.Report(diag::BlocksRace, SpanOf(conflict.op), conflict.first,
                                          conflict.element, conflict.second, where)
            : context_.diagnostics.Report(diag::BlocksOverlap, SpanOf(conflict.op), conflict.second,
                                          conflict.first, conflict.element, where);
    if (conflict.other != conflict.op) report.Note(SpanOf(conflict.other), "the other access");
    report.Help(fmt::format(kStoreHelp, TextOf(conflict.op)));
  }

  Span SpanOf(const Op* op) const { return context_.SpanOf(op->loc()); }
  static std::string_view TextOf(const Op* op) {
    return op->HasAttr(AttrKey::Text) ? op->attr<AttrKey::Text>().text() : op->info().spelling;
  }

  PassContext& context_;
  const ir::Function& kernel_;
  Terms terms_;
  std::map<std::pair<size_t, size_t>, bool> anywhere_;  ///< by kinds
  std::set<std::tuple<const Op*, const Op*, bool>> checked_;
  std::set<const Value*> reported_;
  std::set<const Op*> once_;
  bool failed_ = false;
  std::map<const Value*, Conflict> conflicts_;
  std::map<const Op*, Conflict> twice_;
  std::map<std::tuple<const Value*, std::vector<int64_t>, int64_t>, std::vector<Seen>> seen_;
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::string> points_;
};

}  // namespace

void RunCheckDisjoint(PassContext& context) {
  for (const ir::Function* function : context.module.functions()) {
    if (function->kind == ir::FunctionKind::Kernel) DisjointChecker(context, *function).Run();
  }
}

}  // namespace kdl::passes
