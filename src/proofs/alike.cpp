#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/op_info.h"
#include "proofs/deciding.h"
#include "proofs/proofs.h"

// Compares two kernels op by op. Most kernels of a file are instances of a generic kernel for several types, and the types
// of data rarely matter: the proofs look only at the values from which indices, bounds and conditions follow (deciding.h). Ops
// that compute other values, such as conversions, are skipped. Types of other values may differ.

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

/// Whether the op converts floats to a wider type, which changes no value.
bool IsWidening(const Op* op) {
  if (op->kind() != OpKind::Cast) return false;
  Scalar from = op->operand(0)->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  return IsFloat(from) && IsFloat(to) && Bytes(from) < Bytes(to);
}

/// Whether the op is skipped unless something is decided by its results.
bool OnlyComputes(const Op* op) {
  return op->kind() == OpKind::Const || op->info().has(ir::kElementwise);
}

/// Returns the kinds of the ops that are never skipped, which equal those of all alike kernels.
std::vector<OpKind> Outline(const Function& function) {
  std::vector<OpKind> kinds;
  ir::Walk(function.body, [&](const Op* op) {
    if (!OnlyComputes(op)) kinds.push_back(op->kind());
  });
  return kinds;
}

class KernelComparison {
 public:
  KernelComparison(const Function& a, const Function& b, BoundsModes modes)
      : a_(a), b_(b), modes_(modes), deciding_in_a_(a), deciding_in_b_(b) {}

  bool AreAlike() { return HaveOneHead() && AreAlike(a_.body, b_.body); }

 private:
  bool HaveOneHead() const;
  bool AreAlike(const Region* a, const Region* b);
  bool AreAlike(const Op* a, const Op* b);
  /// Returns the op, or the first one after it that is not skipped; null if there is none.
  const Op* Compared(const Op* op, const DecidingValues& deciding);
  bool IsPair(const Value* a, const Value* b) const;
  bool HaveSameAttrs(const Op* a, const Op* b) const;
  /// Whether the proofs cannot see that operands of the ops differ in their types. Of floats, they only see comparisons of
  /// constants.
  bool HaveOneMeaning(const Op* a, const Op* b) const;
  bool HaveOneType(const Value* a, const Value* b) const;
  bool Pair(std::span<Value* const> a, std::span<Value* const> b);
  const Value* Origin(const Value* value) const {
    auto found = origins_.find(value);
    return found == origins_.end() ? value : found->second;
  }

  const Function& a_;
  const Function& b_;
  BoundsModes modes_;
  DecidingValues deciding_in_a_;
  DecidingValues deciding_in_b_;
  std::unordered_map<const Value*, const Value*> pairs_;  ///< the values of b, keyed by those of a
  std::unordered_map<const Value*, const Value*>
      origins_;  ///< what was converted, keyed by results
};

bool KernelComparison::HaveOneHead() const {
  auto generic = [](const ir::Generic& one, const ir::Generic& other) {
    return one.name == other.name && one.values == other.values && one.is_auto == other.is_auto &&
           one.choices == other.choices;
  };
  auto axis = [](const ir::Axis& one, const ir::Axis& other) {
    return one.name == other.name && one.extent == other.extent && one.domain == other.domain &&
           one.parent == other.parent && one.innermost == other.innermost;
  };
  return a_.kind == b_.kind && a_.dims == b_.dims && a_.workgroup == b_.workgroup &&
         std::ranges::equal(a_.generics, b_.generics, generic) &&
         std::ranges::equal(a_.axes, b_.axes, axis) &&
         std::ranges::equal(a_.params, b_.params, {}, &ir::Param::direction,
                            &ir::Param::direction) &&
         std::ranges::equal(a_.results, b_.results);
}

bool KernelComparison::HaveOneType(const Value* a, const Value* b) const {
  bool decides = deciding_in_a_.Contain(a);
  if (decides != deciding_in_b_.Contain(b) || !HaveOneShape(a->type(), b->type())) return false;
  bool is_data = !decides || a->type()->kind == ir::TypeKind::Tensor;
  return is_data || !Differ(a, b) || AreFloats(a, b);
}

/// Notes that values correspond to each other. Returns false if they have different shapes.
bool KernelComparison::Pair(std::span<Value* const> a, std::span<Value* const> b) {
  auto have_one_type = [this](const Value* of_a, const Value* of_b) {
    return HaveOneType(of_a, of_b);
  };
  if (!std::ranges::equal(a, b, have_one_type)) return false;
  for (size_t i = 0; i < a.size(); ++i) pairs_[a[i]] = b[i];
  return true;
}

bool KernelComparison::IsPair(const Value* a, const Value* b) const {
  a = Origin(a);
  b = Origin(b);
  bool decides = deciding_in_a_.Contain(a) || deciding_in_b_.Contain(b);
  if (!decides) return HaveOneShape(a->type(), b->type());
  auto found = pairs_.find(a);
  return found != pairs_.end() && found->second == b;
}

const Op* KernelComparison::Compared(const Op* op, const DecidingValues& deciding) {
  for (; op; op = op->next()) {
    if (IsWidening(op)) {
      origins_[op->result()] = Origin(op->operand(0));
      continue;
    }
    if (!OnlyComputes(op) || deciding.ContainAny(op->results())) return op;
  }
  return nullptr;
}

bool KernelComparison::AreAlike(const Region* a, const Region* b) {
  if (!Pair(a->params(), b->params())) return false;
  const Op* of_a = Compared(a->first(), deciding_in_a_);
  const Op* of_b = Compared(b->first(), deciding_in_b_);
  while (of_a && of_b) {
    if (!AreAlike(of_a, of_b)) return false;
    of_a = Compared(of_a->next(), deciding_in_a_);
    of_b = Compared(of_b->next(), deciding_in_b_);
  }
  return !of_a && !of_b;
}

bool KernelComparison::AreAlike(const Op* a, const Op* b) {
  auto is_pair = [&](const Value* of_a, const Value* of_b) { return IsPair(of_a, of_b); };
  if (a->kind() != b->kind() || !std::ranges::equal(a->operands(), b->operands(), is_pair) ||
      !Pair(a->results(), b->results()) || !HaveSameAttrs(a, b) || !HaveOneMeaning(a, b))
    return false;
  auto are_alike = [&](const Region* of_a, const Region* of_b) { return AreAlike(of_a, of_b); };
  return std::ranges::equal(a->regions(), b->regions(), are_alike);
}

bool KernelComparison::HaveSameAttrs(const Op* a, const Op* b) const {
  bool decides = deciding_in_a_.ContainAny(a->results());
  bool differ = a->results().size() == 1 && Differ(a->result(), b->result());
  auto is_same = [&](const ir::Attr& attr) {
    if (attr.key == AttrKey::BoundsMode && modes_ == BoundsModes::Ignored) return true;
    if (attr.key == AttrKey::Bits && differ) return true;
    const ir::Attr* other = b->FindAttr(attr.key);
    if (!other) return false;
    bool is_of_data = !decides && (attr.key == AttrKey::Acc || attr.key == AttrKey::Order);
    return is_of_data || *other == attr;
  };
  return a->attrs().size() == b->attrs().size() && std::ranges::all_of(a->attrs(), is_same);
}

bool KernelComparison::HaveOneMeaning(const Op* a, const Op* b) const {
  bool differ = false;
  for (size_t i = 0; i < a->operands().size(); ++i) {
    const Value* of_a = Origin(a->operand(i));
    bool is_seen = deciding_in_a_.Contain(of_a) && of_a->type()->kind == ir::TypeKind::Tile;
    differ |= is_seen && Differ(of_a, Origin(b->operand(i)));
  }
  auto hides = [](const Value* of_a, const Value* of_b) {
    bool is_test =
        of_a->type()->scalar == Scalar::Bool && !ConstantBits(of_a) && !ConstantBits(of_b);
    return is_test || AreFloats(of_a, of_b);
  };
  return !differ || std::ranges::equal(a->results(), b->results(), hides);
}

}  // namespace

bool AreAlike(const ir::Function& a, const ir::Function& b, BoundsModes modes) {
  return Outline(a) == Outline(b) && KernelComparison(a, b, modes).AreAlike();
}

}  // namespace kdl::proofs
