#include <algorithm>
#include <unordered_map>

#include "ir/op_info.h"
#include "proofs/proofs.h"

// Compares two kernels op by op. Most kernels of a file are instances of a generic kernel for several types, and the types
// of data rarely matter: the proofs look only at integers from which indices, bounds and conditions follow.

namespace kdl::proofs {

namespace {

using ir::Function;
using ir::Region;

bool Differ(const Value* a, const Value* b) { return a->type()->scalar != b->type()->scalar; }

bool AreFloats(const Value* a, const Value* b) {
  return IsFloat(a->type()->scalar) && IsFloat(b->type()->scalar);
}

/// Whether the types are equal except for the type of their elements.
bool HaveOneShape(ir::Type a, ir::Type b) {
  return a == b ||
         (a->kind == b->kind && a->axes == b->axes && a->dims == b->dims && a->panel == b->panel &&
          a->pad == b->pad && a->group == b->group && a->space == b->space);
}

/// Ops that only move data or compute data from it, so that no index, bound or condition depends on the type.
constexpr OpKind kOfData[] = {OpKind::Load,      OpKind::Store,    OpKind::Update, OpKind::Select,
                              OpKind::Broadcast, OpKind::Snapshot, OpKind::Yield,  OpKind::Add,
                              OpKind::Sub,       OpKind::Mul,      OpKind::Min,    OpKind::Max};

class KernelComparison {
 public:
  explicit KernelComparison(BoundsModes modes) : modes_(modes) {}

  bool AreAlike(const Function& a, const Function& b) {
    return HaveOneHead(a, b) && AreAlike(a.body, b.body);
  }

 private:
  bool HaveOneHead(const Function& a, const Function& b) const;
  bool AreAlike(const Region* a, const Region* b);
  bool AreAlike(const Op* a, const Op* b);
  bool HaveOneMeaning(const Op* a, const Op* b) const;
  bool HaveSameAttrs(const Op* a, const Op* b) const;
  bool Pair(std::span<Value* const> a, std::span<Value* const> b);

  BoundsModes modes_;
  std::unordered_map<const Value*, const Value*> pairs_;  ///< the values of b, keyed by those of a
};

bool KernelComparison::HaveOneHead(const Function& a, const Function& b) const {
  auto generic = [](const ir::Generic& one, const ir::Generic& other) {
    return one.name == other.name && one.values == other.values && one.is_auto == other.is_auto &&
           one.choices == other.choices;
  };
  auto axis = [](const ir::Axis& one, const ir::Axis& other) {
    return one.name == other.name && one.extent == other.extent && one.domain == other.domain &&
           one.parent == other.parent && one.innermost == other.innermost;
  };
  return a.kind == b.kind && a.dims == b.dims && a.workgroup == b.workgroup &&
         std::ranges::equal(a.generics, b.generics, generic) &&
         std::ranges::equal(a.axes, b.axes, axis) &&
         std::ranges::equal(a.params, b.params, {}, &ir::Param::direction, &ir::Param::direction) &&
         std::ranges::equal(a.results, b.results);
}

/// Notes that values correspond to each other. Returns false if they have different shapes.
bool KernelComparison::Pair(std::span<Value* const> a, std::span<Value* const> b) {
  if (!std::ranges::equal(a, b, HaveOneShape, &Value::type, &Value::type)) return false;
  for (size_t i = 0; i < a.size(); ++i) pairs_[a[i]] = b[i];
  return true;
}

bool KernelComparison::AreAlike(const Region* a, const Region* b) {
  if (!Pair(a->params(), b->params())) return false;
  const Op* of_b = b->first();
  for (const Op* of_a : *a) {
    if (!of_b || !AreAlike(of_a, of_b)) return false;
    of_b = of_b->next();
  }
  return !of_b;
}

bool KernelComparison::AreAlike(const Op* a, const Op* b) {
  auto is_pair = [&](const Value* of_a, const Value* of_b) { return pairs_[of_a] == of_b; };
  if (a->kind() != b->kind() || !std::ranges::equal(a->operands(), b->operands(), is_pair) ||
      !Pair(a->results(), b->results()) || !HaveSameAttrs(a, b) || !HaveOneMeaning(a, b))
    return false;
  auto are_alike = [&](const Region* of_a, const Region* of_b) { return AreAlike(of_a, of_b); };
  return std::ranges::equal(a->regions(), b->regions(), are_alike);
}

bool KernelComparison::HaveSameAttrs(const Op* a, const Op* b) const {
  bool differ = a->results().size() == 1 && Differ(a->result(), b->result());
  auto is_same = [&](const ir::Attr& attr) {
    if (attr.key == AttrKey::BoundsMode && modes_ == BoundsModes::Ignored) return true;
    if (attr.key == AttrKey::Bits && differ) return true;
    const ir::Attr* other = b->FindAttr(attr.key);
    if (!other) return false;
    bool are_floats = attr.key == AttrKey::Acc && IsFloat(a->attr<AttrKey::Acc>()) &&
                      IsFloat(b->attr<AttrKey::Acc>());
    return are_floats || *other == attr;
  };
  return a->attrs().size() == b->attrs().size() && std::ranges::all_of(a->attrs(), is_same);
}

/// Whether the proofs cannot see in which types the operands and results of the ops differ. Of floats, they only see
/// comparisons of constants.
bool KernelComparison::HaveOneMeaning(const Op* a, const Op* b) const {
  bool differ = false;
  bool are_floats = true;
  for (size_t i = 0; i < a->operands().size(); ++i) {
    if (!Differ(a->operand(i), b->operand(i))) continue;
    differ = true;
    are_floats = are_floats && AreFloats(a->operand(i), b->operand(i));
  }
  if (!differ) return true;
  auto hides = [&](const Value* of_a, const Value* of_b) {
    if (!are_floats) return Differ(of_a, of_b);
    bool is_test = of_a->type()->scalar == Scalar::Bool && of_b->type()->scalar == Scalar::Bool &&
                   !ConstantBits(of_a) && !ConstantBits(of_b);
    return is_test || AreFloats(of_a, of_b);
  };
  if (!std::ranges::equal(a->results(), b->results(), hides)) return false;
  if (are_floats) return true;
  std::optional<AccessView> view = FindAccess(const_cast<Op*>(a));
  bool is_index = view && std::ranges::any_of(view->index, [&](const Value* index) {
                    return Differ(index, pairs_.at(index));
                  });
  return !is_index && Contains(kOfData, a->kind());
}

}  // namespace

bool AreAlike(const ir::Function& a, const ir::Function& b, BoundsModes modes) {
  return KernelComparison(modes).AreAlike(a, b);
}

}  // namespace kdl::proofs
