#include <algorithm>
#include <map>
#include <variant>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "proofs/accesses.h"
#include "proofs/instances.h"
#include "proofs/proofs.h"
#include "proofs/wraps.h"

// For each access that reads the tensor, computes the set of indices for all executions of the access, eliminates
// everything but sizes and parameters, and reads the bounds of the index from the constraints of the set's pieces.

namespace kdl::proofs {

namespace {

constexpr const char* kIndex = "#index";  ///< the variable for the index
constexpr size_t kMostParts = 16;

class NeededFinder {
 public:
  NeededFinder(const ir::Function& kernel, ir::TypeTable& types, const ir::Value* tensor,
               size_t dim, const std::optional<KernelPart>& part)
      : kernel_(kernel),
        tensor_(tensor),
        dim_(dim),
        wraps_(kernel),
        instances_(sets_, kernel, types) {
    KeepSizes();
    KeepParams();
    facts_ = instances_.Launch();
    PointSet asserted = instances_.Around(kernel.body->terminator());
    if (asserted.known()) facts_ &= asserted;
    if (part) {
      Affine first = instances_.AffineOfValue(part->first);
      facts_ &=
          AtMost(instances_.Constant(0), first) & Less(first, instances_.AffineOfValue(part->end));
    }
  }

  NeededParts Find() {
    NeededParts needed;
    PointSet all = instances_.None();
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
      all = (all | read).Joined();
    }
    sets_.Allow(kStepsOfQuestion);
    auto pieces = all.SimplifiedWithin(facts_).BoundsOf(kIndex);
    if (!pieces || pieces->size() > kMostParts) {
      needed.unknown = last;
      return needed;
    }
    for (const PieceBounds& piece : *pieces) needed.parts.push_back(PartOf(piece));
    return needed;
  }

 private:
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

  /// Returns the indices that an access reads; the result is unknown if its index is not a sum of ranges, sizes and
  /// parameters.
  PointSet ReadBy(const AccessView& view) {
    if (view.tensor != tensor_) return {};
    if (MayWrap(view)) return {};
    sets_.Allow(kStepsOfQuestion);
    Poly index = instances_.terms().PolyOfIndex(view, dim_);
    Affine at = instances_.AffineOf(index);
    if (!at.known()) return {};
    PointSet is_index = Equal(instances_.Variable(kIndex), at);
    if (HasUnknown(is_index)) return {};
    PointSet inside =
        instances_.Compare(ir::CompareKind::Ge, index, 0) &
        instances_.Compare(ir::CompareKind::Lt, index, instances_.terms().PolyOfDim(view, dim_));
    PointSet read = instances_.RunsOf(view) & facts_ & is_index & inside;
    read = instances_.WithFacts(read);
    return read.WithSome(read.Variables(
        [&](const std::string& name) { return name != kIndex && !kept_.contains(name); }));
  }

  /// Returns whether the index may overflow 64 bits and wrap to one that is in bounds. A sum with one unknown summand
  /// that is not multiplied cannot.
  bool MayWrap(const AccessView& view) {
    Wraps::Summands sum = wraps_.SummandsOf(view.access().dims[dim_], view.index);
    return sum.unknown > 1 || !sum.known.both();
  }

  /// Returns whether the index depends on a value of which only bounds are known, or on a number of the launch for
  /// which the answer has no name.
  bool HasUnknown(const PointSet& is_index) const {
    return !is_index
                .Variables([&](const std::string& name) {
                  if (name == kIndex || kept_.contains(name)) return false;
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

  NeededPart PartOf(const PieceBounds& piece) const {
    NeededPart part;
    for (const auto& bound : piece.least) part.least.push_back({SumOf(bound.sum), bound.divisor});
    for (const auto& bound : piece.most) part.most.push_back({SumOf(bound.sum), bound.divisor});
    for (const LinearSum& sum : piece.conditions) part.conditions.push_back(SumOf(sum));
    return part;
  }

  const ir::Function& kernel_;
  const ir::Value* tensor_;
  size_t dim_;
  Wraps wraps_;
  SetContext sets_;
  Instances instances_;
  /// The variables that the answer may mention.
  std::map<std::string, std::variant<Name, const ir::Value*>> kept_;
  PointSet facts_;
};

}  // namespace

NeededParts FindNeededParts(const ir::Function& kernel, ir::TypeTable& types,
                            const ir::Value* tensor, size_t dim,
                            const std::optional<KernelPart>& part) {
  return NeededFinder(kernel, types, tensor, dim, part).Find();
}

}  // namespace kdl::proofs
