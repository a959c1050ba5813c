#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "proofs/accesses.h"
#include "proofs/instances.h"
#include "proofs/proofs.h"
#include "proofs/wraps.h"

// For each access that reads the tensor, computes the set of elements for all executions of the access, eliminates
// everything but sizes and parameters, and reads the bounds of the indices from the constraints of the set's pieces.

namespace kdl::proofs {

namespace {

constexpr size_t kMostParts = 32;

bool IsTensor(const ir::Value* value) { return value->type()->kind == ir::TypeKind::Tensor; }

/// Finds out whether a number may depend on elements of tensors.
class LoadedNumbers {
 public:
  /// Also returns true for a value that a loop carries, and for an index or block of a loop whose bounds are loaded.
  bool IsLoaded(const ir::Value* value) {
    if (!visited_.insert(value).second) return false;
    if (const ir::Op* op = value->def()) return IsLoadedBy(op);
    const ir::Op* loop = value->parent_region()->parent();
    if (!loop) return false;  // a size or a parameter
    bool is_spmd = loop->kind() == ir::OpKind::Spmd;
    bool is_loop = loop->kind() == ir::OpKind::For || loop->kind() == ir::OpKind::Loop;
    if (!is_spmd && (!is_loop || value->index() > 0)) return true;
    size_t bounds = 2 * value->index();
    return IsLoaded(loop->operand(bounds)) || IsLoaded(loop->operand(bounds + 1));
  }

 private:
  bool IsLoadedBy(const ir::Op* op) {
    bool reads = ir::AnyIn(
        op, [](const ir::Op* inner) { return std::ranges::any_of(inner->operands(), IsTensor); });
    return reads || std::ranges::any_of(op->operands(),
                                        [&](const ir::Value* value) { return IsLoaded(value); });
  }

  std::set<const ir::Value*> visited_;
};

class NeededFinder {
 public:
  NeededFinder(const ir::Function& kernel, ir::TypeTable& types, const ir::Value* tensor,
               const std::vector<bool>& is_wanted, const std::vector<KernelPart>& parts)
      : kernel_(kernel),
        tensor_(tensor),
        is_wanted_(is_wanted),
        wraps_(kernel),
        instances_(sets_, kernel, types) {
    for (size_t d = 0; d < is_wanted.size(); ++d) indices_.push_back(fmt::format("#index{}", d));
    KeepSizes();
    KeepParams();
    facts_ = instances_.Launch();
    PointSet asserted = instances_.Around(kernel.body->terminator());
    if (asserted.known()) facts_ &= asserted;
    for (const KernelPart& part : parts) {
      Affine first = instances_.AffineOfValue(part.first);
      facts_ &=
          AtMost(instances_.Constant(0), first) & Less(first, instances_.AffineOfValue(part.end));
    }
  }

  NeededParts Find() {
    NeededParts needed;
    PointSet apart = instances_.None();
    PointSet joined = instances_.None();
    const ir::Op* last = nullptr;
    for (ir::Op* user : ir::UsersOfMemory(tensor_)) {
      std::optional<AccessView> view = FindAccess(user);
      if (view && view->effect == ir::Effect::Write) continue;
      last = user;
      PointSet read = view ? ReadBy(*view) : PointSet();
      if (!read.known()) {
        needed.unknown = user;
        return needed;
      }
      sets_.Allow(kStepsOfQuestion);
      apart |= read;
      joined = (joined | read).Joined();
    }
    Pieces pieces = PiecesOf(joined);
    // Where pieces of two accesses are joined to one that is not a box, its bounds contain elements of neither.
    if (pieces && CountNoBoxes(*pieces) > 0) {
      Pieces own = PiecesOf(apart);
      if (own && CountNoBoxes(*own) < CountNoBoxes(*pieces)) pieces = std::move(own);
    }
    if (!pieces) {
      needed.unknown = last;
      return needed;
    }
    for (const PieceBounds& piece : *pieces) needed.parts.push_back(PartOf(piece));
    return needed;
  }

 private:
  using Pieces = std::optional<std::vector<PieceBounds>>;

  /// Returns nothing if there are too many pieces.
  Pieces PiecesOf(const PointSet& read) {
    sets_.Allow(kStepsOfQuestion);
    Pieces pieces = read.SimplifiedWithin(facts_).BoundsOf(indices_);
    return pieces && pieces->size() <= kMostParts ? std::move(pieces) : std::nullopt;
  }

  static int64_t CountNoBoxes(const std::vector<PieceBounds>& pieces) {
    return std::ranges::count(pieces, false, &PieceBounds::is_box);
  }

  /// Keeps the sizes that an argument of the launch determines directly.
  void KeepSizes() {
    for (const ir::Param& param : kernel_.params) {
      if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
      for (Size size : param.value->type()->dims) {
        if (size->kind == SizeKind::Symbol) kept_.emplace(size->symbol.str(), size->symbol);
      }
    }
  }

  void KeepParams() {
    for (const ir::Param& param : kernel_.params) {
      const ir::Value* value = param.value;
      bool is_number = ir::IsScalar(value->type()) && value->type()->scalar == Scalar::I64;
      if (!is_number) continue;
      kept_.emplace(instances_.VariableName(instances_.terms().ScalarAtom(value)), value);
    }
  }

  /// Returns the elements that an access reads; the result is unknown if a wanted index is not a sum of ranges, sizes and
  /// parameters.
  PointSet ReadBy(const AccessView& view) {
    if (view.tensor != tensor_) return {};
    sets_.Allow(kStepsOfQuestion);
    PointSet read = instances_.RunsOf(view) & facts_ & WhereUsed(view.op->result());
    for (size_t d = 0; d < indices_.size(); ++d) {
      PointSet along = ReadAlong(view, d);
      if (along.known()) read &= along;
      if (!along.known() && is_wanted_[d]) return {};
    }
    read = instances_.WithFacts(read);
    return read.WithSome(read.Variables([&](const std::string& name) { return !IsKept(name); }));
  }

  /// Returns the points at which the value of a load is used; perhaps others, too. If all uses replace elements outside of a
  /// tensor, as those of x[N - 1] in `x[i - 1 else x[N - 1]]`, these are the points at which the other index is outside.
  PointSet WhereUsed(const ir::Value* value) {
    PointSet used = instances_.None();
    for (const ir::Use& use : value->uses()) {
      PointSet by_user = WhereUsed(use);
      if (!by_user.known() || used.pieces() + by_user.pieces() > kMostParts)
        return instances_.All();
      used |= by_user;
    }
    return used;
  }

  PointSet WhereUsed(const ir::Use& use) {
    ir::Op* user = use.user;
    std::optional<AccessView> view = FindAccess(user);
    bool is_fallback = view && view->has_else() && user->kind() == ir::OpKind::Load &&
                       use.operand == user->SegmentBegin(ir::LoadOp::at_otherwise);
    if (!is_fallback) return {};
    PointSet outside = WhereOutside(*view);
    return outside.known() ? instances_.RunsOf(*view) & outside & WhereUsed(user->result())
                           : PointSet();
  }

  /// Returns the points at which an index of the access is outside of its dimension; unknown if an index is not a sum.
  PointSet WhereOutside(const AccessView& view) {
    PointSet outside = instances_.None();
    for (size_t d = 0; d < view.rank(); ++d) {
      if (MayWrap(view, d)) return {};
      Poly index = instances_.terms().PolyOfIndex(view, d);
      if (!instances_.AffineOf(index).known()) return {};
      outside |=
          instances_.Compare(ir::CompareKind::Lt, index, 0) |
          instances_.Compare(ir::CompareKind::Ge, index, instances_.terms().PolyOfDim(view, d));
    }
    return outside;
  }

  /// Returns the set in which the variable of a dimension is the index of the access, and in bounds.
  PointSet ReadAlong(const AccessView& view, size_t d) {
    if (MayWrap(view, d) || IsLoaded(view, d)) return {};
    Poly index = instances_.terms().PolyOfIndex(view, d);
    Affine at = instances_.AffineOf(index);
    if (!at.known()) return {};
    PointSet is_index = Equal(instances_.Variable(indices_[d]), at);
    if (HasUnknown(is_index)) return {};
    return is_index & instances_.Compare(ir::CompareKind::Ge, index, 0) &
           instances_.Compare(ir::CompareKind::Lt, index, instances_.terms().PolyOfDim(view, d));
  }

  /// Returns whether loops whose bounds are loaded from memory determine the index. All elements may be needed then.
  static bool IsLoaded(const AccessView& view, size_t d) {
    LoadedNumbers numbers;
    ir::Access access = view.access();
    return std::ranges::any_of(access.dims[d].terms, [&](const ir::AccessTerm& term) {
      return numbers.IsLoaded(view.index[term.operand]);
    });
  }

  /// Returns whether the index may overflow 64 bits and wrap to one that is in bounds. A sum with one unknown summand
  /// that is not multiplied cannot.
  bool MayWrap(const AccessView& view, size_t d) {
    Wraps::Summands sum = wraps_.SummandsOf(view.access().dims[d], view.index);
    return sum.unknown > 1 || !sum.known.both();
  }

  /// Returns whether the answer may mention the variable.
  bool IsKept(const std::string& name) const {
    return kept_.contains(name) || std::ranges::find(indices_, name) != indices_.end();
  }

  /// Returns whether the index depends on a value of which only bounds are known, or on a number of the launch for
  /// which the answer has no name.
  bool HasUnknown(const PointSet& is_index) const {
    return !is_index
                .Variables([&](const std::string& name) {
                  if (IsKept(name)) return false;
                  return !instances_.IsDeclared(name) || instances_.IsOpaque(name) ||
                         instances_.ScopeOf(name).is_launch();
                })
                .empty();
  }

  LaunchSum SumOf(const LinearSum& sum) const {
    LaunchSum named{{}, {}, sum.constant};
    for (const auto& [variable, factor] : sum.terms) {
      const auto& kept = kept_.at(variable);
      if (const Name* size = std::get_if<Name>(&kept)) {
        named.sizes.emplace_back(*size, factor);
      } else {
        named.params.emplace_back(std::get<const ir::Value*>(kept), factor);
      }
    }
    return named;
  }

  std::vector<LaunchBound> BoundsOf(const std::vector<VariableBounds::Bound>& bounds) const {
    std::vector<LaunchBound> named;
    for (const auto& bound : bounds) named.push_back({SumOf(bound.sum), bound.divisor});
    return named;
  }

  NeededPart PartOf(const PieceBounds& piece) const {
    NeededPart part;
    for (const VariableBounds& dim : piece.variables)
      part.dims.push_back({BoundsOf(dim.least), BoundsOf(dim.most)});
    for (const LinearSum& sum : piece.conditions) part.conditions.push_back(SumOf(sum));
    return part;
  }

  const ir::Function& kernel_;
  const ir::Value* tensor_;
  const std::vector<bool>& is_wanted_;
  std::vector<std::string> indices_;  ///< the variables for the indices of the dimensions
  Wraps wraps_;
  SetContext sets_;
  Instances instances_;
  /// The variables that the answer may mention.
  std::map<std::string, std::variant<Name, const ir::Value*>> kept_;
  PointSet facts_;
};

}  // namespace

NeededParts FindNeededParts(const ir::Function& kernel, ir::TypeTable& types,
                            const ir::Value* tensor, const std::vector<bool>& is_wanted,
                            const std::vector<KernelPart>& parts) {
  return NeededFinder(kernel, types, tensor, is_wanted, parts).Find();
}

}  // namespace kdl::proofs
