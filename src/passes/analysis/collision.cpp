#include "passes/analysis/collision.h"

#include <algorithm>

#include "ir/views.h"

// To show that a key is equal, one is assumed to be greater: a = b + 1 + t, t >= 0, and a dimension is sought in which the
// indices then differ. What some dimension determines stands for both runs in the next: of y[i / 8, i % 8] the first gives
// i / 8, then the second gives i.

namespace kdl::passes {

namespace {

using ir::OpKind;
using ir::Value;

std::vector<Poly> FactsOf(Terms& terms, const Touch& touch) {
  return touch.anywhere ? terms.FactsOfIndex(touch.view, touch.run)
                        : terms.FactsAt(touch.view.op, touch.run);
}

std::vector<Poly> BothFacts(Terms& terms, const Touch& a, const Touch& b) {
  std::vector<Poly> facts = FactsOf(terms, a);
  for (Poly& fact : FactsOf(terms, b)) {
    if (std::find(facts.begin(), facts.end(), fact) == facts.end())
      facts.push_back(std::move(fact));
  }
  return facts;
}

int64_t StepOf(Terms& terms, const Value* binder) {
  const ir::Op* loop = binder->block()->parent();
  if (loop->kind() != OpKind::Loop) return 1;
  return std::max<int64_t>(terms.OfValue(loop->operand(2), {}).AsConstant().value_or(1), 1);
}

}  // namespace

ir::AxisList AxesOf(const AccessView& view) {
  ir::AxisList axes;
  for (const Value* operand : view.index) axes = ir::UnionAxes(axes, operand->type()->axes);
  return axes;
}

Collision::Collision(Terms& terms, const Touch& a, const Touch& b)
    : terms_(terms), a_(a), b_(b), known_(terms, BothFacts(terms, a, b)) {
  std::vector<Poly> of_a = terms.OfElement(a.view, a.run);
  std::vector<Poly> of_b = terms.OfElement(b.view, b.run);
  for (size_t d = 0; d < of_a.size(); ++d) differences_.push_back(of_a[d] - of_b[d]);
}

bool Collision::Contradicts(Prover& prover) { return prover.AnyNotZero(differences_); }

bool Collision::Never() { return Contradicts(known_); }

bool Collision::Determines(AtomId a, AtomId b, int64_t step) {
  Poly ahead = Poly(step) + Poly(step) * Poly::Atom(terms_.Slack(0));
  for (auto [greater, less] : {std::pair{a, b}, std::pair{b, a}}) {
    Prover assumed = known_;
    assumed.Replace(greater, known_.Apply(Poly::Atom(less)) + ahead);
    if (!Contradicts(assumed)) return false;
  }
  return true;
}

/// Blocks of one walk: the later one starts where the other one ends, or behind.
bool Collision::DeterminesBlock(const Value* a, const Value* b) {
  AtomId start[] = {terms_.StartOf(a, a_.run), terms_.StartOf(b, b_.run)};
  AtomId count[] = {terms_.CountOf(a, a_.run), terms_.CountOf(b, b_.run)};
  for (int later : {0, 1}) {
    int sooner = 1 - later;
    Prover assumed = known_;
    assumed.Replace(start[later],
                    known_.Apply(Poly::Atom(start[sooner]) + Poly::Atom(count[sooner])) +
                        Poly::Atom(terms_.Slack(0)));
    if (!Contradicts(assumed)) return false;
  }
  Equate(start[0], start[1]);
  Equate(count[0], count[1]);
  Equate(terms_.NumberOf(a, a_.run), terms_.NumberOf(b, b_.run));
  return true;
}

bool Collision::Determines(const KeyPair& key) {
  if (key.a && key.a->type()->kind == ir::TypeKind::Blk) return DeterminesBlock(key.a, key.b);
  AtomId a = key.a ? terms_.ScalarOf(key.a, a_.run) : terms_.CoreIdAtom(a_.run);
  AtomId b = key.b ? terms_.ScalarOf(key.b, b_.run) : terms_.CoreIdAtom(b_.run);
  if (a == b) return true;
  int64_t step = key.a ? StepOf(terms_, key.a) : 1;
  if (!Determines(a, b, step)) return false;
  Equate(a, b);
  return true;
}

void Collision::Equate(AtomId a, AtomId b) {
  if (a != b) known_.Replace(b, known_.Apply(Poly::Atom(a)));
}

/// A pair of atoms that some dimension shows to be equal. It is taken over from then on.
bool Collision::EquateOneMore() {
  for (const Poly& difference : differences_) {
    Poly left = known_.Apply(difference);
    std::set<AtomId> atoms;
    for (const auto& [monomial, coefficient] : left.terms())
      atoms.insert(monomial.begin(), monomial.end());
    for (AtomId a : atoms) {
      for (AtomId b : atoms) {
        const AtomFacts& fa = terms_.Facts(a);
        const AtomFacts& fb = terms_.Facts(b);
        if (a == b || fa.kind != fb.kind || fa.run != a_.run.number || fb.run != b_.run.number)
          continue;
        auto split_a = left.SplitBy(a);
        auto split_b = left.SplitBy(b);
        if (!split_a || !split_b || split_a->coefficient != Poly(-1) * split_b->coefficient)
          continue;
        if (!Determines(a, b, 1)) continue;
        Equate(a, b);
        return true;
      }
    }
  }
  return false;
}

bool Collision::OnlyWhereEqual(const std::vector<KeyPair>& keys) {
  std::vector<KeyPair> open = keys;  // where the runs never meet every key is determined
  do {
    bool found = true;
    while (found) {
      auto determined = std::find_if(open.begin(), open.end(),
                                     [&](const KeyPair& key) { return Determines(key); });
      found = determined != open.end();
      if (found) open.erase(determined);
    }
    if (open.empty()) return true;
  } while (EquateOneMore());
  return false;
}

bool Collision::OnlyAtOnePoint() {
  std::vector<std::pair<AtomId, AtomId>> open;
  for (ir::AxisId axis : AxesOf(a_.view)) {
    const Value* blk = ir::FindBlk(a_.view.op, axis);
    AtomId a = terms_.ElementOf(blk, a_.run);
    AtomId b = terms_.ElementOf(blk, b_.run);
    open.push_back({a, b});
  }
  do {
    std::erase_if(open, [&](const auto& pair) {
      bool equal = known_.Apply(Poly::Atom(pair.second)) == known_.Apply(Poly::Atom(pair.first));
      if (!equal && !Determines(pair.first, pair.second, 1)) return false;
      if (!equal) Equate(pair.first, pair.second);
      return true;
    });
    if (open.empty()) return true;
  } while (EquateOneMore());
  return false;
}

}  // namespace kdl::passes
