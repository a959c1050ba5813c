#include "proofs/elements.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "proofs/summands.h"

namespace kdl::proofs {

namespace {

struct Division {
  Poly quotient;
  Poly rest;
};

/// Divides each term of a polynomial by a monomial.
Division Divide(const Poly& poly, const Poly& by) {
  if (!poly.exact()) return {poly, poly};
  Division division;
  const Monomial& factor = by.terms().front().first;
  for (const auto& [monomial, coefficient] : poly.terms()) {
    bool divides = std::includes(monomial.begin(), monomial.end(), factor.begin(), factor.end());
    if (!divides) {
      division.rest += Poly::Term(monomial, coefficient);
      continue;
    }
    Monomial left;
    std::set_difference(monomial.begin(), monomial.end(), factor.begin(), factor.end(),
                        std::back_inserter(left));
    division.quotient += Poly::Term(left, coefficient);
  }
  return division;
}

/// Whether an iteration number, or an index of a block, is not negative.
bool BeginsAtZero(const Value* iteration) {
  iteration = OutermostRange(iteration);
  std::optional<LoopEnds> ends = iteration->def() ? std::nullopt : LoopEndsOf(iteration);
  return ends && ends->lo->def() && ends->lo->def()->kind() == OpKind::Const &&
         static_cast<int64_t>(ends->lo->def()->attr<AttrKey::Bits>()) == 0;
}

}  // namespace

/// If a `where` sets a size name equal to a product, as in L == N * M, returns the product. This makes flat
/// indices comparable with the size.
Size Elements::ByEquation(Size size) const {
  if (size->kind != SizeKind::Symbol) return size;
  for (const Op* op : *instances_.kernel().body) {
    if (op->kind() != OpKind::Require || op->attr<AttrKey::Compare>() != ir::CompareKind::Eq)
      continue;
    Size left = op->attr<AttrKey::Left>();
    Size right = op->attr<AttrKey::Right>();
    if (left == size && right->kind == SizeKind::Mul) return right;
    if (right == size && left->kind == SizeKind::Mul) return left;
  }
  return size;
}

/// Returns a size that is a factor of every product in the indices.
std::optional<Poly> Elements::CommonFactor(const std::vector<Poly>& indices) {
  std::optional<Monomial> common;
  for (const Poly& index : indices) {
    for (const auto& [monomial, coefficient] : index.terms()) {
      if (monomial.size() < 2) continue;
      Monomial sizes;
      for (AtomId atom : monomial) {
        bool is_size = instances_.terms().Facts(atom).kind == AtomKind::Size;
        bool stays = !common || Contains(*common, atom);
        if (is_size && stays) sizes.push_back(atom);
      }
      common = sizes;
    }
  }
  if (!common || common->empty()) return std::nullopt;
  return Poly::Atom(common->back());
}

/// Returns whether 0 <= rest < factor whenever the access is executed.
bool Elements::Fits(const AccessView& view, const Poly& rest, const Poly& factor) {
  PointSet outside = instances_.Compare(ir::CompareKind::Lt, rest, 0) |
                     instances_.Compare(ir::CompareKind::Ge, rest, factor);
  return instances_.WithFacts(instances_.RunsOf(view) & outside).IsSurelyEmpty();
}

const Elements::Layout& Elements::LayoutOf(const Value* memory) {
  auto known = layouts_.find(memory);
  if (known != layouts_.end()) return known->second;
  Layout layout;
  Terms& terms = instances_.terms();
  const Value* tensor = terms.Coordinates(memory);
  std::vector<AccessView> views = AccessesOf(memory);
  for (size_t d = 0; d < tensor->type()->dims.size(); ++d) {
    Poly size = terms.PolyOfSize(ByEquation(tensor->type()->dims[d]));
    std::vector<Poly> indices;
    for (const AccessView& view : views) indices.push_back(terms.PolysOfElement(view)[d]);
    std::vector<Poly> factors;
    std::vector<std::optional<Poly>> sizes;
    bool is_known = true;
    while (std::optional<Poly> factor = CommonFactor(indices)) {
      bool fits = true;
      for (size_t i = 0; i < views.size() && fits; ++i)
        fits = Fits(views[i], Divide(indices[i], *factor).rest, *factor);
      if (!fits) break;
      Division of_size = Divide(size, *factor);
      is_known = is_known && of_size.rest == Poly(0);
      for (Poly& index : indices) index = Divide(index, *factor).quotient;
      factors.insert(factors.begin(), *factor);
      sizes.insert(sizes.begin(), *factor);
      size = of_size.quotient;
    }
    sizes.insert(sizes.begin(), is_known ? std::optional(size) : std::nullopt);
    layout.factors.push_back(std::move(factors));
    layout.sizes.insert(layout.sizes.end(), sizes.begin(), sizes.end());
  }
  FindRows(memory, views, layout);
  return layouts_[memory] = std::move(layout);
}

std::vector<Poly> Elements::SplitIndex(const Poly& index, const std::vector<Poly>& factors) {
  std::vector<Poly> parts;
  Poly left = index;
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
    Division division = Divide(left, *factor);
    parts.insert(parts.begin(), division.rest);
    left = division.quotient;
  }
  parts.insert(parts.begin(), left);
  return parts;
}

Affine Elements::Variable(size_t number) const {
  return instances_.Variable(fmt::format("@{}", number));
}

PointSet Elements::AllElements(const Value* tensor) {
  const Layout& layout = LayoutOf(ir::MemoryOf(tensor));
  PointSet all = instances_.All();
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    Affine at = Variable(d);
    all &= AtMost(instances_.Constant(0), at);
    if (layout.sizes[d]) all &= Less(at, instances_.AffineOf(*layout.sizes[d]));
  }
  for (const auto& [d, row] : layout.rows)
    all &= instances_.FactsAboutProduct(instances_.ProductsOf(row.start)[0]);
  return all;
}

bool Elements::IsExact(const Value* tensor) {
  return std::ranges::all_of(LayoutOf(ir::MemoryOf(tensor)).sizes,
                             [](const auto& size) { return size.has_value(); });
}

/// Returns v if dimension `d` of the element is the quotient in y[.., v / N, v % N, ..]. The size of the next
/// dimension must be the size name N.
std::optional<Poly> Elements::DividedAt(const Value* memory, const std::vector<Poly>& element,
                                        size_t d) {
  if (d + 1 >= element.size()) return std::nullopt;
  std::optional<AtomId> atom = element[d].Greatest();
  if (!atom) return std::nullopt;
  Terms& terms = instances_.terms();
  Poly size = terms.PolyOfSize(terms.Coordinates(memory)->type()->dims[d + 1]);
  const AtomFacts facts = terms.Facts(*atom);
  if (facts.kind != AtomKind::Quotient) return std::nullopt;
  Poly divided = facts.a + size * (element[d] - Poly::Atom(*atom));
  bool divides = facts.b == size && size.Greatest() && size == Poly::Atom(*size.Greatest()) &&
                 element[d + 1] == divided - size * element[d];
  return divides ? std::optional(divided) : std::nullopt;
}

void Elements::FindRows(const Value* memory, const std::vector<AccessView>& views, Layout& layout) {
  bool is_plain = std::ranges::all_of(layout.factors, [](const auto& f) { return f.empty(); });
  for (const AccessView& view : views) {
    std::vector<Poly> element = instances_.terms().PolysOfElement(view);
    for (size_t d = 0; d < element.size() && is_plain; ++d) {
      if (!DividedAt(memory, element, d) || layout.rows.contains(d)) continue;
      AtomId size = *instances_.terms().Facts(*element[d].Greatest()).b.Greatest();
      Row row{fmt::format("#row{}.{}", layouts_.size(), d), size};
      instances_.Declare({row.start, size, Variable(d), {}});
      layout.rows.emplace(d, std::move(row));
    }
  }
}

std::optional<std::vector<int64_t>> Elements::ElementIndex(const Value* memory,
                                                           const Point& point) {
  size_t variable = 0;
  auto next = [&]() -> std::optional<int64_t> {
    auto found = point.find(fmt::format("@{}", variable++));
    return found == point.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<int64_t> index;
  for (const std::vector<Poly>& factors : LayoutOf(memory).factors) {
    std::optional<int64_t> at = next();
    for (const Poly& factor : factors) {
      auto size = point.find(instances_.VariableName(*factor.Greatest()));
      std::optional<int64_t> part = next();
      if (!at || !part || size == point.end()) return std::nullopt;
      at = *at * size->second + *part;
    }
    if (!at) return std::nullopt;
    index.push_back(*at);
  }
  return index;
}

/// Returns whether an index may overflow 64 bits and wrap to a value in bounds. This is impossible for a sum
/// that has at most one unknown summand, if sizes bound the others. It is also impossible for the sum of two
/// unknown values, one of which is not negative: if it overflows, it becomes negative.
bool Elements::MayWrap(const AccessView& view, const ir::AccessDim& dim) {
  Wraps::Summands sum = wraps_.SummandsOf(dim, view.index);
  if (sum.unknown <= 1) return !sum.known.both();
  std::vector<const Value*> summands = SummandsOf(view, dim);
  // The result of another computation may have overflowed before.
  auto is_value = [](const Value* value) {
    bool is_computed = value->def() && value->def()->kind() != OpKind::Load;
    return value->type()->scalar != Scalar::U64 && !is_computed;
  };
  bool are_two = summands.size() == 2 && std::ranges::all_of(summands, is_value);
  return !are_two || std::ranges::none_of(summands, BeginsAtZero);
}

/// Returns the condition that the index is in bounds. An index out of a view's bounds accesses nothing, even
/// if the memory has an element there.
PointSet Elements::Inside(const AccessView& view) {
  PointSet inside = instances_.All();
  Terms& terms = instances_.terms();
  for (size_t d = 0; d < view.rank(); ++d) {
    Poly index = terms.PolyOfIndex(view, d);
    inside &= instances_.Compare(ir::CompareKind::Ge, index, 0) &
              instances_.Compare(ir::CompareKind::Lt, index, terms.PolyOfDim(view, d));
  }
  return inside;
}

Elements::Touched Elements::TouchedBy(const AccessView& view) {
  Touched touched = NamedBy(view);
  if (instances_.terms().Coordinates(view.tensor) == view.tensor) return touched;
  PointSet inside = Inside(view);
  if (inside.known())
    touched.elements &= inside;
  else
    touched.is_exact = false;
  return touched;
}

Elements::Touched Elements::NamedBy(const AccessView& view) {
  const Value* memory = ir::MemoryOf(view.tensor);
  const Layout& layout = LayoutOf(memory);
  std::vector<Poly> element = instances_.terms().PolysOfElement(view);
  Touched touched{instances_.PointsOf(view), true};
  std::vector<bool> wraps;
  for (const ir::AccessDim& dim : view.access().dims) wraps.push_back(MayWrap(view, dim));
  bool any_wraps = std::ranges::count(wraps, true) > 0;
  if (any_wraps) touched.is_exact = false;
  if (any_wraps && instances_.terms().Coordinates(view.tensor) != view.tensor) return touched;
  size_t variable = 0;
  for (size_t d = 0; d < element.size(); ++d) {
    auto row = layout.rows.find(d);
    std::optional<Poly> divided =
        row == layout.rows.end() ? std::nullopt : DividedAt(memory, element, d);
    if (divided) {
      Affine at = instances_.Variable(row->second.start) + Variable(d + 1);
      touched.elements &= Equal(instances_.AffineOf(*divided), at);
      variable += 2;
      ++d;
      continue;
    }
    for (const Poly& part : SplitIndex(element[d], layout.factors[d])) {
      Affine at = Variable(variable++);
      bool is_known = part.exact() && !(any_wraps && wraps[d]);
      touched.is_exact = touched.is_exact && is_known;
      if (is_known) touched.elements &= Equal(at, instances_.AffineOf(part));
    }
  }
  return touched;
}

}  // namespace kdl::proofs
