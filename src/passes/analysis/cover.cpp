#include "passes/analysis/cover.h"

#include <algorithm>

#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/collision.h"

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool Has(const Poly& poly, AtomId atom) {
  return std::any_of(poly.terms().begin(), poly.terms().end(), [&](const auto& term) {
    return std::find(term.first.begin(), term.first.end(), atom) != term.first.end();
  });
}

/// An atom, or a quotient of it, and so on.
bool Mentions(const Poly& poly, AtomId atom, const Terms& terms) {
  for (const auto& [monomial, coefficient] : poly.terms()) {
    for (AtomId a : monomial) {
      const AtomFacts& facts = terms.Facts(a);
      if (a == atom || Mentions(facts.a, atom, terms) || Mentions(facts.b, atom, terms))
        return true;
    }
  }
  return false;
}

bool Mentions(const Cover& cover, AtomId atom, const Terms& terms) {
  auto in = [&](const Poly& poly) { return Mentions(poly, atom, terms); };
  return std::any_of(cover.index.begin(), cover.index.end(), in) ||
         std::any_of(cover.vars.begin(), cover.vars.end(),
                     [&](const CoverVar& var) { return in(var.lo) || in(var.hi); });
}

bool IsInput(const Value* tensor) {
  tensor = ir::MemoryOf(tensor);
  const ir::Block* block = tensor->block();
  if (!block || !block->function()) return false;
  for (const ir::Param& param : block->function()->params) {
    if (param.value == tensor) return param.direction == ir::Direction::In;
  }
  return false;
}

}  // namespace

bool IsSame(const Value* a, const Value* b) {
  if (a == b) return true;
  const Op* x = a->def();
  const Op* y = b->def();
  if (!x || !y || x->kind() != y->kind() || a->type() != b->type()) return false;
  bool reads = x->kind() == OpKind::Load && IsInput(x->operand(0));
  bool is_known = x->info().has(ir::kPure) || x->kind() == OpKind::Div || x->kind() == OpKind::Rem;
  if ((!reads && !is_known) || a->index() != b->index() || !x->regions().empty()) return false;
  for (const ir::Attr& attr : x->attrs()) {
    if (attr.key == ir::AttrKey::Text || attr.key == ir::AttrKey::Edge) continue;
    const ir::Attr* other = y->FindAttr(attr.key);
    if (!other || !(*other == attr)) return false;
  }
  return x->operands().size() == y->operands().size() &&
         std::equal(x->operands().begin(), x->operands().end(), y->operands().begin(), IsSame);
}

const std::vector<Cover>& Covers::Of(Op* op) {
  auto found = known_.find(op);
  if (found == known_.end()) found = known_.emplace(op, Summarize(op)).first;
  return found->second;
}

std::vector<Cover> Covers::OfBlock(const ir::Block* block) {
  std::vector<Cover> covers;
  for (Op* op : *block) {
    const std::vector<Cover>& of_op = Of(op);
    covers.insert(covers.end(), of_op.begin(), of_op.end());
  }
  return WithBothBranches(std::move(covers));
}

std::vector<Cover> Covers::Summarize(Op* op) {
  std::vector<Cover> covers;
  if (auto view = AccessOf(op)) {
    bool writes = view->effect == ir::Effect::Write || view->is_partial();
    if (writes) covers.push_back(OfStore(*view));
    return covers;
  }
  switch (op->kind()) {
    case OpKind::If:
      for (bool holds : {true, false}) {
        for (Cover& cover : OfBlock(op->region(holds ? 0 : 1))) {
          cover.conditions.push_back({op->operand(0), holds});
          covers.push_back(std::move(cover));
        }
      }
      return WithBothBranches(std::move(covers));
    case OpKind::Stage:
      return OfBlock(op->region());
    case OpKind::Spmd:
    case OpKind::For:
    case OpKind::Loop:
      covers = OfBlock(op->region());
      OfWalk(op, covers);
      return covers;
    default:
      return covers;
  }
}

Cover Covers::OfStore(const AccessView& view) {
  Cover cover{view.op, ir::MemoryOf(view.tensor), terms_.OfElement(view, {}), {}, {}};
  ir::AxisList axes = AxesOf(view);
  if (view.mask) axes = ir::UnionAxes(axes, view.mask->type()->axes);
  for (ir::AxisId axis : axes) {
    const Value* blk = ir::FindBlk(view.op, axis);
    AtomId atom = terms_.ElementOf(blk, {});
    if (auto made = ir::DynAs<ir::MakeBlkOp>(blk->def())) {
      Poly start = terms_.OfValue(made->start(), {});
      cover.vars.push_back({atom, start, start + terms_.OfValue(made->size(), {})});
    } else {
      Poly start = Poly::Atom(terms_.StartOf(blk, {}));
      cover.vars.push_back({atom, start, start + Poly::Atom(terms_.CountOf(blk, {}))});
    }
  }
  if (view.mask) cover.conditions.push_back({view.mask, true});
  return cover;
}

/// From one turn of a loop to all of them. Covers that this cannot be said of go.
void Covers::OfWalk(const Op* walk, std::vector<Cover>& covers) {
  if (walk->HasAttr(ir::AttrKey::Breaks)) return covers.clear();
  bool is_loop = walk->kind() == OpKind::Loop;
  if (is_loop && terms_.OfValue(walk->operand(2), {}) != Poly(1)) return covers.clear();
  for (size_t i = walk->region()->params().size(); i-- > 0;) {
    const Value* binder = walk->region()->param(i);
    std::optional<LoopBounds> bounds = LoopBoundsOf(binder);
    if (!bounds) continue;
    std::erase_if(covers,
                  [&](Cover& cover) { return !Leave(binder, bounds->lo, bounds->hi, cover); });
  }
}

bool Covers::Leave(const Value* binder, const Value* first, const Value* end, Cover& cover) {
  Poly lo = terms_.OfValue(first, {});
  Poly hi = terms_.OfValue(end, {});
  if (binder->type()->kind == ir::TypeKind::Blk) return LeaveBlk(binder, lo, hi, cover);
  cover.vars.push_back({terms_.ScalarOf(binder, {}), lo, hi});
  return true;
}

/// What ran through each block runs through the whole walk.
bool Covers::LeaveBlk(const Value* blk, const Poly& lo, const Poly& hi, Cover& cover) {
  AtomId start = terms_.StartOf(blk, {});
  AtomId count = terms_.CountOf(blk, {});
  bool walked = false;
  for (CoverVar& var : cover.vars) {
    bool in_block = var.lo == Poly::Atom(start) && var.hi == Poly::Atom(start) + Poly::Atom(count);
    if (!in_block || walked) continue;
    var.lo = lo;
    var.hi = hi;
    walked = true;
  }
  AtomId number = terms_.NumberOf(blk, {});
  bool numbered = Mentions(cover, number, terms_);
  if (numbered && walked) return false;
  if (Mentions(cover, start, terms_) || Mentions(cover, count, terms_)) return false;
  if (walked) return true;
  Poly extent = terms_.OfSize(terms_.function().axis(blk->type()->axes[0]).extent);
  cover.vars.push_back({number, 0, terms_.OfQuotient(hi - lo + extent - 1, extent, 0)});
  return true;
}

namespace {

/// Whether one is the other's negation; of integers `a < b` is that of `a >= b`.
bool AreOpposite(const Value* a, const Value* b) {
  std::optional<ir::CompareKind> left = a->def() ? ComparisonOf(a->def()->kind()) : std::nullopt;
  std::optional<ir::CompareKind> right = b->def() ? ComparisonOf(b->def()->kind()) : std::nullopt;
  return left && right && *right == Negated(*left) &&
         IsSame(a->def()->operand(0), b->def()->operand(0)) &&
         IsSame(a->def()->operand(1), b->def()->operand(1)) &&
         !IsFloat(a->def()->operand(0)->type()->scalar);
}

bool SameConditions(const Cover& a, const Cover& b, const CoverCondition** opposite) {
  *opposite = nullptr;
  if (a.conditions.size() != b.conditions.size()) return false;
  for (const CoverCondition& condition : a.conditions) {
    bool negated = false;
    auto same =
        std::find_if(b.conditions.begin(), b.conditions.end(), [&](const CoverCondition& other) {
          negated = AreOpposite(condition.value, other.value);
          return negated || IsSame(condition.value, other.value);
        });
    if (same == b.conditions.end()) return false;
    if ((same->holds != negated) == condition.holds) continue;
    if (*opposite) return false;
    *opposite = &condition;
  }
  return true;
}

/// The same elements but for conditions; b's variables may have other names.
bool SameElements(const Cover& a, const Cover& b) {
  if (a.tensor != b.tensor || a.vars.size() != b.vars.size()) return false;
  auto renamed = [&](Poly poly) {
    for (size_t i = 0; i < a.vars.size(); ++i)
      poly = poly.With(b.vars[i].atom, Poly::Atom(a.vars[i].atom));
    return poly;
  };
  for (size_t d = 0; d < a.index.size(); ++d) {
    if (a.index[d] != renamed(b.index[d])) return false;
  }
  for (size_t i = 0; i < a.vars.size(); ++i) {
    if (a.vars[i].lo != renamed(b.vars[i].lo) || a.vars[i].hi != renamed(b.vars[i].hi))
      return false;
  }
  return true;
}

/// `!c` is c that does not hold.
void Normalize(CoverCondition& condition) {
  const Op* def = condition.value->def();
  while (def && (def->kind() == OpKind::Not || def->kind() == OpKind::Broadcast)) {
    condition.holds = condition.holds != (def->kind() == OpKind::Not);
    condition.value = def->operand(0);
    def = condition.value->def();
  }
}

bool Same(const Cover& a, const Cover& b) {
  const CoverCondition* opposite = nullptr;
  return SameElements(a, b) && SameConditions(a, b, &opposite) && !opposite;
}

constexpr size_t kMostCovers = 64;

}  // namespace

std::vector<Cover> WithBothBranches(std::vector<Cover> covers) {
  for (Cover& cover : covers) {
    for (CoverCondition& condition : cover.conditions) Normalize(condition);
  }
  for (size_t i = 0; i < covers.size(); ++i) {
    for (size_t j = 0; j < i && covers.size() < kMostCovers; ++j) {
      const CoverCondition* opposite = nullptr;
      if (!SameElements(covers[i], covers[j]) || !SameConditions(covers[i], covers[j], &opposite) ||
          !opposite)
        continue;
      Cover both = covers[i];
      std::erase_if(both.conditions,
                    [&](const CoverCondition& c) { return c.value == opposite->value; });
      bool is_known = std::ranges::any_of(covers, [&](const Cover& c) { return Same(c, both); });
      if (!is_known) covers.push_back(std::move(both));
    }
  }
  return covers;
}

namespace {

constexpr int kMostSplits = 2;
constexpr size_t kMostSplit = 8;     ///< covers whose ends split
constexpr int64_t kMostValues = 64;  ///< of an index that constants name

/// One question: an element, and the covers one of which has to have it.
class Solver {
 public:
  Solver(Terms& terms, const std::vector<Cover>& covers) : terms_(terms), covers_(covers) {}

  bool IsCovered(const std::vector<Poly>& target, const std::vector<Poly>& facts, int splits) {
    Prover prover(terms_, facts);
    for (const Cover& cover : covers_) {
      if (Writes(cover, target, facts)) return true;
    }
    if (splits == 0) return false;
    if (splits < kMostSplits && prover.Impossible()) return true;
    if (ByValue(target, facts, splits)) return true;
    return covers_.size() <= kMostSplit &&
           (BySplit(target, facts, splits) || ByRemainder(target, facts, splits));
  }

 private:
  /// Values for the variables with which the cover's index is the target.
  bool Writes(const Cover& original, const std::vector<Poly>& target,
              const std::vector<Poly>& facts) {
    Cover cover = original;
    std::vector<Poly> conditions;
    for (const CoverCondition& condition : cover.conditions) {
      size_t before = conditions.size();
      terms_.AddCondition(condition.value, condition.holds, {}, conditions);
      if (conditions.size() == before || !IsWhole(condition)) return false;
    }
    Prover prover(terms_, facts);
    for (size_t i = cover.vars.size(); i-- > 0;)
      SetByDivision(cover, conditions, i, target, prover);
    for (size_t i = 0; i < cover.vars.size(); ++i) {  // the target may speak of the same atoms
      AtomId own = terms_.Slack(100 + static_cast<int>(i));
      AtomId atom = cover.vars[i].atom;
      cover.vars[i].atom = own;
      for (Poly& index : cover.index) index = index.With(atom, Poly::Atom(own));
      for (Poly& condition : conditions) condition = condition.With(atom, Poly::Atom(own));
      for (CoverVar& var : cover.vars) {
        var.lo = var.lo.With(atom, Poly::Atom(own));
        var.hi = var.hi.With(atom, Poly::Atom(own));
      }
    }
    return Solve(std::move(cover), std::move(conditions), target, prover);
  }

  /// Of y[v / b, v % b] the target gives v, if it lies in its range: v = b * target[0] + target[1]. Else v stays.
  void SetByDivision(Cover& cover, std::vector<Poly>& conditions, size_t i,
                     const std::vector<Poly>& target, Prover& prover) {
    CoverVar var = cover.vars[i];
    for (size_t d = 0; d < target.size(); ++d) {
      std::optional<AtomId> atom = cover.index[d].Greatest();
      if (!atom || cover.index[d] != Poly::Atom(*atom)) continue;
      AtomFacts quotient = terms_.Facts(*atom);
      bool divides = quotient.kind == AtomKind::Quotient && quotient.a == Poly::Atom(var.atom);
      if (!divides || AnyVar(cover, quotient.b) || AnyVar(cover, var.lo) || AnyVar(cover, var.hi))
        continue;
      Poly remainder = Poly::Atom(var.atom) - quotient.b * Poly::Atom(*atom);
      auto other = std::find(cover.index.begin(), cover.index.end(), remainder);
      bool known = std::any_of(target.begin(), target.end(), [&](const Poly& index) {
        return Mentions(index, var.atom, terms_);
      });
      if (other == cover.index.end() || known) continue;
      const Poly& rest = target[static_cast<size_t>(other - cover.index.begin())];
      Poly value = quotient.b * target[d] + rest;
      bool fits = prover.NonNegative(rest) && prover.NonNegative(quotient.b - rest - 1) &&
                  prover.NonNegative(value - var.lo) && prover.NonNegative(var.hi - value - 1);
      if (!fits) continue;
      auto replace = [&](Poly& poly) { poly = poly.With(*atom, target[d]).With(var.atom, value); };
      std::for_each(cover.index.begin(), cover.index.end(), replace);
      std::for_each(conditions.begin(), conditions.end(), replace);
      cover.vars.erase(cover.vars.begin() + static_cast<std::ptrdiff_t>(i));
      for (CoverVar& left : cover.vars) {
        replace(left.lo);
        replace(left.hi);
      }
      return;
    }
  }

  /// A comparison, which AddCondition says all about.
  static bool IsWhole(const CoverCondition& condition) {
    const Op* def = condition.value->def();
    std::optional<ir::CompareKind> kind = def ? ComparisonOf(def->kind()) : std::nullopt;
    if (!kind) return false;
    ir::CompareKind holds = condition.holds ? *kind : Negated(*kind);
    return holds != ir::CompareKind::Ne;
  }

  bool Solve(Cover cover, std::vector<Poly> conditions, const std::vector<Poly>& target,
             Prover& prover) {
    for (size_t d = 0; d < target.size();) {
      Poly difference = target[d] - cover.index[d];
      std::optional<std::pair<size_t, Poly>> value = ValueFor(cover, difference, prover);
      if (!value) {
        if (AnyVar(cover, difference)) return false;
        if (!prover.NonNegative(difference) || !prover.NonNegative(Poly(-1) * difference))
          return false;
        ++d;
        continue;
      }
      if (!Set(cover, conditions, value->first, value->second, prover)) return false;
    }
    while (!cover.vars.empty()) {  // no index has them: any value will do
      Poly lo = cover.vars.back().lo;
      if (!Set(cover, conditions, cover.vars.size() - 1, lo, prover)) return false;
    }
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const Poly& condition) { return prover.NonNegative(condition); });
  }

  static bool AnyVar(const Cover& cover, const Poly& poly) {
    return std::any_of(cover.vars.begin(), cover.vars.end(),
                       [&](const CoverVar& var) { return Has(poly, var.atom); });
  }

  /// The variable that goes first, and what it has to be: where it has one value that one, with coefficient 1 the rest, with
  /// a greater one, and others beside it, the quotient.
  std::optional<std::pair<size_t, Poly>> ValueFor(const Cover& cover, const Poly& difference,
                                                  Prover& prover) {
    std::vector<std::pair<size_t, Poly::Split>> found;
    for (size_t i = 0; i < cover.vars.size(); ++i) {
      std::optional<Poly::Split> split = difference.SplitBy(cover.vars[i].atom);
      if (!split) return std::nullopt;
      if (!split->coefficient.terms().empty()) found.push_back({i, *split});
    }
    for (const auto& [i, split] : found) {
      const CoverVar& var = cover.vars[i];
      if (var.hi - var.lo == Poly(1) && !AnyVar(cover, var.lo)) return std::pair{i, var.lo};
    }
    if (found.size() == 1) {
      const auto& [i, split] = found[0];
      std::optional<int64_t> factor = split.coefficient.AsConstant();
      if (factor == -1) return std::pair{i, split.rest};
      if (factor == 1) return std::pair{i, Poly(-1) * split.rest};
    }
    for (const auto& [i, split] : found) {
      Poly factor = Poly(-1) * split.coefficient;
      if (factor == Poly(1) || AnyVar(cover, factor) || !prover.NonNegative(factor - 1)) continue;
      Poly others = split.rest;
      for (const CoverVar& var : cover.vars) {
        if (Has(others, var.atom)) others = others.With(var.atom, var.lo);
      }
      if (AnyVar(cover, others)) continue;
      return std::pair{i, terms_.OfQuotient(others, factor, 0)};
    }
    return std::nullopt;
  }

  /// The variable has this value, if its range does.
  bool Set(Cover& cover, std::vector<Poly>& conditions, size_t i, const Poly& value,
           Prover& prover) {
    CoverVar var = cover.vars[i];
    Poly from = value - var.lo;
    Poly to = var.hi - value - 1;
    if (AnyVar(cover, from) || AnyVar(cover, to)) return false;
    if (!prover.NonNegative(from) || !prover.NonNegative(to)) return false;
    cover.vars.erase(cover.vars.begin() + static_cast<std::ptrdiff_t>(i));
    for (Poly& index : cover.index) index = index.With(var.atom, value);
    for (Poly& condition : conditions) condition = condition.With(var.atom, value);
    for (CoverVar& other : cover.vars) {
      other.lo = other.lo.With(var.atom, value);
      other.hi = other.hi.With(var.atom, value);
    }
    return true;
  }

  /// Elements by their index in a dimension of a few: y[r, 0], y[r, 1] and y[r, 2].
  bool ByValue(const std::vector<Poly>& target, const std::vector<Poly>& facts, int splits) {
    for (size_t d = 0; d < target.size(); ++d) {
      bool names_one = std::any_of(covers_.begin(), covers_.end(), [&](const Cover& cover) {
        return cover.index[d].AsConstant().has_value();
      });
      std::optional<AtomId> atom = target[d].Greatest();
      if (!names_one || !atom || target[d] != Poly::Atom(*atom)) continue;
      std::optional<int64_t> last = GreatestValue(*atom, facts);
      if (last && *last < kMostValues && AllValues(target, facts, splits, d, *last)) return true;
    }
    return false;
  }

  /// The elements whose index in dimension `d`, an atom, has this value.
  bool IsCoveredWith(std::vector<Poly> target, std::vector<Poly> facts, int splits, size_t d,
                     const Poly& value) {
    AtomId atom = *target[d].Greatest();
    target[d] = value;
    for (Poly& fact : facts) fact = fact.With(atom, value);
    return IsCovered(target, facts, splits - 1);
  }

  /// What the facts say outright.
  static std::optional<int64_t> GreatestValue(AtomId atom, const std::vector<Poly>& facts) {
    for (const Poly& fact : facts) {
      std::optional<Poly::Split> split = fact.SplitBy(atom);
      if (split && split->coefficient == Poly(-1) && split->rest.AsConstant())
        return split->rest.AsConstant();
    }
    return std::nullopt;
  }

  bool AllValues(const std::vector<Poly>& target, const std::vector<Poly>& facts, int splits,
                 size_t d, int64_t last) {
    for (int64_t value = 0; value <= last; ++value) {
      if (!IsCoveredWith(target, facts, splits, d, value)) return false;
    }
    return true;
  }

  /// Elements before and from where a cover ends or begins.
  bool BySplit(const std::vector<Poly>& target, const std::vector<Poly>& facts, int splits) {
    for (const Cover& cover : covers_) {
      for (size_t d = 0; d < target.size(); ++d) {
        for (const Poly& border : Borders(cover, target, d)) {
          if (!split_at_.insert({target[d], border}).second) continue;
          std::vector<Poly> below = facts;
          below.push_back(border - target[d] - 1);
          std::vector<Poly> above = facts;
          above.push_back(target[d] - border);
          if (IsCovered(target, below, splits - 1) && IsCovered(target, above, splits - 1))
            return true;
        }
      }
    }
    return false;
  }

  /// Where the elements of a cover begin and end in dimension `d`, in a row of the others that has the target.
  std::vector<Poly> Borders(const Cover& cover, const std::vector<Poly>& target, size_t d) const {
    const Poly& index = cover.index[d];
    if (!AnyVar(cover, index)) return {index, index + 1};
    for (const CoverVar& var : cover.vars) {
      std::optional<Poly::Split> split = index.SplitBy(var.atom);
      if (!split || split->coefficient != Poly(1)) continue;
      Poly lo = AtTarget(cover, target, split->rest + var.lo);
      Poly hi = AtTarget(cover, target, split->rest + var.hi);
      if (!AnyVar(cover, lo) && !AnyVar(cover, hi)) return {lo, hi};
    }
    return {};
  }

  /// A variable that is an index of its own has the target's.
  static Poly AtTarget(const Cover& cover, const std::vector<Poly>& target, Poly poly) {
    for (size_t d = 0; d < target.size(); ++d) {
      for (const CoverVar& var : cover.vars) {
        if (cover.index[d] == Poly::Atom(var.atom)) poly = poly.With(var.atom, target[d]);
      }
    }
    return poly;
  }

  /// Elements by what is left when their index is divided by a coefficient: y[2 * i] and y[2 * i + 1].
  bool ByRemainder(const std::vector<Poly>& target, const std::vector<Poly>& facts, int splits) {
    for (size_t d = 0; d < target.size(); ++d) {
      std::optional<AtomId> atom = target[d].Greatest();
      if (!atom || target[d] != Poly::Atom(*atom)) continue;
      for (int64_t divisor : Divisors(d)) {
        if (BySplitRemainder(target, facts, splits, d, divisor)) return true;
      }
    }
    return false;
  }

  std::set<int64_t> Divisors(size_t d) const {
    std::set<int64_t> divisors;
    for (const Cover& cover : covers_) {
      for (const CoverVar& var : cover.vars) {
        std::optional<Poly::Split> split = cover.index[d].SplitBy(var.atom);
        std::optional<int64_t> factor = split ? split->coefficient.AsConstant() : std::nullopt;
        if (factor && *factor > 1 && *factor <= 64) divisors.insert(*factor);
      }
    }
    return divisors;
  }

  bool BySplitRemainder(const std::vector<Poly>& target, const std::vector<Poly>& facts, int splits,
                        size_t d, int64_t divisor) {
    Poly quotient = Poly::Atom(terms_.Slack(200 + static_cast<int>(d)));
    for (int64_t rest = 0; rest < divisor; ++rest) {
      Poly value = Poly(divisor) * quotient + rest;
      if (!IsCoveredWith(target, facts, splits, d, value)) return false;
    }
    return true;
  }

  Terms& terms_;
  const std::vector<Cover>& covers_;
  std::set<std::pair<Poly, Poly>> split_at_;
};

}  // namespace

bool IsCovered(Terms& terms, const std::vector<Poly>& target, std::vector<Poly> facts,
               const std::vector<Cover>& covers) {
  return Solver(terms, covers).IsCovered(target, facts, kMostSplits);
}

}  // namespace kdl::passes
