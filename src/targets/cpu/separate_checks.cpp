#include <algorithm>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/points.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"

// separate-checks: checks an index that is the same for all elements of a tile once, before the tile is accessed. Later passes
// then find an access that cannot trap, so they may fuse it with others and use vectors for it.
//
//   %t = load %x[%at, %i] {bounds = guard, text = "x[at, i]"}
//   ->
//   check %at in %M {dimension = 0, text = "x[at, i]"}
//   %t = load %x[%at, %i] {bounds = proven, text = "x[at, i]"}
//
// If blocks of the access may be empty, the check passes where they are.

namespace kdl::cpu {

namespace {

/// Whether the index of the dimension is an axis that covers it.
bool IsCovered(const ir::Function& kernel, const Op* access, size_t dim) {
  const ir::AccessDim index = access->attr<AttrKey::Access>().dims[dim];
  if (index.terms.size() != 1 || !IsConstant(index.terms[0].coefficient, 1) ||
      !IsConstant(index.offset, 0))
    return false;
  ir::Type type = IndexOf(access)[index.terms[0].operand]->type();
  return type->kind == ir::TypeKind::Block &&
         kernel.axis(type->axes[0]).domain == TensorOf(access)->type()->dims[dim];
}

bool IsSame(const Op* access, size_t dim) {
  const ir::AccessDim index = access->attr<AttrKey::Access>().dims[dim];
  return std::ranges::all_of(index.terms, [&](const ir::AccessTerm& term) {
    return ir::IsScalar(IndexOf(access)[term.operand]->type());
  });
}

bool IsSeparable(const ir::Function& kernel, const Op* op) {
  bool is_access = op->kind() == OpKind::Load || op->kind() == OpKind::Store;
  if (!is_access || !MayTrap(op) || op->HasAttr(AttrKey::Leading) ||
      !op->Segment(ir::OperandWith(op->kind(), ir::Effect::Mask)).empty())
    return false;
  for (size_t d = 0; d < TensorOf(op)->type()->dims.size(); ++d) {
    if (!IsSame(op, d) && !IsCovered(kernel, op, d)) return false;
  }
  return true;
}

/// Whether the index is a constant that is known to be in bounds.
bool IsInside(const ir::AccessDim& index, Size size) {
  return index.terms.empty() && IsConstant(index.offset) && IsConstant(size) &&
         index.offset->value >= 0 && index.offset->value < size->value;
}

/// An index that has been checked.
struct Checked {
  ir::AccessDim index;
  passes::Values operands;
  Size size;

  bool operator==(const Checked&) const = default;
};

class Separator {
 public:
  Separator(ir::Module& module, const ir::Function& kernel) : module_(module), kernel_(kernel) {}

  void Separate(const ir::Region* region) {
    size_t before = checked_.size();
    for (Op* op : *region) {
      if (IsSeparable(kernel_, op)) Separate(op);
      if (passes::IsPointwise(op)) continue;  // its region runs once for each element
      for (const ir::Region* nested : op->regions()) Separate(nested);
    }
    checked_.resize(before);
  }

 private:
  void Separate(Op* op) {
    ir::Builder b(module_, op);
    Value* has_elements = HasElements(b, op);
    passes::Values index(IndexOf(op).begin(), IndexOf(op).end());
    for (Value*& operand : index) {
      if (ir::IsScalar(operand->type())) operand = b.Cast(operand, Scalar::I64);
    }
    const ir::Access access = op->attr<AttrKey::Access>();
    for (size_t d = 0; d < access.dims.size(); ++d) {
      Size size = TensorOf(op)->type()->dims[d];
      if (!IsSame(op, d) || IsInside(access.dims[d], size) ||
          WasChecked(access.dims[d], op, size, has_elements))
        continue;
      Value* at = passes::IndexValue(b, access.dims[d], index);
      Value* bound = b.SizeValue(size);
      if (has_elements) {
        at = b.Select(has_elements, at, b.I64(0));
        bound = b.Select(has_elements, bound, b.I64(1));
      }
      b.Create(OpKind::Check, {{at}, {bound}}, {},
               {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(d)),
                ir::MakeAttr<AttrKey::Text>(op->attr<AttrKey::Text>())});
    }
    op->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
  }

  /// Emits whether the access has elements; null if it always has, because its blocks are those of loops.
  static Value* HasElements(ir::Builder& b, const Op* access) {
    Value* has = nullptr;
    for (Value* index : IndexOf(access)) {
      if (index->type()->kind != ir::TypeKind::Block || !index->def()) continue;
      Value* some = b.Gt(b.BlockSize(index), b.I64(0));
      has = has ? b.And(has, some) : some;
    }
    return has;
  }

  /// Whether an access before this one has checked the index. If not, notes that this one does, unless it may be empty.
  bool WasChecked(const ir::AccessDim& index, const Op* access, Size size,
                  const Value* has_elements) {
    Checked check{index, {}, size};
    for (ir::AccessTerm& term : check.index.terms) {
      check.operands.push_back(IndexOf(access)[term.operand]);
      term.operand = 0;
    }
    if (std::ranges::find(checked_, check) != checked_.end()) return true;
    if (!has_elements) checked_.push_back(std::move(check));
    return false;
  }

  ir::Module& module_;
  const ir::Function& kernel_;
  std::vector<Checked> checked_;  ///< in the region and in those around it
};

}  // namespace

void RunSeparateChecks(passes::PassContext& context, ir::Function& kernel) {
  Separator(context.module, kernel).Separate(kernel.body);
}

}  // namespace kdl::cpu
