#include "targets/simt/tile_selector.h"

#include <algorithm>
#include <optional>

#include "ir/module.h"
#include "ir/views.h"
#include "targets/simt/outer_product.h"

// The model. What a contraction folds stays short, since near memory holds both operands; what it keeps makes squares. Elsewhere
// what memory holds side by side runs along the workers, and the rest has a few rows. Where the one thing that a kernel folds
// is a sum of outer products, the result lies in registers, and squares are as large as those are: 64 KiB of f32, for 8 x 8 steps
// of each of 256 workers.

namespace kdl::simt {

namespace {

using ir::AttrKey;

/// How a kernel uses the axes whose extent is one generic.
struct Role {
  bool folded = false;  ///< by a contraction
  bool kept = false;    ///< in the result of one
  bool along = false;   ///< the last index of some access
};

int64_t Wanted(const Role& role, bool in_registers) {
  if (role.folded) return 16;
  if (role.kept) return in_registers ? 128 : 32;
  return role.along ? 256 : 4;
}

Role RoleOf(const ir::Function& kernel, Name generic) {
  Role role;
  auto is_extent = [&](ir::AxisId axis) {
    Size extent = kernel.axis(axis).extent;
    return extent && extent->kind == SizeKind::Symbol && extent->symbol == generic;
  };
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::Contraction) {
      role.folded |= std::ranges::any_of(op->attr<AttrKey::Axes>(), is_extent);
      role.kept |= std::ranges::any_of(op->result()->type()->axes, is_extent);
    }
    const ir::Attr* access = op->FindAttr(AttrKey::Access);
    if (!access || std::get<ir::Access>(access->value).dims.empty()) return;
    const ir::AccessDim last = std::get<ir::Access>(access->value).dims.back();
    size_t index = op->kind() == ir::OpKind::Load ? size_t{ir::LoadOp::at_index}
                                                  : size_t{ir::StoreOp::at_index};
    for (const ir::AccessTerm& term : last.terms) {
      ir::Type type = op->Segment(index)[term.operand]->type();
      role.along |= type->kind == ir::TypeKind::Blk && is_extent(type->axes[0]);
    }
  });
  return role;
}

/// Whether all that the kernel folds is one sum of outer products.
bool IsOuterProduct(const ir::Function& kernel) {
  int sums = 0;
  int others = 0;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    bool is_sum = op->kind() == ir::OpKind::Contraction && OuterAxes(op);
    bool folds = op->kind() == ir::OpKind::Contraction || op->kind() == ir::OpKind::Reduce ||
                 op->kind() == ir::OpKind::Fold || op->kind() == ir::OpKind::Scan;
    sums += is_sum ? 1 : 0;
    others += folds && !is_sum ? 1 : 0;
  });
  return sums == 1 && others == 0;
}

/// The largest choice that is not above what is wanted, or the smallest.
int64_t Chosen(const ir::Generic& generic, int64_t wanted) {
  if (generic.choices.empty()) return wanted;
  int64_t chosen = *std::ranges::min_element(generic.choices);
  for (int64_t choice : generic.choices) {
    if (choice <= wanted) chosen = std::max(chosen, choice);
  }
  return chosen;
}

class TileSelector final : public ir::TileSelector {
 public:
  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    bool in_registers = IsOuterProduct(kernel);
    std::vector<int64_t> extents;
    for (const ir::Generic& generic : kernel.generics) {
      if (generic.is_auto && generic.values.empty())
        extents.push_back(Chosen(generic, Wanted(RoleOf(kernel, generic.name), in_registers)));
    }
    return extents;
  }
};

}  // namespace

std::unique_ptr<const ir::TileSelector> MakeTileSelector() {
  return std::make_unique<TileSelector>();
}

}  // namespace kdl::simt
