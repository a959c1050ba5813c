#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "ir/op_info.h"
#include "proofs/examples.h"
#include "proofs/plain_accesses.h"
#include "proofs/proofs.h"
#include "proofs/reach.h"

// Proves that indices are in bounds: from the bounds of loops if they suffice, otherwise by computing sets of
// executions.

namespace kdl::proofs {

namespace {

using ir::CompareKind;

constexpr uint64_t kStepsOfRun = 400'000;  ///< the step limit of one query

/// Returns the text of a polynomial of sizes, with the names from the source, such as `2*N - 1`.
std::string PolyText(const Poly& poly, const Terms& terms) {
  std::string text;
  auto add = [&](const Monomial& monomial, int64_t coefficient) {
    std::string product;
    int64_t size = coefficient < 0 ? -coefficient : coefficient;
    if (size != 1 || monomial.empty()) product = fmt::format("{}", size);
    for (AtomId atom : monomial)
      product += (product.empty() ? "" : "*") + terms.Facts(atom).symbol.str();
    std::string_view sign =
        text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
    text += fmt::format("{}{}", sign, product);
  };
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (!monomial.empty()) add(monomial, coefficient);
  }
  if (poly.constant() != 0) add({}, poly.constant());
  return text.empty() ? "0" : text;
}

/// The executions of an access in launches that are not refused. They consist of all iterations of the
/// enclosing loops that take the branches to the access. If `masked` is true, they contain only points where
/// the mask is true. A property that holds for all of these executions is proven.
class AccessRuns {
 public:
  AccessRuns(Instances& instances, const AccessView& view, bool masked = true)
      : instances_(instances), view_(view), masked_(masked) {}

  bool Always(const Poly& a, CompareKind compare, const Poly& b) {
    instances_.context().Allow(kStepsOfRun);
    if (!runs_) runs_ = instances_.WithBounds(instances_.RunsOf(view_, masked_), known_);
    PointSet others = *runs_ & instances_.Compare(Negated(compare), a, b);
    return instances_.WithFacts(others, known_).IsSurelyEmpty();
  }

 private:
  Instances& instances_;
  const AccessView& view_;
  bool masked_;
  std::optional<PointSet> runs_;
  Instances::Names known_;  ///< variables whose facts `runs_` already includes
};

}  // namespace

struct Inside::Asked {
  Asked(const ir::Function& function, ir::TypeTable& types, const Limits& limits)
      : function(function),
        types(types),
        limits(limits),
        sets(limits.steps),
        instances(sets, function, types),
        terms(instances.terms()),
        reach(terms) {}

  bool IsWholeRange(const AccessView& view, size_t d) const;
  OpenIndex Ask(const AccessView& view, size_t d, AccessRuns& runs);
  bool IsPlain(const Poly& index, const Poly& size) const;
  std::optional<AlwaysOutside> Outside(const AccessView& view, const OpenIndex& open,
                                       AccessRuns& runs);
  std::optional<IndexExample> OutsideExample(const AccessView& view, size_t dim, bool above);
  std::optional<Size> SizeOf(const Poly& poly);
  std::optional<Size> AnyIteration(const AccessView& view);

  const ir::Function& function;
  ir::TypeTable& types;
  Limits limits;
  SetContext sets;
  Instances instances;
  Terms& terms;
  Reach reach;
  std::optional<Examples> examples;
};

Inside::Inside(const ir::Function& function, ir::TypeTable& types, const Limits& limits)
    : asked_(std::make_unique<Asked>(function, types, limits)) {}
Inside::~Inside() = default;

IndexAnswer Inside::OpenIndices(const AccessView& view) {
  AccessRuns runs(asked_->instances, view);
  IndexAnswer answer;
  for (size_t d = 0; d < view.rank(); ++d) {
    if (asked_->IsWholeRange(view, d)) {
      answer.is_range = true;
    } else if (OpenIndex index = asked_->Ask(view, d, runs); index.below || index.above) {
      index.outside = asked_->Outside(view, index, runs);
      answer.open.push_back(std::move(index));
    }
  }
  return answer;
}

bool Inside::IsTakeInside(ir::GatherOp take) {
  AccessView view{take.op, nullptr, take.index(), ir::Effect::Read, take.mask()};
  AccessRuns runs(asked_->instances, view);
  const ir::AxisList over = take->attr<AttrKey::Axes>();
  for (size_t i = 0; i < over.size(); ++i) {
    const Value* block = ir::FindBlock(take.op, over[i]);
    Poly index = asked_->terms.PolyOfValue(view.index[i]);
    Poly start = asked_->terms.PolyOfFact(OpKind::BlockStart, block);
    Poly after = start + asked_->terms.PolyOfFact(OpKind::BlockSize, block);
    if (!runs.Always(index, CompareKind::Ge, start) || !runs.Always(index, CompareKind::Lt, after))
      return false;
  }
  return true;
}

bool Inside::NeedsMask(const AccessView& view) {
  AccessRuns runs(asked_->instances, view, false);
  for (size_t d = 0; d < view.rank(); ++d) {
    OpenIndex index = asked_->IsWholeRange(view, d) ? OpenIndex{} : asked_->Ask(view, d, runs);
    if (index.below || index.above) return true;
  }
  return false;
}

std::optional<IndexEnds> Inside::FindIndexEnds(const AccessView& view, size_t dim) {
  std::optional<Size> any =
      asked_->reach.IsAlways(view) ? asked_->AnyIteration(view) : std::nullopt;
  std::optional<IndexEnds> ends = any ? FindIndexSpan(view, dim) : std::nullopt;
  if (ends) ends->any = *any;
  return ends;
}

std::optional<IndexEnds> Inside::FindIndexSpan(const AccessView& view, size_t dim) {
  Poly index = asked_->terms.PolyOfIndex(view, dim);
  std::optional<Poly> least = asked_->reach.Extreme(index, false);
  std::optional<Poly> most = asked_->reach.Extreme(index, true);
  std::optional<Size> from = least ? asked_->SizeOf(*least) : std::nullopt;
  std::optional<Size> to = most ? asked_->SizeOf(*most + 1) : std::nullopt;
  if (!from || !to) return std::nullopt;
  return IndexEnds{*from, *to, nullptr};
}

void Inside::Require(const ir::Op* op) { asked_->instances.Require(op); }

bool Inside::Asked::IsWholeRange(const AccessView& view, size_t d) const {
  ir::Access access = view.access();
  const ir::AccessDim& dim = access.dims[d];
  if (dim.terms.size() != 1 || !IsConstant(dim.offset, 0) ||
      !IsConstant(dim.terms[0].coefficient, 1))
    return false;
  const Value* range = view.index[dim.terms[0].operand];
  Size size = view.tensor->type()->dims[d];
  bool is_range = range->type()->kind == ir::TypeKind::Block;
  return is_range && function.axis(range->type()->axes[0]).domain == size &&
         IsWhole(range, size, terms);
}

OpenIndex Inside::Asked::Ask(const AccessView& view, size_t d, AccessRuns& runs) {
  Poly index = terms.PolyOfIndex(view, d);
  Poly size = terms.PolyOfDim(view, d);
  if (IsPlain(index, size)) return {d, false, false};
  return {d, !runs.Always(index, CompareKind::Ge, 0), !runs.Always(index, CompareKind::Lt, size)};
}

/// Returns whether the bounds of loops suffice to show that the index is in bounds. For most indices, they
/// do.
bool Inside::Asked::IsPlain(const Poly& index, const Poly& size) const {
  std::optional<Poly> least = reach.Extreme(index, false);
  std::optional<Poly> most = reach.Extreme(index, true);
  return least && most && terms.IsNonNegative(*least) && terms.IsNonNegative(size - *most - 1);
}

/// Returns an index that is always out of bounds. Returns nothing if an execution of the enclosing loops may
/// skip the access or some of its points.
std::optional<AlwaysOutside> Inside::Asked::Outside(const AccessView& view, const OpenIndex& open,
                                                    AccessRuns& runs) {
  if (!reach.IsAlways(view)) return std::nullopt;
  Poly index = terms.PolyOfIndex(view, open.dim);
  auto is_outside = [&](const Poly& at, bool above) {
    return above ? runs.Always(at, CompareKind::Ge, terms.PolyOfDim(view, open.dim))
                 : runs.Always(at, CompareKind::Lt, 0);
  };
  if (open.below != open.above && is_outside(index, open.above))
    return AlwaysOutside{open.above, "", OutsideExample(view, open.dim, open.above)};
  for (bool above : {false, true}) {
    std::optional<Poly> extreme = reach.Extreme(index, above);
    if (!(above ? open.above : open.below) || !extreme || !is_outside(*extreme, above)) continue;
    return AlwaysOutside{above, PolyText(*extreme, terms), OutsideExample(view, open.dim, above)};
  }
  return std::nullopt;
}

std::optional<IndexExample> Inside::Asked::OutsideExample(const AccessView& view, size_t dim,
                                                          bool above) {
  if (function.kind != ir::FunctionKind::Kernel) return std::nullopt;
  if (!examples) examples.emplace(function, types, limits);
  return examples->Outside(view, dim, above);
}

/// Returns a size that is 1 if all loops around the access have iterations, otherwise 0.
std::optional<Size> Inside::Asked::AnyIteration(const AccessView& view) {
  SizeTable& sizes = types.sizes();
  std::optional<std::vector<Poly>> iterations = reach.Iterations(view);
  if (!iterations) return std::nullopt;
  Size any = sizes.Constant(1);
  for (const Poly& count : *iterations) {
    if (std::optional<int64_t> known = count.AsConstant(); known && *known > 0) continue;
    std::optional<Size> size = SizeOf(count);
    if (!size) return std::nullopt;
    Size most = *size;
    PointSet below = instances.Launch() & instances.Compare(CompareKind::Lt, count, 0);
    if (!instances.WithFacts(below).IsSurelyEmpty()) {
      Size negative = sizes.Binary(SizeKind::Min, *size, sizes.Constant(0));
      most = sizes.Binary(SizeKind::Sub, *size, negative);
    }
    any = sizes.Binary(SizeKind::Mul, any, sizes.Binary(SizeKind::Min, sizes.Constant(1), most));
  }
  return any;
}

std::optional<Size> Inside::Asked::SizeOf(const Poly& poly) {
  if (!reach.IsOfLaunch(poly)) return std::nullopt;
  SizeTable& sizes = types.sizes();
  Size sum = sizes.Constant(poly.constant());
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (monomial.empty()) continue;
    Size product = sizes.Constant(coefficient);
    for (AtomId atom : monomial)
      product = sizes.Binary(SizeKind::Mul, product, sizes.Symbol(terms.Facts(atom).symbol));
    sum = sizes.Binary(SizeKind::Add, sum, product);
  }
  return sum;
}

}  // namespace kdl::proofs
