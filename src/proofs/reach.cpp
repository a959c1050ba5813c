#include "proofs/reach.h"

#include "ir/op_kind.h"
#include "ir/views.h"

namespace kdl::proofs {

bool Reach::IsAlways(const AccessView& view) {
  if (view.mask) return false;
  for (const ir::Region* region = view.op->parent_region(); region->parent();
       region = region->parent()->parent_region()) {
    OpKind kind = region->parent()->kind();
    if (kind == OpKind::Stage) continue;
    bool walks = kind == OpKind::For || kind == OpKind::Loop || kind == OpKind::Spmd;
    bool ends_early = region->parent()->HasAttr(AttrKey::Breaks);
    if (!walks || ends_early || !HasLaunchBounds(*region)) return false;
  }
  return true;
}

bool Reach::HasLaunchBounds(const ir::Region& region) {
  for (const Value* param : region.params()) {
    std::optional<LoopEnds> bounds = LoopEndsOf(param);
    if (bounds &&
        !(IsOfLaunch(terms_.PolyOfValue(bounds->lo)) && IsOfLaunch(terms_.PolyOfValue(bounds->hi))))
      return false;
  }
  const Op* loop = region.parent();
  return loop->kind() != OpKind::Loop || terms_.PolyOfValue(loop->operand(2)) == Poly(1);
}

bool Reach::IsOfLaunch(const Poly& poly) const {
  for (const auto& [monomial, coefficient] : poly.terms()) {
    for (AtomId atom : monomial) {
      if (terms_.Facts(atom).kind != AtomKind::Size) return false;
    }
  }
  return poly.exact();
}

std::optional<Poly> Reach::Extreme(Poly index, bool greatest) const {
  while (std::optional<AtomId> atom = GreatestOfLoops(index)) {
    const AtomFacts& facts = terms_.Facts(*atom);
    bool is_bound = facts.kind == AtomKind::Element ||
                    (facts.kind == AtomKind::Scalar && facts.value && LoopEndsOf(facts.value));
    std::optional<Poly::Split> split = index.SplitBy(*atom);
    bool rises = split && terms_.IsNonNegative(split->coefficient);
    bool falls = split && !rises && terms_.IsNonNegative(Poly(-1) * split->coefficient);
    if (!is_bound || (!rises && !falls) || facts.lower.empty() || facts.upper.empty())
      return std::nullopt;
    const auto& bounds = rises == greatest ? facts.upper : facts.lower;
    index = split->coefficient * bounds[0].bound + split->rest;
  }
  return index;
}

std::optional<AtomId> Reach::GreatestOfLoops(const Poly& poly) const {
  std::optional<AtomId> greatest;
  for (const auto& [monomial, coefficient] : poly.terms()) {
    for (AtomId atom : monomial) {
      bool is_size = terms_.Facts(atom).kind == AtomKind::Size;
      if (!is_size && (!greatest || atom > *greatest)) greatest = atom;
    }
  }
  return greatest;
}

std::optional<std::vector<Poly>> Reach::Iterations(const AccessView& view) {
  std::vector<Poly> iterations;
  for (const ir::Region* region = view.op->parent_region(); region->parent();
       region = region->parent()->parent_region()) {
    for (const Value* param : region->params()) {
      if (auto bounds = LoopEndsOf(param))
        iterations.push_back(terms_.PolyOfValue(bounds->hi) - terms_.PolyOfValue(bounds->lo));
    }
  }
  for (ir::AxisId axis : view.axes()) {
    auto made = ir::DynAs<ir::MakeBlockOp>(ir::FindBlock(view.op, axis)->def());
    if (!made) continue;
    iterations.push_back(terms_.PolyOfValue(made->size()));
    if (!IsOfLaunch(iterations.back())) return std::nullopt;
  }
  return iterations;
}

}  // namespace kdl::proofs
